package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/gates/sampling"
	"assay/gates/verdict"
	"assay/kernels/arith"
)

// Runner runs experiments on this machine.
type Runner struct {
	Store   *Store
	Machine Identity
	Version string // of this tree
	Models  string // folder of real models
	Rules   sampling.Rules
	Command []string // program of the samples; empty: this one

	// Build makes the program of a git revision; nil: there is no source tree.
	Build func(ctx context.Context, revision string) (binary, sha string, remove func() error, err error)
	// NoisePairs are taken for a noise floor where there is none; 0: a default,
	// negative: none, and the verdict is void.
	NoisePairs int
	// Ceilings are what the machine can do at most, by phase; nil: not known.
	Ceilings func(*Definition, []*sampling.Pair) map[string]verdict.Ceiling
	// Progress is told of every pair.
	Progress func(Progress)
	// Identify tells which machine this is when a run ends; nil: it cannot have changed.
	Identify func() Identity
	// Adapt changes the sampler before it is used; for tests.
	Adapt func(*sampling.Sampler)

	self string
}

// Progress is how far a run is.
type Progress struct {
	Experiment string
	Noise      bool // the baseline against itself, for the floor
	Pairs, Of  int  // Of: the next look
	Most       int
	Target     string
	Interval   verdict.Interval // so far; not for decisions
	Last       *sampling.Pair
}

// Run brings an experiment to its verdict: an unfinished run of the same
// registration goes on, otherwise a new one begins. When the context ends, what was
// measured stays, and the error is that of the context.
func (r *Runner) Run(ctx context.Context, d *Definition) (_ *Record, err error) {
	arms, err := r.arms(ctx, d)
	var missing *MissingError
	if errors.As(err, &missing) {
		return r.unavailable(d, missing), nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, arms.Close()) }()
	reg := r.register(d, arms)
	floor, err := r.Store.floor(reg.Machine.ID(), d.workloadKey(arms.fixture.SHA256))
	if err != nil {
		return nil, err
	}
	if floor == nil && r.NoisePairs >= 0 {
		if floor, err = r.measureFloor(ctx, d, arms); err != nil {
			return nil, err
		}
	}
	if floor == nil || floor.Busy {
		return r.withoutFloor(d, reg, floor), nil
	}
	reg.Floor = floor.Phases
	return r.sample(ctx, d, reg, arms, func(rec *Record) *Outcome { return r.outcome(d, rec) })
}

// register writes down what is about to run.
func (r *Runner) register(d *Definition, a *arms) *Registration {
	reg := &Registration{
		Experiment: d.Name, SHA256: d.SHA256, Text: d.Text, Machine: r.Machine, Binaries: a.binaries, Contract: arith.ContractVersion,
		Fixture: a.fixture, Version: r.Version, Looks: d.Pairs, Seed: d.Seed, Rules: r.rules(d), Cores: a.cores,
	}
	for k := range d.Pairs {
		reg.Alpha = append(reg.Alpha, d.Plan().Spend(k))
	}
	return reg
}

func (r *Runner) rules(d *Definition) sampling.Rules {
	rules := r.Rules
	if rules == (sampling.Rules{}) {
		rules = sampling.DefaultRules
	}
	rules.Distance = d.Preserve.Tolerance
	return rules
}

// unavailable is the record, nowhere stored, of what could not begin.
func (r *Runner) unavailable(d *Definition, e *MissingError) *Record {
	j := verdict.Judge(&verdict.Set{ID: d.Name, Target: d.Target, Environment: verdict.Environment{Missing: d.Fixture.Name()}}, verdict.OrderStatistics)
	j.Sentence = "Not available: " + e.What + "."
	return &Record{Outcome: &Outcome{Judgement: j}}
}

func (r *Runner) withoutFloor(d *Definition, reg *Registration, f *Floor) *Record {
	j := &verdict.Judgement{ID: d.Name, Verdict: verdict.Void, Rule: "no noise floor", Sentence: "This machine has no noise floor for the workload: nothing tells a difference from noise."}
	if f != nil {
		j.Rule, j.Sentence = "machine busy", "The machine was busy with other work while its noise floor was measured: run it again on a quiet machine."
	}
	return &Record{Registration: reg, Outcome: &Outcome{Judgement: j}}
}

// sample takes pairs until done gives an outcome. Every pair is on disk before the
// next one begins.
func (r *Runner) sample(ctx context.Context, d *Definition, reg *Registration, a *arms, done func(*Record) *Outcome) (_ *Record, err error) {
	w, err := r.Store.Append(d.Name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	rec, err := r.begin(w, d.Name, reg)
	if err != nil {
		return nil, err
	}
	put := func(l Line) error {
		l.Run, l.At = rec.Run, time.Now().UTC()
		return w.Write(&l)
	}
	s := r.sampler(d, a)
	for {
		looks := len(rec.Looks)
		outcome := done(rec)
		for _, l := range rec.Looks[looks:] {
			if err := put(Line{Look: l}); err != nil {
				return rec, err
			}
		}
		if outcome != nil {
			rec.Outcome, rec.Ended = outcome, time.Now().UTC()
			return rec, put(Line{Outcome: outcome})
		}
		i := len(sampling.Decisive(rec.Pairs))
		err := s.Pair(ctx, i, func(p sampling.Pair) error {
			if err := put(Line{Pair: &p}); err != nil {
				return err
			}
			rec.Pairs = append(rec.Pairs, p)
			r.tell(d, rec)
			return nil
		})
		if err != nil {
			return rec, fmt.Errorf("experiment: %s: pair %d: %w", d.Name, i, err)
		}
	}
}

func (r *Runner) sampler(d *Definition, a *arms) *sampling.Sampler {
	s := &sampling.Sampler{A: a.a, B: a.b, Seed: d.Seed, Rules: r.rules(d)}
	if r.Adapt != nil {
		r.Adapt(s)
	}
	return s
}

// Sampler is what takes the pairs of an experiment, for whoever does not want a
// record of them.
func (r *Runner) Sampler(ctx context.Context, d *Definition) (*sampling.Sampler, func() error, error) {
	a, err := r.arms(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	return r.sampler(d, a), a.Close, nil
}

// begin finds the unfinished run of a registration, or begins one.
func (r *Runner) begin(w *Writer, name string, reg *Registration) (*Record, error) {
	lines, err := r.Store.Read(name)
	if err != nil {
		return nil, err
	}
	all := Records(lines)
	if n := len(all); n > 0 && all[n-1].Outcome == nil && all[n-1].Registration.resumes(reg) {
		return all[n-1], nil
	}
	now := time.Now().UTC()
	rec := &Record{Run: fmt.Sprintf("%s-%d", now.Format("20060102T150405"), len(all)), Begun: now, Registration: reg}
	return rec, w.Write(&Line{Run: rec.Run, At: now, Registration: reg})
}

// outcome looks at the record where the registration says so, and ends it when a
// look decides.
func (r *Runner) outcome(d *Definition, rec *Record) *Outcome {
	pairs := sampling.Decisive(rec.Pairs)
	k := len(rec.Looks)
	broken := len(pairs) > 0 && pairs[len(pairs)-1].Broken != ""
	if k > 0 && rec.Looks[k-1].Decided() {
		k-- // it was killed between the look and the end
	} else {
		if !broken && len(pairs) < d.Pairs[k] && !hopeless(pairs, d.Pairs[k]) {
			return nil
		}
		var ceilings map[string]verdict.Ceiling
		if r.Ceilings != nil {
			ceilings = r.Ceilings(d, pairs)
		}
		rec.Looks = append(rec.Looks, d.judge(k, rec.Registration, pairs[:min(len(pairs), d.Pairs[k])], ceilings))
	}
	l := rec.Looks[k]
	if r.Identify != nil && l.Verdict != verdict.Void && r.Identify().ID() != rec.Registration.Machine.ID() {
		say(l, verdict.Void, "machine changed", "The machine is not the one that the run began on.")
	}
	if !l.Decided() {
		return nil
	}
	o := &Outcome{Judgement: l.Judgement, Pairs: len(pairs), Taken: len(rec.Pairs), Confidence: 1 - l.Alpha}
	o.Contaminated = contaminated(pairs)
	for _, p := range pairs {
		o.Distance = max(o.Distance, p.Distant)
	}
	for _, p := range rec.Pairs {
		o.Seconds += p.Waited
		if p.A != nil && p.B != nil {
			o.Seconds += seconds(p.A.Timings) + seconds(p.B.Timings)
		}
	}
	return o
}
