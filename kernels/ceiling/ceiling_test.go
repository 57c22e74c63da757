package ceiling

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/kernels/cpu"
)

func TestEveryLevelGivesFigures(t *testing.T) {
	for _, level := range cpu.Supported() {
		for _, threads := range []int{1, 2} {
			t.Run(fmt.Sprint(level, threads), func(t *testing.T) {
				f, err := Measure(Options{Level: level, Threads: threads, Bytes: 3<<20 + 1, Passes: 2})
				require.NoError(t, err)
				assert.Equal(t, level, f.Level)
				assert.Equal(t, threads, f.Threads)
				assert.Positive(t, f.ReadGBs)
				assert.Positive(t, f.Int8GMACs)
			})
		}
	}
}

func TestReadingSeesEveryByte(t *testing.T) {
	for _, l := range levels {
		if l.level > cpu.Detected() {
			continue
		}
		p := make([]byte, 1024)
		for _, at := range []int{0, 255, 256, 600, 1023} {
			p[at] = 7
			// The vector loops give the fold of their first eight bytes only.
			if l.level == cpu.Scalar || at%32 < 8 {
				assert.NotZero(t, l.read(p), "%s, byte %d", l.level, at)
			}
			p[at] = 0
		}
		assert.Zero(t, l.read(p[:0]))
	}
}

func TestScalarMultiplicationsStay(t *testing.T) {
	act := make([]byte, 64)
	act[0], act[4] = 3, 5
	assert.Equal(t, uint64(7*(3*3+3*5)), multiplyScalar(act, 7))
}

func TestLoopsForTakesTheBestAtOrBelow(t *testing.T) {
	assert.Equal(t, cpu.Scalar, loopsFor(cpu.Scalar).level)
	assert.Equal(t, levels[len(levels)-1].level, loopsFor(cpu.Level(255)).level)
}

func TestMedianIsTheLowerMiddle(t *testing.T) {
	assert.Equal(t, 2.0, median([]float64{3, 2, 1, 9}))
	assert.Equal(t, 3.0, median([]float64{3, 2, 9}))
}

func BenchmarkCeilings(b *testing.B) {
	for _, level := range cpu.Supported() {
		b.Run(level.String(), func(b *testing.B) {
			for b.Loop() {
				f, err := Measure(Options{Level: level})
				require.NoError(b, err)
				b.ReportMetric(f.ReadGBs, "GB/s")
				b.ReportMetric(f.Int8GMACs, "GMAC/s")
			}
		})
	}
}
