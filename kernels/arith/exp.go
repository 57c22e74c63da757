package arith

import "math"

// Constants of Exp: natural logarithm of two in two parts (the first has few
// bits, so that n*ExpLn2Hi is exact) and a polynomial for (e^r - 1 - r)/r^2 on
// |r| <= ln2/2. The coefficients are those of the Cephes library's expf.
const (
	ExpLog2E float32 = 1.44269504088896341
	ExpLn2Hi float32 = 0.693359375
	ExpLn2Lo float32 = -2.12194440e-4
	ExpP0    float32 = 1.9875691500e-4
	ExpP1    float32 = 1.3981999507e-3
	ExpP2    float32 = 8.3334519073e-3
	ExpP3    float32 = 4.1665795894e-2
	ExpP4    float32 = 1.6666665459e-1
	ExpP5    float32 = 5.0000001201e-1
	ExpMax   float32 = 88.0  // larger arguments give e^88
	ExpMin   float32 = -86.5 // smaller arguments give 0
)

// Exp is e^x. With n = rne(x*log2 e) and r = x - n*ln2 (two fused steps):
// e^x = 2^n * (1 + (r + r^2 p(r))), p by Horner with fused steps. Relative
// error below 3e-7 on the whole range; below ExpMin the result is +0.
func Exp(x float32) float32 {
	if x < ExpMin {
		return 0
	}
	if x > ExpMax {
		x = ExpMax
	}
	n := float32(math.RoundToEven(float64(float32(x * ExpLog2E))))
	r := FMA32(n, -ExpLn2Hi, x)
	r = FMA32(n, -ExpLn2Lo, r)
	p := FMA32(ExpP0, r, ExpP1)
	p = FMA32(p, r, ExpP2)
	p = FMA32(p, r, ExpP3)
	p = FMA32(p, r, ExpP4)
	p = FMA32(p, r, ExpP5)
	y := FMA32(p, float32(r*r), r) + 1
	if y != y {
		return y
	}
	return math.Float32frombits(math.Float32bits(y) + uint32(int32(n))<<23)
}

// SiLUMul is the gated activation silu(g)*u = (g / (1 + e^-g)) * u.
func SiLUMul(g, u float32) float32 {
	return float32(g/(1+Exp(-g))) * u
}

// Constants of GELUMul: -2*sqrt(2/pi) and that times 0.044715.
const (
	GELUC0 float32 = -1.5957691216057308
	GELUC1 float32 = -0.07135481282636613
)

// GELUMul is the gated activation gelu(g)*u in the tanh form, written with the
// logistic function: g / (1 + e^(g*(c0 + c1*g^2))) * u.
func GELUMul(g, u float32) float32 {
	t := FMA32(float32(g*g), GELUC1, GELUC0)
	return float32(g/(1+Exp(float32(t*g)))) * u
}
