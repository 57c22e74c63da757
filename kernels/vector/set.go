package vector

import "assay/kernels/cpu"

// Set is one implementation of every operation. Slices that belong together
// have the same length; nothing is allocated.
type Set struct {
	Level cpu.Level

	// RMSNorm writes dst[k] = (x[k] * 1/sqrt(mean x^2 + eps)) * w[k]. dst may be x.
	RMSNorm func(dst, x, w []float32, eps float32)

	// RotateHalves rotates the pairs (i, i+len(cos)) of one head in place;
	// values beyond 2*len(cos) stay.
	RotateHalves func(head, cos, sin []float32)

	// RotateAdjacent rotates the pairs (2i, 2i+1) of one head in place. The tables
	// are doubled: cos[2i] = cos[2i+1], sin[2i] = -sin[2i+1].
	RotateAdjacent func(head, cos, sin []float32)

	// SiLUMul writes dst = silu(gate)*up; GELUMul with the tanh form of GELU. dst
	// may be gate.
	SiLUMul, GELUMul func(dst, gate, up []float32)

	// Add adds x to dst.
	Add func(dst, x []float32)

	// NarrowF16 rounds x to F16.
	NarrowF16 func(dst []uint16, x []float32)

	// Quantise32 and Quantise256 round x into one column of a panel: col starts at
	// the column's first dword, consecutive dwords are stride bytes apart. Panel
	// rows are those of kernels/matmul.
	Quantise32, Quantise256 func(x []float32, col []byte, stride int)
}

// Sets lists every implementation in this build, scalar first.
func Sets() []*Set { return sets }

var sets = []*Set{&scalar}

// For returns the best implementation at or below a level.
func For(level cpu.Level) *Set {
	best := sets[0]
	for _, s := range sets {
		if s.Level <= level && s.Level >= best.Level {
			best = s
		}
	}
	return best
}
