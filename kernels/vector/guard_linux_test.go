package vector

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"assay/kernels/memory"
)

func guardedFloats(t *testing.T, n int, front bool) []float32 {
	t.Helper()
	g, err := memory.NewGuarded(4*n, front)
	require.NoError(t, err)
	t.Cleanup(func() { _ = g.Free() })
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(g.Data))), n)
}

func TestOperationsStayInsideTheirMemory(t *testing.T) {
	for _, s := range runnable() {
		for _, front := range []bool{false, true} {
			for n := 1; n < 70; n += 3 {
				x, y, z := guardedFloats(t, n, front), guardedFloats(t, n, front), guardedFloats(t, n, front)
				s.RMSNorm(x, y, z, 1)
				s.SiLUMul(x, y, z)
				s.GELUMul(x, y, z)
				s.Add(x, y)
				h := guardedFloats(t, (n+1)/2, front)
				s.NarrowF16(unsafe.Slice((*uint16)(unsafe.Pointer(&h[0])), n), x)
				head := guardedFloats(t, 2*n, front)
				s.RotateHalves(head, x, y)
				if n%2 == 0 {
					s.RotateAdjacent(guardedFloats(t, n, front), x, y)
				}
			}
			for _, stride := range []int{4, 12, 32} {
				col := guardedFloats(t, (81*2-1)*stride/4+1, front)
				b := unsafe.Slice((*byte)(unsafe.Pointer(&col[0])), 4*len(col))
				s.Quantise256(guardedFloats(t, 512, front), b, stride)
				col = guardedFloats(t, (11*3-1)*stride/4+1, front)
				b = unsafe.Slice((*byte)(unsafe.Pointer(&col[0])), 4*len(col))
				s.Quantise32(guardedFloats(t, 96, front), b, stride)
			}
		}
	}
}
