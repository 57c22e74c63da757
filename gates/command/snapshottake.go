package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/fixtures"
	"assay/gates"
	"assay/gates/bench"
	"assay/gates/experiment"
	"assay/gates/history"
	"assay/snapshots"
)

// blank is a report of this machine and tree without figures.
func (f *snapshotFlags) blank(ctx context.Context) *snapshots.Report {
	return &snapshots.Report{
		Format: snapshots.ReportFormat, Started: time.Now().UTC().Truncate(time.Second), Command: "validate snapshot",
		Version: treeVersion(ctx, f.root), Machine: gates.Machine(), MachineID: experiment.Here().ID(), Identity: identity(), Results: []snapshots.Result{},
	}
}

// identity lists what of this machine decides how fast it is.
func identity() (fields []snapshots.Field) {
	m := experiment.Here().Map()
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fields = append(fields, snapshots.Field{Name: strings.ReplaceAll(name, "_", " "), Value: fmt.Sprint(m[name])})
	}
	return fields
}

// treeVersion is the revision of the source tree, marked where it has changes.
func treeVersion(ctx context.Context, root string) string {
	git := func(args ...string) (string, error) {
		c := exec.CommandContext(ctx, "git", args...)
		c.Dir = root
		out, err := c.Output()
		return strings.TrimSpace(string(out)), err
	}
	revision, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return gates.Version()
	}
	if changes, err := git("status", "--porcelain", "--untracked-files=no"); err != nil || changes != "" {
		revision += "+changes"
	}
	return revision
}

// prepareSnapshot builds the program of the tree, so that what runs is what the
// snapshot says, and writes the fixtures. done removes both.
func prepareSnapshot(ctx context.Context, s *shell, f *snapshotFlags) (done func(), err error) {
	dir, err := os.MkdirTemp("", "assay-snapshot-*")
	if err != nil {
		return nil, err
	}
	done = func() { _ = os.RemoveAll(dir) } // a temporary folder
	defer func() {
		if err != nil {
			done()
		}
	}()
	program := filepath.Join(dir, "validate")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/validate")
	build.Dir = f.root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build ./cmd/validate: %w\n%s", err, out)
	}
	if err := fixtures.Materialise(filepath.Join(dir, "fixtures")); err != nil {
		return nil, err
	}
	p := newProgress(s.err)
	version := treeVersion(ctx, f.root)
	phases := func(ctx context.Context, o bench.Options) (*snapshots.Bench, error) {
		o.Command, o.Machine, o.Version = []string{program, bench.ChildArgument}, gates.Machine(), version
		defer p.end()
		return bench.Run(ctx, o)
	}
	f.hold = func(ctx context.Context) (*snapshots.Report, error) { return holdGates(ctx, s, program, dir) }
	f.tell = recordedExperiments
	f.large = func(ctx context.Context, model, peer string) (*snapshots.Bench, error) {
		o := workload(model, f.samples)
		if peer != "" {
			var err error
			if o.Peer, err = bench.NewPeer(peer, nil); err != nil {
				return nil, &usageError{"validate snapshot", err}
			}
		}
		b, err := phases(ctx, o)
		if err == nil {
			b.Model.Path = filepath.Base(b.Model.Path)
		}
		return b, err
	}
	f.measure.Phases = func(ctx context.Context, model string) (*snapshots.Bench, error) {
		return phases(ctx, workload(filepath.Join(dir, "fixtures", filepath.FromSlash(model)), f.samples))
	}
	f.measure.Progress = func(done, total int, what string) {
		if p.line(fmt.Sprintf("[%d/%d] %s", done, total, what)); what == "" {
			p.end()
		}
	}
	return done, nil
}

// holdGates runs the gates with the program of the tree.
func holdGates(ctx context.Context, s *shell, program, dir string) (*snapshots.Report, error) {
	path := filepath.Join(dir, "gates.json")
	c := exec.CommandContext(ctx, program, "--json", path)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	c.Env = append(os.Environ(), "GITHUB_STEP_SUMMARY=")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, s.err
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	r, readErr := history.ReadReport(path)
	if readErr != nil {
		return nil, errors.Join(err, readErr)
	}
	return r, nil
}

// recordedExperiments is what became of the experiments on this machine.
func recordedExperiments(ctx context.Context, s *shell) (all []snapshots.Experiment, err error) {
	f := experimentFlags{published: publishedFolder, noFloor: true}
	if err := f.prepare(ctx, s); err != nil {
		return nil, err
	}
	for _, d := range f.definitions {
		state, err := f.state(d)
		if err != nil {
			return nil, err
		}
		all = append(all, experimentRow(state))
	}
	return all, nil
}

func experimentRow(state *experiment.State) snapshots.Experiment {
	x := snapshots.Experiment{Name: state.Name, State: state.Word, Target: state.Target, Sentence: state.Why}
	r := state.Record
	if r == nil || r.Outcome == nil || r.Outcome.Judgement == nil {
		return x
	}
	x.Run, x.Pairs = r.Run, r.Outcome.Pairs
	if state.Why == "" {
		x.Sentence = r.Outcome.Sentence
	}
	if n, ok := r.Outcome.Numbers[state.Target]; ok {
		x.Ratio, x.Low, x.High, x.Floor = n.Ratio, n.Low, n.High, n.Floor
	}
	return x
}
