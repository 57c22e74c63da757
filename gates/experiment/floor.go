package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"assay/gates/sampling"
	"assay/gates/verdict"
)

// floorsName is the record of noise floors.
const floorsName = "noise-floors"

// leastFloor is the smallest difference that is ever called one: layout of memory
// and order of linking alone make as much.
const leastFloor = 0.005

// Floor is how far pairs of one binary against itself lie apart, per phase, on one
// machine and workload.
type Floor struct {
	Machine  string             `json:"machine"`  // ID of the identity
	Workload string             `json:"workload"` // key
	Phases   map[string]float64 `json:"phases"`
	Pairs    int                `json:"pairs"`
	Binary   string             `json:"binary"`
	Busy     bool               `json:"busy,omitempty"` // taken on a busy machine: decides nothing
}

// workloadKey names what samples do, for floors: the fixture and the work.
func (d *Definition) workloadKey(fixture string) string {
	w := &d.Workload
	return fmt.Sprintf("%.12s/prompt=%d/decode=%d/threads=%d/repeat=%d", fixture, w.Prompt, w.Decode, w.Threads, max(w.Repeat, 1))
}

// floor finds the newest floor of this machine and workload.
func (s *Store) floor(machine, workload string) (*Floor, error) {
	lines, err := s.Read(floorsName)
	if err != nil {
		return nil, err
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if f := lines[i].Floor; f != nil && f.Machine == machine && f.Workload == workload && !f.Busy {
			return f, nil
		}
	}
	return nil, nil
}

// noisePairs are taken of the baseline against itself for a floor.
const noisePairs = 48

// measureFloor takes the pairs of an arm against itself and stores what they say.
// They are kept like those of any run, in a record of their own, so that it goes on
// where it was killed.
func (r *Runner) measureFloor(ctx context.Context, d *Definition, arms *arms) (*Floor, error) {
	key := d.workloadKey(arms.fixture.SHA256)
	noise := *d
	noise.Name = "noise-" + hash(key)[:12]
	noise.Candidate, noise.Pairs, noise.Text = d.Baseline, []int{cmp.Or(r.NoisePairs, max(noisePairs, d.Plan().Most()))}, ""
	noise.SHA256 = hash(key)
	reg := r.register(&noise, arms.same())
	rec, err := r.sample(ctx, &noise, reg, arms.same(), func(rec *Record) *Outcome {
		pairs := sampling.Decisive(rec.Pairs)
		if n := len(pairs); n < noise.Pairs[0] && (n == 0 || pairs[n-1].Broken == "") && !hopeless(pairs, noise.Pairs[0]) {
			return nil
		}
		return &Outcome{Pairs: len(pairs), Taken: len(rec.Pairs)}
	})
	if err != nil {
		return nil, err
	}
	f := &Floor{Machine: reg.Machine.ID(), Workload: key, Binary: reg.Binaries.Baseline}
	pairs := sampling.Decisive(rec.Pairs)
	for _, p := range pairs {
		if p.Broken != "" {
			return nil, fmt.Errorf("experiment: %s: the baseline against itself: %s", d.Name, p.Broken)
		}
	}
	s := Set(noise.Name, d.Target, Phases, nil, pairs)
	f.Pairs, f.Busy = len(pairs), s.Environment.Busy
	f.Phases = FloorOf(s)
	w, err := r.Store.Append(floorsName)
	if err != nil {
		return nil, err
	}
	if err := w.Write(&Line{Run: rec.Run, At: time.Now().UTC(), Floor: f}); err != nil {
		return nil, err
	}
	return f, w.Close()
}

// FloorOf is how far the median ratio of each phase may be from 1 by pairs of one
// binary against itself: the farther end of its interval. A phase without usable
// times has none.
func FloorOf(s *verdict.Set) map[string]float64 {
	floor := map[string]float64{}
	for phase, a := range s.Samples {
		if e, err := interval(a); err == nil {
			floor[phase] = min(max(math.Abs(e.Low-1), math.Abs(e.High-1), leastFloor), 0.99)
		}
	}
	return floor
}
