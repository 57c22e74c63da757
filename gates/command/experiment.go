package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/gates"
	"assay/gates/experiment"
	"assay/gates/experiments"
	"assay/gates/revision"
	"assay/gates/sampling"
	"assay/gates/verdict"
	"assay/kernels/ceiling"
)

func init() { register(experimentCommand) }

// publishedFolder holds records that are part of the tree.
const publishedFolder = "snapshots/experiments"

type experimentFlags struct {
	store, published, models string
	json, goBench            string
	all, again, recorded     bool
	publish, noFloor         bool
	noise                    int
	share                    float64
	adapt                    func(*experiment.Runner) // for tests
	definitions              []*experiment.Definition
	runner                   *experiment.Runner
	committed                *experiment.Store
	answers                  []experimentAnswer
}

// experimentAnswer is what --json tells of one experiment.
type experimentAnswer struct {
	Name     string                      `json:"name"`
	State    string                      `json:"state"`
	Verdict  verdict.Verdict             `json:"verdict,omitempty"`
	Rule     string                      `json:"rule,omitempty"`
	Sentence string                      `json:"sentence,omitempty"`
	Why      string                      `json:"why,omitempty"`
	Target   string                      `json:"target"`
	Numbers  map[string]verdict.Interval `json:"numbers,omitempty"`
	Outcome  *experiment.Outcome         `json:"outcome,omitempty"`
	Runs     int                         `json:"runs"`
	SHA256   string                      `json:"sha256"`
	Machine  string                      `json:"machine"`
	Others   []string                    `json:"other_machines,omitempty"`
	Warnings []string                    `json:"warnings,omitempty"`
}

func experimentCommand(s *shell) *cobra.Command {
	f := experimentFlags{}
	c := &cobra.Command{
		Use:   "experiment [NAME]",
		Short: "List experiments, or run one to its verdict",
		Long: `experiment lists the pre-registered experiments with what became of them on this
machine, or runs one: pairs of fresh processes until a look at them decides, or the
largest number that was registered is reached. Every pair is kept at once; a run that
was interrupted goes on when it is called again. A recorded verdict that still stands
is shown, not taken again; --again takes it again, on the record.

Exit status: 0 retained or level, 1 rejected, 2 void, ambiguous, stale or not run.`,
		Example: `  validate experiment
  validate experiment no-prefetch
  validate experiment no-prefetch --recorded --json -
  validate experiment --all --bench all.txt && benchstat -col /arm all.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args) },
	}
	c.Flags().BoolVar(&f.all, "all", false, "run all experiments that have no standing verdict here")
	c.Flags().BoolVar(&f.again, "again", false, "run although there is a standing verdict")
	c.Flags().BoolVar(&f.recorded, "recorded", false, "only tell what is on the record")
	c.Flags().StringVar(&f.store, "store", "", "folder of records (default: in the user's cache folder)")
	c.Flags().StringVar(&f.published, "published", publishedFolder, "folder of records that are part of the tree")
	c.Flags().BoolVar(&f.publish, "publish", false, "copy the record of each verdict there")
	c.Flags().StringVar(&f.models, "models", os.Getenv(experiment.ModelsVariable), "folder of real models")
	c.Flags().IntVar(&f.noise, "noise-pairs", 0, "pairs of the baseline against itself where the machine has no noise floor yet")
	c.Flags().Float64Var(&f.share, "foreign", sampling.DefaultRules.Share, "part of the CPUs that others may use before and during a pair")
	c.Flags().BoolVar(&f.noFloor, "no-calibration", false, "do not measure a missing noise floor; the verdict is void then")
	c.Flags().StringVar(&f.goBench, "bench", "", "write the samples in Go benchmark format to this file")
	c.Flags().StringVar(&f.json, "json", "", "write the answers as JSON to this file (- for standard output)")
	return c
}

func (f *experimentFlags) run(ctx context.Context, s *shell, args []string) error {
	if err := f.prepare(ctx, s); err != nil {
		return err
	}
	if len(args) == 0 && !f.all {
		return f.list(s)
	}
	selected := f.definitions
	if len(args) == 1 {
		i := slices.IndexFunc(f.definitions, func(d *experiment.Definition) bool { return d.Name == args[0] })
		if i < 0 || f.all {
			return &usageError{"validate experiment", fmt.Errorf("no experiment %q: there are %s", args[0], strings.Join(names(f.definitions), ", "))}
		}
		selected = f.definitions[i : i+1]
	}
	var samples bytes.Buffer
	for _, d := range selected {
		state, err := f.one(ctx, s, d)
		if state != nil {
			if werr := f.show(s, state, &samples); werr != nil {
				return werr
			}
		}
		if err != nil {
			return f.interrupted(ctx, s, err)
		}
	}
	return f.finish(s, samples.Bytes())
}

// finish writes the files that were asked for.
func (f *experimentFlags) finish(s *shell, samples []byte) error {
	var files outputFlags
	if err := files.file(s, f.goBench, samples); err != nil {
		return err
	}
	b, err := json.MarshalIndent(f.answers, "", "  ")
	if err != nil {
		return err
	}
	return files.file(s, f.json, append(b, '\n'))
}

func (f *experimentFlags) interrupted(ctx context.Context, s *shell, err error) error {
	if ctx.Err() == nil {
		return err
	}
	fmt.Fprintln(s.err, "validate: interrupted: what was measured is kept; the same command goes on from there")
	s.status = statusUnanswered
	return nil
}

func (f *experimentFlags) prepare(ctx context.Context, s *shell) (err error) {
	if f.definitions == nil {
		if f.definitions, err = experiment.Load(experiments.Files); err != nil {
			return err
		}
	}
	store := &experiment.Store{Dir: f.store}
	if f.store == "" {
		if store, err = experiment.DefaultStore(); err != nil {
			return err
		}
	}
	f.committed = &experiment.Store{Dir: f.published}
	p := newProgress(s.err)
	f.runner = &experiment.Runner{
		Store: store, Machine: experiment.Here(), Identify: experiment.Here, Version: gates.Version(), Models: f.models, NoisePairs: f.noise,
		Progress: func(x experiment.Progress) { p.line(progressLine(x)) },
	}
	f.runner.Ceilings = (&experiment.Ceilings{Measure: ceiling.Measure, Cores: f.runner.Machine.Cores}).Of
	if f.noFloor {
		f.runner.NoisePairs = -1
	}
	if tree, err := revision.Find(ctx, "."); err == nil {
		f.runner.Build = tree.Build
	}
	f.runner.Rules = sampling.DefaultRules
	f.runner.Rules.Share = f.share
	if f.adapt != nil {
		f.adapt(f.runner)
	}
	return nil
}

func progressLine(x experiment.Progress) string {
	what := x.Experiment
	if x.Noise {
		what = "noise floor"
	}
	mark := ""
	if x.Last != nil && !x.Last.Clean() {
		mark = ", disturbed: " + string(x.Last.Marks[0])
	}
	return fmt.Sprintf("[%d/%d, look at %d] %s: %s %.3f [%.3f, %.3f]%s", x.Pairs, x.Most, x.Of, what, x.Target, x.Interval.Ratio, x.Interval.Low, x.Interval.High, mark)
}

// state reads what is on the record, here and in the tree.
func (f *experimentFlags) state(d *experiment.Definition) (*experiment.State, error) {
	var all []*experiment.Record
	seen := map[string]bool{}
	for _, store := range []*experiment.Store{f.committed, f.runner.Store} {
		lines, err := store.Read(d.Name)
		if err != nil {
			return nil, err
		}
		for _, r := range experiment.Records(lines) {
			if !seen[r.Run] {
				seen[r.Run] = true
				all = append(all, r)
			}
		}
	}
	return f.runner.State(d, all), nil
}

// one brings one experiment to a state.
func (f *experimentFlags) one(ctx context.Context, s *shell, d *experiment.Definition) (*experiment.State, error) {
	state, err := f.state(d)
	if err != nil || f.recorded || state.Current() && !f.again {
		return state, err
	}
	p := newProgress(s.err)
	rec, err := f.runner.Run(ctx, d)
	p.end()
	if err != nil {
		return nil, err
	}
	if rec.Run == "" { // nothing was put on the record
		return &experiment.State{Definition: d, Record: rec, Word: string(rec.Outcome.Verdict), Verdict: rec.Outcome.Verdict, Runs: state.Runs}, nil
	}
	if f.publish {
		if err := f.committed.Copy(f.runner.Store, d.Name, rec.Run); err != nil {
			return nil, err
		}
	}
	return f.state(d)
}

func names(all []*experiment.Definition) (list []string) {
	for _, d := range all {
		list = append(list, d.Name)
	}
	return list
}

// raise keeps the worst status: what could not be answered counts more than
// nothing, and a rejection more than that.
func (s *shell) raise(status int) {
	if s.status != statusFailed && status != statusHeld {
		s.status = status
	}
}

func statusOf(v verdict.Verdict) int {
	switch v {
	case verdict.Retained, verdict.Level:
		return statusHeld
	case verdict.Rejected:
		return statusFailed
	}
	return statusUnanswered
}
