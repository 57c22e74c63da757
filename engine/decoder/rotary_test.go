package decoder

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/engine/checkpoint"
)

// llama3 is the scaling that the models of that name were published with.
var llama3 = checkpoint.Rope{
	Base: 500000, Dim: 64, Pairing: checkpoint.Halves,
	Scaling: checkpoint.ScaleLlama3, Factor: 8, LowFreq: 1, HighFreq: 4, OriginalContext: 8192,
}

func unscaled(r checkpoint.Rope) checkpoint.Rope {
	return checkpoint.Rope{Base: r.Base, Dim: r.Dim, Pairing: r.Pairing}
}

func TestLlama3ScalingKeepsShortWavesDividesLongOnesAndBlendsBetween(t *testing.T) {
	plainOnes := unscaled(llama3)
	plain, scaled := newRotary(&plainOnes), newRotary(&llama3)
	require.Len(t, scaled.Freq, 32)
	kept, blended, divided := 0, 0, 0
	for i, f := range plain.Freq {
		assert.InEpsilon(t, math.Pow(500000, -float64(i)/32), f, 1e-7)
		wave := 2 * math.Pi / float64(f)
		switch ratio := float64(f) / float64(scaled.Freq[i]); {
		case wave < 8192.0/4:
			assert.Equal(t, f, scaled.Freq[i], "pair %d", i)
			kept++
		case wave > 8192:
			assert.Equal(t, f/8, scaled.Freq[i], "pair %d: a division by a power of two is exact", i)
			divided++
		default:
			assert.True(t, ratio > 1 && ratio < 8, "pair %d is divided by %g", i, ratio)
			blended++
		}
	}
	assert.True(t, kept > 0 && blended > 0 && divided > 0, "%d kept, %d blended, %d divided", kept, blended, divided)
}

// GGUF files store what the rule comes to: a divisor for each pair.
func TestStoredDivisorsGiveTheFrequenciesOfTheRule(t *testing.T) {
	stored := unscaled(llama3)
	plain, scaled := newRotary(&stored), newRotary(&llama3)
	for i, f := range plain.Freq {
		stored.Divisors = append(stored.Divisors, float32(float64(f)/float64(scaled.Freq[i])))
	}
	got := newRotary(&stored)
	for i, want := range scaled.Freq {
		assert.InEpsilon(t, want, got.Freq[i], 1.2e-7, "pair %d", i)
	}
}

func TestLinearScalingDividesEveryFrequency(t *testing.T) {
	linear := checkpoint.Rope{Base: 10000, Dim: 16, Scaling: checkpoint.ScaleLinear, Factor: 4}
	none := unscaled(linear)
	plain, scaled := newRotary(&none), newRotary(&linear)
	for i, f := range plain.Freq {
		assert.Equal(t, f/4, scaled.Freq[i])
	}
}

func TestTablesHoldCosineAndSineInTheOrderOfThePairing(t *testing.T) {
	for _, pairing := range []checkpoint.Pairing{checkpoint.Halves, checkpoint.Adjacent} {
		rope := checkpoint.Rope{Base: 10000, Dim: 8, Pairing: pairing}
		r := newRotary(&rope)
		cos, sin := make([]float32, r.width()), make([]float32, r.width())
		for _, pos := range []int{0, 1, 7, 4095, 131071} {
			r.table(pos, cos, sin)
			for i, f := range r.Freq {
				s, c := math.Sincos(float64(float32(pos) * f))
				at := i
				if pairing == checkpoint.Adjacent {
					at = 2*i + 1
					assert.Equal(t, cos[at], cos[at-1])
					assert.Equal(t, -sin[at], sin[at-1], "the first of a pair gets the sine with its sign turned")
				}
				assert.InDelta(t, c, cos[at], 1e-7, "position %d, pair %d", pos, i)
				assert.InDelta(t, s, sin[at], 1e-7, "position %d, pair %d", pos, i)
			}
		}
	}
}
