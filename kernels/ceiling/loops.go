package ceiling

import (
	"encoding/binary"
	"slices"

	"assay/kernels/cpu"
)

// loops are the innermost loops of one level.
type loops struct {
	level cpu.Level
	// read reads p, whose length is a multiple of 256, and folds it into a value.
	read func(p []byte) uint64
	// multiply does n rounds of int8 multiply-adds with the 64 bytes of act.
	multiply func(act []byte, n int) uint64
	round    int // multiply-adds of one round
}

var levels = []loops{{level: cpu.Scalar, read: readScalar, multiply: multiplyScalar, round: 64}}

// loopsFor gives the best loops at or below a level.
func loopsFor(level cpu.Level) loops {
	best := levels[0]
	for _, l := range levels {
		if l.level <= level && l.level >= best.level {
			best = l
		}
	}
	return best
}

func readScalar(p []byte) uint64 {
	var a, b, c, d uint64
	for len(p) >= 32 {
		a ^= binary.LittleEndian.Uint64(p)
		b ^= binary.LittleEndian.Uint64(p[8:])
		c ^= binary.LittleEndian.Uint64(p[16:])
		d ^= binary.LittleEndian.Uint64(p[24:])
		p = p[32:]
	}
	return a ^ b ^ c ^ d
}

// multiplyScalar has four chains, which is what a scalar core can overlap and
// what the portable tiles come to at best.
func multiplyScalar(act []byte, n int) uint64 {
	q := act[:64]
	var w [4]int32
	for i := range w {
		w[i] = int32(int8(q[i])) // not constants: the multiplications must stay
	}
	var a, b, c, d int32
	for range n {
		for i := 0; i < len(q); i += 4 {
			a += w[0] * int32(int8(q[i]))
			b += w[1] * int32(int8(q[i+1]))
			c += w[2] * int32(int8(q[i+2]))
			d += w[3] * int32(int8(q[i+3]))
		}
	}
	return uint64(uint32(a)) ^ uint64(uint32(b))<<1 ^ uint64(uint32(c))<<2 ^ uint64(uint32(d))<<3
}

// median is the middle value, the lower one of two.
func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return s[(len(s)-1)/2]
}
