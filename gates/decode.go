package gates

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"assay/engine/checkpoint"
	"assay/fixtures"
	"assay/kernels/quant"
	"assay/snapshots"
)

// Decoded is decoded.yaml: what another engine's decoder makes of the weights.
type Decoded struct {
	Engine  string `yaml:"engine"`
	Command string `yaml:"command"`
	// Models: path -> tensor -> SHA-256 of the decoded values as little-endian float32.
	Models map[string]map[string]string `yaml:"models"`
}

// LoadDecoded reads the embedded hashes.
func LoadDecoded() (*Decoded, error) {
	y := yaml.NewDecoder(bytes.NewReader(fixtures.Decoded))
	y.KnownFields(true)
	d := new(Decoded)
	if err := y.Decode(d); err != nil {
		return nil, fmt.Errorf("gates: decoded.yaml: %w", err)
	}
	return d, nil
}

// decodeJob decodes every tensor of a file and compares with what was recorded
// of another decoder: row by row, and once more from the tiles that products read.
func decodeJob(ctx context.Context, r *run, c *Case) ([]snapshots.Result, error) {
	recorded, err := LoadDecoded()
	if err != nil {
		return nil, err
	}
	want := recorded.Models[c.Model]
	if len(want) == 0 {
		return nil, fmt.Errorf("gates: decoded.yaml has nothing about %s", c.Model)
	}
	f, err := checkpoint.Open(r.path(c.Model))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var results []snapshots.Result
	for i := range c.Checks {
		k := &c.Checks[i]
		decode := decodeRows
		if k.What == "tiles" {
			decode = decodeTiles
		}
		same, values := 0, 0
		x := k.result("")
		for _, t := range f.Tensors() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			got, err := decode(t)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.Name, err)
			}
			values += len(got)
			switch sum := hashFloats(got); {
			case want[t.Name] == "":
				fail(&x, fmt.Sprintf("%s (%s): not in decoded.yaml", t.Name, t.Type))
			case sum != want[t.Name]:
				fail(&x, fmt.Sprintf("%s (%s %v): decoded values have SHA-256 %s, %s gives %s: scale, minimum, order of nibbles or of bits", t.Name, t.Type, t.Shape, sum, recorded.Engine, want[t.Name]))
			default:
				same++
			}
		}
		if same < len(want) && x.Verdict == snapshots.Held {
			fail(&x, fmt.Sprintf("%d tensors are recorded, %d are here", len(want), same))
		}
		x.Value = fmt.Sprintf("%d of %d tensors, %d values", same, len(want), values)
		x.Fixture = c.subject() + " / " + firstWords(recorded.Engine)
		results = append(results, x)
	}
	return results, nil
}

// firstWords is "llama.cpp v0.4.0" of a longer description.
func firstWords(s string) string {
	w := strings.Fields(s)
	return strings.TrimSuffix(strings.Join(w[:min(2, len(w))], " "), ",")
}

// rowsOf splits a tensor into rows: the last dimension is the length.
func rowsOf(t *checkpoint.Tensor) (rows, cols, rowBytes int, err error) {
	cols = t.Shape[len(t.Shape)-1]
	rows = t.Elements() / max(cols, 1)
	rowBytes, err = t.Type.RowBytes(cols)
	return rows, cols, rowBytes, err
}

func decodeRows(t *checkpoint.Tensor) (_ []float32, err error) {
	defer checkpoint.Catch(&err, checkpoint.Watch())
	rows, cols, size, err := rowsOf(t)
	if err != nil {
		return nil, err
	}
	out := make([]float32, rows*cols)
	for i := range rows {
		if err := quant.DecodeRow(t.Type, out[i*cols:(i+1)*cols], t.Data[i*size:(i+1)*size]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decodeTiles repacks groups of 16 rows as Load does and decodes them from there.
func decodeTiles(t *checkpoint.Tensor) (_ []float32, err error) {
	defer checkpoint.Catch(&err, checkpoint.Watch())
	rows, cols, size, err := rowsOf(t)
	if err != nil {
		return nil, err
	}
	out := make([]float32, rows*cols)
	group := make([]byte, quant.GroupBytes(t.Type, cols))
	for from := 0; from < rows; from += quant.TileRows {
		to := min(from+quant.TileRows, rows)
		clear(group)
		if err := quant.Repack(t.Type, group, t.Data[from*size:to*size], cols); err != nil {
			return nil, err
		}
		for i := from; i < to; i++ {
			if err := quant.DecodeTiledRow(t.Type, out[i*cols:(i+1)*cols], group, i-from); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// quantised tells whether a file has a tensor in a block format.
func quantised(tensors []*checkpoint.Tensor) bool {
	return slices.ContainsFunc(tensors, func(t *checkpoint.Tensor) bool { return t.Type.Quantised() })
}
