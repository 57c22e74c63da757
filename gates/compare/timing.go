package compare

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/gates/bench"
	"assay/gates/experiment"
	"assay/gates/sampling"
	"assay/gates/stats"
	"assay/gates/verdict"
)

// wideFloor is a noise floor that people should know of.
const wideFloor = 0.05

// Timing is what the pairs of both sides tell.
type Timing struct {
	Machine experiment.Identity `json:"machine"`
	Work    Work                `json:"work"`

	Phases       []Phase         `json:"phases"`
	Pairs        int             `json:"pairs"`
	Contaminated int             `json:"contaminated"` // among them
	FloorPairs   int             `json:"noise_floor_pairs"`
	Bits         string          `json:"logits"` // of the timed runs: "same bits", or how far apart
	Verdict      verdict.Verdict `json:"verdict"`
	Rule         string          `json:"rule"`
	Sentence     string          `json:"sentence"`

	pairs    []sampling.Pair
	warnings []string
}

// Phase is one complete phase of both sides.
type Phase struct {
	Name             string          `json:"phase"`
	Tokens           int             `json:"tokens"`
	Base             float64         `json:"base_s"` // median
	BaseSpread       float64         `json:"base_spread"`
	Candidate        float64         `json:"candidate_s"`
	CandidateSpread  float64         `json:"candidate_spread"`
	verdict.Interval                 // base over candidate: above 1 the candidate is faster
	Verdict          verdict.Verdict `json:"verdict"`
	Rule             string          `json:"rule"`
	Sentence         string          `json:"sentence"`
}

// timing takes pairs until every phase is decided, one is slower, or there are as
// many as were asked for.
func (o *Options) timing(ctx context.Context, g *Golden) (*Timing, error) {
	identify := o.Identify
	if identify == nil {
		identify = experiment.Here
	}
	t := &Timing{Machine: identify(), Work: o.Work}
	plan := &sampling.Plan{Looks: o.Looks}
	a, b, err := o.arms(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := plan.Check(len(o.Phases)); err != nil {
		return nil, err
	}
	floor, err := o.floor(ctx, t, a)
	if err != nil {
		return nil, err
	}
	if floor.Busy {
		t.say(verdict.Void, "machine busy", "Others used the machine while its noise floor was measured: compare on a quiet machine.")
		return t, nil
	}
	rules := o.Rules
	if !g.SameContract() {
		rules.Distance = o.MaxKL
		a.Job.Rows, b.Job.Rows = rules.Distance > 0, rules.Distance > 0
	}
	s := o.sampler(a, b, rules)
	for k, n := range plan.Looks {
		if err := o.take(ctx, s, t, n, "pairs", plan.Most()); err != nil {
			return nil, err
		}
		t.look(plan, k, o.Phases, floor.Phases)
		if t.Verdict != verdict.Ambiguous {
			break
		}
	}
	t.distances()
	t.warnOfFloors()
	if identify().ID() != t.Machine.ID() {
		t.say(verdict.Void, "machine changed", "The machine is not the one that the comparison began on.")
	}
	return t, nil
}

// arms tries both programs once and leaves out what one of them does not know.
func (o *Options) arms(ctx context.Context, t *Timing) (a, b sampling.Arm, err error) {
	w := &t.Work
	ids := bench.IDs(w.Prompt+w.Decode, w.Vocab)
	job := bench.Job{Model: w.Path, Threads: w.Threads, CPU: w.CPU, Activations: w.Activations, Prompt: ids[:w.Prompt], Decode: ids[w.Prompt:], Repeat: w.Repeat}
	cores := bench.Cores(w.Threads)
	arms := [2]sampling.Arm{}
	for i, p := range []*Program{o.Base, o.Candidate} {
		arms[i] = sampling.Arm{Process: bench.Process{Command: []string{p.Binary, bench.ChildArgument}, Cores: cores}, Job: job}
		o.tell("trying %s", p)
		sample, err := o.sampler(arms[i], arms[i], o.Rules).First(ctx)
		if ctx.Err() != nil {
			return a, b, context.Cause(ctx)
		}
		if err != nil {
			return a, b, &ProtocolError{p, "be timed", err}
		}
		if len(sample.Counters) == 0 && w.Repeat > 1 {
			w.Repeat = 1
			t.warnings = append(t.warnings, fmt.Sprintf("%s knows nothing of repetitions: one session per process was timed on both sides", p))
		}
	}
	arms[0].Job.Repeat, arms[1].Job.Repeat = w.Repeat, w.Repeat
	return arms[0], arms[1], nil
}

func (o *Options) sampler(a, b sampling.Arm, rules sampling.Rules) *sampling.Sampler {
	s := &sampling.Sampler{A: a, B: b, Seed: 1, Rules: rules}
	if o.Adapt != nil {
		o.Adapt(s)
	}
	return s
}

// take takes pairs until n of them count or one shows that something else is
// computed.
func (o *Options) take(ctx context.Context, s *sampling.Sampler, t *Timing, n int, what string, most int) error {
	for {
		used := sampling.Decisive(t.pairs)
		if len(used) >= n || len(used) > 0 && used[len(used)-1].Broken != "" {
			return nil
		}
		err := s.Pair(ctx, len(used), func(p sampling.Pair) error {
			t.pairs = append(t.pairs, p)
			mark := ""
			if !p.Clean() {
				mark = ", disturbed: " + string(p.Marks[0])
			}
			o.tell("[%d/%d] %s%s", p.Index+1, most, what, mark)
			return nil
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("compare: pair %d: %w", len(used), err)
		}
	}
}

// floor finds the noise floor of the work on this machine, or measures it: the base
// against itself.
func (o *Options) floor(ctx context.Context, t *Timing, a sampling.Arm) (*experiment.Floor, error) {
	w := &t.Work
	key := experiment.WorkloadKey(w.SHA256, experiment.Workload{Prompt: w.Prompt, Decode: w.Decode, Threads: w.Threads, Repeat: w.Repeat})
	if w.CPU+w.Activations != "" {
		key += "/cpu=" + w.CPU + "/activations=" + w.Activations
	}
	f, err := o.Store.FloorFor(t.Machine.ID(), key)
	if err == nil && o.NewFloor {
		f = nil
	}
	if err != nil || f != nil {
		if f != nil {
			t.FloorPairs = f.Pairs
		}
		return f, err
	}
	noise := &Timing{}
	if err := o.take(ctx, o.sampler(a, a, o.Rules), noise, o.NoisePairs, "noise floor", o.NoisePairs); err != nil {
		return nil, err
	}
	pairs := sampling.Decisive(noise.pairs)
	if last := pairs[len(pairs)-1]; last.Broken != "" {
		return nil, &ProtocolError{o.Base, "be timed: it contradicts itself", fmt.Errorf("%s", last.Broken)}
	}
	s := experiment.Set("noise floor", experiment.Phases[0], experiment.Phases, nil, pairs)
	f = &experiment.Floor{Machine: t.Machine.ID(), Workload: key, Phases: experiment.FloorOf(s), Pairs: len(pairs), Binary: o.Base.SHA256, Busy: s.Environment.Busy}
	t.FloorPairs = f.Pairs
	return f, o.Store.KeepFloor(f)
}

// look judges every phase by itself, all of them at the confidence of look k.
func (t *Timing) look(plan *sampling.Plan, k int, judged []string, floor map[string]float64) {
	pairs := sampling.Decisive(t.pairs)
	t.Pairs, t.Phases, t.Contaminated = len(pairs), nil, 0
	for _, p := range pairs {
		if !p.Clean() {
			t.Contaminated++
		}
	}
	if last := pairs[len(pairs)-1]; last.Broken != "" {
		if last.InArm == "A" {
			t.say(verdict.Void, "base contradicts itself", "The base itself is broken, so there is nothing to compare with: %s.", last.Broken)
		} else {
			t.say(verdict.Rejected, "parity broken", "The candidate computes something else in the timed run: %s.", last.Broken)
		}
		return
	}
	all := experiment.Set("compare", experiment.Phases[0], experiment.Phases, floor, pairs)
	for phase, arms := range all.Samples {
		if len(arms.A)+len(arms.B) == 0 || !slices.Contains(judged, phase) {
			delete(all.Samples, phase)
		}
	}
	levels := sampling.Joint(all, plan.Spend(k))
	for _, phase := range experiment.Phases {
		arms, timed := all.Samples[phase]
		if !timed {
			continue
		}
		one := *all
		one.ID, one.Target, one.Samples = phase, phase, map[string]verdict.Arms{phase: arms}
		t.Phases = append(t.Phases, phaseOf(phase, arms, verdict.Judge(&one, sampling.Intervals(levels))))
	}
	t.decide()
}

func phaseOf(name string, arms verdict.Arms, j *verdict.Judgement) Phase {
	p := Phase{Name: name, Interval: j.Numbers[name], Verdict: j.Verdict, Rule: j.Rule, Sentence: j.Sentence}
	if len(arms.TokensA) > 0 {
		p.Tokens = arms.TokensA[0]
	}
	p.Base, p.BaseSpread = middle(arms.A)
	p.Candidate, p.CandidateSpread = middle(arms.B)
	return p
}

func middle(x []verdict.Number) (median, spread float64) {
	f := make([]float64, len(x))
	for i := range x {
		f[i] = float64(x[i])
	}
	e, err := stats.Median(f)
	if err != nil {
		return 0, 0
	}
	return e.Value, e.PlusMinus()
}

// decide is the worst that can be said of a phase: one that is slower, else one
// that cannot be judged, else one that is open, else one that is faster.
func (t *Timing) decide() {
	if len(t.Phases) == 0 {
		t.say(verdict.Void, "no samples", "No phase was timed on both sides.")
		return
	}
	for _, v := range []verdict.Verdict{verdict.Rejected, verdict.Void, verdict.Ambiguous, verdict.Retained} {
		if i := slices.IndexFunc(t.Phases, func(p Phase) bool { return p.Verdict == v }); i >= 0 {
			t.say(v, t.Phases[i].Name+": "+t.Phases[i].Rule, "%s", t.Phases[i].Sentence)
			return
		}
	}
	t.say(verdict.Level, "all within the noise floor", "No phase differs by more than the noise floor.")
}

// warnOfFloors tells which phases are too noisy for small differences.
func (t *Timing) warnOfFloors() {
	var wide []string
	for _, p := range t.Phases {
		if p.Floor > wideFloor {
			wide = append(wide, fmt.Sprintf("%s %.0f %%", p.Name, 100*p.Floor))
		}
	}
	if len(wide) > 0 {
		t.warnings = append(t.warnings, fmt.Sprintf("wide noise floors (%s): smaller differences are not seen; more work per sample, a quieter machine or --new-floor helps", strings.Join(wide, ", ")))
	}
}

// distances tells how far the logits of the timed runs were apart.
func (t *Timing) distances() {
	largest, same := 0.0, true
	for _, p := range sampling.Decisive(t.pairs) {
		largest = math.Max(largest, p.Distant)
		same = same && p.A != nil && p.B != nil && p.A.Logits == p.B.Logits
	}
	t.Bits = "same bits"
	if !same {
		t.Bits = fmt.Sprintf("other bits, KL divergence up to %.2g", largest)
	}
}

func (t *Timing) say(v verdict.Verdict, rule, sentence string, args ...any) {
	t.Verdict, t.Rule, t.Sentence = v, rule, fmt.Sprintf(sentence, args...)
}
