package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/engine"
	"assay/engine/checkpoint"
	"assay/fixtures"
	"assay/gates/compare"
	"assay/gates/experiment"
	"assay/gates/revision"
	"assay/gates/sampling"
	"assay/gates/verdict"
	"assay/kernels/cpu"
)

func init() { register(compareCommand) }

// Exit statuses that git bisect run understands.
const (
	statusSkip        = 125 // this revision cannot be judged
	statusInterrupted = 130 // ends a bisection
)

// compareModel is timed when the user names no model.
const compareModel = "llama-Q4_0.gguf"

// workingTree is what the candidate is called that is no revision.
const workingTree = "working tree"

// compareFlags say what is compared and how.
type compareFlags struct {
	gates, model      string
	work              compare.Work
	maxKL             float64
	always            bool
	noGates, noTiming bool
	phases            []string
	looks             []int
	noise             int
	newFloor          bool
	share             float64
	store, where      string
	json, goBench     string

	adapt func(*compare.Options) // for tests
}

func compareCommand(s *shell) *cobra.Command {
	f := compareFlags{where: "."}
	c := &cobra.Command{
		Use:   "compare REV [REV]",
		Short: "Hold one git revision of this tree against another",
		Long: `compare builds two revisions in worktrees of their own, which are removed afterwards;
without a second one the candidate is the working tree with its changes. It holds the
candidate's gates and golden bits against those of the base, and times complete phases
in interleaved pairs of fresh processes, each phase with a verdict against the noise
floor of this machine, which is measured where there is none.

Exit status, as git bisect run wants it:
  0    nothing is worse: all level, or faster
  1    worse: a phase is slower, a gate no longer holds, golden bits changed under the
       same arithmetic contract
  125  cannot be told: a revision does not build or does not know the protocol, the
       machine is busy, or the pairs did not decide
  2    the question makes no sense: bad usage, no such revision or model
  130  interrupted
A bisection takes 2 for "bad": try the command by hand first.`,
		Example: `  validate compare HEAD
  validate compare v1.0 HEAD --model model.gguf --select 'parity/'
  git bisect start HEAD v1.0 && git bisect run validate compare v1.0 --no-timing
  git bisect run validate compare v1.0 --no-gates --pairs 12,24,48`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args) },
	}
	c.Flags().StringVar(&f.gates, "select", "", "gates to run on both sides, a regular expression (default: all)")
	c.Flags().StringVar(&f.model, "model", "", "weight file or folder for gates and timing (default: the embedded fixtures)")
	c.Flags().IntVar(&f.work.Prompt, "prompt", 124, "ids of the timed prompt")
	c.Flags().IntVar(&f.work.Decode, "decode", 47, "ids of the timed decoding")
	c.Flags().IntVar(&f.work.Threads, "threads", runtime.NumCPU(), "threads")
	c.Flags().IntVar(&f.work.Repeat, "repeat", 0, "sessions per process, of which the median of each phase counts (default: 20, with --model 1)")
	c.Flags().StringVar(&f.work.CPU, "cpu", "", "kernel level of the timing")
	c.Flags().StringVar(&f.work.Activations, "activations", "", "int8 or float32, in the timing")
	c.Flags().Float64Var(&f.maxKL, "max-kl", 0.01, "KL divergence, in nats, that logits of timed runs may be apart where the arithmetic contract changed; under the same one bits must be the same")
	c.Flags().BoolVar(&f.always, "always", false, "run also when both revisions build to the same bytes")
	c.Flags().BoolVar(&f.noGates, "no-gates", false, "do not run gates")
	c.Flags().BoolVar(&f.noTiming, "no-timing", false, "do not time phases")
	c.Flags().StringSliceVar(&f.phases, "phase", experiment.Phases, "phases that are judged")
	c.Flags().IntSliceVar(&f.looks, "pairs", sampling.DefaultLooks, "numbers of pairs at which to look; the last is the most that are taken")
	c.Flags().IntVar(&f.noise, "noise-pairs", 24, "pairs of the base against itself where the machine has no noise floor yet")
	c.Flags().BoolVar(&f.newFloor, "new-floor", false, "measure the noise floor although there is one")
	c.Flags().Float64Var(&f.share, "foreign", sampling.DefaultRules.Share, "part of the CPUs that others may use before and during a pair")
	c.Flags().StringVar(&f.store, "store", "", "folder of noise floors (default: that of experiments, in the user's cache folder)")
	c.Flags().StringVar(&f.goBench, "bench", "", "write the samples in Go benchmark format to this file")
	c.Flags().StringVar(&f.json, "json", "", "write the comparison as JSON to this file (- for standard output)")
	return c
}

func (f *compareFlags) run(ctx context.Context, s *shell, args []string) (err error) {
	if err := f.check(); err != nil {
		return &usageError{"validate compare", err}
	}
	if err := writable(f.json, f.goBench); err != nil {
		return err
	}
	tree, err := revision.Find(ctx, f.where)
	if err != nil {
		return err
	}
	o, cleanup, err := f.options(ctx, s, tree, args)
	defer func() { err = errors.Join(err, cleanup()) }()
	if err != nil {
		return f.unable(ctx, s, err)
	}
	p := newProgress(s.err)
	o.Progress = func(text string) { p.line(text) }
	r, err := compare.Run(ctx, *o)
	p.end()
	if err != nil {
		return f.unable(ctx, s, err)
	}
	s.status = compareStatus(r)
	if f.json != "-" {
		if err := tellComparison(s.out, r); err != nil {
			return err
		}
	}
	return f.files(s, r)
}

// files writes what was asked for.
func (f *compareFlags) files(s *shell, r *compare.Report) error {
	var files outputFlags
	var samples bytes.Buffer
	if err := r.WriteGoBench(&samples); err != nil {
		return err
	}
	if err := files.file(s, f.goBench, samples.Bytes()); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return files.file(s, f.json, append(b, '\n'))
}

// check refuses what makes no sense before anything is built.
func (f *compareFlags) check() error {
	if _, err := regexp.Compile(f.gates); err != nil {
		return err
	}
	if _, err := engine.ParseActivations(f.work.Activations); err != nil {
		return err
	}
	if _, err := cpu.Parse(f.work.CPU); err != nil {
		return err
	}
	w := &f.work
	switch {
	case f.noGates && f.noTiming:
		return errors.New("--no-gates and --no-timing leave nothing to compare")
	case w.Prompt < 1 || w.Decode < 0 || w.Threads < 1 || w.Repeat < 0:
		return fmt.Errorf("--prompt %d --decode %d --threads %d --repeat %d: want a prompt, threads and nothing negative", w.Prompt, w.Decode, w.Threads, w.Repeat)
	case f.noise < 6:
		return fmt.Errorf("--noise-pairs %d: want 6 at least", f.noise)
	case !(f.maxKL >= 0) || !(f.share >= 0):
		return errors.New("--max-kl and --foreign: want numbers from 0")
	}
	if err := (&sampling.Plan{Looks: f.looks}).Check(max(len(f.phases), 1)); err != nil {
		return fmt.Errorf("--pairs: %w", err)
	}
	for _, p := range f.phases {
		if !slices.Contains(experiment.Phases, p) {
			return fmt.Errorf("--phase %s: want some of %s", p, strings.Join(experiment.Phases, ", "))
		}
	}
	if len(f.phases) == 0 {
		return errors.New("--phase: want one")
	}
	return nil
}

// unable tells why there is no answer, and sets the status that a bisection needs.
func (f *compareFlags) unable(ctx context.Context, s *shell, err error) error {
	var build *revision.Error
	var protocol *compare.ProtocolError
	switch {
	case ctx.Err() != nil:
		s.status = statusInterrupted
		fmt.Fprintln(s.err, "validate: interrupted: the worktrees are removed")
		return nil
	case errors.As(err, &protocol), errors.As(err, &build) && build.Unbuildable():
		s.status = statusSkip
		fmt.Fprintf(s.err, "validate: %s\n", err)
		return nil
	}
	return err
}

func compareStatus(r *compare.Report) int {
	switch r.Verdict {
	case verdict.Retained, verdict.Level:
		return statusHeld
	case verdict.Rejected:
		return statusFailed
	}
	return statusSkip
}

// options builds both sides and finds the model. What cleanup removes is there
// also when there is an error.
func (f *compareFlags) options(ctx context.Context, s *shell, tree *revision.Tree, args []string) (o *compare.Options, cleanup func() error, err error) {
	var steps []func() error
	cleanup = func() (err error) {
		for _, step := range steps {
			err = errors.Join(err, step())
		}
		return err
	}
	o = &compare.Options{
		Gates: f.gates, Model: f.model, Work: f.work, MaxKL: f.maxKL, Always: f.always, NoGates: f.noGates, NoTiming: f.noTiming,
		Phases: f.phases, Looks: f.looks, NoisePairs: f.noise, NewFloor: f.newFloor, Rules: sampling.DefaultRules, Store: &experiment.Store{Dir: f.store},
	}
	o.Rules.Share = f.share
	if f.store == "" {
		if o.Store, err = experiment.DefaultStore(); err != nil {
			return nil, cleanup, err
		}
	}
	remove, err := f.find(&o.Work)
	steps = append(steps, remove)
	if err != nil {
		return nil, cleanup, err
	}
	if o.Model != "" {
		o.Model = o.Work.Path
	}
	p := newProgress(s.err)
	defer p.end()
	sides := []string{args[0], workingTree}
	copy(sides, args)
	for i, name := range sides { // both are known before one is built
		if i < len(args) {
			if _, err := resolveRevision(ctx, tree, name); err != nil {
				return nil, cleanup, err
			}
		}
	}
	for i, into := range []**compare.Program{&o.Base, &o.Candidate} {
		p.line("building " + sides[i])
		program, remove, err := buildSide(ctx, tree, sides[i], i >= len(args))
		if err != nil {
			return nil, cleanup, err
		}
		steps = append(steps, remove)
		*into = program
	}
	if f.adapt != nil {
		f.adapt(o)
	}
	return o, cleanup, nil
}

// resolveRevision gives the hash of a revision, with a hint where the history is
// not all here.
func resolveRevision(ctx context.Context, tree *revision.Tree, name string) (string, error) {
	sha, err := tree.Resolve(ctx, name)
	if err != nil && ctx.Err() == nil && tree.Shallow(ctx) {
		return "", fmt.Errorf("%w\n    this clone is shallow: git fetch --unshallow gets the rest of its history", err)
	}
	return sha, err
}

// buildSide builds a revision, or the checkout as it is.
func buildSide(ctx context.Context, tree *revision.Tree, name string, here bool) (_ *compare.Program, remove func() error, err error) {
	p := &compare.Program{Name: name}
	const golden = "fixtures/golden.yaml"
	if here {
		state, err := tree.State(ctx)
		if err != nil {
			return nil, nil, err
		}
		p.Revision, p.Changed = state.SHA, state.Changed
		if p.Binary, remove, err = tree.BuildHere(ctx); err != nil {
			return nil, nil, err
		}
		p.Golden, _ = os.ReadFile(filepath.Join(tree.Root, filepath.FromSlash(golden))) // a tree without it has none
	} else {
		if p.Binary, p.Revision, remove, err = tree.Build(ctx, name); err != nil {
			return nil, nil, err
		}
		p.Golden, _ = tree.File(ctx, p.Revision, golden)
	}
	if p.SHA256, err = experiment.HashFile(p.Binary); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return p, remove, nil
}

// find gives the model that is timed: the user's, or an embedded one.
func (f *compareFlags) find(w *compare.Work) (remove func() error, err error) {
	remove = func() error { return nil }
	if w.Repeat == 0 {
		w.Repeat = 1
		if f.model == "" {
			w.Repeat = 20
		}
	}
	if f.model == "" {
		dir, err := os.MkdirTemp("", "assay-compare-")
		if err != nil {
			return remove, err
		}
		remove = func() error { return os.RemoveAll(dir) }
		if err := fixtures.Materialise(dir); err != nil {
			return remove, err
		}
		w.Path = filepath.Join(dir, "models", compareModel)
	} else if w.Path, err = filepath.Abs(f.model); err != nil {
		return remove, err
	}
	c, err := checkpoint.Open(w.Path)
	if err != nil {
		return remove, err
	}
	defer c.Close()
	w.Vocab = c.Config().Vocab
	if context := c.Config().Context; context > 0 && w.Prompt+w.Decode > context {
		return remove, &usageError{"validate compare", fmt.Errorf("%d ids do not fit into the model's context of %d", w.Prompt+w.Decode, context)}
	}
	digest, err := c.Digest()
	if err != nil {
		return remove, err
	}
	if sum, single := digest[filepath.Base(w.Path)]; single {
		w.SHA256 = sum
		return remove, nil
	}
	b, err := json.Marshal(digest) // keys are sorted
	w.SHA256 = sumOf(b)
	return remove, err
}
