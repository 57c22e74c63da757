package gates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/engine"
	"assay/engine/decoder"
	"assay/engine/kv"
	"assay/fixtures"
	"assay/gates/shard"
	"assay/kernels/cpu"
	"assay/snapshots"
)

// Options select gates and say on what they run.
type Options struct {
	Select   *regexp.Regexp // names of gates; nil: all
	Phases   []string       // gates that speak of one of these; nil: all
	Levels   []string       // kernel levels; nil: the best one, or what a gate says
	Threads  []int          // numbers of workers; nil: the engine's choice, or what a gate says
	Fixtures string         // folder of fixtures that are written already; "": a temporary one
	Model    string         // hold the gates of OnModel to this file or folder instead
	// Evidence is a recording of Model to replay besides, Reference rows of another
	// engine for the same prompts, Text ids with a mean NLL.
	Evidence, Reference, Text string
	// Shard is the part of the cases to run; the zero value is all of them.
	Shard shard.Shard
	// Bench times phases; nil: gates of that kind are not available.
	Bench BenchRunner
	// Alter is handed to the engine, so that tests can seed faults.
	Alter func(*decoder.Spec)
	// Progress is told of each result as it comes.
	Progress func(Event)
}

// Event is one step of a run.
type Event struct {
	Done, Total int               // cases
	Case        string            // that begins, or that the result belongs to
	Result      *snapshots.Result // nil when a case begins or goes on
	Rows, Of    int               // rows of a recording that the case has replayed
}

// Case is one combination of a gate.
type Case struct {
	*Definition
	Model       string // as the definition has it, or the path that the user gave
	Activations engine.Activations
	KV          kv.Type
	Level       string // "" for the best one
	Threads     int    // 0 for the engine's choice
	place       int    // in a sharded run, from 1
}

// String names the case: "parity-llama llama int8 f16".
func (c *Case) String() string { return c.Name + " " + c.subject() }

// subject is what the case runs on.
func (c *Case) subject() string {
	parts := []string{filepath.Base(c.Model)}
	if len(c.Definition.Activations) > 0 {
		parts = append(parts, c.Activations.String())
	}
	if len(c.Definition.KV) > 0 {
		parts = append(parts, "K/V "+c.KV.String())
	}
	if c.Level != "" {
		parts = append(parts, c.Level)
	}
	switch {
	case c.Threads == 1:
		parts = append(parts, "1 thread")
	case c.Threads > 1:
		parts = append(parts, fmt.Sprintf("%d threads", c.Threads))
	}
	return strings.Join(parts, " ")
}

// run is the state of one Run.
type run struct {
	options Options
	dir     string // of the fixtures
	report  *snapshots.Report
	done    int
	total   int
}

// Run holds everything that was selected. The report is complete as far as the
// context let it get: when the context ends, what is left is counted in an
// *InterruptedError, which is returned beside the report.
func Run(ctx context.Context, list []Definition, o Options) (*snapshots.Report, error) {
	r := &run{options: o, dir: o.Fixtures}
	started := time.Now()
	r.report = newReport(started)
	cases, err := r.cases(list)
	if err != nil {
		return nil, err
	}
	if cases, err = r.shard(cases); err != nil {
		return nil, err
	}
	if r.dir == "" && o.Model == "" {
		if r.dir, err = os.MkdirTemp("", "assay-fixtures-"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(r.dir)
		if err := fixtures.Materialise(r.dir); err != nil {
			return nil, err
		}
	}
	r.total = len(cases)
	for i := range cases {
		if ctx.Err() != nil {
			break
		}
		r.one(ctx, &cases[i])
	}
	r.report.Seconds = time.Since(started).Seconds()
	if !o.Shard.Whole() {
		r.report.Done = r.done
	}
	if r.done < r.total {
		return r.report, &InterruptedError{Done: r.done, Total: r.total, Cause: context.Cause(ctx)}
	}
	return r.report, nil
}

// InterruptedError says that a run was ended before all was done.
type InterruptedError struct {
	Done, Total int
	Cause       error
}

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("gates: ended after %d of %d cases: %v", e.Done, e.Total, e.Cause)
}

func (e *InterruptedError) Unwrap() error { return e.Cause }

// jobs are what each kind of gate does. A job gives one result per check; an
// error means that the question could not be answered.
var jobs = map[Kind]func(context.Context, *run, *Case) ([]snapshots.Result, error){
	Structure:  structureJob,
	Decode:     decodeJob,
	Parity:     parityJob,
	Invariance: invarianceJob,
	Restore:    restoreJob,
	Bench:      benchJob,
}

// one carries out one case and files its results.
func (r *run) one(ctx context.Context, c *Case) {
	r.tell(c, nil)
	start := time.Now()
	results, err := jobs[c.Kind](ctx, r, c)
	if err != nil {
		if ctx.Err() != nil {
			return
		}
		results = append(results, r.unanswered(c, err))
	}
	r.done++
	seconds := time.Since(start).Seconds() / float64(max(len(results), 1))
	for i := range results {
		x := &results[i]
		x.Gate, x.Seconds, x.Case = c.Name, seconds, c.place
		if x.Phase == "" {
			x.Phase = strings.Join(c.Phases, ",")
		}
		if x.Fixture == "" {
			x.Fixture = c.subject()
		}
		r.report.Results = append(r.report.Results, *x)
		r.tell(c, x)
	}
}

func (r *run) tell(c *Case, x *snapshots.Result) {
	if r.options.Progress != nil {
		r.options.Progress(Event{Done: r.done, Total: r.total, Case: c.String(), Result: x})
	}
}

// steps tells how far a replay is, every few rows.
func (r *run) steps(c *Case) func(done, total int) {
	if r.options.Progress == nil {
		return nil
	}
	return func(done, total int) {
		if done%32 == 0 {
			r.options.Progress(Event{Done: r.done, Total: r.total, Case: c.String(), Rows: done, Of: total})
		}
	}
}

// unanswered is the result of a case that could not be carried out. A damaged
// fixture is a failure: what was shipped is not there.
func (r *run) unanswered(c *Case, err error) snapshots.Result {
	var what []string
	for _, k := range c.Checks {
		what = append(what, k.What)
	}
	x := snapshots.Result{Check: strings.Join(what, ", "), Value: "not measured", Verdict: snapshots.Void, Detail: err.Error()}
	var damaged *fixtures.DamagedError
	var missing *missingError
	switch {
	case errors.As(err, &damaged):
		x.Verdict = snapshots.Failed
	case errors.As(err, &missing):
		x.Verdict = snapshots.Missing
	}
	return x
}

// missingError is something that is not there and need not be.
type missingError struct{ what string }

func (e *missingError) Error() string { return e.what }

// cases multiplies the selected definitions out.
func (r *run) cases(list []Definition) ([]Case, error) {
	for _, l := range r.options.Levels {
		if l == "" {
			return nil, errors.New("gates: the name of a kernel level is empty")
		}
		if _, err := cpu.Parse(l); err != nil {
			return nil, err
		}
	}
	for _, p := range r.options.Phases {
		if !slices.Contains(phases, p) {
			return nil, fmt.Errorf("gates: unknown phase %q (%s)", p, strings.Join(phases, ", "))
		}
	}
	var cases []Case
	for i := range list {
		if d := &list[i]; r.selected(d) {
			all, err := r.expand(d)
			if err != nil {
				return nil, err
			}
			cases = append(cases, all...)
		}
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("gates: no gate matches: there are %s", strings.Join(Names(list), ", "))
	}
	return cases, nil
}

// Names lists the names of gates in order.
func Names(list []Definition) []string {
	var names []string
	for i := range list {
		names = append(names, list[i].Name)
	}
	return names
}

func (r *run) selected(d *Definition) bool {
	if r.options.Select != nil && !r.options.Select.MatchString(d.Name) {
		return false
	}
	if len(r.options.Phases) == 0 {
		return true
	}
	return slices.ContainsFunc(d.Phases, func(p string) bool { return slices.Contains(r.options.Phases, p) })
}

func (r *run) expand(d *Definition) ([]Case, error) {
	models := d.Models
	if r.options.Model != "" {
		models = []string{r.options.Model}
	}
	levels, threads := r.options.Levels, r.options.Threads
	if len(levels) == 0 || d.Kind == Invariance { // which runs all of them in one case
		levels = []string{""}
	}
	if len(threads) == 0 || d.Kind == Invariance {
		threads = []int{0}
	}
	var cases []Case
	for _, m := range orEmpty(models) {
		for _, a := range orEmpty(d.Activations) {
			for _, k := range orEmpty(d.KV) {
				mode, err := engine.ParseActivations(a)
				if err != nil {
					return nil, err
				}
				format, err := ParseKV(k)
				if err != nil {
					return nil, err
				}
				for _, l := range levels {
					for _, n := range threads {
						cases = append(cases, Case{Definition: d, Model: m, Activations: mode, KV: format, Level: l, Threads: n})
					}
				}
			}
		}
	}
	return cases, nil
}

func orEmpty(list []string) []string {
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

// ParseKV reads the name of a K/V format; the empty name is F16, the default.
func ParseKV(name string) (kv.Type, error) {
	switch name {
	case "", kv.F16.String():
		return kv.F16, nil
	case kv.F32.String():
		return kv.F32, nil
	}
	return 0, fmt.Errorf("gates: unknown K/V format %q (f16, f32)", name)
}

// path is where a model or recording of a definition lies.
func (r *run) path(name string) string {
	if filepath.IsAbs(name) || r.options.Model != "" {
		return name
	}
	return filepath.Join(r.dir, filepath.FromSlash(name))
}

// open opens the model of a case.
func (r *run) open(ctx context.Context, c *Case) (*engine.Model, error) {
	return engine.Open(ctx, r.path(c.Model), engine.Options{Threads: c.Threads, Activations: c.Activations, CPU: c.Level, Alter: r.options.Alter})
}
