package selftest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"assay/gates/experiment"
	"assay/gates/sampling"
	"assay/gates/stats"
	"assay/gates/verdict"
)

// Trust is how often verdicts are right on one machine.
type Trust struct {
	Machine  experiment.Identity
	Taken    time.Time
	Version  string
	Seconds  float64
	Floor    map[string]float64 // measured with the first pairs
	Pairs    int                // of one binary against itself, in the pool of noise
	Looks    []int
	Disturb  int   // contaminated pairs among them
	Same     Count // real trials of a binary against itself
	Model    Count // simulated trials of a binary against itself
	Slow     []SlowTrust
	Share    float64
	Workload string
}

// Count are verdicts of many trials.
type Count struct {
	Trials   int
	Verdicts map[verdict.Verdict]int
	Pairs    []int // that each took
}

// Wrong are the verdicts that see a difference.
func (c *Count) Wrong() int { return c.Verdicts[verdict.Retained] + c.Verdicts[verdict.Rejected] }

func (c *Count) add(v verdict.Verdict, pairs int) {
	if c.Verdicts == nil {
		c.Verdicts = map[verdict.Verdict]int{}
	}
	c.Trials++
	c.Verdicts[v]++
	c.Pairs = append(c.Pairs, pairs)
}

// Median is the middle number of pairs.
func (c *Count) Median() int {
	if len(c.Pairs) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(c.Pairs))
	return s[len(s)/2]
}

// SlowTrust is how often a slow-down is found.
type SlowTrust struct {
	Part  float64 // seeded in each product
	Ratio float64 // of the phase, median of all pairs
	Real  Count
	Model Count // simulated, at the default looks
	Want  float64
	Needs int // the least of the largest numbers of pairs at which it is found often enough; 0: none tried
}

// TrustOptions say how much is measured.
type TrustOptions struct {
	Trials    int // real, of a binary against itself
	SlowPairs int // real pairs per slow-down; 0: 144
	Simulated int // trials; 0: 2000
}

// wanted are the slow-downs and how often they should be found.
var wanted = []struct{ part, rate float64 }{{0.03, 0.80}, {0.05, 0.95}}

// largest numbers of pairs that are tried in simulation.
var largest = []int{48, 96, 192, 384, 768}

// MeasureTrust takes real pairs of this binary against itself and against slower
// ones, judges them as experiments are judged, and simulates many more trials by
// drawing from the recorded pairs.
func MeasureTrust(ctx context.Context, o Options, t TrustOptions) (_ *Trust, err error) {
	dir, err := os.MkdirTemp("", "assay-trust-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if t.SlowPairs == 0 {
		t.SlowPairs = 144
	}
	if t.Simulated == 0 {
		t.Simulated = 2000
	}
	b := &bench{dir: dir, options: &o, runner: o.runner(dir)}
	begun := time.Now()
	out := &Trust{Machine: b.runner.Machine, Taken: begun.UTC(), Looks: sampling.DefaultLooks, Share: o.Rules.Share}
	// As its baseline, but for a ten-millionth: one binary against itself.
	d, err := b.define("itself", 0, "slow", "slow=0.0000011", looks, 21)
	if err != nil {
		return nil, err
	}
	out.Workload = fmt.Sprintf("%d prompt ids, %d ids decoded, %d thread, %d repetitions in a process", d.Workload.Prompt, d.Workload.Decode, d.Workload.Threads, d.Workload.Repeat)
	most := d.Plan().Most()
	floorPairs, err := b.pairs(ctx, d, "noise floor", most, 20)
	if err != nil {
		return nil, err
	}
	out.Floor = floorOf(d, floorPairs)
	pool := floorPairs
	for i := range t.Trials {
		got, v, n, err := b.trial(ctx, d, out.Floor, fmt.Sprintf("itself, trial %d of %d", i+1, t.Trials), uint64(100+i))
		if err != nil {
			return nil, err
		}
		out.Same.add(v, n)
		pool = append(pool, got...)
	}
	out.Pairs = len(pool)
	out.Disturb = disturbed(pool)
	random := rand.New(rand.NewPCG(31, 32))
	for range t.Simulated {
		v, n := simulate(d, draw(random, pool, most), draw(random, pool, most), d.Plan())
		out.Model.add(v, n)
	}
	for _, w := range wanted {
		s, err := b.slowTrust(ctx, out, t, w.part, w.rate, pool, random)
		if err != nil {
			return nil, err
		}
		out.Slow = append(out.Slow, *s)
	}
	out.Seconds = time.Since(begun).Seconds()
	return out, nil
}

// slowTrust takes real trials of one slow-down, then simulates.
func (b *bench) slowTrust(ctx context.Context, out *Trust, t TrustOptions, part, want float64, noise []*sampling.Pair, random *rand.Rand) (*SlowTrust, error) {
	s := &SlowTrust{Part: part, Want: want}
	d, err := b.slowDown(part, looks, 22)
	if err != nil {
		return nil, err
	}
	var pool []*sampling.Pair
	for i := 0; len(pool) < t.SlowPairs; i++ {
		got, v, n, err := b.trial(ctx, d, out.Floor, fmt.Sprintf("slower by %g %%, trial %d", 100*part, i+1), uint64(1000*(1+part)+float64(i)))
		if err != nil {
			return nil, err
		}
		s.Real.add(v, n)
		pool = append(pool, got...)
	}
	s.Ratio = ratio(d, pool)
	for _, most := range largest {
		plan := &sampling.Plan{Looks: []int{most / 4, most / 2, most}}
		var c Count
		for range t.Simulated {
			v, n := simulate(d, draw(random, noise, most), draw(random, pool, most), plan)
			c.add(v, n)
		}
		if most == d.Plan().Most() {
			s.Model = c
		}
		if float64(c.Verdicts[verdict.Rejected]) >= want*float64(c.Trials) {
			s.Needs = most
			break
		}
	}
	return s, nil
}

// trial is one sequential comparison with real pairs.
func (b *bench) trial(ctx context.Context, d *experiment.Definition, floor map[string]float64, what string, seed uint64) (all []*sampling.Pair, v verdict.Verdict, n int, err error) {
	s, err := b.sampler(ctx, d, seed)
	if err != nil {
		return nil, "", 0, err
	}
	defer s.close()
	for k, upTo := range d.Pairs {
		for len(all) < upTo {
			b.options.tell(fmt.Sprintf("%s, pair %d", what, len(all)+1))
			p, err := s.pair(ctx, len(all))
			if err != nil {
				return nil, "", 0, err
			}
			all = append(all, p)
		}
		l := d.Plan().At(k, experiment.Set(d.Name, d.Target, d.Judged(), floor, all))
		if l.Decided() {
			return all, l.Verdict, upTo, nil
		}
	}
	return nil, "", 0, fmt.Errorf("selftest: the last look decides")
}

// pairs takes n real pairs.
func (b *bench) pairs(ctx context.Context, d *experiment.Definition, what string, n int, seed uint64) (all []*sampling.Pair, err error) {
	s, err := b.sampler(ctx, d, seed)
	if err != nil {
		return nil, err
	}
	defer s.close()
	for i := range n {
		b.options.tell(fmt.Sprintf("%s, pair %d of %d", what, i+1, n))
		p, err := s.pair(ctx, i)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
		if busy := disturbed(all); len(all) >= stats.MinSamples && 4*busy > n {
			return nil, &BusyError{busy, len(all)}
		}
	}
	return all, nil
}

// BusyError is a machine on which nothing can be measured.
type BusyError struct{ Disturbed, Pairs int }

func (e *BusyError) Error() string {
	return fmt.Sprintf("selftest: others used the machine during %d of the first %d pairs, although these were repeated: run it on a quiet machine", e.Disturbed, e.Pairs)
}

func disturbed(pairs []*sampling.Pair) (n int) {
	for _, p := range pairs {
		if !p.Clean() {
			n++
		}
	}
	return n
}

// simulate judges drawn pairs, with a floor of drawn noise.
func simulate(d *experiment.Definition, noise, pairs []*sampling.Pair, plan *sampling.Plan) (verdict.Verdict, int) {
	floor := floorOf(d, noise)
	for k, n := range plan.Looks {
		if l := plan.At(k, experiment.Set(d.Name, d.Target, d.Judged(), floor, pairs[:n])); l.Decided() {
			return l.Verdict, n
		}
	}
	return verdict.Void, plan.Most()
}

// draw takes n pairs out of a pool, with repetition, two neighbours at a time: what
// one pair has in common with the next stays. Marks are left out: how often pairs
// are disturbed is not the question here.
func draw(random *rand.Rand, pool []*sampling.Pair, n int) []*sampling.Pair {
	var out []*sampling.Pair
	for len(out) < n {
		i := random.IntN(len(pool) - 1)
		for _, p := range pool[i : i+2] {
			clean := *p
			clean.Marks = nil
			out = append(out, &clean)
		}
	}
	return out[:n]
}

// floorOf is the noise floor by pairs of one binary against itself, as experiments
// measure it.
func floorOf(d *experiment.Definition, pairs []*sampling.Pair) map[string]float64 {
	return experiment.FloorOf(experiment.Set(d.Name, d.Target, d.Judged(), nil, pairs))
}

// ratio is the median ratio of the target phase, baseline over candidate.
func ratio(d *experiment.Definition, pairs []*sampling.Pair) float64 {
	a := experiment.Set(d.Name, d.Target, d.Judged(), nil, pairs).Samples[d.Target]
	x, y := make([]float64, len(a.A)), make([]float64, len(a.B))
	for i := range x {
		x[i], y[i] = float64(a.A[i]), float64(a.B[i])
	}
	e, err := stats.PairedRatio(x, y)
	if err != nil {
		return math.NaN()
	}
	return e.Value
}
