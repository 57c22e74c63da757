package matmul

import (
	"unsafe"

	"assay/kernels/vector"
)

// Activations are packed into panels of up to MaxColumns columns (tokens), so
// that a kernel walks weights and activations with one pointer each.
//
// A panel of C columns consists of rows of C dwords:
//
//	blocks of 32:   d (float32), s = float32(sum q)*d, n = -8*sum q (int32),
//	                then 8 groups of four int8                        11 rows
//	blocks of 256:  d, 16 x (-32 * sum of 16 q), then 64 groups       81 rows
//
// Panels for float weights are [k/8][C][8] float32.

// MaxColumns is the widest panel: the columns that a tile keeps in registers.
const MaxColumns = 8

// MaxFloatColumns is the widest panel for float weights.
const MaxFloatColumns = 3

// Rounding is the kind of activations that a weight format multiplies with.
type Rounding uint8

const (
	// Float keeps activations as they are.
	Float Rounding = iota
	// Int8x32 rounds blocks of 32 to int8.
	Int8x32
	// Int8x256 rounds blocks of 256 to int8.
	Int8x256
)

// ColumnBytes is the size of one column of cols activations in a panel.
func (r Rounding) ColumnBytes(cols int) int {
	switch r {
	case Int8x32:
		return cols / 32 * 44
	case Int8x256:
		return cols / 256 * 81 * 4
	}
	return (cols + 7) &^ 7 * 4
}

// Columns is the widest panel of the rounding.
func (r Rounding) Columns() int {
	if r == Float {
		return MaxFloatColumns
	}
	return MaxColumns
}

// Panels is the number of panels of at most width columns that n columns take.
func Panels(n, width int) int { return (n + width - 1) / width }

// Split tells how n columns are spread evenly over panels of at most width:
// panel i holds columns Split(n, width, i) up to Split(n, width, i+1).
func Split(n, width, i int) int {
	p := Panels(n, width)
	return (n*i + p - 1) / p
}

// PanelOf is the panel that holds column c of n.
func PanelOf(n, width, c int) int {
	i := c * Panels(n, width) / n
	for Split(n, width, i+1) <= c {
		i++
	}
	for Split(n, width, i) > c {
		i--
	}
	return i
}

// Pack rounds x into column c of a panel of C columns.
func (r Rounding) Pack(v *vector.Set, x []float32, panel []byte, c, C int) {
	switch r {
	case Int8x32:
		v.Quantise32(x, panel[4*c:], 4*C)
	case Int8x256:
		v.Quantise256(x, panel[4*c:], 4*C)
	default:
		packFloat(x, panel, c, C)
	}
}

func packFloat(x []float32, panel []byte, c, C int) {
	p := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/4)
	for k := 0; k < len(x); k += 8 {
		n := copy(p[k*C+8*c:][:8], x[k:])
		clear(p[k*C+8*c+n:][:8-n])
	}
}
