package experiment

import (
	"slices"
	"sync"

	"assay/gates/sampling"
	"assay/gates/verdict"
	"assay/kernels/ceiling"
	"assay/kernels/cpu"
	"assay/snapshots"
)

// MeasuredCeilings measures the machine once, on all of its cores and at its best
// level: no arm can be faster, whatever it runs on.
func MeasuredCeilings(measure func(ceiling.Options) (ceiling.Figures, error), cores int) func(*Definition, *sampling.Pair) map[string]verdict.Ceiling {
	figures := sync.OnceValues(func() (ceiling.Figures, error) {
		level, err := cpu.Default()
		if err != nil {
			return ceiling.Figures{}, err
		}
		return measure(ceiling.Options{Level: level, Threads: cores, Passes: 5})
	})
	return func(d *Definition, p *sampling.Pair) map[string]verdict.Ceiling {
		if p.B == nil || p.B.Work == nil {
			return nil
		}
		f, err := figures()
		if err != nil {
			return nil // a machine that cannot be measured has no known ceiling
		}
		all := p.B.Work.Ceilings(p.B.Timings, snapshots.Machine{ReadGBs: f.ReadGBs, Int8GMACs: f.Int8GMACs})
		for phase := range all {
			if !slices.Contains(d.Judged(), phase) {
				delete(all, phase)
			}
		}
		return all
	}
}
