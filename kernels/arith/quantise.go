package arith

import "math"

// Activation rounding works on blocks of 32 values (most formats) or 256
// (K-quants). d = amax/127, q = rne(x * (127/amax)). The scale stays float32.
//
// A block whose largest magnitude is below 2^-100 counts as zero: d = 0, all
// q = 0. A block with an infinity or NaN gets d = NaN and all q = 0, so that
// the products become NaN instead of something plausible. -128 never appears.

const tiny = 0x0d800000 // bits of 2^-100

// QuantiseBlock rounds x into q (same length) and returns the scale and the
// exact sum of q.
func QuantiseBlock(q []int8, x []float32) (d float32, sum int32) {
	var amax uint32 // magnitudes compare like their bits; NaN is the largest
	for _, v := range x {
		amax = max(amax, math.Float32bits(v)&0x7fffffff)
	}
	if amax < tiny || amax >= 0x7f800000 {
		clear(q)
		if amax < tiny {
			return 0, 0
		}
		return float32(math.NaN()), 0
	}
	m := math.Float32frombits(amax)
	d = m / 127
	id := 127 / m
	for i, v := range x {
		n := int32(math.RoundToEven(float64(float32(v * id))))
		q[i] = int8(n)
		sum += n
	}
	return d, sum
}
