package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBlocksAreZeroedWritableAndOfTheAskedSize(t *testing.T) {
	for _, n := range []int{0, 1, 4096, 3 << 20} {
		b, err := Alloc(n)
		require.NoError(t, err)
		require.Len(t, b.Data, n)
		for i := range b.Data {
			if b.Data[i] != 0 {
				t.Fatal("not zero at", i)
			}
			b.Data[i] = 1
		}
		assert.NoError(t, b.Free())
		assert.NoError(t, b.Free(), "a second Free does nothing")
	}
}
