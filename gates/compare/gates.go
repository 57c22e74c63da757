package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"assay/snapshots"
)

// Gates are the checks of both sides.
type Gates struct {
	Both    int      `json:"both"`    // checks that both sides made
	Worse   int      `json:"worse"`   // that the candidate no longer holds, or new ones that it does not hold
	Values  int      `json:"values"`  // that held on both sides, with other figures
	Changes []Change `json:"changes"` // of verdicts
}

// Change is one check with another verdict. A side that does not make it has none.
type Change struct {
	Gate      string            `json:"gate"`
	Check     string            `json:"check"`
	On        string            `json:"on,omitempty"`
	Base      snapshots.Verdict `json:"base,omitempty"`
	Candidate snapshots.Verdict `json:"candidate,omitempty"`
	Worse     bool              `json:"worse"`
	Detail    string            `json:"detail,omitempty"` // of the candidate
}

// gates runs the gates of both sides.
func (o *Options) gates(ctx context.Context) (*Gates, error) {
	var reports [2]*snapshots.Report
	for i, p := range []*Program{o.Base, o.Candidate} {
		o.tell("gates of %s", p)
		r, err := o.report(ctx, p)
		if err != nil {
			return nil, err
		}
		reports[i] = r
	}
	return diff(reports[0], reports[1]), nil
}

// report lets one program write its report.
func (o *Options) report(ctx context.Context, p *Program) (_ *snapshots.Report, err error) {
	dir, err := os.MkdirTemp("", "assay-compare-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "report.json")
	args := []string{"gates", o.Gates, "--json", path}
	if o.Model != "" {
		args = append(args, "--model", o.Model)
	}
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, p.Binary, args...)
	cmd.Stderr = &errs
	ended := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	b, err := os.ReadFile(path) // whatever the exit status: gates may fail
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return nil, &ProtocolError{p, "run gates", fmt.Errorf("%v: %.300s", ended, first)}
	}
	r := &snapshots.Report{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, &ProtocolError{p, "run gates", err}
	}
	if r.Format != snapshots.ReportFormat {
		return nil, &ProtocolError{p, "run gates", fmt.Errorf("its report has the format %q", r.Format)}
	}
	return r, nil
}

type checkKey struct {
	gate, check, on, phase string
	again                  int // where there are several
}

// byCheck gives the results of a report by what they are about. Times are none of
// its business.
func byCheck(r *snapshots.Report) (map[checkKey]*snapshots.Result, []checkKey) {
	all := map[checkKey]*snapshots.Result{}
	var keys []checkKey
	for i := range r.Results {
		x := &r.Results[i]
		if x.Check == "phases" {
			continue
		}
		k := checkKey{x.Gate, x.Check, x.Fixture, x.Phase, 0}
		for all[k] != nil {
			k.again++
		}
		all[k] = x
		keys = append(keys, k)
	}
	return all, keys
}

// diff compares two reports check by check.
func diff(base, candidate *snapshots.Report) *Gates {
	g := &Gates{Changes: []Change{}}
	a, before := byCheck(base)
	b, now := byCheck(candidate)
	for _, k := range before {
		x, y := a[k], b[k]
		switch {
		case y == nil:
			g.Changes = append(g.Changes, Change{Gate: k.gate, Check: k.check, On: k.on, Base: x.Verdict})
			continue
		case x.Verdict != y.Verdict:
			g.change(k, x.Verdict, y)
		case x.Verdict == snapshots.Held && x.Value != y.Value:
			g.Values++
		}
		g.Both++
	}
	for _, k := range now {
		if a[k] == nil {
			g.change(k, "", b[k])
		}
	}
	return g
}

// change notes another verdict. It is worse when something failed that did not
// fail, or when something held that is now not even answered.
func (g *Gates) change(k checkKey, before snapshots.Verdict, now *snapshots.Result) {
	c := Change{Gate: k.gate, Check: k.check, On: k.on, Base: before, Candidate: now.Verdict}
	c.Worse = now.Verdict == snapshots.Failed || before == snapshots.Held || before == "" && now.Verdict == snapshots.Void
	if c.Worse {
		g.Worse++
		c.Detail = now.Detail
	}
	g.Changes = append(g.Changes, c)
}
