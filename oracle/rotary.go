package oracle

import "math"

// RotaryTrace says in which way keys differ, as far as that tells about the rotary embedding. A rotation keeps the length of a
// key and of each pair of its elements, and turns nothing at position 0.
type RotaryTrace struct {
	Norms    float64 // relative RMS of the difference of whole key lengths
	Pairs    float64 // the same of the lengths of the recorded pairs
	Swapped  float64 // relative RMS of the difference when the order adjacent/halves is exchanged
	AtZero   float64 // relative RMS at position 0; NaN when it is not held
	FirstOff int     // first pair that is turned wrongly; -1: none
	// Turn is by how much the fastest pair is turned too far per position, in radians.
	Turn float64
}

func traceRotary(got, want []float32, l Layout, order KeyOrder) *RotaryTrace {
	r := &RotaryTrace{AtZero: math.NaN(), FirstOff: -1}
	half := l.Width / 2
	pair := func(i int) (int, int) {
		if order == Adjacent {
			return 2 * i, 2*i + 1
		}
		return i, i + half
	}
	var norms, pairs, zero moments
	vectors := len(want) / l.Width
	for v := range vectors {
		g, w := got[v*l.Width:(v+1)*l.Width], want[v*l.Width:(v+1)*l.Width]
		norms.add(length(g...), length(w...))
		for i := range half {
			a, b := pair(i)
			pairs.add(length(g[a], g[b]), length(w[a], w[b]))
		}
		if l.First+v%l.Positions == 0 {
			for i := range g {
				zero.add(g[i], w[i])
			}
			r.AtZero = math.Sqrt(zero.nmse())
		}
	}
	r.Norms, r.Pairs = math.Sqrt(norms.nmse()), math.Sqrt(pairs.nmse())
	r.Swapped = r.swapped(got, want, l.Width)
	for i := range half {
		a, b := pair(i)
		t := turn(got, want, l, a, b)
		if i == 0 {
			r.Turn = t
		}
		if r.FirstOff < 0 && math.Abs(t) > 1e-4 {
			r.FirstOff = i
		}
	}
	return r
}

func (r *RotaryTrace) swapped(got, want []float32, width int) float64 {
	best := math.Inf(1)
	for _, x := range [][]float32{AdjacentToHalves(got, width), HalvesToAdjacent(got, width)} {
		var m moments
		for i := range x {
			m.add(x[i], want[i])
		}
		best = min(best, math.Sqrt(m.nmse()))
	}
	return best
}

// turn is by how much the angle between our pair (a, b) and the recorded one grows from a position to the next, in radians: the
// mean, weighted by length. Growth, unlike the angle itself, does not wrap around at later positions.
func turn(got, want []float32, l Layout, a, b int) float64 {
	sum, weight := 0.0, 0.0
	for h := range max(l.Heads, 1) {
		var lastAngle, lastLength float64
		for p := range l.Positions {
			v := (h*l.Positions + p) * l.Width
			gx, gy, wx, wy := float64(got[v+a]), float64(got[v+b]), float64(want[v+a]), float64(want[v+b])
			angle, n := math.Atan2(gy*wx-gx*wy, gx*wx+gy*wy), math.Hypot(wx, wy)
			if p > 0 {
				w := min(n, lastLength)
				sum += w * math.Remainder(angle-lastAngle, 2*math.Pi)
				weight += w
			}
			lastAngle, lastLength = angle, n
		}
	}
	if weight == 0 {
		return 0
	}
	return sum / weight
}

func length(x ...float32) float32 {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return float32(math.Sqrt(s))
}
