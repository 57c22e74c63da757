package arith

import "math"

// FMA32 returns a*b + c rounded once to float32.
//
// The product of two float32 is exact in float64. The float64 sum is rounded,
// and rounding it again to float32 is wrong only when the first rounding landed
// on a midpoint of two float32 values (or when the result is subnormal, where
// the midpoints lie elsewhere); these cases go to fmaExact.
func FMA32(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := p + float64(c)
	u := math.Float64bits(s)
	if u&(1<<29-1) == 1<<28 || u>>52&0x7ff < 0x381 {
		return fmaExact(p, float64(c), s)
	}
	return float32(s)
}

// fmaExact rounds p + c to float32 by rounding the float64 sum to odd first:
// a sum with a remainder gets its last bit set, so that the second rounding
// sees on which side of a midpoint the exact value lies.
func fmaExact(p, c, s float64) float32 {
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return float32(s)
	}
	// TwoSum (Knuth): s + e == p + c exactly.
	bb := s - p
	e := float64(p-float64(s-bb)) + float64(c-bb)
	if e == 0 {
		return float32(s)
	}
	u := math.Float64bits(s)
	if u&1 == 0 {
		if (e > 0) == (s > 0) {
			u++
		} else {
			u--
		}
	}
	return float32(math.Float64frombits(u))
}
