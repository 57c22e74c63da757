package command

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"

	"assay/gates/experiment"
	"assay/gates/verdict"
)

// list prints all experiments with their state here.
func (f *experimentFlags) list(s *shell) error {
	t := tablewriter.NewWriter(s.out)
	t.Header("experiment", "state", "target", "ratio", "interval", "pairs", "runs")
	var notes []string
	for _, d := range f.definitions {
		state, err := f.state(d)
		if err != nil {
			return err
		}
		f.answers = append(f.answers, answer(state, f.runner.Machine.ID()))
		ratio, interval, pairs := "", "", ""
		if r := state.Record; r != nil && r.Outcome != nil && r.Outcome.Judgement != nil {
			if n, ok := r.Outcome.Numbers[d.Target]; ok {
				ratio, interval = fmt.Sprintf("%.3f", n.Ratio), fmt.Sprintf("%.3f to %.3f", n.Low, n.High)
			}
			pairs = fmt.Sprint(r.Outcome.Pairs)
		}
		if err := t.Append(d.Name, state.Word, d.Target, ratio, interval, pairs, state.Runs); err != nil {
			return err
		}
		if state.Why != "" {
			notes = append(notes, d.Name+": "+state.Why)
		}
		for _, o := range state.Others {
			notes = append(notes, d.Name+": "+o+" (another machine; decides nothing here)")
		}
	}
	if f.json != "-" {
		if err := t.Render(); err != nil {
			return err
		}
		for _, n := range notes {
			fmt.Fprintln(s.out, n)
		}
	}
	return f.finish(s, nil)
}

// show prints one experiment with its numbers, and sets the status.
func (f *experimentFlags) show(s *shell, state *experiment.State, samples *bytes.Buffer) error {
	f.answers = append(f.answers, answer(state, f.runner.Machine.ID()))
	s.raise(statusOf(state.Verdict))
	rec := state.Record
	if f.goBench != "" && rec != nil && rec.Run != "" {
		if err := experiment.WriteGoBench(samples, state.Definition, rec); err != nil {
			return err
		}
	}
	if f.json == "-" {
		return nil
	}
	d := state.Definition
	fmt.Fprintf(s.out, "%s: %s\n%s\n", d.Name, state.Word, strings.TrimSpace(d.Hypothesis))
	if rec == nil || rec.Outcome == nil || rec.Outcome.Judgement == nil {
		if rec != nil {
			fmt.Fprintf(s.out, "%d pairs are on the record; run it again to go on.\n", len(rec.Pairs))
		}
		fmt.Fprintln(s.out)
		return nil
	}
	return writeOutcome(s, state, rec)
}

func writeOutcome(s *shell, state *experiment.State, rec *experiment.Record) error {
	o, d := rec.Outcome, state.Definition
	if len(o.Numbers) > 0 {
		t := tablewriter.NewWriter(s.out)
		t.Header("phase", "ratio", "interval", "noise floor", "")
		for _, phase := range slices.Sorted(maps.Keys(o.Numbers)) {
			n, role := o.Numbers[phase], "must not get worse"
			if phase == d.Target {
				role = fmt.Sprintf("must improve by %g %%", 100*d.Effect)
			}
			if err := t.Append(phase, fmt.Sprintf("%.4f", n.Ratio), fmt.Sprintf("%.4f to %.4f", n.Low, n.High), fmt.Sprintf("%.2f %%", 100*n.Floor), role); err != nil {
				return err
			}
		}
		if err := t.Render(); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.out, "%s (%s): %s\n", o.Verdict, o.Rule, o.Sentence)
	if state.Why != "" {
		fmt.Fprintf(s.out, "%s: %s.\n", state.Word, state.Why)
	}
	if o.Pairs > 0 {
		fmt.Fprintf(s.out, "%d pairs (%d taken, %d disturbed), all intervals together at a confidence of %.2f %%; run %s, %d of this registration.\n",
			o.Pairs, o.Taken, o.Contaminated, 100*o.Confidence, rec.Run, state.Runs)
	}
	if o.Distance > 0 {
		fmt.Fprintf(s.out, "KL divergence of the logits, worst row: %.3g (allowed %.3g).\n", o.Distance, d.Preserve.Tolerance)
	}
	for _, w := range o.Warnings {
		fmt.Fprintf(s.out, "warning: %s\n", w)
	}
	_, err := fmt.Fprintln(s.out)
	return err
}

func answer(state *experiment.State, machine string) experimentAnswer {
	a := experimentAnswer{Name: state.Name, State: state.Word, Verdict: state.Verdict, Why: state.Why, Target: state.Target, Runs: state.Runs,
		SHA256: state.SHA256, Machine: machine, Others: state.Others}
	if state.Record != nil && state.Record.Outcome != nil && state.Record.Outcome.Judgement != nil {
		o := state.Record.Outcome
		a.Outcome, a.Rule, a.Sentence, a.Numbers, a.Warnings = o, o.Rule, o.Sentence, o.Numbers, o.Warnings
	} else if a.Verdict == "" {
		a.Verdict = verdict.Void
	}
	return a
}
