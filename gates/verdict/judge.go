package verdict

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"assay/gates/stats"
)

// Interval is the paired ratio of one phase, baseline over candidate seconds:
// above 1 the candidate is faster.
type Interval struct {
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Pairs int     `json:"pairs"`
	Floor float64 `json:"floor"`
}

// Judgement is a verdict with its reasons.
type Judgement struct {
	ID       string              `json:"id"`
	Verdict  Verdict             `json:"verdict"`
	Rule     string              `json:"rule"`
	Sentence string              `json:"sentence"`
	Numbers  map[string]Interval `json:"numbers"`
	Warnings []string            `json:"warnings,omitempty"`
}

// Intervals computes the interval of a phase's paired ratio. Judge uses
// OrderStatistics; sequential sampling passes its own.
type Intervals func(phase string, a, b []float64) (stats.Estimate, error)

// OrderStatistics is the distribution-free interval of the median of the paired
// ratios between the k-th smallest and the k-th largest, k as large as a coverage
// of at least 95 % by the sign test allows. It is symmetric on purpose: exchanging
// the arms must exchange the verdict, and x/perf's interval, which is as short as
// possible, may leave out one end only.
func OrderStatistics(_ string, a, b []float64) (stats.Estimate, error) {
	e, err := stats.PairedRatio(a, b)
	if err != nil {
		return e, err
	}
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	slices.Sort(ratios)
	k := max(stats.Rank(len(ratios), 1-stats.Confidence), 1)
	e.Low, e.High = ratios[k-1], ratios[len(ratios)-k]
	return e, nil
}

// Judge applies the rules in their order:
//
//	stale      recorded for another binary, fixture or contract
//	void       the samples cannot answer the question (see unfit)
//	rejected   parity broken; or the interval of the target, or of another phase,
//	           lies wholly below 1 - floor
//	retained   the target's interval lies wholly above 1 + floor and every other
//	           one reaches no lower than 1 - floor
//	level      the target's interval lies within [1 - floor, 1 + floor]
//	ambiguous  everything else
func Judge(s *Set, intervals Intervals) *Judgement {
	j := &Judgement{ID: s.ID, Numbers: map[string]Interval{}}
	if what := differing(s.Environment.RecordedFor, s.Environment.Current); what != "" {
		return j.say(Stale, "recorded for another "+what, "The record was made for another %s than the present one; run it again.", what)
	}
	if why := unfit(s); why != "" {
		return j.say(Void, why, "These samples cannot answer the question: %s.", why)
	}
	if s.Parity == "broken" {
		return j.say(Rejected, "parity broken", "The candidate computes something else, so its speed does not count.")
	}
	for _, phase := range slices.Sorted(maps.Keys(s.Samples)) {
		a, b := floats(s.Samples[phase].A), floats(s.Samples[phase].B)
		e, err := intervals(phase, a, b)
		if err != nil {
			return j.say(Void, fmt.Sprintf("%s: %v", phase, err), "These samples cannot answer the question: %s: %v.", phase, err)
		}
		j.Numbers[phase] = Interval{Ratio: e.Value, Low: e.Low, High: e.High, Pairs: len(a), Floor: s.NoiseFloor.Of(phase)}
		for _, w := range e.Warnings {
			j.Warnings = append(j.Warnings, phase+": "+w)
		}
	}
	return j.decide(s.Target)
}

func (j *Judgement) decide(target string) *Judgement {
	t := j.Numbers[target]
	worst, reaches := "", ""
	for _, phase := range slices.Sorted(maps.Keys(j.Numbers)) {
		n := j.Numbers[phase]
		if n.High < 1-n.Floor && (worst == "" || phase == target) {
			worst = phase
		}
		if phase != target && n.Low < 1-n.Floor {
			reaches = phase
		}
	}
	switch {
	case worst != "":
		n := j.Numbers[worst]
		return j.say(Rejected, worst+" slower", "The %s phase is slower by %s, beyond the noise floor of %s.", worst, percent(1-n.Ratio), percent(n.Floor))
	case t.Low > 1+t.Floor && reaches == "":
		return j.say(Retained, target+" faster, no phase slower", "The %s phase is faster by %s (at least %s), beyond the noise floor of %s, and no other phase is slower.", target, percent(t.Ratio-1), percent(t.Low-1), percent(t.Floor))
	case t.Low > 1+t.Floor:
		return j.say(Ambiguous, reaches+" may be slower", "The %s phase is faster, but the %s phase may be slower by up to %s; more pairs are needed.", target, reaches, percent(1-j.Numbers[reaches].Low))
	case t.Low >= 1-t.Floor && t.High <= 1+t.Floor:
		return j.say(Level, "interval within the noise floor", "The %s phase differs by less than the noise floor of %s.", target, percent(t.Floor))
	}
	return j.say(Ambiguous, "interval straddles the floor", "The %s phase may be between %.3f and %.3f times as fast; more pairs are needed.", target, t.Low, t.High)
}

func (j *Judgement) say(v Verdict, rule, sentence string, args ...any) *Judgement {
	j.Verdict, j.Rule, j.Sentence = v, rule, fmt.Sprintf(sentence, args...)
	return j
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// unfit tells why samples cannot be judged, "" when they can.
func unfit(s *Set) string {
	switch e := &s.Environment; {
	case e.Missing != nil && e.Missing != false:
		return "missing fixture"
	case s.Target == "" || len(s.Samples) == 0 || len(s.Samples[s.Target].A) == 0:
		return s.Target + ": no samples"
	case e.Before != nil && e.After != nil && !reflect.DeepEqual(e.Before, e.After):
		return "machine changed"
	case e.Busy:
		return "machine busy"
	case s.Parity != "ok" && s.Parity != "broken":
		return "parity not checked"
	}
	for _, phase := range slices.Sorted(maps.Keys(s.Samples)) {
		arms := s.Samples[phase]
		if why := unfitPhase(&arms, s.Ceilings[phase], s.NoiseFloor.Of(phase)); why != "" {
			return phase + ": " + why
		}
	}
	return ""
}

func unfitPhase(arms *Arms, c Ceiling, floor float64) string {
	switch {
	case len(arms.A) != len(arms.B):
		return fmt.Sprintf("arms of different length (%d and %d)", len(arms.A), len(arms.B))
	case len(arms.A) < stats.MinSamples:
		return fmt.Sprintf("fewer than %d samples per arm", stats.MinSamples)
	case math.IsNaN(floor) || math.IsInf(floor, 0) || floor < 0 || floor >= 1:
		return "noise floor is not a number from 0 to 1"
	}
	for _, x := range floats(slices.Concat(arms.A, arms.B)) {
		if math.IsNaN(x) || math.IsInf(x, 0) || x <= 0 {
			return "sample not finite and positive"
		}
		if c.Work > 0 && c.PerSecond > 0 && c.Work/x > c.PerSecond {
			return "above the ceiling of the machine"
		}
	}
	if t := slices.Concat(arms.TokensA, arms.TokensB); len(t) > 0 && slices.Min(t) != slices.Max(t) {
		return "token counts differ"
	}
	return ""
}

// differing names the first thing that is recorded with another value than the
// present one; "" when all that both sides name agrees.
func differing(recorded, current map[string]any) string {
	for _, k := range slices.Sorted(maps.Keys(recorded)) {
		if now, ok := current[k]; ok && !reflect.DeepEqual(recorded[k], now) {
			return k
		}
	}
	return ""
}

func floats(n []Number) []float64 {
	f := make([]float64, len(n))
	for i, v := range n {
		f[i] = float64(v)
	}
	return f
}
