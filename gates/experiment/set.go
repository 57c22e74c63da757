package experiment

import (
	"fmt"
	"slices"

	"assay/engine"
	"assay/gates/bench"
	"assay/gates/sampling"
	"assay/gates/stats"
	"assay/gates/verdict"
)

// busyLimit is the part of the pairs that may be contaminated although they were
// repeated; above it the machine is too busy to tell anything.
const busyLimit = 0.25

// Set turns pairs into what the rules judge: the phases of one experiment, as many
// pairs as given.
func Set(name, target string, phases []string, floor map[string]float64, pairs []*sampling.Pair) *verdict.Set {
	s := &verdict.Set{ID: name, Target: target, NoiseFloor: verdict.Floor{ByPhase: floor}, Parity: "ok", Samples: map[string]verdict.Arms{}}
	for _, p := range pairs {
		s.Order = append(s.Order, p.Order)
		for _, phase := range phases {
			arms := s.Samples[phase]
			arms.A, arms.TokensA = appendPhase(arms.A, arms.TokensA, p.A, phase)
			arms.B, arms.TokensB = appendPhase(arms.B, arms.TokensB, p.B, phase)
			s.Samples[phase] = arms
		}
	}
	s.Environment.Busy = float64(contaminated(pairs)) > busyLimit*float64(len(pairs))
	return s
}

func contaminated(pairs []*sampling.Pair) (n int) {
	for _, p := range pairs {
		if !p.Clean() {
			n++
		}
	}
	return n
}

// hopeless tells that a run on a busy machine need not go on: of the first pairs,
// so many are contaminated that the rest could hardly make up for it.
func hopeless(pairs []*sampling.Pair, of int) bool {
	return len(pairs) >= stats.MinSamples && float64(contaminated(pairs)) > busyLimit*float64(of)
}

// appendPhase adds what one sample says of a phase; load and prepare are one.
func appendPhase(seconds []verdict.Number, tokens []int, s *bench.Sample, phase string) ([]verdict.Number, []int) {
	if s == nil {
		return seconds, tokens
	}
	parts := []string{phase}
	if phase == bench.Ready {
		parts = []string{engine.PhaseLoad, engine.PhasePrepare}
	}
	sum, count, found := 0.0, 0, false
	for _, t := range s.Timings {
		if slices.Contains(parts, t.Phase) {
			sum, count, found = sum+t.Seconds, count+t.Tokens, true
		}
	}
	if !found {
		return seconds, tokens
	}
	return append(seconds, verdict.Number(sum)), append(tokens, count)
}

// judge looks at the pairs of look k by the rules, and then by what the experiment
// itself asks: that its mechanism ran, and that the effect is large enough.
func (d *Definition) judge(k int, r *Registration, pairs []*sampling.Pair, ceilings map[string]verdict.Ceiling) *sampling.Look {
	plan := d.Plan()
	if l := d.broken(k, pairs); l != nil {
		return l
	}
	if hopeless(pairs, d.Pairs[k]) {
		l := d.last(k, pairs)
		say(l, verdict.Void, "machine busy", "Others used the machine during %d of %d pairs, although these were repeated: run it again on a quiet machine.", contaminated(pairs), len(pairs))
		return l
	}
	s := Set(d.Name, d.Target, d.Judged(), r.Floor, pairs)
	s.Ceilings = ceilings
	l := plan.At(k, s)
	if c := d.Mechanism.Counter; c != "" && l.Verdict != verdict.Void {
		for _, p := range pairs {
			if p.B.Counters[c] == 0 {
				say(l, verdict.Void, "mechanism did not run", "The candidate's counter %q is zero in pair %d: whatever was timed, it was not the mechanism.", c, p.Index)
				return l
			}
		}
	}
	d.weigh(l)
	return l
}

// broken is the look that ends an experiment as soon as something else is computed.
func (d *Definition) broken(k int, pairs []*sampling.Pair) *sampling.Look {
	for _, p := range pairs {
		if p.Broken == "" {
			continue
		}
		l := d.last(k, pairs)
		if p.InArm == "A" {
			say(l, verdict.Void, "baseline contradicts itself", "The baseline itself is broken, so there is nothing to compare with: %s.", p.Broken)
		} else {
			say(l, verdict.Rejected, "parity broken", "The candidate computes something else, so its speed does not count: %s.", p.Broken)
		}
		return l
	}
	return nil
}

// last is a look after which there is none.
func (d *Definition) last(k int, pairs []*sampling.Pair) *sampling.Look {
	return &sampling.Look{Pairs: len(pairs), Alpha: d.Plan().Spend(k), Last: true, Judgement: &verdict.Judgement{ID: d.Name}}
}

// weigh holds a retained candidate to the effect that was registered.
func (d *Definition) weigh(l *sampling.Look) {
	n := l.Numbers[d.Target]
	if l.Verdict != verdict.Retained || n.Low >= 1+d.Effect {
		return
	}
	if n.High < 1+d.Effect {
		say(l, verdict.Level, "smaller than the registered effect", "The %s phase is faster by %.1f %%, which is certainly less than the %.1f %% that the experiment is about.", d.Target, 100*(n.Ratio-1), 100*d.Effect)
		return
	}
	say(l, verdict.Ambiguous, "may be smaller than the registered effect", "The %s phase is faster, but it is open whether by the %.1f %% that the experiment is about; more pairs are needed.", d.Target, 100*d.Effect)
}

func say(l *sampling.Look, v verdict.Verdict, rule, sentence string, args ...any) {
	l.Verdict, l.Rule, l.Sentence = v, rule, fmt.Sprintf(sentence, args...)
}

// interval is how far the median ratio of a phase can be from 1 by the pairs of one
// binary against itself.
func interval(a verdict.Arms) (stats.Estimate, error) {
	x, y := make([]float64, len(a.A)), make([]float64, len(a.B))
	for i := range a.A {
		x[i] = float64(a.A[i])
	}
	for i := range a.B {
		y[i] = float64(a.B[i])
	}
	return verdict.OrderStatistics("", x, y)
}
