package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"assay/gates/bench"
	"assay/gates/experiment"
	"assay/gates/history"
	"assay/gates/ledger"
	"assay/gates/stats"
	"assay/snapshots"
)

func init() { register(snapshotCommand) }

type snapshotFlags struct {
	store, match, model, peer, imported string
	json                                string
	queue, list, gates, experiments     bool
	samples                             int
	time                                time.Duration

	root    string
	measure history.Measure
	hold    func(ctx context.Context) (*snapshots.Report, error)                           // runs the gates
	large   func(ctx context.Context, model, peer string) (*snapshots.Bench, error)        // times a real model
	tell    func(ctx context.Context, s *shell) (all []snapshots.Experiment, err error)    // what is on the record
	prepare func(ctx context.Context, s *shell, f *snapshotFlags) (done func(), err error) // fills in the four above
}

func snapshotCommand(s *shell) *cobra.Command {
	f := snapshotFlags{prepare: prepareSnapshot}
	c := &cobra.Command{
		Use:   "snapshot",
		Short: "Measure the benchmark entry points and keep a snapshot",
		Long: `snapshot holds the gates, times the benchmark entry points of this source tree and
keeps all of it in a store: a page, its data as JSON, the samples in Go benchmark
format, and pictures. With --queue it times what is due only, by the snapshots of
this machine in the store: what was never run, then what is stale, longest ago
first. Programs are built from the tree as it is. Run it on an idle machine.

Exit status: 0 all held, 1 a gate failed, 2 a measurement is void.`,
		Example: `  validate snapshot --queue --list
  validate snapshot --queue
  validate snapshot --store snapshots/records --model model.gguf --peer llamacpp
  validate snapshot --match 'kernels/vector' --gates=false
  validate cross --json cross.json; validate snapshot --store snapshots/records --import cross.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), s) },
	}
	addStore(c, &f.store)
	c.Flags().BoolVar(&f.queue, "queue", false, "only what is due: never run, then stale")
	c.Flags().BoolVar(&f.list, "list", false, "list the entry points with their state, run nothing")
	c.Flags().StringVar(&f.match, "match", "", "only entry points that match this regular expression")
	c.Flags().BoolVar(&f.gates, "gates", true, "hold the gates on the embedded fixtures too")
	c.Flags().BoolVar(&f.experiments, "experiments", true, "include what is on the record of the experiments")
	c.Flags().StringVar(&f.model, "model", "", "time the phases of this weight file too")
	c.Flags().StringVar(&f.peer, "peer", "", "with --model: engine to run beside ours: llamacpp")
	c.Flags().StringVar(&f.imported, "import", "", "keep this report (JSON of another command) instead of measuring")
	c.Flags().StringVar(&f.json, "json", "", "write the snapshot's data as JSON to this file too (- for standard output)")
	c.Flags().IntVar(&f.samples, "samples", stats.MinSamples, "of every benchmark")
	c.Flags().DurationVar(&f.time, "time", 100*time.Millisecond, "of each sample of a Go benchmark")
	return c
}

// addStore adds the flag of the store.
func addStore(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "store", "", "folder of snapshots (default: in the user's cache folder; "+history.Committed+" is part of the tree)")
}

func openStore(dir string) (*history.Store, error) {
	if dir == "" {
		return history.DefaultStore()
	}
	return &history.Store{Dir: dir}, nil
}

func (f *snapshotFlags) run(ctx context.Context, s *shell) error {
	const name = "validate snapshot"
	store, err := openStore(f.store)
	if err != nil {
		return err
	}
	if f.samples < 1 || f.time <= 0 {
		return &usageError{name, fmt.Errorf("--samples %d --time %s: want at least one sample, and some time", f.samples, f.time)}
	}
	if f.peer != "" && f.model == "" {
		return &usageError{name, errors.New("--peer needs --model")}
	}
	if f.imported != "" {
		return f.keep(s, store, history.ReadReport)
	}
	if f.root == "" {
		if f.root, err = ledger.Root("."); err != nil {
			return err
		}
	}
	if f.measure.Sources, err = history.ReadSources(f.root); err != nil {
		return err
	}
	chosen, err := f.choose(store)
	if err != nil {
		return err
	}
	if f.list {
		return listStates(s, chosen)
	}
	if f.queue && len(chosen) == 0 {
		fmt.Fprintln(s.out, "Nothing is due.")
		return nil
	}
	done, err := f.prepare(ctx, s, f)
	if err != nil {
		return err
	}
	defer done()
	return f.take(ctx, s, store, chosen)
}

// choose gives the entry points to measure.
func (f *snapshotFlags) choose(store *history.Store) ([]*history.State, error) {
	pattern, err := regexp.Compile(f.match)
	if err != nil {
		return nil, &usageError{"validate snapshot", err}
	}
	all, err := store.List()
	if err != nil {
		return nil, err
	}
	states := history.States(f.measure.Sources, history.OnMachine(all, experiment.Here().ID()))
	if f.queue {
		states = history.Due(states)
	}
	var chosen []*history.State
	for _, x := range states {
		if pattern.MatchString(x.Name) {
			chosen = append(chosen, x)
		}
	}
	return chosen, nil
}

// take measures and keeps what was measured, also when it was interrupted.
func (f *snapshotFlags) take(ctx context.Context, s *shell, store *history.Store, chosen []*history.State) error {
	start := time.Now()
	r, err := f.measured(ctx, s, chosen)
	if r == nil {
		return err
	}
	r.Seconds = time.Since(start).Seconds()
	if err != nil && ctx.Err() != nil {
		r.Notes = append(r.Notes, "interrupted: what was not measured by then is missing")
		s.status, err = statusUnanswered, nil
	}
	dir, kept := store.Add(r)
	if err := errors.Join(err, kept); err != nil {
		return err
	}
	return f.told(s, dir, r)
}

// told says where the snapshot is, and sets the status.
func (f *snapshotFlags) told(s *shell, dir string, r *snapshots.Report) error {
	switch {
	case r.Count(snapshots.Failed) > 0:
		s.status = statusFailed
	case r.Count(snapshots.Void) > 0 || r.Unusable():
		s.raise(statusUnanswered)
	}
	if f.json != "" {
		var b bytes.Buffer
		if err := snapshots.WriteJSON(&b, r); err != nil {
			return err
		}
		var files outputFlags
		if err := files.file(s, f.json, b.Bytes()); err != nil {
			return err
		}
	}
	if f.json == "-" {
		return nil
	}
	_, err := fmt.Fprintf(s.out, "%s\n%d models timed, %d benchmarks of kernels, %d experiments\n%s/snapshot.md\n",
		r.Summary(), len(r.AllBenches()), len(r.Kernels), len(r.Experiments), dir)
	return err
}

func (f *snapshotFlags) measured(ctx context.Context, s *shell, chosen []*history.State) (r *snapshots.Report, err error) {
	r = f.blank(ctx)
	if f.gates {
		held, err := f.hold(ctx)
		if err != nil {
			return nil, err
		}
		r.Results, r.Machine = held.Results, held.Machine
		r.Sources = f.measure.Sources.Hashes(f.measure.Sources.OfGates())
	}
	if f.experiments {
		if r.Experiments, err = f.tell(ctx, s); err != nil {
			return r, err
		}
	}
	if f.model != "" {
		b, err := f.large(ctx, f.model, f.peer)
		if err != nil {
			return r, err
		}
		r.Benches = append(r.Benches, b)
	}
	var entries []*history.Entry
	for _, x := range chosen {
		entries = append(entries, x.Entry)
	}
	if f.match != "" {
		r.Notes = append(r.Notes, "only entry points that match "+f.match)
	}
	if f.queue {
		r.Notes = append(r.Notes, "only entry points that were due")
	}
	f.measure.Samples, f.measure.Time, f.measure.Root = f.samples, f.time, f.root
	return r, f.measure.Run(ctx, r, entries)
}

// keep stores a report that another command has written.
func (f *snapshotFlags) keep(s *shell, store *history.Store, read func(string) (*snapshots.Report, error)) error {
	r, err := read(f.imported)
	if err != nil {
		return err
	}
	if r.MachineID == "" {
		r.MachineID, r.Identity = experiment.Here().ID(), identity()
		if cpu := experiment.Here().CPU; cpu != r.Machine.CPU {
			return fmt.Errorf("%s: taken on another machine, %s, which has no identity here", f.imported, r.Machine.CPU)
		}
	}
	if len(r.Sources) == 0 {
		root, err := ledger.Root(".")
		if err != nil {
			return err
		}
		sources, err := history.ReadSources(root)
		if err != nil {
			return err
		}
		r.Sources = sources.Hashes(sources.OfGates())
	}
	dir, err := store.Add(r)
	if err != nil {
		return err
	}
	return f.told(s, dir, r)
}

// workload is that of the entry points.
func workload(model string, samples int) bench.Options {
	return bench.Options{Model: model, Prompt: history.PromptIDs, Decode: history.Evaluations, Samples: samples}
}
