package stats

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRankIsThatOfTheSignTest(t *testing.T) {
	for n, k := range map[int]int{5: 0, 6: 1, 8: 1, 9: 2, 11: 2, 12: 3, 20: 6, 30: 10, 100: 40} {
		assert.Equal(t, k, Rank(n, 0.05), "n = %d", n)
	}
	assert.Equal(t, 2, Rank(12, 0.0125), "a look that spends less sees less")
}

func TestSmallPMeansThatTheIntervalIsOutside(t *testing.T) {
	values := []float64{0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.985, 1.0, 1.01, 1.02}
	for _, alpha := range []float64{0.01, 0.05, 0.2, 0.4} {
		k := Rank(len(values), alpha)
		if k == 0 {
			continue
		}
		low, high := values[k-1], values[len(values)-k]
		for _, floor := range []float64{0.001, 0.01, 0.03, 0.05, 0.08} {
			outside := high < 1-floor || low > 1+floor
			assert.Equal(t, outside, Outside(values, 1-floor, 1+floor) <= alpha, "alpha %v floor %v", alpha, floor)
		}
	}
	assert.InDelta(t, 2.0/64, Outside([]float64{2, 2, 2, 2, 2, 2}, 0.9, 1.1), 1e-12)
	assert.Equal(t, 1.0, Outside([]float64{1, 1, 1, 1, 1, 1}, 0.9, 1.1))
}

func TestHolmStepsDownUntilOneHolds(t *testing.T) {
	// The example: p 0.01, 0.04, 0.03, 0.005 at 0.05: the first two are rejected.
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005}, 0.05)
	assert.InDeltaSlice(t, []float64{0.05 / 3, 0.05 / 2, 0.05 / 2, 0.05 / 4}, got, 1e-12)
	assert.InDeltaSlice(t, []float64{0.025, 0.025}, Holm([]float64{0.5, 0.6}, 0.05), 1e-12)
	assert.InDeltaSlice(t, []float64{0.05}, Holm([]float64{0.5}, 0.05), 1e-12)
	assert.Empty(t, Holm(nil, 0.05))
}
