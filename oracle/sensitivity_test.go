package oracle

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheLastBitOfALogitIsSeen(t *testing.T) {
	s := replay(t, loaded(t, saved(t, KeepAll)), func(prompt, row int, x []float32) {
		if prompt == 0 && row == 1 {
			x[3] = math.Nextafter32(x[3], 100)
		}
	}).Stats()
	assert.Equal(t, 1, s.Differ)
	assert.NotEmpty(t, Tolerance{Rung: Bits}.Judge(s))
	assert.NotEmpty(t, Tolerance{Rung: ULP}.Judge(s))
	assert.Empty(t, Tolerance{Rung: ULP, MaxULP: 1}.Judge(s))
}

func TestEveryValueThatIsNoNumberIsCounted(t *testing.T) {
	s := replay(t, loaded(t, saved(t, KeepAll)), func(prompt, row int, x []float32) {
		if prompt == 0 && row < 2 {
			x[2], x[5] = float32(math.NaN()), float32(math.Inf(-1))
		}
	}).Stats()
	assert.Equal(t, 4, s.NonFinite)
	assert.Equal(t, Where{Prompt: "first", Layer: -1, Head: -1, Position: 0, Index: 2}, s.FirstNonFinite)
}
