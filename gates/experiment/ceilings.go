package experiment

import (
	"slices"

	"assay/gates/bench"
	"assay/gates/sampling"
	"assay/gates/verdict"
	"assay/kernels/ceiling"
	"assay/kernels/cpu"
	"assay/snapshots"
)

// Ceilings are what a machine was seen to do at most.
type Ceilings struct {
	Measure func(ceiling.Options) (ceiling.Figures, error)
	Cores   int

	seen snapshots.Machine
}

// tries is how often a machine is measured that seems slower than its samples:
// whatever disturbed a measurement, the machine can do the largest.
const tries = 4

// Of are the ceilings of an experiment's phases, on all cores and at the best level
// of the machine: no arm can be faster, whatever it runs on. A machine that cannot
// be measured has none.
func (c *Ceilings) Of(d *Definition, pairs []*sampling.Pair) map[string]verdict.Ceiling {
	if len(pairs) == 0 || pairs[0].B == nil || pairs[0].B.Work == nil {
		return nil
	}
	var all map[string]verdict.Ceiling
	for range tries {
		if all != nil && !above(all, pairs) {
			break
		}
		if c.seen.Int8GMACs == 0 || all != nil {
			if err := c.measure(); err != nil {
				return nil
			}
		}
		all = pairs[0].B.Work.Ceilings(pairs[0].B.Timings, c.seen)
		for phase := range all {
			if !slices.Contains(d.Judged(), phase) {
				delete(all, phase)
			}
		}
	}
	return all
}

func (c *Ceilings) measure() error {
	level, err := cpu.Default()
	if err != nil {
		return err
	}
	f, err := c.Measure(ceiling.Options{Level: level, Threads: c.Cores, Passes: 5})
	c.seen.ReadGBs = max(c.seen.ReadGBs, f.ReadGBs)
	c.seen.Int8GMACs = max(c.seen.Int8GMACs, f.Int8GMACs)
	return err
}

// above tells whether some sample was faster than the machine is said to be.
func above(all map[string]verdict.Ceiling, pairs []*sampling.Pair) bool {
	for phase, c := range all {
		for _, p := range pairs {
			for _, s := range []*bench.Sample{p.A, p.B} {
				if x, _ := appendPhase(nil, nil, s, phase); len(x) == 1 && c.Work > c.PerSecond*float64(x[0]) {
					return true
				}
			}
		}
	}
	return false
}
