package command

import (
	"fmt"
	"io"
	"strings"

	"assay/gates"
	"assay/snapshots"
)

// progress shows, on a terminal, which case runs and how many there are.
type progress struct {
	w      io.Writer
	failed int
	width  int
}

// newProgress is silent when nobody watches w.
func newProgress(w io.Writer) *progress {
	if !isTerminal(w) {
		w = io.Discard
	}
	return &progress{w: w}
}

func (p *progress) event(e gates.Event) {
	if e.Result != nil && e.Result.Verdict == snapshots.Failed {
		p.failed++
	}
	failed := ""
	if p.failed > 0 {
		failed = fmt.Sprintf(", %d failed", p.failed)
	}
	rows := ""
	if e.Of > 0 {
		rows = fmt.Sprintf(" %d/%d rows", e.Rows, e.Of)
	}
	p.line(fmt.Sprintf("[%d/%d%s]%s %s", e.Done, e.Total, failed, rows, e.Case))
}

// count shows progress inside one long case.
func (p *progress) count(what string) func(done, total int) {
	return func(done, total int) {
		if done%16 == 0 || done == total {
			p.line(fmt.Sprintf("[%d/%d] %s", done, total, what))
		}
	}
}

// line replaces the line that is shown.
func (p *progress) line(text string) {
	if r := []rune(text); len(r) > 78 {
		text = string(r[:77]) + "…"
	}
	n := len([]rune(text))
	fmt.Fprintf(p.w, "\r%s%s", text, strings.Repeat(" ", max(p.width-n, 0)))
	p.width = n
}

func (p *progress) end() {
	fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
	p.width = 0
}
