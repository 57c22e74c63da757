package selftest

import (
	"context"
	"os"
	"time"

	"assay/gates/experiment"
	"assay/gates/sampling"
)

// A Fault is something wrong that the harness must notice.
type Fault struct {
	Name   string
	Where  string // the part of the harness that must notice
	Expect string // its answer
	Status int    // the exit status that comes of it: 1 failed, 2 unanswered
	Long   bool   // left out of the short form

	seed func(ctx context.Context, b *bench) (Finding, error)
}

// Finding is what the harness answered to a fault.
type Finding struct {
	Answer string
	Status int
	Detail string
}

// Row is a fault with what came of it.
type Row struct {
	Fault
	Finding
	Caught  bool
	Err     error // the fault could not be seeded
	Seconds float64
}

// Options say what is run.
type Options struct {
	Short bool
	// Command is the program of samples; empty: this one.
	Command []string
	Rules   sampling.Rules
	// Only runs the faults whose names it accepts; nil: all.
	Only     func(name string) bool
	Progress func(what string)
	Adapt    func(*sampling.Sampler) // for tests
}

// bench is where faults are tried.
type bench struct {
	dir     string // for all files
	options *Options
	runner  *experiment.Runner
	model   string // SHA-256 of the model of self-tests, once it is written
}

// Run seeds the faults one after the other. The rows are complete as far as the
// context let it get.
func Run(ctx context.Context, o Options) (rows []Row, err error) {
	dir, err := os.MkdirTemp("", "assay-selftest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, options: &o, runner: o.runner(dir)}
	for _, f := range Faults() {
		if f.Long && o.Short || o.Only != nil && !o.Only(f.Name) {
			continue
		}
		o.tell(f.Name)
		begun := time.Now()
		r := Row{Fault: f}
		r.Finding, r.Err = f.seed(ctx, b)
		if ctx.Err() != nil {
			return rows, ctx.Err()
		}
		r.Caught = r.Err == nil && r.Answer == f.Expect && r.Finding.Status == f.Status
		r.Seconds = time.Since(begun).Seconds()
		rows = append(rows, r)
	}
	return rows, nil
}

func (o *Options) tell(what string) {
	if o.Progress != nil {
		o.Progress(what)
	}
}

// runner runs the experiments of a self-test in a store of its own.
func (o *Options) runner(dir string) *experiment.Runner {
	r := &experiment.Runner{Store: &experiment.Store{Dir: dir}, Machine: experiment.Here(), Rules: o.Rules, Command: o.Command, Adapt: o.Adapt, Models: dir}
	r.Progress = func(p experiment.Progress) {
		what := p.Experiment
		if p.Noise {
			what += ", noise floor"
		}
		o.tell(what + ", pair " + itoa(p.Pairs) + " of " + itoa(p.Most))
	}
	return r
}
