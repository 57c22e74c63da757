package vector

import (
	"math"
	"testing"
)

// wave is the input of benchmarks: sin(0.013*i).
func wave(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(0.013 * float64(i)))
	}
	return x
}

// eachLevel runs a benchmark on every implementation that this machine can run;
// bytes are what one call must read, so that
// MB/s can be set against how fast a core reads its cache.
func eachLevel(b *testing.B, bytes int, run func(s *Set)) {
	for _, s := range runnable() {
		b.Run(s.Level.String(), func(b *testing.B) {
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			for b.Loop() {
				run(s)
			}
		})
	}
}

// The inputs are written over where an operation works in place, as it does in
// the engine; norms and rotations keep their size.

func BenchmarkRMSNorm3584(b *testing.B) {
	x, w := wave(3584), make([]float32, 3584)
	for i := range w {
		w[i] = 1
	}
	eachLevel(b, 2*4*3584, func(s *Set) { s.RMSNorm(x, x, w, 1e-6) })
}

func BenchmarkGELUMul8192(b *testing.B) {
	dst, gate, up := make([]float32, 8192), wave(8192), wave(8192)
	eachLevel(b, 2*4*8192, func(s *Set) { s.GELUMul(dst, gate, up) })
}

func BenchmarkSiLUMul8192(b *testing.B) {
	dst, gate, up := make([]float32, 8192), wave(8192), wave(8192)
	eachLevel(b, 2*4*8192, func(s *Set) { s.SiLUMul(dst, gate, up) })
}

func BenchmarkAdd3584(b *testing.B) {
	dst, x := make([]float32, 3584), wave(3584)
	eachLevel(b, 2*4*3584, func(s *Set) { s.Add(dst, x) })
}

func BenchmarkNarrowF16x3584(b *testing.B) {
	dst, x := make([]uint16, 3584), wave(3584)
	eachLevel(b, 4*3584, func(s *Set) { s.NarrowF16(dst, x) })
}

// rotary turns heads at position 7 through a number of pairs.
func rotary(b *testing.B, heads, headDim, pairs int, theta float64) {
	x := wave(heads * headDim)
	cos, sin := make([]float32, pairs), make([]float32, pairs)
	for i := range pairs {
		angle := 7 * math.Pow(theta, -float64(i)/float64(pairs))
		cos[i], sin[i] = float32(math.Cos(angle)), float32(math.Sin(angle))
	}
	eachLevel(b, 2*4*heads*2*pairs, func(s *Set) {
		for h := range heads {
			s.RotateHalves(x[h*headDim:][:headDim], cos, sin)
		}
	})
}

func BenchmarkRotarySliding(b *testing.B) { rotary(b, 8, 256, 128, 1e4) }
func BenchmarkRotaryFull(b *testing.B)    { rotary(b, 8, 512, 64, 1e6) }
func BenchmarkRotaryQwen(b *testing.B)    { rotary(b, 32, 128, 64, 1e6) }

func BenchmarkQuantise32x3584(b *testing.B) {
	x := wave(3584)
	const stride = 4
	col := make([]byte, 4*(3584/4+3584/32*3)*2)
	eachLevel(b, 4*3584, func(s *Set) { s.Quantise32(x, col, stride) })
}
