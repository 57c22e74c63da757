package command

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"

	"assay/gates/compare"
	"assay/snapshots"
)

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// mostChanges are told one by one.
const mostChanges = 20

// tellComparison writes a comparison for people.
func tellComparison(w io.Writer, r *compare.Report) error {
	fmt.Fprintf(w, "base       %s\ncandidate  %s\n", r.Base, r.Candidate)
	if !r.Same {
		tellParity(w, r)
		if r.Timing != nil {
			if err := tellTiming(w, r.Timing); err != nil {
				return err
			}
		}
	}
	for _, x := range r.Warnings {
		fmt.Fprintf(w, "warning: %s\n", x)
	}
	_, err := fmt.Fprintf(w, "\n%s (%s): %s\n", strings.ToUpper(string(r.Verdict)), r.Rule, r.Sentence)
	return err
}

func tellParity(w io.Writer, r *compare.Report) {
	fmt.Fprintln(w)
	g := r.Golden
	switch contract := fmt.Sprintf("contract %d", g.Contracts[0]); {
	case g.Contracts[0] == 0 || g.Contracts[1] == 0:
		fmt.Fprintln(w, "golden bits: a side has none")
	case !g.SameContract():
		fmt.Fprintf(w, "golden bits: contract %d and %d: %d the same, %d differ\n", g.Contracts[0], g.Contracts[1], g.Same, g.Differ)
	case g.Differ > 0:
		fmt.Fprintf(w, "golden bits: %d of %d DIFFER (%s)\n", g.Differ, g.Same+g.Differ, contract)
		for _, n := range g.Names[:min(len(g.Names), mostChanges)] {
			fmt.Fprintf(w, "    %s\n", n)
		}
	default:
		fmt.Fprintf(w, "golden bits: %d the same, %d on one side only (%s)\n", g.Same, g.OneSided, contract)
	}
	if r.Gates == nil {
		return
	}
	fmt.Fprintf(w, "gates: %d checks on both sides, %d verdicts changed, %d held with other figures\n", r.Gates.Both, len(r.Gates.Changes), r.Gates.Values)
	for i := range r.Gates.Changes {
		if i == mostChanges {
			fmt.Fprintf(w, "    and %d more\n", len(r.Gates.Changes)-i)
			break
		}
		c := &r.Gates.Changes[i]
		worse := ""
		if c.Worse {
			worse = "  WORSE"
		}
		fmt.Fprintf(w, "    %s %s on %s: %s -> %s%s\n", c.Gate, c.Check, c.On, orNone(c.Base), orNone(c.Candidate), worse)
		if first, _, _ := strings.Cut(c.Detail, "\n"); first != "" {
			fmt.Fprintf(w, "        %s\n", first)
		}
	}
}

func orNone(v snapshots.Verdict) string {
	if v == "" {
		return "none"
	}
	return string(v)
}

// tellTiming writes the table of phases.
func tellTiming(w io.Writer, t *compare.Timing) error {
	fmt.Fprintf(w, "timed: %s, prompt %d, decode %d, threads %d, on %s\n", base(t.Work.Path), t.Work.Prompt, t.Work.Decode, t.Work.Threads, t.Machine.CPU)
	if len(t.Phases) == 0 {
		return nil
	}
	fmt.Fprintf(w, "%d pairs, %d disturbed; noise floor of %d pairs; logits: %s\n\n", t.Pairs, t.Contaminated, t.FloorPairs, t.Bits)
	table := tablewriter.NewWriter(w)
	table.Header("phase", "base", "candidate", "base/candidate", "interval", "floor", "verdict")
	for i := range t.Phases {
		p := &t.Phases[i]
		if err := table.Append(p.Name, timed(p.Base, p.BaseSpread), timed(p.Candidate, p.CandidateSpread), fmt.Sprintf("%.3f", p.Ratio),
			fmt.Sprintf("%.3f to %.3f", p.Low, p.High), fmt.Sprintf("± %.1f %%", 100*p.Floor), string(p.Verdict)); err != nil {
			return err
		}
	}
	return table.Render()
}

// timed is a median with its spread.
func timed(seconds, spread float64) string {
	unit, scale := "s", 1.0
	switch {
	case seconds < 1e-3:
		unit, scale = "µs", 1e6
	case seconds < 1:
		unit, scale = "ms", 1e3
	}
	return fmt.Sprintf("%.4g %s ± %.0f %%", scale*seconds, unit, 100*spread)
}

func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }
