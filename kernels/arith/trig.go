package arith

import "math"

// The tables of the rotary embedding are made in float64 from the four basic
// operations only, each product rounded on its own, so that every architecture
// gets the same bits. The standard library's functions are not used: some of
// them have assembly of their own on some machines, and their Go code may be
// compiled with fused operations.

// Pi/2 in three parts of 33 bits: n times the first two is exact for n < 2^20.
const (
	halfPi1 = 1.57079632673412561417e+00
	halfPi2 = 6.07710050630396597660e-11
	halfPi3 = 2.02226624879595063154e-21
	twoOvPi = 0.63661977236758134308
)

// SinCos gives sine and cosine of a finite angle of at most 2^20 radians, good
// to about 1e-15, the same bits on every architecture.
func SinCos(x float64) (sin, cos float64) {
	n := math.RoundToEven(float64(x * twoOvPi))
	r := x - float64(n*halfPi1)
	r = r - float64(n*halfPi2)
	r = r - float64(n*halfPi3)
	s, c := sinPoly(r), cosPoly(r)
	switch int64(n) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}

// sinPoly is the Taylor series of sin up to r^17 on |r| <= pi/4; the first
// omitted term is below 2^-60.
func sinPoly(r float64) float64 {
	z := float64(r * r)
	p := 1.0
	for k := 16.0; k >= 2; k -= 2 {
		p = 1 - float64(float64(z*p)/float64(k*(k+1)))
	}
	return float64(r * p)
}

// cosPoly is the Taylor series of cos up to r^18.
func cosPoly(r float64) float64 {
	z := float64(r * r)
	p := 1.0
	for k := 17.0; k >= 1; k -= 2 {
		p = 1 - float64(float64(z*p)/float64(k*(k+1)))
	}
	return p
}

// Log is the natural logarithm of a positive finite number by the series of
// atanh: x = m*2^e with m in [sqrt(1/2), sqrt 2), ln m = 2 atanh((m-1)/(m+1)).
func Log(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	t := (m - 1) / (m + 1)
	z := float64(t * t)
	s := 0.0
	for k := 41.0; k >= 1; k -= 2 {
		s = float64(s*z) + 1/k
	}
	return float64(float64(2*t)*s) + float64(float64(e)*math.Ln2)
}

// ExpWide is e^x in float64, for |x| below 700: e^x = (e^r)^(2^n) is avoided by
// the usual split x = n ln2 + r and a Taylor series of 22 terms.
func ExpWide(x float64) float64 {
	n := math.RoundToEven(x / math.Ln2)
	const hi, lo = 6.93147180369123816490e-01, 1.90821492927058770002e-10
	r := x - float64(n*hi)
	r = r - float64(n*lo)
	p := 1.0
	for k := 22.0; k >= 1; k-- {
		p = 1 + float64(float64(r*p)/k)
	}
	return math.Ldexp(p, int(n))
}

// Pow is base^y for a positive base.
func Pow(base, y float64) float64 { return ExpWide(float64(y * Log(base))) }
