package snapshots

import (
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchunit"
)

// WriteTable writes a report for people at a terminal: every check with its rung,
// value and tolerance, the reasons of the tolerances, what did not hold and where
// to look, the benchmark, and the count of verdicts.
func WriteTable(w io.Writer, r *Report) error {
	g := grid{header: []string{"gate", "on", "rung", "value", "tolerance", "verdict"}, widest: map[int]int{0: 32, 1: 44, 3: 44, 4: 32}}
	gate := ""
	for i := range r.Results {
		x := &r.Results[i]
		if x.Gate != gate || i == 0 {
			g.add(x.Gate, "", "", "", "", "")
		}
		gate = x.Gate
		g.add("· "+r.check(i), x.Fixture, x.Rung, x.Value, x.Tolerance, loud(x.Verdict))
	}
	if err := g.text(w); err != nil {
		return err
	}
	var b strings.Builder
	if reasons := reasonsOf(r.Results); len(reasons) > 0 {
		b.WriteString("\nwhy the tolerances are what they are\n")
		for _, y := range reasons {
			b.WriteString(indent(y.title()+": "+y.why, "  "))
		}
	}
	for i := range r.Results {
		if x := &r.Results[i]; x.open() && (x.Verdict != Skipped || x.Detail != "") {
			fmt.Fprintf(&b, "\n%s: %s\n", strings.ToUpper(string(x.Verdict)), x.name())
			b.WriteString(indent(x.said(), "  "))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if r.Bench != nil {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
		if err := WriteBench(w, r.Bench); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.Summary())
	return err
}

// check names the check of result i, with its phase where the result next to it
// differs in nothing else.
func (r *Report) check(i int) string {
	x := &r.Results[i]
	for _, k := range []int{i - 1, i + 1} {
		if k < 0 || k >= len(r.Results) {
			continue
		}
		y := &r.Results[k]
		if y.Gate == x.Gate && y.Check == x.Check && y.Fixture == x.Fixture && y.Phase != x.Phase {
			return x.Check + " " + x.Phase
		}
	}
	return x.Check
}

// verdicts in the order of reports.
var verdicts = []Verdict{Held, Failed, Void, Skipped, Missing}

// Summary is one line: how many checks have which verdict, and where they ran.
func (r *Report) Summary() string {
	if len(r.Results) == 0 && len(r.AllBenches())+len(r.Kernels) > 0 {
		return fmt.Sprintf("no checks, %.1f s on %s", r.Seconds, r.Machine)
	}
	var parts []string
	for _, v := range verdicts {
		if n := r.Count(v); n > 0 || v == Held || v == Failed {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return fmt.Sprintf("%s in %.1f s on %s", strings.Join(parts, ", "), r.Seconds, r.Machine)
}

// String names the machine and the level that ran.
func (m Machine) String() string {
	cpu := m.CPU
	if cpu == "" {
		cpu = "unnamed CPU"
	}
	return fmt.Sprintf("%s, %d cores, %s, %s, %s", cpu, m.Cores, m.Level, m.OS, m.Go)
}

// loud makes verdicts that ask for attention stand out.
func loud(v Verdict) string {
	if v == Failed {
		return strings.ToUpper(string(v))
	}
	return string(v)
}

// open tells whether there is something to explain.
func (x *Result) open() bool { return x.Verdict != Held }

// name is gate, check and what it ran on.
func (x *Result) name() string {
	s := x.Gate
	if x.Check != "" {
		s += " " + x.Check
	}
	if x.Fixture != "" {
		s += " on " + x.Fixture
	}
	return s
}

// said is the detail, or at least the figures.
func (x *Result) said() string {
	s := x.Value
	if x.Tolerance != "" {
		s += " (tolerance: " + x.Tolerance + ")"
	}
	if x.Detail != "" {
		s += "\n" + x.Detail
	}
	return strings.TrimPrefix(s, "\n")
}

// reason is why a tolerance has its size, with the checks that share it.
type reason struct {
	check, tolerance, why string
	gates                 []string
}

// title names the check, where it is made, and the tolerance.
func (y *reason) title() string {
	const few = 3
	s := y.check + " of "
	if n := len(y.gates); n > few {
		s += fmt.Sprintf("%s and %d more gates", strings.Join(y.gates[:few-1], ", "), n-few+1)
	} else {
		s += strings.Join(y.gates, ", ")
	}
	if y.tolerance != "" {
		s += " (" + y.tolerance + ")"
	}
	return s
}

// reasonsOf gathers reasons in the order of their first use.
func reasonsOf(results []Result) []*reason {
	var all []*reason
	for i := range results {
		x := &results[i]
		if x.Why == "" {
			continue
		}
		k := slices.IndexFunc(all, func(y *reason) bool { return y.check == x.Check && y.tolerance == x.Tolerance && y.why == x.Why })
		if k < 0 {
			all = append(all, &reason{check: x.Check, tolerance: x.Tolerance, why: x.Why})
			k = len(all) - 1
		}
		if !slices.Contains(all[k].gates, x.Gate) {
			all[k].gates = append(all[k].gates, x.Gate)
		}
	}
	return all
}

// WriteBench writes a benchmark for people: one row per phase, the peer beside us
// where there is one.
func WriteBench(w io.Writer, b *Bench) error {
	var s strings.Builder
	s.WriteString(indent(b.Title(), ""))
	if _, err := io.WriteString(w, s.String()); err != nil {
		return err
	}
	if len(b.Runs) > 0 {
		g := b.grid()
		if err := g.text(w); err != nil {
			return err
		}
	}
	s.Reset()
	for _, n := range b.notes() {
		s.WriteString(indent(n, ""))
	}
	for _, n := range b.Warnings {
		s.WriteString(indent("warning: "+n, ""))
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// Title says what was run, where, and what the machine can do.
func (b *Bench) Title() string {
	t := fmt.Sprintf("%s (%s, %s, %sB), %d threads, activations %s, %s", path.Base(b.Model.Path), b.Model.Family, b.Model.Format,
		benchunit.Scale(float64(b.Model.Bytes), benchunit.Binary), b.Threads, b.Activations, b.Machine)
	if b.Machine.ReadGBs > 0 {
		t += fmt.Sprintf("; memory is read at %.1f GB/s", b.Machine.ReadGBs)
	}
	if b.Machine.Int8GMACs > 0 {
		t += fmt.Sprintf("; %.1f GMAC/s of int8", b.Machine.Int8GMACs)
	}
	return t
}

func (b *Bench) grid() *grid {
	g := &grid{header: []string{"phase", "tokens"}, right: []int{1}}
	for _, r := range b.Runs {
		n := len(g.header)
		g.header = append(g.header, r.Engine, "±", "tok/s", "of ceiling")
		g.right = append(g.right, n, n+1, n+2)
	}
	if len(b.Ratios) > 0 {
		g.header = append(g.header, "speedup")
	}
	for i := range b.Runs[0].Phases {
		p := &b.Runs[0].Phases[i]
		row := []string{p.Phase, count(p.Tokens)}
		for k := range b.Runs {
			row = append(row, b.Runs[k].phase(p.Phase).cells()...)
		}
		if len(b.Ratios) > 0 {
			row = append(row, b.ratio(p.Phase))
		}
		g.add(row...)
	}
	for _, x := range b.Ratios {
		if b.Runs[0].phase(x.Phase) == nil {
			row := make([]string, len(g.header))
			row[0], row[len(row)-1] = x.Phase, b.ratio(x.Phase)
			g.add(row...)
		}
	}
	return g
}

func (r *Run) phase(name string) *BenchPhase {
	for i := range r.Phases {
		if r.Phases[i].Phase == name {
			return &r.Phases[i]
		}
	}
	return nil
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// cells are median, deviation, speed and fraction of the ceiling.
func (p *BenchPhase) cells() []string {
	if p == nil {
		return []string{"", "", "", ""}
	}
	row := []string{benchunit.Scale(p.Median, benchunit.Decimal) + "s", "", "", ""}
	if p.Median > 0 {
		row[1] = fmt.Sprintf("%.0f %%", 100*max(p.High-p.Median, p.Median-p.Low)/p.Median)
	}
	if p.TokensPerSec > 0 {
		row[2] = strconv.FormatFloat(p.TokensPerSec, 'f', max(0, 3-int(math.Log10(max(p.TokensPerSec, 1)))), 64)
	}
	switch {
	case p.Void != "":
		row[3] = "void"
	case p.Ceiling != "none" && p.OfCeiling > 0:
		row[3] = fmt.Sprintf("%.0f %% of %s", 100*p.OfCeiling, p.Ceiling)
	}
	return row
}

func (b *Bench) ratio(phase string) string {
	for _, x := range b.Ratios {
		if x.Phase == phase {
			return fmt.Sprintf("%.2f× [%.2f, %.2f]", x.Speedup, x.Low, x.High)
		}
	}
	return ""
}

// notes are what a reader must know of the figures.
func (b *Bench) notes() (notes []string) {
	for _, r := range b.Runs {
		s := strings.TrimSpace(r.Engine + " " + r.Version)
		if r.PeakRSSBytes > 0 {
			s += ": peak resident " + benchunit.Scale(float64(r.PeakRSSBytes), benchunit.Binary) + "B"
		}
		notes = append(notes, s)
	}
	if len(b.Ratios) > 0 {
		notes = append(notes, fmt.Sprintf("speedup: the time of %s over ours, median of interleaved pairs [interval]; its load includes preparing the weights", b.Runs[len(b.Runs)-1].Engine))
	}
	return notes
}
