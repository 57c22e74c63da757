package sampling

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"assay/gates/verdict"
)

func TestLooksTogetherSpendTheirError(t *testing.T) {
	p := Plan{Looks: []int{12, 24, 48}}
	assert.InDeltaSlice(t, []float64{0.0125, 0.0125, 0.025}, []float64{p.Spend(0), p.Spend(1), p.Spend(2)}, 1e-12)
	assert.NoError(t, p.Check(4))
	assert.Equal(t, 48, p.Most())
}

func TestLooksThatCanShowNothingAreRefused(t *testing.T) {
	for _, looks := range [][]int{nil, {0, 12}, {24, 12}, {12, 12}} {
		assert.ErrorContains(t, (&Plan{Looks: looks}).Check(1), "ascending", "%v", looks)
	}
	assert.ErrorContains(t, (&Plan{Looks: []int{6, 48}}).Check(4), "look at 6 pairs")
	assert.NoError(t, (&Plan{Looks: []int{6}}).Check(1))
	assert.Error(t, (&Plan{Looks: []int{6}}).Check(2))
}

// noisy makes n pairs whose candidate takes slower times the baseline's seconds.
func noisy(r *rand.Rand, n int, slower, sd float64) verdict.Arms {
	var a verdict.Arms
	for range n {
		a.A = append(a.A, verdict.Number(1+sd*r.NormFloat64()))
		a.B = append(a.B, verdict.Number(slower*(1+sd*r.NormFloat64())))
	}
	return a
}

// follow looks at pairs as they come and gives the verdict and the pairs it took.
func follow(p *Plan, all map[string]verdict.Arms, floor float64) (verdict.Verdict, int) {
	for k, n := range p.Looks {
		s := &verdict.Set{Target: "decode", NoiseFloor: verdict.Floor{All: floor}, Parity: "ok", Samples: map[string]verdict.Arms{}}
		for phase, a := range all {
			s.Samples[phase] = verdict.Arms{A: a.A[:n], B: a.B[:n]}
		}
		if l := p.At(k, s); l.Decided() {
			return l.Verdict, n
		}
	}
	panic("the last look decides")
}

func TestManyLooksAndPhasesRaiseNoMoreFalseAlarmsThanAllowed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := &Plan{Looks: []int{12, 24, 48}}
	wrong := 0
	const trials = 4000
	for range trials {
		all := map[string]verdict.Arms{}
		for _, phase := range []string{"decode", "load", "prompt", "restore"} {
			all[phase] = noisy(r, 48, 1, 0.02)
		}
		// No floor at all: only the intervals stand between noise and a verdict.
		if v, _ := follow(p, all, 0); v == verdict.Rejected || v == verdict.Retained {
			wrong++
		}
	}
	assert.Less(t, wrong, trials*5/100, "the error is spent once, whatever the number of looks and phases")
}

func TestClearDifferencesAreFoundEarlyAndSmallOnesLater(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	p := &Plan{Looks: []int{12, 24, 48}}
	found := map[float64]int{}
	pairs := map[float64]int{}
	for range 200 {
		for _, slower := range []float64{1.10, 1.03} {
			all := map[string]verdict.Arms{"decode": noisy(r, 48, slower, 0.01), "prompt": noisy(r, 48, 1, 0.01)}
			v, n := follow(p, all, 0.01)
			if v == verdict.Rejected {
				found[slower]++
			}
			pairs[slower] += n
		}
	}
	assert.Equal(t, 200, found[1.10])
	assert.Greater(t, found[1.03], 190)
	assert.Less(t, pairs[1.10], pairs[1.03])
	assert.Equal(t, 200*12, pairs[1.10])
}

func TestHolmWidensTheIntervalsOfPhasesThatAreJudgedTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	slow, same := noisy(r, 24, 1.2, 0.005), noisy(r, 24, 1, 0.005)
	s := &verdict.Set{NoiseFloor: verdict.Floor{All: 0.01}, Samples: map[string]verdict.Arms{"decode": slow, "prompt": same, "load": same}}
	levels := Joint(s, 0.03)
	assert.InDelta(t, 0.01, levels["decode"], 1e-12, "the smallest p-value is held to a third")
	assert.InDelta(t, 0.015, levels["prompt"], 1e-12)
	assert.InDelta(t, 0.015, levels["load"], 1e-12)
}
