package ceiling

import (
	"testing"

	"assay/kernels/cpu"
)

// What one core can do at most is what the benchmarks of kernels are set against:
// BenchmarkCacheRead reads 16 KiB that lie in its first cache, BenchmarkInt8
// multiplies operands in registers.

func BenchmarkCacheRead(b *testing.B) {
	p := make([]byte, 16<<10)
	for _, l := range levels {
		if l.level > cpu.Detected() {
			continue
		}
		b.Run(l.level.String(), func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				l.read(p)
			}
		})
	}
}

func BenchmarkInt8(b *testing.B) {
	act := make([]byte, 64)
	for i := range act {
		act[i] = byte(i - 32)
	}
	const rounds = 1 << 12
	for _, l := range levels {
		if l.level > cpu.Detected() {
			continue
		}
		b.Run(l.level.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.multiply(act, rounds)
			}
			b.ReportMetric(float64(b.N)*rounds*float64(l.round)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}
