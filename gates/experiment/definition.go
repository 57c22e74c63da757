package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"assay/engine"
	"assay/engine/decoder"
	"assay/gates/bench"
	"assay/gates/sampling"
)

// Definition is one experiment as its file has it.
type Definition struct {
	Name       string    `yaml:"name"`
	Hypothesis string    `yaml:"hypothesis"`
	Mechanism  Mechanism `yaml:"mechanism"`
	Baseline   Arm       `yaml:"baseline"`
	Candidate  Arm       `yaml:"candidate"`
	Fixture    Fixture   `yaml:"fixture"`
	Workload   Workload  `yaml:"workload"`
	Preserve   Preserve  `yaml:"preserve"`
	// Target is the complete phase that must improve, Effect by which part at least.
	Target string  `yaml:"target"`
	Effect float64 `yaml:"effect"`
	// Guard are the phases that must not get worse; nil: the other complete ones.
	Guard []string `yaml:"guard,flow"`
	Pairs []int    `yaml:"pairs,flow"` // looks; nil: sampling.DefaultLooks
	Seed  uint64   `yaml:"seed"`

	File   string `yaml:"-"`
	Text   string `yaml:"-"` // of the file
	SHA256 string `yaml:"-"` // of the text
}

// Mechanism is what makes the difference, and the counter that proves it ran.
type Mechanism struct {
	About   string `yaml:"about"`
	Counter string `yaml:"counter"` // of the candidate's samples; see bench.Sample
}

// Arm is how one side differs from the other.
type Arm struct {
	Tuning      string            `yaml:"tuning"`
	KV          string            `yaml:"kv"`
	CPU         string            `yaml:"cpu"`
	Activations string            `yaml:"activations"`
	Threads     int               `yaml:"threads"` // 0: of the workload
	Environment map[string]string `yaml:"environment"`
	Revision    string            `yaml:"revision"` // git revision to build; "": this binary
}

// Fixture is the checkpoint that both arms run.
type Fixture struct {
	Embedded string `yaml:"embedded"` // below fixtures/models
	Model    string `yaml:"model"`    // name of a file in $ASSAY_MODELS
	SHA256   string `yaml:"sha256"`   // that the model must have
}

// Name is what the fixture is called.
func (f *Fixture) Name() string { return f.Embedded + f.Model }

// Workload is what each sample does.
type Workload struct {
	Prompt  int `yaml:"prompt"`
	Decode  int `yaml:"decode"`
	Threads int `yaml:"threads"`
	Repeat  int `yaml:"repeat"` // sessions per process; the median of each phase counts
}

// Preserve is what the candidate must keep.
type Preserve struct {
	Rung      string  `yaml:"rung"`      // bits or kl
	Tolerance float64 `yaml:"tolerance"` // of kl: nats, in the worst row
	Why       string  `yaml:"why"`
}

// Phases are the complete phases that experiments speak of.
var Phases = []string{bench.Ready, engine.PhasePrompt, engine.PhaseDecode, engine.PhaseRestore}

// Judged are the target and the guarded phases.
func (d *Definition) Judged() []string { return append([]string{d.Target}, d.Guard...) }

// Plan is when the experiment is looked at.
func (d *Definition) Plan() *sampling.Plan { return &sampling.Plan{Looks: d.Pairs} }

// DefinitionError is an experiment that cannot be run as it is written.
type DefinitionError struct{ File, Reason string }

func (e *DefinitionError) Error() string { return fmt.Sprintf("experiment: %s: %s", e.File, e.Reason) }

// Load reads all experiments of a folder, by name.
func Load(from fs.FS) ([]*Definition, error) {
	files, err := fs.Glob(from, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []*Definition
	for _, f := range files {
		b, err := fs.ReadFile(from, f)
		if err != nil {
			return nil, err
		}
		d, err := Parse(f, b)
		if err != nil {
			return nil, err
		}
		if want := strings.TrimSuffix(path.Base(f), ".yaml"); d.Name != want {
			return nil, &DefinitionError{f, fmt.Sprintf("its name is %q, not that of the file", d.Name)}
		}
		all = append(all, d)
	}
	return all, nil
}

// Parse reads one experiment.
func Parse(file string, b []byte) (*Definition, error) {
	d := &Definition{File: file, Text: string(b)}
	sum := sha256.Sum256(b)
	d.SHA256 = hex.EncodeToString(sum[:])
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(d); err != nil {
		return nil, &DefinitionError{file, err.Error()}
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, &DefinitionError{file, "more than one document"}
	}
	if d.Pairs == nil {
		d.Pairs = sampling.DefaultLooks
	}
	if d.Guard == nil {
		d.Guard = slices.DeleteFunc(slices.Clone(Phases), func(p string) bool { return p == d.Target })
	}
	if err := d.check(); err != nil {
		return nil, &DefinitionError{file, err.Error()}
	}
	return d, nil
}

var nameForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (d *Definition) check() error {
	f, w := &d.Fixture, &d.Workload
	switch {
	case !nameForm.MatchString(d.Name):
		return fmt.Errorf("name %q: want lower-case words joined by -", d.Name)
	case d.Hypothesis == "":
		return errors.New("hypothesis: missing")
	case d.Mechanism.Counter == "" && d.Candidate.Revision == "":
		return errors.New("mechanism: without a counter nothing proves that it ran")
	case d.Baseline.equal(&d.Candidate):
		return errors.New("baseline and candidate are the same")
	case (f.Embedded == "") == (f.Model == ""):
		return errors.New("fixture: want either embedded or model")
	case f.Model != "" && len(f.SHA256) != 64:
		return errors.New("fixture: sha256: want the SHA-256 of the model")
	case w.Prompt < 1 || w.Decode < 0 || w.Threads < 1 || w.Repeat < 0:
		return fmt.Errorf("workload %+v: want a prompt, threads and nothing negative", *w)
	case d.Effect < 0 || d.Effect >= 1:
		return fmt.Errorf("effect %v: want a part from 0 to 1", d.Effect)
	}
	for _, p := range d.Judged() {
		if !slices.Contains(Phases, p) {
			return fmt.Errorf("phase %q: want one of %s", p, strings.Join(Phases, ", "))
		}
	}
	if j := d.Judged(); len(slices.Compact(slices.Sorted(slices.Values(j)))) != len(j) {
		return errors.New("guard: a phase twice")
	}
	switch p := &d.Preserve; {
	case p.Rung == "bits" && p.Tolerance == 0:
	case p.Rung == "kl" && p.Tolerance > 0 && p.Why != "":
	default:
		return errors.New("preserve: want rung bits, or rung kl with a tolerance and why it has that size")
	}
	if err := d.Plan().Check(len(d.Judged())); err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	for _, a := range []*Arm{&d.Baseline, &d.Candidate} {
		if _, err := decoder.ParseTuning(a.Tuning); err != nil && a.Revision == "" {
			return err
		}
	}
	return nil
}

func (a *Arm) equal(b *Arm) bool {
	x, y := *a, *b
	x.Environment, y.Environment = nil, nil
	return fmt.Sprint(x) == fmt.Sprint(y) && maps.Equal(a.Environment, b.Environment)
}

// job is what a sample of the arm does. The ids do not depend on the arm.
func (d *Definition) job(a *Arm, model string, vocab int) bench.Job {
	ids := bench.IDs(d.Workload.Prompt+d.Workload.Decode, vocab)
	threads := a.Threads
	if threads == 0 {
		threads = d.Workload.Threads
	}
	return bench.Job{
		Model: model, Threads: threads, CPU: a.CPU, Activations: a.Activations, KV: a.KV, Tuning: a.Tuning,
		Prompt: ids[:d.Workload.Prompt], Decode: ids[d.Workload.Prompt:], Repeat: d.Workload.Repeat, Rows: d.Preserve.Rung == "kl",
	}
}
