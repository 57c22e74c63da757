package matmul

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"assay/kernels/cpu"
	"assay/kernels/quant"
	"assay/kernels/vector"
)

// product multiplies 2048 rows of 1536 weights with one token, and with as many
// as a panel takes, on one thread. MB/s counts the weights.
func product(b *testing.B, f quant.Type) {
	const rows, cols = 2048, 1536
	raw := rawRows(rand.New(rand.NewPCG(1, 2)), f, rows, cols, false)
	x := make([]float32, cols)
	for i := range x {
		x[i] = float32(math.Sin(0.013 * float64(i)))
	}
	unit := "GMAC/s" // of int8
	if RoundingOf(f) == Float {
		unit = "GFMA/s"
	}
	w := tiled(b, f, raw, rows, cols)
	for _, level := range cpu.Supported() {
		k := Lookup(f, level)
		if k == nil || k.Level != level {
			continue
		}

		for _, tokens := range []int{1, k.Rounding.Columns()} {
			b.Run(fmt.Sprintf("%s/tokens=%d", level, tokens), func(b *testing.B) {
				panel := make([]byte, tokens*k.Rounding.ColumnBytes(cols))
				for c := range tokens {
					k.Rounding.Pack(vector.For(level), x, panel, c, tokens)
				}
				out := make([]float32, tokens*rows)
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					k.Multiply(w, rows, cols, panel, tokens, out, rows)
				}
				b.ReportMetric(float64(rows*cols*tokens)*float64(b.N)/b.Elapsed().Seconds()/1e9, unit)
			})
		}
	}
}

func BenchmarkProductF32(b *testing.B)  { product(b, quant.F32) }
func BenchmarkProductF16(b *testing.B)  { product(b, quant.F16) }
func BenchmarkProductBF16(b *testing.B) { product(b, quant.BF16) }
func BenchmarkProductQ4_0(b *testing.B) { product(b, quant.Q4_0) }
func BenchmarkProductQ4_1(b *testing.B) { product(b, quant.Q4_1) }
func BenchmarkProductQ8_0(b *testing.B) { product(b, quant.Q8_0) }
func BenchmarkProductQ6_K(b *testing.B) { product(b, quant.Q6_K) }
