package snapshots

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchunit"
)

// A Picture is an image file beside a page.
type Picture struct {
	File, Title string
	// Of says where on the page it belongs.
	Of Section
}

// Section is a part of a page.
type Section string

// The sections that have pictures.
const (
	OfPhases      Section = "phases"
	OfExperiments Section = "experiments"
	OfHistory     Section = "history"
)

// Page is what a page shows besides its report.
type Page struct {
	Since    *Report // to tell what changed; nil: nothing is compared
	Pictures []Picture
}

// WriteMarkdown writes a report for pull requests and job summaries, alone.
func WriteMarkdown(w io.Writer, r *Report) error { return WritePage(w, r, Page{}) }

// WritePage writes a report for people: the answer, the machine, what changed,
// what did not hold with all that is known of it, the phases, experiments and
// kernels, and then every check.
func WritePage(w io.Writer, r *Report, p Page) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## assay: %s\n\n", headline(r))
	if s := r.Superseded; s != nil {
		b.WriteString("> **Superseded**")
		if s.By != "" {
			fmt.Fprintf(&b, " by `%s`", s.By)
		}
		fmt.Fprintf(&b, ": %s\n\n", cell(s.Reason))
	}
	fmt.Fprintf(&b, "%s.\n\n", cell(r.Summary()))
	fmt.Fprintf(&b, "`%s`, version %s, %s\n", r.Command, cell(r.Version), r.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n- %s\n", cell(n))
	}
	writeMachine(&b, r)
	if p.Since != nil {
		if err := writeChanges(&b, Compare(p.Since, r)); err != nil {
			return err
		}
	}
	writeOpen(&b, r)
	for _, section := range []func(*strings.Builder, *Report, Page) error{writePhases, writeExperiments, writeKernels, writeHistory, writeGates} {
		if err := section(&b, r, p); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeMachine lists the identity of the machine, folded up.
func writeMachine(b *strings.Builder, r *Report) {
	if len(r.Identity) == 0 {
		return
	}
	fmt.Fprintf(b, "\n<details><summary>Machine %s</summary>\n\n", r.MachineID)
	for _, f := range r.Identity {
		fmt.Fprintf(b, "- %s: %s\n", cell(f.Name), cell(f.Value))
	}
	b.WriteString("\n</details>\n")
}

// writeOpen tells all that is known of what did not hold.
func writeOpen(b *strings.Builder, r *Report) {
	for i := range r.Results {
		if x := &r.Results[i]; x.open() && (x.Verdict != Skipped || x.Detail != "") {
			fmt.Fprintf(b, "\n### %s: %s\n\n%s", x.Verdict, cell(x.name()), fenced(x.said()))
			if x.Why != "" {
				fmt.Fprintf(b, "\nThe tolerance: %s\n", cell(x.Why))
			}
		}
	}
}

// several is from how many benchmarks without a peer on these share a table.
const several = 3

func writePhases(b *strings.Builder, r *Report, p Page) error {
	var alone []*Bench
	for _, x := range r.AllBenches() {
		if len(x.Runs) == 1 {
			alone = append(alone, x)
		}
	}
	if len(alone) < several {
		alone = nil
	}
	for _, x := range r.AllBenches() {
		if slices.Contains(alone, x) {
			continue
		}
		b.WriteString("\n")
		if err := writeBenchMarkdown(b, x); err != nil {
			return err
		}
	}
	if err := writeTogether(b, alone); err != nil {
		return err
	}
	p.show(b, OfPhases)
	return nil
}

// writeTogether shows prompt and decode of several models in one table, and folds
// the other phases up.
func writeTogether(b *strings.Builder, all []*Bench) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintf(b, "\n### Complete phases of %d models\n\n", len(all))
	g := grid{header: []string{"model", "format", "prompt", "±", "tok/s", "of ceiling", "decode", "±", "tok/s", "of ceiling"}, right: []int{2, 3, 4, 6, 7, 8}}
	for _, x := range all {
		row := []string{cell(path.Base(x.Model.Path)), cell(x.Model.Format)}
		for _, phase := range []string{"prompt", "decode"} {
			row = append(row, x.Runs[0].phase(phase).cells()...)
		}
		g.add(row...)
	}
	if err := g.markdown(b); err != nil {
		return err
	}
	b.WriteString("\n<details><summary>Every phase</summary>\n")
	for _, x := range all {
		b.WriteString("\n")
		if err := writeBenchMarkdown(b, x); err != nil {
			return err
		}
	}
	b.WriteString("\n</details>\n")
	return nil
}

func (p *Page) show(b *strings.Builder, of Section) {
	for _, x := range p.Pictures {
		if x.Of == of {
			fmt.Fprintf(b, "\n![%s](%s)\n", cell(x.Title), x.File)
		}
	}
}

func writeExperiments(b *strings.Builder, r *Report, p Page) error {
	if len(r.Experiments) == 0 {
		return nil
	}
	b.WriteString("\n### Experiments\n")
	g := grid{header: []string{"experiment", "verdict", "phase", "ratio [interval]", "noise floor", "pairs", "in words"}, right: []int{4, 5}}
	var never []string
	for _, x := range r.Experiments {
		if x.State == neverRun {
			never = append(never, x.Name)
			continue
		}
		ratio, floor := "", ""
		if x.Ratio > 0 {
			ratio, floor = fmt.Sprintf("%.3f× [%.3f, %.3f]", x.Ratio, x.Low, x.High), fmt.Sprintf("%.1f %%", 100*x.Floor)
		}
		g.add(cell(x.Name), "**"+cell(x.State)+"**", cell(x.Target), cell(ratio), floor, count(x.Pairs), cell(x.Sentence))
	}
	if len(g.rows) > 0 {
		b.WriteString("\nThe ratio is that of paired times, baseline over candidate: above 1 the candidate is faster.\n\n")
		if err := g.markdown(b); err != nil {
			return err
		}
	}
	if len(never) > 0 {
		fmt.Fprintf(b, "\nNever run on this machine: %s.\n", cell(strings.Join(never, ", ")))
	}
	p.show(b, OfExperiments)
	return nil
}

// neverRun is the state of experiments that have nothing to show.
const neverRun = "never run"

func writeHistory(b *strings.Builder, _ *Report, p Page) error {
	for _, x := range p.Pictures {
		if x.Of == OfHistory {
			b.WriteString("\n### History\n")
			break
		}
	}
	p.show(b, OfHistory)
	return nil
}

func writeKernels(b *strings.Builder, r *Report, _ Page) error {
	if len(r.Kernels) == 0 {
		return nil
	}
	b.WriteString("\n### Kernels\n\nOne thread. A fraction is of what one core of this machine can do: of multiplying int8 in registers, or of reading its first cache.\n\n")
	g := grid{header: []string{"benchmark", "case", "time", "±", "allocs", "of ceiling"}, right: []int{2, 3, 4}}
	last := ""
	for i := range r.Kernels {
		k := &r.Kernels[i]
		name := k.Entry()
		if name == last {
			name = ""
		}
		last = k.Entry()
		g.add(cell(name), cell(k.Case), duration(k.Median), spread(k.Median, k.Low, k.High), strconv.FormatFloat(k.Allocs, 'f', -1, 64), k.fraction())
	}
	return g.markdown(b)
}

func duration(s float64) string { return benchunit.Scale(s, benchunit.Decimal) + "s" }

func spread(median, low, high float64) string {
	if median <= 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*max(high-median, median-low)/median)
}

func (k *Kernel) fraction() string {
	switch {
	case k.Void != "":
		return "**void:** " + cell(k.Void)
	case k.Ceiling == "none" || k.Ceiling == "":
		return ""
	}
	return fmt.Sprintf("%.0f %% of %s", 100*k.OfCeiling, k.Ceiling)
}

// writeGates counts the verdicts gate by gate, and folds every check up below.
func writeGates(b *strings.Builder, r *Report, _ Page) error {
	if len(r.Results) == 0 {
		return nil
	}
	b.WriteString("\n### Gates\n\n")
	g := grid{header: []string{"gate", "held", "rungs", "verdict"}, right: []int{1}}
	for _, x := range r.byGate() {
		g.add(cell(x.gate), fmt.Sprintf("%d of %d", x.held, x.all), strings.Join(x.rungs, ", "), verdictCell(x.worst))
	}
	if err := g.markdown(b); err != nil {
		return err
	}
	b.WriteString("\n<details><summary>Every check</summary>\n\n")
	writeChecks(b, r)
	if reasons := reasonsOf(r.Results); len(reasons) > 0 {
		b.WriteString("\nWhy the tolerances are what they are:\n\n")
		for _, y := range reasons {
			fmt.Fprintf(b, "- %s: %s\n", cell(y.title()), cell(y.why))
		}
	}
	b.WriteString("\n</details>\n")
	return nil
}
