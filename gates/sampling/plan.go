package sampling

import (
	"fmt"
	"slices"

	"assay/gates/stats"
	"assay/gates/verdict"
)

// Plan says at which numbers of pairs the result is looked at, and with which
// probability all looks together may be wrong.
//
// Looking several times and stopping as soon as the result pleases inflates false
// alarms. So the probability is spent: look k, at a part t_k of the largest number
// of pairs, may use Alpha*(t_k - t_(k-1)), the linear spending function of K. K. G.
// Lan and D. L. DeMets, Discrete Sequential Boundaries for Clinical Trials,
// Biometrika 70 (1983). By Boole's inequality the looks together are then wrong
// with probability Alpha at most, whatever their dependence: no joint distribution
// is assumed, as the sign test assumes none. That is conservative.
type Plan struct {
	Looks []int   // numbers of pairs, ascending; the last is the largest
	Alpha float64 // 0: 1 - stats.Confidence
}

// DefaultLooks are those of experiments that name none.
var DefaultLooks = []int{12, 24, 48}

// Most is the largest number of pairs.
func (p *Plan) Most() int { return p.Looks[len(p.Looks)-1] }

func (p *Plan) total() float64 {
	if p.Alpha == 0 {
		return 1 - stats.Confidence
	}
	return p.Alpha
}

// Spend is what look k, from 0, may be wrong with.
func (p *Plan) Spend(k int) float64 {
	before := 0
	if k > 0 {
		before = p.Looks[k-1]
	}
	return p.total() * float64(p.Looks[k]-before) / float64(p.Most())
}

// Check tells what is wrong with the plan for a number of phases that are judged
// together.
func (p *Plan) Check(phases int) error {
	if len(p.Looks) == 0 || !slices.IsSorted(p.Looks) || len(slices.Compact(slices.Clone(p.Looks))) != len(p.Looks) || p.Looks[0] < 1 {
		return fmt.Errorf("looks %v: want numbers of pairs in ascending order", p.Looks)
	}
	for k, n := range p.Looks {
		if alpha := p.Spend(k) / float64(max(phases, 1)); stats.Rank(n, alpha) == 0 {
			return fmt.Errorf("a look at %d pairs can show nothing: %d phases at a confidence of %.2f %% need more", n, phases, 100*(1-p.Spend(k)))
		}
	}
	return nil
}

// Look is one look at a set of samples.
type Look struct {
	Pairs      int                `json:"pairs"`
	Alpha      float64            `json:"alpha"`       // of all phases together
	PhaseAlpha map[string]float64 `json:"phase_alpha"` // of each, by Holm
	Last       bool               `json:"last"`
	*verdict.Judgement
}

// Decided tells that no more pairs are needed.
func (l *Look) Decided() bool { return l.Last || l.Verdict != verdict.Ambiguous }

// At judges a set that holds the pairs of look k. All its phases are tested
// together, so their intervals are as wide as Holm's procedure asks.
func (p *Plan) At(k int, s *verdict.Set) *Look {
	l := &Look{Pairs: p.Looks[k], Alpha: p.Spend(k), Last: k == len(p.Looks)-1}
	l.PhaseAlpha = Joint(s, l.Alpha)
	l.Judgement = verdict.Judge(s, Intervals(l.PhaseAlpha))
	return l
}

// Joint gives each phase of a set the level at which it is tested when all of them
// are tested for a difference beyond their noise floor.
func Joint(s *verdict.Set, alpha float64) map[string]float64 {
	var names []string
	var p []float64
	for name := range s.Samples {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		floor := s.NoiseFloor.Of(name)
		p = append(p, stats.Outside(ratios(s.Samples[name]), 1-floor, 1+floor))
	}
	levels := map[string]float64{}
	for i, a := range stats.Holm(p, alpha) {
		levels[names[i]] = a
	}
	return levels
}

// Intervals are distribution-free intervals of the median of the paired ratios,
// each at the level of its phase.
func Intervals(levels map[string]float64) verdict.Intervals {
	return func(phase string, a, b []float64) (stats.Estimate, error) {
		e, err := stats.PairedRatio(a, b)
		if err != nil {
			return e, err
		}
		r := make([]float64, len(a))
		for i := range a {
			r[i] = a[i] / b[i]
		}
		k := stats.Rank(len(r), levels[phase])
		if k == 0 {
			return e, fmt.Errorf("%d pairs show nothing at a confidence of %.2f %%", len(r), 100*(1-levels[phase]))
		}
		slices.Sort(r)
		e.Low, e.High, e.Confidence = r[k-1], r[len(r)-k], 1-levels[phase]
		return e, nil
	}
}

func ratios(a verdict.Arms) []float64 {
	r := make([]float64, min(len(a.A), len(a.B)))
	for i := range r {
		r[i] = float64(a.A[i]) / float64(a.B[i])
	}
	return r
}
