package ledger

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"assay/gates"
	"assay/kernels/attention"
	"assay/kernels/cpu"
	"assay/kernels/matmul"
	"assay/kernels/quant"
	"assay/kernels/vector"
)

// matrix is what the template of the matrix shows. Every row has one cell per
// level.
type matrix struct {
	Levels    []cpu.Level
	Targets   []targetRow
	Others    []otherArch
	Products  []primitive
	Vectors   []primitive
	Attention []primitive
	Models    []modelRow
}

// primitive is one operation on one format.
type primitive struct {
	Name, Format, Operand string
	Cells                 []string
	Rung, Why             string
}

// modelRow is one whole model that a gate compares with another engine.
type modelRow struct{ Model, Activations, KV, Gate, Check, Rung, Tolerance string }

const (
	bits    = "bits"
	bitsWhy = "equal to `kernels/arith` in every bit, on every level"
)

// allLevels are the levels for which this build has implementations.
func allLevels() []cpu.Level {
	seen := map[cpu.Level]bool{}
	for _, k := range matmul.Kernels() {
		seen[k.Level] = true
	}
	for _, s := range vector.Sets() {
		seen[s.Level] = true
	}
	for _, s := range attention.Sets() {
		seen[s.Level] = true
	}
	var levels []cpu.Level
	for l := range seen {
		levels = append(levels, l)
	}
	slices.Sort(levels)
	return levels
}

func matrixData(t *tree) (any, error) {
	m := matrix{Levels: allLevels(), Targets: t.targets()}
	m.Others = others(m.Targets)
	m.products()
	m.vectors()
	m.attention()
	return m, m.models()
}

// products has a row per weight format, in the order of the formats.
func (m *matrix) products() {
	var formats []quant.Type
	for _, k := range matmul.Kernels() {
		if !slices.Contains(formats, k.Format) {
			formats = append(formats, k.Format)
		}
	}
	slices.Sort(formats)
	for _, f := range formats {
		p := primitive{Name: "product", Format: f.String(), Operand: operand(matmul.RoundingOf(f)), Rung: bits, Why: bitsWhy}
		for _, l := range m.Levels {
			k := matmul.Lookup(f, l)
			switch {
			case k == nil:
				p.Cells = append(p.Cells, "none")
			case k.Level != l:
				p.Cells = append(p.Cells, "as "+k.Level.String())
			default:
				p.Cells = append(p.Cells, fmt.Sprintf("%d rows × 1–%d tokens", k.TileRows, len(k.Columns)))
			}
		}
		m.Products = append(m.Products, p)
	}
}

func operand(r matmul.Rounding) string {
	if r == matmul.Float {
		return "float32"
	}
	return fmt.Sprintf("int8 per %d", r.BlockCols())
}

// vectors has a row per operation of vector.Set.
func (m *matrix) vectors() {
	for f := range reflect.TypeFor[vector.Set]().Fields() {
		if f.Type.Kind() != reflect.Func {
			continue
		}
		p := primitive{Name: f.Name, Rung: bits, Why: bitsWhy}
		for _, l := range m.Levels {
			p.Cells = append(p.Cells, own(vector.For(l).Level, l))
		}
		m.Vectors = append(m.Vectors, p)
	}
}

func (m *matrix) attention() {
	for _, format := range []string{"F16", "F32"} {
		p := primitive{Name: "attention", Format: "K/V " + format, Rung: bits, Why: bitsWhy}
		for _, l := range m.Levels {
			p.Cells = append(p.Cells, own(attention.For(l).Level, l))
		}
		m.Attention = append(m.Attention, p)
	}
}

func own(has, level cpu.Level) string {
	if has == level {
		return "yes"
	}
	return "as " + has.String()
}

// models lists what the gates on the fixtures hold whole models to.
func (m *matrix) models() error {
	definitions, err := gates.Load(gates.OnFixtures)
	if err != nil {
		return err
	}
	for i := range definitions {
		d := &definitions[i]
		if d.Kind != gates.Parity {
			continue
		}
		for j := range d.Checks {
			c := checkOf(d, j)
			for _, model := range d.Models {
				m.Models = append(m.Models, modelRow{
					Model: path.Base(model), Activations: strings.Join(d.Activations, ", "), KV: strings.Join(d.KV, ", "),
					Gate: d.Name, Check: c.What, Rung: c.Rung, Tolerance: c.Tolerance,
				})
			}
		}
	}
	return nil
}
