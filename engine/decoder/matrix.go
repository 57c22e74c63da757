package decoder

import (
	"fmt"

	"assay/kernels/matmul"
	"assay/kernels/quant"
)

// Matrix is one weight matrix [Rows][Cols] in tile layout with the kernel that
// multiplies it.
type Matrix struct {
	Name       string
	Format     quant.Type
	Rows, Cols int
	Tiles      []byte    // groups of 16 rows
	Bias       []float32 // [Rows] or nil

	rounding matmul.Rounding
	kernel   *matmul.Kernel
	// decode is set where float activations meet block weights: the rows of a
	// group are decoded into a worker's scratch and multiplied as F32.
	decode bool
}

// newMatrix picks the kernel for a format, an activation mode and a level.
func newMatrix(name string, f quant.Type, rows, cols int, o LoadOptions) (*Matrix, error) {
	m := &Matrix{Name: name, Format: f, Rows: rows, Cols: cols}
	product := f
	if o.Float && f.Quantised() {
		m.decode, product = true, quant.F32
	}
	m.kernel = matmul.Lookup(product, o.Level)
	if v := matmul.LookupVariant(product, o.Level, o.Tuning.variant()); v != nil {
		m.kernel = v
	}
	if m.kernel == nil || !quant.Decodable(f) {
		return nil, fmt.Errorf("decoder: tensor %q: no kernel for %s", name, f)
	}
	m.rounding = m.kernel.Rounding
	return m, nil
}

// groups is the number of 16-row groups.
func (m *Matrix) groups() int { return (m.Rows + quant.TileRows - 1) / quant.TileRows }

// row decodes one row exactly.
func (m *Matrix) row(i int, dst []float32) error {
	g := quant.GroupBytes(m.Format, m.Cols)
	return quant.DecodeTiledRow(m.Format, dst, m.Tiles[i/quant.TileRows*g:][:g], i%quant.TileRows)
}

// multiply writes out[c*ldo+row] for the rows of groups [lo, hi), row counted
// from the matrix's first, against every panel of n columns. scratch holds one
// decoded group where m.decode is set; width is that of the panels.
func (m *Matrix) multiply(lo, hi int, panels []byte, n, width int, out []float32, ldo int, scratch []byte) {
	const rows = quant.TileRows
	if m.decode {
		for g := lo; g < hi; g++ {
			quant.DecodeGroup(m.Format, scratch, m.group(g, g+1), m.Cols)
			m.panels(scratch[:quant.GroupBytes(quant.F32, m.Cols)], rows, panels, n, width, out[g*rows:], ldo)
		}
		return
	}
	m.panels(m.group(lo, hi), (hi-lo)*rows, panels, n, width, out[lo*rows:], ldo)
}

func (m *Matrix) group(lo, hi int) []byte {
	g := quant.GroupBytes(m.Format, m.Cols)
	return m.Tiles[lo*g : hi*g]
}

func (m *Matrix) panels(w []byte, rows int, panels []byte, n, width int, out []float32, ldo int) {
	column := m.rounding.ColumnBytes(m.Cols)
	for p := range matmul.Panels(n, width) {
		a, b := matmul.Split(n, width, p), matmul.Split(n, width, p+1)
		m.kernel.Multiply(w, rows, m.Cols, panels[a*column:b*column], b-a, out[a*ldo:], ldo)
	}
}
