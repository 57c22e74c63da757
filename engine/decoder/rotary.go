package decoder

import (
	"math"

	"assay/engine/checkpoint"
	"assay/kernels/arith"
)

// Rotary is the rotary embedding of an architecture.
type Rotary struct {
	Dim      int       // leading elements of a head that are rotated
	Adjacent bool      // pairs (2i, 2i+1) instead of (i, i+Dim/2)
	Freq     []float32 // [Dim/2] angle per position, rounded to float32
}

func inverseSqrt(n int) float32 { return float32(1 / math.Sqrt(float64(n))) }

// newRotary computes f_i = base^(-2i/dim) in float64 and rounds it to float32,
// then applies the scaling: linear divides by the factor; llama3 keeps short
// wavelengths, divides long ones and blends between; GGUF stores the divisors of
// the same rule.
func newRotary(c *checkpoint.Rope) Rotary {
	r := Rotary{Dim: c.Dim, Adjacent: c.Pairing == checkpoint.Adjacent, Freq: make([]float32, c.Dim/2)}
	for i := range r.Freq {
		f := float64(float32(arith.Pow(c.Base, -float64(2*i)/float64(c.Dim))))
		switch {
		case c.Divisors != nil:
			f /= float64(c.Divisors[i])
		case c.Scaling == checkpoint.ScaleLinear:
			f /= c.Factor
		case c.Scaling == checkpoint.ScaleLlama3:
			f = llama3Frequency(f, c)
		}
		r.Freq[i] = float32(f)
	}
	return r
}

func llama3Frequency(f float64, c *checkpoint.Rope) float64 {
	wavelength := 2 * math.Pi / f
	n := float64(c.OriginalContext)
	switch {
	case wavelength < n/c.HighFreq:
		return f
	case wavelength > n/c.LowFreq:
		return f / c.Factor
	}
	m := (n/wavelength - c.LowFreq) / (c.HighFreq - c.LowFreq)
	return float64((1-m)*f)/c.Factor + float64(m*f)
}

// width is the number of table entries per position: doubled tables for
// adjacent pairs, see vector.Set.RotateAdjacent.
func (r *Rotary) width() int {
	if r.Adjacent {
		return r.Dim
	}
	return r.Dim / 2
}

// table fills cos and sin of one position; the angle is float32(pos)*f rounded
// to float32.
func (r *Rotary) table(pos int, cos, sin []float32) {
	for i, f := range r.Freq {
		s, c := arith.SinCos(float64(float32(float32(pos) * f)))
		if r.Adjacent {
			cos[2*i], cos[2*i+1] = float32(c), float32(c)
			sin[2*i], sin[2*i+1] = -float32(s), float32(s)
		} else {
			cos[i], sin[i] = float32(c), float32(s)
		}
	}
}
