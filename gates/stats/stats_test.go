package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMedianOfSixIsBoundedByItsExtremes(t *testing.T) {
	samples := []float64{6, 1, 5, 2, 4, 3}
	e, err := Median(samples)
	require.NoError(t, err)
	assert.Equal(t, 3.5, e.Value)
	assert.Equal(t, 1.0, e.Low)
	assert.Equal(t, 6.0, e.High)
	assert.Equal(t, 6, e.N)
	assert.InDelta(t, 1-2*math.Pow(0.5, 6), e.Confidence, 1e-12)
	assert.Empty(t, e.Warnings)
	assert.Equal(t, []float64{6, 1, 5, 2, 4, 3}, samples, "samples keep their order")
}

func TestIntervalNarrowsWithSamples(t *testing.T) {
	var samples []float64
	for i := range 20 {
		samples = append(samples, float64(i+1))
	}
	e, err := Median(samples)
	require.NoError(t, err)
	assert.Equal(t, 10.5, e.Value)
	assert.Greater(t, e.Low, 1.0)
	assert.Less(t, e.High, 20.0)
}

func TestFewSamplesWarnAndGiveTheirRange(t *testing.T) {
	e, err := Median([]float64{3, 1, 2})
	require.NoError(t, err)
	assert.Equal(t, Estimate{Value: 2, Low: 1, High: 3, N: 3, Warnings: e.Warnings}, e)
	require.Len(t, e.Warnings, 1)
	assert.Contains(t, e.Warnings[0], "need >= 6 samples")
}

func TestMeasurementsThatAreNoneAreRefused(t *testing.T) {
	_, err := Median(nil)
	assert.ErrorContains(t, err, "no samples")
	_, err = Median([]float64{1, math.NaN()})
	assert.ErrorContains(t, err, "sample 1")
	_, err = PairedRatio([]float64{1}, []float64{0})
	assert.ErrorContains(t, err, "denominator 0")
	_, err = PairedRatio([]float64{1}, nil)
	assert.ErrorContains(t, err, "1 numerators, 0 denominators")
}

func TestPairsCancelWhatTheyShare(t *testing.T) {
	// The machine slows down fivefold, the ratio does not change.
	ours := []float64{1, 2, 3, 4, 5, 5}
	peer := []float64{2, 4, 6, 8, 10, 10}
	e, err := PairedRatio(peer, ours)
	require.NoError(t, err)
	assert.Equal(t, 2.0, e.Value)
	assert.Equal(t, 2.0, e.Low)
	assert.Equal(t, 2.0, e.High)
}

func TestPlusMinusIsTheLargerSide(t *testing.T) {
	assert.Equal(t, 0.5, Estimate{Value: 2, Low: 1.5, High: 3}.PlusMinus())
	assert.Zero(t, Estimate{}.PlusMinus())
}
