package bisect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/engine/checkpoint"
)

// Names of tensors that the engine's observers do not name.
const (
	Embed  = "embed"
	Keys   = "k" // as the state holds them, rounded to its format
	Values = "v"
	Hidden = "hidden"
	Logits = "logits"
)

// order is that of computation within a layer.
var order = []string{Embed, "attn_norm", "Vcur", "Qcur", "Kcur", Keys, Values, "kqv_out", "ffn_inp", "ffn_norm", "ffn_gate_par", "ffn_out", Hidden, Logits}

// noLayer is the layer of the embedding, afterLayers that of the logits.
const (
	noLayer     = -1
	afterLayers = 1 << 30
)

// Tensor is one tensor of a pass; it has a row per position.
type Tensor struct {
	Name  string
	Layer int
}

// ParseTensor reads what String writes.
func ParseTensor(text string) (Tensor, error) {
	switch text {
	case Embed:
		return Tensor{Embed, noLayer}, nil
	case Logits:
		return Tensor{Logits, afterLayers}, nil
	}
	name, rest, _ := strings.Cut(text, ".L")
	t := Tensor{Name: name}
	if n, err := fmt.Sscanf(rest, "%d", &t.Layer); n != 1 || err != nil || t.String() != text || t.place() < 0 || t.Layer < 0 {
		return Tensor{}, fmt.Errorf("no tensor is called %q", text)
	}
	return t, nil
}

// String is "Kcur.L3", "embed" or "logits".
func (t Tensor) String() string {
	if t.Layer == noLayer || t.Layer == afterLayers {
		return t.Name
	}
	return fmt.Sprintf("%s.L%d", t.Name, t.Layer)
}

func (t Tensor) place() int { return slices.Index(order, t.Name) }

func (t Tensor) compare(u Tensor) int {
	return cmp.Or(cmp.Compare(t.Layer, u.Layer), cmp.Compare(t.place(), u.place()))
}

// widthOf is the length of a row in a model.
func widthOf(name string, c *checkpoint.Config) int {
	switch name {
	case "Qcur", "kqv_out":
		return c.Heads * c.HeadDim
	case "Kcur", "Vcur", Keys, Values:
		return c.KVHeads * c.HeadDim
	case "ffn_gate_par":
		return c.FFN
	case Logits:
		return c.Vocab
	}
	return c.Hidden
}

// Trace is what one run computed: rows by tensor and position. A row that is not
// known is nil.
type Trace struct {
	Rows    map[Tensor][][]float32
	HeadDim int
}

func newTrace() *Trace { return &Trace{Rows: map[Tensor][][]float32{}} }

// put keeps a copy of a row.
func (t *Trace) put(of Tensor, position int, row []float32) {
	rows := t.Rows[of]
	for len(rows) <= position {
		rows = append(rows, nil)
	}
	rows[position] = slices.Clone(row)
	t.Rows[of] = rows
}

// row is nil when it is not known.
func (t *Trace) row(of Tensor, position int) []float32 {
	if rows := t.Rows[of]; position < len(rows) {
		return rows[position]
	}
	return nil
}

// state splits [heads][positions][width] into rows of all heads.
func (t *Trace) state(of Tensor, x []float32, positions, width, first int) {
	if positions == 0 || width == 0 {
		return
	}
	heads := len(x) / (positions * width)
	row := make([]float32, heads*width)
	for p := range positions {
		for h := range heads {
			copy(row[h*width:], x[(h*positions+p)*width:][:width])
		}
		t.put(of, first+p, row)
	}
}
