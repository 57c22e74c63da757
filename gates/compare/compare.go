package compare

import (
	"context"
	"fmt"

	"assay/gates/experiment"
	"assay/gates/sampling"
	"assay/gates/verdict"
)

// Format is the value of Report.Format.
const Format = "assay-compare/1"

// Program is one side.
type Program struct {
	Name     string `json:"name"`               // as it was asked for
	Revision string `json:"revision,omitempty"` // full hash
	Changed  bool   `json:"changed,omitempty"`  // the working tree has changes to it
	SHA256   string `json:"sha256"`             // of the program
	Binary   string `json:"-"`
	Golden   []byte `json:"-"` // its golden.yaml; nil when it has none
}

// String is how people call it.
func (p *Program) String() string {
	switch {
	case p.Revision == "" || p.Name == p.Revision:
		return p.Name
	case p.Changed:
		return fmt.Sprintf("%s (%.12s and changes)", p.Name, p.Revision)
	}
	return fmt.Sprintf("%s (%.12s)", p.Name, p.Revision)
}

// Options say what is compared and on which work.
type Options struct {
	Base, Candidate *Program

	Gates  string // regular expression; those of them that match are run on both sides
	Model  string // weight file or folder of the user; "": the embedded fixtures
	Work   Work
	MaxKL  float64 // that logits of the timed runs may be apart where bits may change; 0: never
	Always bool    // also when the programs have the same bytes

	NoGates, NoTiming bool

	Phases     []string // that are judged, of experiment.Phases
	Looks      []int    // numbers of pairs
	NoisePairs int      // of the base against itself where there is no noise floor
	NewFloor   bool     // measure it although there is one
	Rules      sampling.Rules
	Store      *experiment.Store // of noise floors
	Progress   func(string)
	// Adapt changes a sampler before it is used, Identify tells the machine; for tests.
	Adapt    func(*sampling.Sampler)
	Identify func() experiment.Identity
}

// Work is what each sample does.
type Work struct {
	Path        string `json:"model"` // the file or folder
	SHA256      string `json:"sha256"`
	Vocab       int    `json:"-"`
	Prompt      int    `json:"prompt"`
	Decode      int    `json:"decode"`
	Threads     int    `json:"threads"`
	Repeat      int    `json:"repeat"`
	CPU         string `json:"cpu,omitempty"`
	Activations string `json:"activations,omitempty"`
}

// Report is what came of a comparison.
type Report struct {
	Format    string   `json:"format"`
	Base      *Program `json:"base"`
	Candidate *Program `json:"candidate"`
	// Same says that both programs have the same bytes, so that nothing was run.
	Same bool `json:"same_program,omitempty"`

	Golden *Golden `json:"golden,omitempty"`
	Gates  *Gates  `json:"gates,omitempty"`
	Timing *Timing `json:"timing,omitempty"`

	Verdict  verdict.Verdict `json:"verdict"`
	Rule     string          `json:"rule"`
	Sentence string          `json:"sentence"`
	Warnings []string        `json:"warnings,omitempty"`
}

// ProtocolError is a revision whose program does not understand what it is asked.
type ProtocolError struct {
	Program *Program
	Asked   string
	Err     error
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("%s: its program cannot %s: %v", e.Program, e.Asked, e.Err)
}

func (e *ProtocolError) Unwrap() error { return e.Err }

// Run compares.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &Report{Format: Format, Base: o.Base, Candidate: o.Candidate}
	if o.Base.SHA256 == o.Candidate.SHA256 && !o.Always {
		r.Same = true
		r.say(verdict.Level, "same program", "Both revisions build to the same bytes: nothing can differ.")
		return r, nil
	}
	var err error
	if r.Golden, err = compareGolden(o.Base.Golden, o.Candidate.Golden); err != nil {
		return nil, err
	}
	if !o.NoGates {
		if r.Gates, err = o.gates(ctx); err != nil {
			return nil, err
		}
	}
	if !o.NoTiming {
		if r.Timing, err = o.timing(ctx, r.Golden); err != nil {
			return nil, err
		}
		r.Warnings = append(r.Warnings, r.Timing.warnings...)
	}
	r.decide()
	return r, nil
}

// decide puts everything together: what computes something else is rejected
// whatever its speed.
func (r *Report) decide() {
	switch {
	case r.Golden.Broken():
		r.say(verdict.Rejected, "golden bits changed", "%d golden hashes differ, although the arithmetic contract has the same version.", r.Golden.Differ)
	case r.Gates != nil && r.Gates.Worse > 0:
		r.say(verdict.Rejected, "gates changed for the worse", "%d checks that held, or are new, do not hold in the candidate.", r.Gates.Worse)
	case r.Timing == nil:
		r.say(verdict.Level, "parity alone", "The candidate holds whatever the base holds; times were not compared.")
	default:
		r.Verdict, r.Rule, r.Sentence = r.Timing.Verdict, r.Timing.Rule, r.Timing.Sentence
	}
}

func (r *Report) say(v verdict.Verdict, rule, sentence string, args ...any) {
	r.Verdict, r.Rule, r.Sentence = v, rule, fmt.Sprintf(sentence, args...)
}

func (o *Options) tell(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}
