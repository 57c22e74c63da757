package oracle

import (
	"fmt"
	"math"
	"strings"
)

// Where is a place in a recording; negative fields do not apply.
type Where struct {
	Prompt                       string
	Layer, Head, Position, Index int // Position is the row: how many ids were fed before
}

func (w Where) String() string {
	var parts []string
	if w.Prompt != "" {
		parts = append(parts, fmt.Sprintf("prompt %q", w.Prompt))
	}
	for _, x := range []struct {
		name string
		at   int
	}{{"layer", w.Layer}, {"head", w.Head}, {"position", w.Position}, {"index", w.Index}} {
		if x.at >= 0 {
			parts = append(parts, fmt.Sprintf("%s %d", x.name, x.at))
		}
	}
	if parts == nil {
		return "nowhere"
	}
	return strings.Join(parts, ", ")
}

// Layout says what the elements of a tensor are: [heads][positions][width], heads 0 where there are none ([positions][width]).
type Layout struct {
	Prompt                  string
	Layer                   int // -1: none
	Heads, Positions, Width int
	First                   int // absolute position of the first one
}

// Difference is how one tensor of the engine under test differs from the recorded one.
type Difference struct {
	Name   string
	Layout Layout

	Values, Differ int // how many there are, and how many have other bits
	NonFinite      int // values of the engine that are NaN or infinite
	MaxAbs, MaxRel float64
	MaxULP         uint32
	NMSE           float64 // sum of squared differences / sum of squared recorded values
	At, AtRel      Where   // of MaxAbs and MaxRel
	First          Where   // first value with other bits, by position
	Got, Want      float32 // at At

	// Scale is the factor that brings the recorded tensor nearest to ours, ScaleRest the relative RMS that remains then.
	Scale, ScaleRest float64
	// ByPosition is the relative RMS of the difference at each position.
	ByPosition []float64
	// Rotary is set for keys that differ.
	Rotary *RotaryTrace
}

// RelRMS is the root of NMSE: the relative size of the difference.
func (d *Difference) RelRMS() float64 { return math.Sqrt(d.NMSE) }

func (d *Difference) String() string {
	if d.Differ == 0 {
		return fmt.Sprintf("%s: %d values, all equal", d.Name, d.Values)
	}
	return fmt.Sprintf("%s: %d of %d values differ, largest absolute difference %.4g (%.8g, recorded %.8g) at %s, largest relative %.3g, relative RMS %.3g",
		d.Name, d.Differ, d.Values, d.MaxAbs, d.Got, d.Want, d.At, d.MaxRel, d.RelRMS())
}

// Compare compares a tensor of the engine under test with the recorded one.
func Compare(name string, got, want []float32, l Layout) (Difference, error) {
	d := Difference{Name: name, Layout: l, Values: len(want), At: nowhere(l), AtRel: nowhere(l), First: nowhere(l), Scale: 1}
	heads := max(l.Heads, 1)
	if len(got) != len(want) || heads*l.Positions*l.Width != len(want) {
		return d, fmt.Errorf("oracle: %s: %d values, recorded are %d (%d heads, %d positions, width %d)", name, len(got), len(want), l.Heads, l.Positions, l.Width)
	}
	d.ByPosition = make([]float64, l.Positions)
	var sum moments
	maxAbs, maxRel := -1.0, -1.0
	for p := range l.Positions {
		var here moments
		for h := range heads {
			at := (h*l.Positions + p) * l.Width
			for i := range l.Width {
				g, w := got[at+i], want[at+i]
				if !here.add(g, w) {
					d.NonFinite++
				}
				if math.Float32bits(g) == math.Float32bits(w) {
					continue
				}
				place := l.where(h, p, i)
				if d.Differ++; d.Differ == 1 {
					d.First = place
				}
				if a := math.Abs(float64(g) - float64(w)); a > maxAbs || a != a {
					maxAbs, d.At, d.Got, d.Want = nanHigh(a), place, g, w
				}
				if r := relative(g, w); r > maxRel {
					maxRel, d.AtRel = r, place
				}
				d.MaxULP = max(d.MaxULP, ulps(g, w))
			}
		}
		d.ByPosition[p] = math.Sqrt(here.nmse())
		sum.merge(here)
	}
	d.MaxAbs, d.MaxRel, d.NMSE = max(maxAbs, 0), max(maxRel, 0), sum.nmse()
	d.Scale, d.ScaleRest = sum.scale()
	return d, nil
}

func nowhere(l Layout) Where {
	return Where{Prompt: l.Prompt, Layer: l.Layer, Head: -1, Position: -1, Index: -1}
}

func (l Layout) where(h, p, i int) Where {
	if l.Heads == 0 {
		h = -1
	}
	return Where{Prompt: l.Prompt, Layer: l.Layer, Head: h, Position: l.First + p, Index: i}
}

// moments are the sums from which relative errors and the best factor follow.
type moments struct{ dd, ww, gw, gg float64 }

// add counts a pair and says whether ours is finite; others count as an infinite difference.
func (m *moments) add(g, w float32) bool {
	x, y := float64(g), float64(w)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		m.dd = math.Inf(1)
		return false
	}
	m.dd += (x - y) * (x - y)
	m.ww += y * y
	m.gw += x * y
	m.gg += x * x
	return true
}

func (m *moments) merge(o moments) {
	m.dd, m.ww, m.gw, m.gg = m.dd+o.dd, m.ww+o.ww, m.gw+o.gw, m.gg+o.gg
}

func (m *moments) nmse() float64 {
	if m.dd == 0 {
		return 0
	}
	return m.dd / m.ww
}

// scale is the least-squares s of got = s*want and the relative RMS that remains.
func (m *moments) scale() (s, rest float64) {
	if m.ww == 0 || m.gg == 0 {
		return 1, 0
	}
	return m.gw / m.ww, math.Sqrt(max(0, m.gg-m.gw*m.gw/m.ww) / m.gg)
}

// relative is |g-w| / max(|g|, |w|).
func relative(g, w float32) float64 {
	x, y := float64(g), float64(w)
	d, m := math.Abs(x-y), max(math.Abs(x), math.Abs(y))
	if d == 0 {
		return 0
	}
	return nanHigh(d / m)
}

func nanHigh(x float64) float64 {
	if x != x {
		return math.Inf(1)
	}
	return x
}

// ulps is how many representable values lie between a and b; -0 and 0 are one.
func ulps(a, b float32) uint32 {
	order := func(x float32) int64 {
		u := int64(math.Float32bits(x))
		if u >= 1<<31 {
			return 1<<31 - u
		}
		return u
	}
	d := order(a) - order(b)
	return uint32(max(d, -d))
}
