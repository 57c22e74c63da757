package snapshots

import (
	"fmt"
	"path"
)

// Changes is what is different from an earlier report.
type Changes struct {
	Since    *Report
	Machine  string // why times are not compared; "": they are
	Verdicts []ResultChange
	Times    []TimeChange
	New      int // results that were not there then
	Gone     []string
}

// ResultChange is a result with another verdict or value than then. Values count
// where a rung stands behind them: times are never the same twice.
type ResultChange struct{ Before, After *Result }

// TimeChange is a time that both reports have.
type TimeChange struct {
	Of, Phase     string
	Before, After float64 // seconds, medians
	Ratio         float64 // before over after: above 1 it is faster now
	Word          string
}

// Words of a TimeChange. They come of intervals of unpaired samples: a hint where
// to look, never a verdict.
const (
	Faster = "faster"
	Slower = "slower"
	Within = "within the spread"
)

// Compare finds what changed since an earlier report.
func Compare(before, after *Report) *Changes {
	c := &Changes{Since: before}
	c.results(before, after)
	if c.Machine = before.otherMachine(after); c.Machine == "" {
		c.phases(before, after)
		c.kernels(before, after)
	}
	return c
}

// otherMachine says in what the machines of two reports differ.
func (r *Report) otherMachine(s *Report) string {
	a, b := r.Machine, s.Machine
	switch {
	case r.MachineID != "" && s.MachineID != "" && r.MachineID != s.MachineID:
		return fmt.Sprintf("that was machine %s, this is %s", r.MachineID, s.MachineID)
	case a.CPU != b.CPU || a.Cores != b.Cores || a.OS != b.OS || a.Go != b.Go || a.Level != b.Level:
		return fmt.Sprintf("that was on %s", a)
	}
	return ""
}

// key identifies a result: check is what tells results of one gate apart.
func (r *Report) key(i int) string {
	x := &r.Results[i]
	return x.Gate + "\x00" + x.Check + "\x00" + x.Fixture + "\x00" + x.Phase
}

// keyed maps results by their key; of several with one key, a number is added.
func (r *Report) keyed() (keys []string, by map[string]*Result) {
	by = map[string]*Result{}
	for i := range r.Results {
		k := r.key(i)
		for n := 2; by[k] != nil; n++ {
			k = fmt.Sprintf("%s\x00%d", r.key(i), n)
		}
		by[k] = &r.Results[i]
		keys = append(keys, k)
	}
	return keys, by
}

func (c *Changes) results(before, after *Report) {
	keysBefore, old := before.keyed()
	keys, now := after.keyed()
	for _, k := range keys {
		x, y := old[k], now[k]
		switch {
		case x == nil:
			c.New++
		case x.Verdict != y.Verdict, x.Rung != "" && x.Value != y.Value:
			c.Verdicts = append(c.Verdicts, ResultChange{x, y})
		}
	}
	for _, k := range keysBefore {
		if now[k] == nil {
			c.Gone = append(c.Gone, old[k].name())
		}
	}
}

// Key tells benchmarks apart: what was run, and how.
func (b *Bench) Key() string {
	return fmt.Sprintf("%s %d threads %s", path.Base(b.Model.Path), b.Threads, b.Activations)
}

func (c *Changes) phases(before, after *Report) {
	old := map[string]*Bench{}
	for _, b := range before.AllBenches() {
		old[b.Key()] = b
	}
	for _, b := range after.AllBenches() {
		then := old[b.Key()]
		if then == nil || len(then.Runs) == 0 || len(b.Runs) == 0 {
			continue
		}
		for i := range b.Runs[0].Phases {
			p := &b.Runs[0].Phases[i]
			if q := then.Runs[0].phase(p.Phase); q != nil && q.Tokens == p.Tokens && q.Void == "" && p.Void == "" {
				c.time(b.Key(), p.Phase, [3]float64{q.Median, q.Low, q.High}, [3]float64{p.Median, p.Low, p.High})
			}
		}
	}
}

func (c *Changes) kernels(before, after *Report) {
	old := map[string]*Kernel{}
	for i := range before.Kernels {
		k := &before.Kernels[i]
		old[k.Entry()+"/"+k.Case] = k
	}
	for i := range after.Kernels {
		k := &after.Kernels[i]
		if q := old[k.Entry()+"/"+k.Case]; q != nil && q.Void == "" && k.Void == "" {
			c.time(k.Entry(), k.Case, [3]float64{q.Median, q.Low, q.High}, [3]float64{k.Median, k.Low, k.High})
		}
	}
}

// time compares a median with its interval.
func (c *Changes) time(of, phase string, then, now [3]float64) {
	if then[0] <= 0 || now[0] <= 0 {
		return
	}
	word := Within
	switch {
	case now[2] < then[1]:
		word = Faster
	case now[1] > then[2]:
		word = Slower
	}
	c.Times = append(c.Times, TimeChange{of, phase, then[0], now[0], then[0] / now[0], word})
}

// None tells whether nothing is worth a word.
func (c *Changes) None() bool {
	for _, t := range c.Times {
		if t.Word != Within {
			return false
		}
	}
	return len(c.Verdicts)+len(c.Gone)+c.New == 0
}
