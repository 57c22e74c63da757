package attention

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/kernels/arith"
	"assay/kernels/cpu"
)

func runnable() []*Set {
	var r []*Set
	for _, s := range Sets() {
		if s.Level <= cpu.Detected() {
			r = append(r, s)
		}
	}
	return r
}

func gauss(r *rand.Rand, n int, scale float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * scale)
	}
	return x
}

// filled makes a head with n positions; k and v are the stored values.
func filled(r *rand.Rand, n, headDim int, f16 bool) (h *Head, k, v [][]float32) {
	h = &Head{HeadDim: headDim, F16: f16}
	kb, vb := h.Bytes((n + 15) &^ 15)
	h.K, h.V = make([]byte, kb), make([]byte, vb)
	k, v = make([][]float32, n), make([][]float32, n)
	for pos := range n {
		k[pos], v[pos] = gauss(r, headDim, 1), gauss(r, headDim, 1)
		if f16 {
			k16, v16 := make([]uint16, headDim), make([]uint16, headDim)
			for d := range k16 {
				k16[d], v16[d] = arith.ToF16(k[pos][d]), arith.ToF16(v[pos][d])
			}
			h.PutF16(pos, k16, v16)
		} else {
			h.PutF32(pos, k[pos], v[pos])
		}
		h.Get(pos, k[pos], v[pos])
	}
	return h, k, v
}

func TestEveryImplementationGivesTheBitsOfTheContract(t *testing.T) {
	for _, s := range runnable() {
		t.Run(s.Level.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(31, 32))
			for trial := range 120 {
				headDim := []int{4, 16, 20, 64, 80}[trial%5]
				C, step := 1+trial%MaxColumns, trial/7%2
				keys := 1 + r.IntN(150)
				if trial%8 == 0 {
					keys = arith.AttentionSplit - 2 + r.IntN(70)
				}
				if s.Level == cpu.Scalar {
					keys = min(keys, arith.AttentionSplit+5)
				}
				h, k, v := filled(r, keys+(C-1)*step, headDim, trial%2 == 0)
				q := gauss(r, C*headDim, 2)
				out := make([]float32, C*headDim)
				window := 0
				if trial%3 == 1 {
					window = 1 + r.IntN(keys+20)
				}
				s.Attend(h, &Queries{Q: q, LdQ: headDim, C: C, Keys: keys, Step: step, Window: window, Scale: 0.3, Out: out, LdOut: headDim}, NewScratch(headDim))
				for c := range C {
					want := make([]float32, headDim)
					n := keys + c*step
					first := 0
					if window > 0 {
						first = max(n-window, 0)
					}
					arith.Attention(want, q[c*headDim:(c+1)*headDim], k[:n], v[:n], first, 0.3)
					for d := range want {
						require.Equal(t, math.Float32bits(want[d]), math.Float32bits(out[c*headDim+d]), "trial %d: %d keys, window %d, head dim %d, column %d of %d, value %d: want %g, got %g", trial, n, window, headDim, c, C, d, want[d], out[c*headDim+d])
					}
				}
			}
		})
	}
}

func TestLaterKeysNeverReachAnEarlierQuery(t *testing.T) {
	for _, s := range runnable() {
		r := rand.New(rand.NewPCG(33, 34))
		h, _, _ := filled(r, 70, 16, false)
		nan := gauss(r, 16, 1)
		nan[3] = float32(math.NaN())
		h.PutF32(69, nan, nan)
		q := gauss(r, 2*16, 1)
		out := make([]float32, 2*16)
		s.Attend(h, &Queries{Q: q, LdQ: 16, C: 2, Keys: 69, Step: 1, Scale: 1, Out: out, LdOut: 16}, NewScratch(16))
		for d := range 16 {
			assert.False(t, math.IsNaN(float64(out[d])), "query 0 does not see position 69")
			assert.True(t, math.IsNaN(float64(out[16+d])), "query 1 sees it, and a NaN must show")
		}
	}
}

func TestAttentionAllocatesNothing(t *testing.T) {
	s := For(cpu.Detected())
	h, _, _ := filled(rand.New(rand.NewPCG(1, 2)), 40, 64, true)
	q, out, w := make([]float32, 64), make([]float32, 64), NewScratch(64)
	queries := &Queries{Q: q, LdQ: 64, C: 1, Keys: 40, Scale: 1, Out: out, LdOut: 64}
	assert.Zero(t, testing.AllocsPerRun(10, func() { s.Attend(h, queries, w) }))
}

func TestEveryLevelOfThisMachineHasAFastImplementation(t *testing.T) {
	for _, l := range cpu.Supported() {
		if s := For(l); l == cpu.Scalar {
			assert.Equal(t, cpu.Scalar, s.Level)
		} else {
			assert.GreaterOrEqual(t, s.Level, cpu.AVX2, "fell back to scalar at %s", l)
		}
	}
}
