package attention

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"assay/kernels/memory"
)

func guarded(t *testing.T, n int, front bool) []byte {
	t.Helper()
	g, err := memory.NewGuarded(n, front)
	require.NoError(t, err)
	t.Cleanup(func() { _ = g.Free() })
	return g.Data
}

func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

func TestAttentionStaysInsideItsMemory(t *testing.T) {
	for _, s := range runnable() {
		for _, f16 := range []bool{false, true} {
			for _, front := range []bool{false, true} {
				for C := 1; C <= MaxColumns; C++ {
					const headDim, positions = 20, 80
					h, _, _ := filled(rand.New(rand.NewPCG(1, 2)), positions, headDim, f16)
					k, v := guarded(t, len(h.K), front), guarded(t, len(h.V), front)
					copy(k, h.K)
					copy(v, h.V)
					h.K, h.V = k, v
					q, out := floats(guarded(t, 4*C*headDim, front)), floats(guarded(t, 4*C*headDim, front))
					s.Attend(h, &Queries{Q: q, LdQ: headDim, C: C, Keys: positions - C + 1, Step: 1, Scale: 1, Out: out, LdOut: headDim}, NewScratch(headDim))
				}
			}
		}
	}
}
