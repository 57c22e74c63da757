package matmul

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"assay/kernels/cpu"
	"assay/kernels/memory"
	"assay/kernels/vector"
)

// guarded copies b to memory with untouchable pages on both sides.
func guarded(t *testing.T, b []byte, front bool) []byte {
	t.Helper()
	g, err := memory.NewGuarded(len(b), front)
	require.NoError(t, err)
	t.Cleanup(func() { _ = g.Free() })
	copy(g.Data, b)
	return g.Data
}

func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

func TestKernelsStayInsideTheirMemory(t *testing.T) {
	for _, k := range Kernels() {
		if k.Level > cpu.Detected() {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s", k.Format, k.Name), func(t *testing.T) {
			r := rand.New(rand.NewPCG(41, 42))
			cols, rows := 2*max(k.Format.BlockSize(), 16), 32
			raw := rawRows(r, k.Format, rows, cols, false)
			tiles := tiled(t, k.Format, raw, rows, cols)
			for C := 1; C <= len(k.Columns); C++ {
				for _, front := range []bool{false, true} {
					w := guarded(t, tiles, front)
					panel := guarded(t, make([]byte, C*k.Rounding.ColumnBytes(cols)), front)
					for c := range C {
						x := guarded(t, make([]byte, 4*cols), front)
						for i := range floats(x) {
							floats(x)[i] = float32(r.NormFloat64())
						}
						k.Rounding.Pack(vector.For(k.Level), floats(x), panel, c, C)
					}
					out := floats(guarded(t, make([]byte, 4*C*rows), front))
					k.Multiply(w, rows, cols, panel, C, out, rows)
					for _, v := range out {
						require.False(t, math.IsNaN(float64(v)))
					}
				}
			}
		})
	}
}
