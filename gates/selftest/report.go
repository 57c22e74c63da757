package selftest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"assay/gates/verdict"
)

// Marks between which a document holds the measured figures.
const (
	BeginMark = "<!-- measured figures: begin -->"
	EndMark   = "<!-- measured figures: end -->"
)

// Insert puts the figures between the marks of a document. A document without
// marks gets them at its end.
func Insert(document []byte, t *Trust) []byte {
	var b bytes.Buffer
	before, rest, ok := bytes.Cut(document, []byte(BeginMark))
	_, after, closed := bytes.Cut(rest, []byte(EndMark))
	b.Write(before)
	if !ok && len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		b.WriteByte('\n')
	}
	b.WriteString(BeginMark + "\n\n")
	t.WriteMarkdown(&b)
	b.WriteString("\n" + EndMark)
	if closed {
		b.Write(after)
	} else {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// WriteMarkdown writes the figures as tables.
func (t *Trust) WriteMarkdown(w io.Writer) {
	m := t.Machine
	fmt.Fprintf(w, "Measured %s on %s, %d cores, %d MiB, kernel %s, %s, level %s (machine %s), in %.0f s.\n",
		t.Taken.Format("2006-01-02"), strings.TrimSpace(m.CPU), m.Cores, m.MemoryMiB, m.Kernel, m.Go, m.Level, m.ID(), t.Seconds)
	fmt.Fprintf(w, "Workload: %s. Looks at %s pairs. Others used more than %.0f %% of the CPUs during %d of %d pairs of one binary against itself.\n\n",
		t.Workload, joined(t.Looks), 100*t.Share, t.Disturb, t.Pairs)
	fmt.Fprintf(w, "| phase | noise floor |\n| --- | --- |\n")
	for _, phase := range slices.Sorted(maps.Keys(t.Floor)) {
		fmt.Fprintf(w, "| %s | %.2f %% |\n", phase, 100*t.Floor[phase])
	}
	fmt.Fprintf(w, "\n### One binary against itself\n\nEvery retained or rejected is a false one.\n\n")
	fmt.Fprintf(w, "| trials | number | %s | false | pairs, median |\n| --- | --- | %s--- | --- |\n", strings.Join(words(), " | "), strings.Repeat("--- | ", len(words())))
	for _, c := range []struct {
		name  string
		count *Count
	}{{"real", &t.Same}, {"simulated, drawn from the real pairs", &t.Model}} {
		fmt.Fprintf(w, "| %s | %d | %s | %s | %d |\n", c.name, c.count.Trials, counts(c.count), rate(c.count.Wrong(), c.count.Trials), c.count.Median())
	}
	fmt.Fprintf(w, "\n### Slow-downs\n\nFound means rejected. Every matrix product is stretched by the seeded part; the phase also does other work.\n\n")
	fmt.Fprintf(w, "| seeded | of the phase | found, real trials | found, simulated at the default looks | wanted | largest number of pairs that suffices |\n| --- | --- | --- | --- | --- | --- |\n")
	for i := range t.Slow {
		s := &t.Slow[i]
		needs := fmt.Sprint(s.Needs)
		if s.Needs == 0 {
			needs = fmt.Sprintf("more than %d", largest[len(largest)-1])
		}
		fmt.Fprintf(w, "| %g %% | %.1f %% | %s | %s | %.0f %% | %s |\n", 100*s.Part, 100*(1/s.Ratio-1),
			found(&s.Real), found(&s.Model), 100*s.Want, needs)
	}
}

func words() []string {
	var list []string
	for _, v := range order {
		list = append(list, string(v))
	}
	return list
}

var order = []verdict.Verdict{verdict.Level, verdict.Ambiguous, verdict.Retained, verdict.Rejected, verdict.Void}

func counts(c *Count) string {
	var list []string
	for _, v := range order {
		list = append(list, fmt.Sprint(c.Verdicts[v]))
	}
	return strings.Join(list, " | ")
}

func found(c *Count) string {
	return fmt.Sprintf("%d of %d (%s)", c.Verdicts[verdict.Rejected], c.Trials, rate(c.Verdicts[verdict.Rejected], c.Trials))
}

func rate(n, of int) string { return fmt.Sprintf("%.2f %%", 100*float64(n)/float64(max(of, 1))) }

func joined(n []int) string {
	var list []string
	for _, x := range n {
		list = append(list, itoa(x))
	}
	return strings.Join(list, ", ")
}
