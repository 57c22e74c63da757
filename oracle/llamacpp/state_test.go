package llamacpp

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// state writes a state of two positions and one layer: K [2][4] in f32, V in half precision, transposed or not.
func state(transposed uint32) []byte {
	var b bytes.Buffer
	put := func(vs ...any) {
		for _, v := range vs {
			_ = binary.Write(&b, binary.LittleEndian, v)
		}
	}
	put(uint32(stateMagic), uint32(0), uint32(1), uint32(2))
	for p := range int32(2) {
		put(p, uint32(1), int32(0))
	}
	put(transposed, uint32(1))
	put(int32(0), uint64(16), []float32{1, 2, 3, 4, 5, 6, 7, 8})
	if transposed == 1 {
		put(int32(1), uint32(2), uint32(2), []uint16{0x3c00, 0xc000, 0x0001, 0x7bff})
	} else {
		put(int32(1), uint64(4), []uint16{0x3c00, 0x0001, 0xc000, 0x7bff})
	}
	return b.Bytes()
}

func TestAStateIsReadInBothLayoutsOfValues(t *testing.T) {
	for _, transposed := range []uint32{0, 1} {
		c, err := ParseState(state(transposed))
		require.NoError(t, err)
		require.Len(t, c, 1)
		assert.Equal(t, []int32{0, 1}, c[0].Positions)
		assert.Equal(t, [][]float32{{1, 2, 3, 4, 5, 6, 7, 8}}, c[0].K)
		assert.Equal(t, [][]float32{{1, 1.0 / (1 << 24), -2, 65504}}, c[0].V)
	}
	assert.Equal(t, []float32{1, 2, 5, 6, 3, 4, 7, 8}, byHeads([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2))
}

func TestACutStateIsRefusedAtItsEnd(t *testing.T) {
	whole := state(1)
	for n := range whole {
		if n == 8 {
			continue // a state without caches
		}
		_, err := ParseState(whole[:n])
		assert.Error(t, err, n)
	}
}

func FuzzParseState(f *testing.F) {
	f.Add(state(0))
	f.Add(state(1))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseState(b)
		if err == nil {
			for _, x := range c {
				require.Len(t, x.V, len(x.K))
			}
		}
	})
}
