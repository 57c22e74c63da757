package llamacpp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRowsAreDecodedByTheLibrary(t *testing.T) {
	l := library(t)
	block := make([]byte, 34) // Q8_0: the scale 0.5 in F16, then 32 numbers
	block[1] = 0x38
	for i := range 32 {
		block[2+i] = byte(int8(i - 16))
	}
	got, err := l.Dequantise("Q8_0", block, 32)
	require.NoError(t, err)
	for i, x := range got {
		assert.Equal(t, float32(i-16)/2, x)
	}
	got, err = l.Dequantise("BF16", []byte{0x80, 0x3f, 0x00, 0xc0}, 2)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, -2}, got)

	_, err = l.Dequantise("Q9_9", block, 32)
	assert.ErrorContains(t, err, `format "Q9_9"`)
	_, err = l.Dequantise("Q8_0", nil, 32)
	assert.ErrorContains(t, err, "32 elements in 0 bytes")
}
