package snapshots

import (
	"fmt"
	"io"
	"path"
	"strings"
)

// headline is the answer in a few words.
func headline(r *Report) string {
	switch {
	case len(r.Results) > 0:
	case r.Unusable():
		return "void measurements"
	case len(r.AllBenches())+len(r.Kernels)+len(r.Experiments) > 0:
		return "measured"
	}
	switch r.ExitStatus() {
	case 0:
		if r.Unusable() {
			return "all held, but measurements are void"
		}
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
	fmt.Fprintf(s, "### Complete phases: %s\n\n%s\n\n", cell(path.Base(b.Model.Path)), cell(b.Title()))
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
