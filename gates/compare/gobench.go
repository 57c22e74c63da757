package compare

import (
	"io"
	"path/filepath"

	"assay/gates/experiment"
)

// WriteGoBench writes every sample that counts in the Go benchmark format, the base
// as the arm "baseline": `benchstat -col /arm FILE` sets the arms side by side.
func (r *Report) WriteGoBench(w io.Writer) error {
	t := r.Timing
	if t == nil || len(t.Phases) == 0 {
		return nil
	}
	d := &experiment.Definition{Name: "compare", Workload: experiment.Workload{Threads: t.Work.Threads}}
	d.Target = t.Phases[0].Name
	for _, p := range t.Phases[1:] {
		d.Guard = append(d.Guard, p.Name)
	}
	reg := &experiment.Registration{Machine: t.Machine, Fixture: experiment.FixtureIdentity{Name: filepath.Base(t.Work.Path), SHA256: t.Work.SHA256}}
	return experiment.WriteGoBench(w, d, &experiment.Record{Run: r.Base.String() + " and " + r.Candidate.String(), Registration: reg, Pairs: t.pairs})
}
