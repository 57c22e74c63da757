package attention

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/kernels/arith"
)

// Scores that overflow, vanish or are no numbers must come out as the contract
// says; of a NaN only that it is one.
func TestInfinitiesNaNsAndHugeScoresPassThroughAsTheContractSays(t *testing.T) {
	special := []float32{0, float32(math.Copysign(0, -1)), 1e-42, 60000, -60000, 1e30, -1e30, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	for _, s := range runnable() {
		t.Run(s.Level.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(53, 54))
			for trial := range 60 {
				const headDim = 20
				C, keys := 1+trial%MaxColumns, 1+r.IntN(140)
				h, k, v := filled(r, keys+C-1, headDim, trial%2 == 0)
				for range 1 + trial%3 { // spoils some positions
					pos, d := r.IntN(len(k)), r.IntN(headDim)
					x := special[r.IntN(len(special))]
					if r.IntN(2) == 0 {
						k[pos][d] = x
					} else {
						v[pos][d] = x
					}
					if h.F16 {
						k16, v16 := make([]uint16, headDim), make([]uint16, headDim)
						for i := range k16 {
							k16[i], v16[i] = arith.ToF16(k[pos][i]), arith.ToF16(v[pos][i])
						}
						h.PutF16(pos, k16, v16)
					} else {
						h.PutF32(pos, k[pos], v[pos])
					}
					h.Get(pos, k[pos], v[pos])
				}
				q, out := gauss(r, C*headDim, 2), make([]float32, C*headDim)
				if trial%5 == 0 {
					q[r.IntN(len(q))] = special[r.IntN(len(special))]
				}
				s.Attend(h, &Queries{Q: q, LdQ: headDim, C: C, Keys: keys, Step: 1, Scale: 0.3, Out: out, LdOut: headDim}, NewScratch(headDim))
				for c := range C {
					want := make([]float32, headDim)
					arith.Attention(want, q[c*headDim:(c+1)*headDim], k[:keys+c], v[:keys+c], 0, 0.3)
					for d, w := range want {
						got := out[c*headDim+d]
						if w != w && got != got {
							continue
						}
						require.Equal(t, math.Float32bits(w), math.Float32bits(got), "trial %d: %d keys, column %d of %d, value %d: want %g, got %g", trial, keys+c, c, C, d, w, got)
					}
				}
			}
		})
	}
}
