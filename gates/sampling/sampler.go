package sampling

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/gates/bench"
	"assay/oracle"
)

// Rules say when a pair may begin, when it is contaminated and what must be equal.
type Rules struct {
	// Share is the part of all CPUs that others may use before and during a pair.
	Share float64
	// Window is how long the machine is watched before a pair, Patience how long
	// altogether until it is idle.
	Window, Patience time.Duration
	// Attempts is how often a contaminated pair is taken at most.
	Attempts int
	// Distance is the largest KL divergence, in nats, of the candidate's logits from
	// the baseline's; 0: they must have the same bits.
	Distance float64
}

// DefaultRules are what experiments use.
var DefaultRules = Rules{Share: 0.10, Window: 60 * time.Millisecond, Patience: 3 * time.Second, Attempts: 3}

// slack is what the system's clock of CPU time, in hundredths of a second, may
// show too much in a short time on two CPUs.
const slack = 0.02

// Sampler takes the pairs of two arms.
type Sampler struct {
	A, B  Arm
	Seed  uint64
	Rules Rules

	// Take replaces the taking of a sample, Idle the waiting for an idle machine and
	// Watch the measuring of other work; for tests.
	Take  func(ctx context.Context, arm string, a *Arm) (*bench.Sample, error)
	Idle  func(ctx context.Context) (waited time.Duration, idle bool)
	Watch func() (foreign func() (used, had float64, ok bool))

	warm bool
}

// Pair takes pair i until it is clean, but not more often than the rules say, and
// hands over each attempt as soon as it is taken. The first call takes a pair
// before it that nobody sees: caches and clocks are warm after it.
func (s *Sampler) Pair(ctx context.Context, i int, got func(Pair) error) error {
	if !s.warm {
		if _, err := s.attempt(ctx, i, 0); err != nil {
			return err
		}
		s.warm = true
	}
	for attempt := range max(s.Rules.Attempts, 1) {
		p, err := s.attempt(ctx, i, attempt)
		if err != nil {
			return err
		}
		if err := got(*p); err != nil || p.Clean() || p.Broken != "" {
			return err
		}
	}
	return nil
}

func (s *Sampler) attempt(ctx context.Context, i, attempt int) (*Pair, error) {
	p := &Pair{Index: i, Attempt: attempt, Order: Order(s.Seed, i)}
	waited, idle := s.idle(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.Waited = waited.Seconds()
	if !idle {
		p.Marks = append(p.Marks, MarkNotIdle)
	}
	p.Started = time.Now().UTC()
	foreign := s.watch()
	for _, arm := range p.Order {
		if err := s.shoot(ctx, p, string(arm)); err != nil {
			return nil, err
		}
	}
	if used, had, ok := foreign(); ok {
		p.Foreign, p.Had = used, had
		if used > s.Rules.Share*had+slack {
			p.Marks = append(p.Marks, MarkForeign)
		}
	}
	s.compare(p)
	return p, nil
}

// shoot takes one sample. That an arm contradicts itself is a finding, not an error.
func (s *Sampler) shoot(ctx context.Context, p *Pair, arm string) error {
	a, into := &s.A, &p.A
	if arm == "B" {
		a, into = &s.B, &p.B
	}
	sample, err := s.take(ctx, arm, a)
	var parity *bench.ParityError
	if errors.As(err, &parity) {
		p.Broken, p.InArm = parity.Error(), arm
		return nil
	}
	if err != nil {
		return fmt.Errorf("arm %s: %w", arm, err)
	}
	*into = sample
	return nil
}

// compare holds the logits of the two arms against each other. Rows are dropped
// afterwards: their checksum stays.
func (s *Sampler) compare(p *Pair) {
	if p.A == nil || p.B == nil {
		return
	}
	a, b := p.A.Rows, p.B.Rows
	p.A.Rows, p.B.Rows = nil, nil
	switch {
	case p.A.Logits == "" || p.B.Logits == "":
		p.Broken = "an arm did not tell its logits"
	case p.A.Logits == p.B.Logits:
	case s.Rules.Distance <= 0:
		p.Broken = fmt.Sprintf("logits of the arms differ (SHA-256 %.12s and %.12s)", p.A.Logits, p.B.Logits)
	default:
		p.Distant, p.Broken = distance(a, b)
		if p.Broken == "" && !(p.Distant <= s.Rules.Distance) {
			p.Broken = fmt.Sprintf("KL divergence of the logits is %.3g, more than %.3g", p.Distant, s.Rules.Distance)
		}
	}
}

// distance is the largest KL divergence of corresponding rows.
func distance(a, b []bench.Row) (largest float64, wrong string) {
	if len(a) == 0 || len(a) != len(b) {
		return 0, "an arm did not give the rows of its logits"
	}
	for i := range a {
		if len(a[i]) == 0 || len(a[i]) != len(b[i]) {
			return 0, "rows of logits of different length"
		}
		kl := oracle.KLDivergence(&oracle.Row{Logits: a[i]}, b[i])
		if !(kl <= largest) { // also when it is not a number
			largest = kl
		}
	}
	return largest, ""
}

func (s *Sampler) take(ctx context.Context, arm string, a *Arm) (*bench.Sample, error) {
	if s.Take != nil {
		return s.Take(ctx, arm, a)
	}
	return a.Process.Sample(ctx, a.Job)
}

func (s *Sampler) idle(ctx context.Context) (time.Duration, bool) {
	if s.Idle != nil {
		return s.Idle(ctx)
	}
	return waitIdle(ctx, s.Rules)
}

func (s *Sampler) watch() func() (used, had float64, ok bool) {
	if s.Watch != nil {
		return s.Watch()
	}
	return bench.StartWatch().Foreign
}

// waitIdle watches the machine until a window goes by with little work of others.
// Where the system does not tell, it is taken for idle.
func waitIdle(ctx context.Context, r Rules) (waited time.Duration, idle bool) {
	begun := time.Now()
	for {
		w := bench.StartWatch()
		select {
		case <-ctx.Done():
			return time.Since(begun), false
		case <-time.After(r.Window):
		}
		used, had, ok := w.Foreign()
		switch waited = time.Since(begun); {
		case !ok || used <= r.Share*had+slack/2:
			return waited, true
		case waited >= r.Patience:
			return waited, false
		}
	}
}
