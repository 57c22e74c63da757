package snapshots

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes a report for pull requests and job summaries: the verdict,
// the machine, what did not hold with all that is known of it, then every check
// and the benchmark.
func WriteMarkdown(w io.Writer, r *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## assay: %s\n\n", headline(r))
	fmt.Fprintf(&b, "%s.\n\n", cell(r.Summary()))
	fmt.Fprintf(&b, "`%s`, version %s, %s\n", r.Command, cell(r.Version), r.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	for i := range r.Results {
		if x := &r.Results[i]; x.open() && (x.Verdict != Skipped || x.Detail != "") {
			fmt.Fprintf(&b, "\n### %s: %s\n\n%s", x.Verdict, cell(x.name()), fenced(x.said()))
			if x.Why != "" {
				fmt.Fprintf(&b, "\nThe tolerance: %s\n", cell(x.Why))
			}
		}
	}
	if len(r.Results) > 0 {
		b.WriteString("\n### Gates\n\n")
		g := grid{header: []string{"gate", "check", "on", "rung", "value", "tolerance", "why", "verdict"}}
		for i := range r.Results {
			x := &r.Results[i]
			g.add(cell(x.Gate), cell(r.check(i)), cell(x.Fixture), cell(x.Rung), cell(x.Value), cell(x.Tolerance), cell(x.Why), verdictCell(x.Verdict))
		}
		if err := g.markdown(&b); err != nil {
			return err
		}
	}
	if r.Bench != nil {
		b.WriteString("\n")
		if err := writeBenchMarkdown(&b, r.Bench); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// headline is the answer in a few words.
func headline(r *Report) string {
	switch r.ExitStatus() {
	case 0:
		return "all held"
	case 1:
		return fmt.Sprintf("%d failed", r.Count(Failed))
	}
	if n := r.Count(Void); n > 0 {
		return fmt.Sprintf("%d void", n)
	}
	return "nothing was answered"
}

func verdictCell(v Verdict) string {
	if v == Held {
		return string(v)
	}
	return "**" + string(v) + "**"
}

// WriteBenchMarkdown writes a benchmark for pull requests and job summaries.
func WriteBenchMarkdown(w io.Writer, b *Bench) error {
	var s strings.Builder
	if err := writeBenchMarkdown(&s, b); err != nil {
		return err
	}
	_, err := io.WriteString(w, s.String())
	return err
}

func writeBenchMarkdown(s *strings.Builder, b *Bench) error {
	fmt.Fprintf(s, "### Complete phases\n\n%s\n\n", cell(b.Title()))
	if len(b.Runs) > 0 {
		if err := b.grid().markdown(s); err != nil {
			return err
		}
	}
	s.WriteString("\n")
	for _, n := range b.notes() {
		fmt.Fprintf(s, "- %s\n", cell(n))
	}
	for _, n := range b.Warnings {
		fmt.Fprintf(s, "- **warning:** %s\n", cell(n))
	}
	return nil
}

// cell keeps a text from being read as Markdown or as the end of a cell.
var cellEscapes = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "\r\n", "<br>", "\n", "<br>")

func cell(s string) string { return cellEscapes.Replace(s) }

// fenced is a code block that its text cannot end.
func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fmt.Sprintf("%stext\n%s\n%s\n", fence, strings.TrimRight(s, "\n"), fence)
}
