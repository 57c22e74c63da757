package arith

import "math"

// SumSquares adds x[k]^2: lane k mod 16 takes fma(x, x, lane), ascending, then
// Tree16.
func SumSquares(x []float32) float32 {
	var l [16]float32
	for k, v := range x {
		l[k&15] = FMA32(v, v, l[k&15])
	}
	return Tree16(&l)
}

// InverseRMS is 1 / sqrt(sum/n + eps), each step rounded to float32.
func InverseRMS(sum float32, n int, eps float32) float32 {
	return 1 / float32(math.Sqrt(float64(float32(sum/float32(n))+eps)))
}

// RMSNorm writes dst[k] = (x[k] * inverse RMS) * w[k].
func RMSNorm(dst, x, w []float32, eps float32) {
	inv := InverseRMS(SumSquares(x), len(x), eps)
	for k, v := range x {
		dst[k] = float32(v*inv) * w[k]
	}
}
