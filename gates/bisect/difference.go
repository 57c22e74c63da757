package bisect

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// mostValues are told of a row that differs.
const mostValues = 8

// Difference is the first row in which two traces differ.
type Difference struct {
	Tensor   string `json:"tensor"`
	Layer    int    `json:"layer"` // -1: before or after the layers
	Position int    `json:"position"`
	Index    int    `json:"index"` // of the first differing value in the row
	Head     int    `json:"head"`  // -1: the row has no heads

	Width  int     `json:"width"`
	Differ int     `json:"differ"` // values with other bits
	MaxAbs float64 `json:"max_abs"`
	RelRMS float64 `json:"rel_rms"` // of the difference, to b
	Values []Value `json:"values"`  // the first that differ

	Before string `json:"before,omitempty"` // the last row before it, in the order of computation, which agrees
}

// Value is one value that differs. Numbers are text, so that every float32 can be
// written.
type Value struct {
	Index int    `json:"index"`
	A     string `json:"a"`
	B     string `json:"b"`
	ABits string `json:"a_bits"`
	BBits string `json:"b_bits"`
	ULP   uint32 `json:"ulp"` // representable values apart; the largest number when one is none
}

// Counts tell how much was compared.
type Counts struct {
	Rows   int `json:"rows"`
	Differ int `json:"differ"`
}

// ShapeError is a tensor that two runs do not have alike.
type ShapeError struct {
	Tensor Tensor
	A, B   int
}

func (e *ShapeError) Error() string {
	return fmt.Sprintf("%s: rows of %d and %d values cannot be compared", e.Tensor, e.A, e.B)
}

// NothingError says that two traces have no row in common.
type NothingError struct{}

func (e *NothingError) Error() string { return "the two runs have no tensor in common" }

// First compares all rows that both traces have: position by position, and within
// a position in the order of computation. A position sees only those before it, so
// whatever is first has equal inputs. A row differs when some bits do, or with a
// tolerance when the relative RMS of the difference is larger.
func First(a, b *Trace, tolerance float64) (*Difference, Counts, error) {
	var both []Tensor
	positions := 0
	for t, rows := range a.Rows {
		if b.Rows[t] != nil {
			both = append(both, t)
			positions = max(positions, min(len(rows), len(b.Rows[t])))
		}
	}
	slices.SortFunc(both, Tensor.compare)
	var found *Difference
	var n Counts
	before := ""
	for p := range positions {
		for _, t := range both {
			x, y := a.row(t, p), b.row(t, p)
			if x == nil || y == nil {
				continue
			}
			if len(x) != len(y) {
				return nil, n, &ShapeError{t, len(x), len(y)}
			}
			n.Rows++
			d := compareRows(x, y)
			if d.Differ == 0 || tolerance > 0 && d.RelRMS <= tolerance {
				if found == nil {
					before = fmt.Sprintf("%s at position %d", t, p)
				}
				continue
			}
			n.Differ++
			if found == nil {
				found = d
				d.Tensor, d.Layer, d.Position, d.Head, d.Before = t.String(), t.Layer, p, -1, before
				if t.Layer == afterLayers {
					d.Layer = -1
				}
				if width := cmp.Or(a.HeadDim, b.HeadDim); width > 0 && slices.Contains([]string{"Qcur", "Kcur", "Vcur", Keys, Values, "kqv_out"}, t.Name) {
					d.Head = d.Index / width
				}
			}
		}
	}
	if n.Rows == 0 {
		return nil, n, &NothingError{}
	}
	return found, n, nil
}

// compareRows compares the bits of two rows.
func compareRows(a, b []float32) *Difference {
	d := &Difference{Width: len(a)}
	var squares, size float64
	for i := range a {
		x, y := math.Float32bits(a[i]), math.Float32bits(b[i])
		size += float64(b[i]) * float64(b[i])
		if x == y {
			continue
		}
		if d.Differ == 0 {
			d.Index = i
		}
		d.Differ++
		apart := math.Abs(float64(a[i]) - float64(b[i]))
		squares += apart * apart
		if !(apart <= d.MaxAbs) {
			d.MaxAbs = finite(apart)
		}
		if len(d.Values) < mostValues {
			d.Values = append(d.Values, Value{Index: i, A: text(a[i]), B: text(b[i]), ABits: bits(x), BBits: bits(y), ULP: ulp(a[i], b[i])})
		}
	}
	if squares != 0 {
		d.RelRMS = finite(math.Sqrt(squares / size))
	}
	return d
}

// finite keeps a figure writable: what is none counts as infinitely far, and that
// as the largest.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.MaxFloat64
	}
	return x
}

func text(x float32) string { return strconv.FormatFloat(float64(x), 'g', -1, 32) }
func bits(x uint32) string  { return fmt.Sprintf("%08x", x) }
func rank(x uint32) int64   { return int64(x&0x7fffffff) * (1 - 2*int64(x>>31)) }
func isNaN(x float32) bool  { return x != x }
func ulp(a, b float32) uint32 {
	if isNaN(a) || isNaN(b) {
		return math.MaxUint32
	}
	d := rank(math.Float32bits(a)) - rank(math.Float32bits(b))
	return uint32(max(d, -d))
}
