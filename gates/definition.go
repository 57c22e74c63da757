package gates

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"assay/engine"
	"assay/oracle"
)

//go:embed definitions
var definitions embed.FS

// Kind is what a gate does.
type Kind string

// The kinds of gates.
const (
	Structure  Kind = "structure"  // hashes, config, tensors, kernels, token ids of the file
	Decode     Kind = "decode"     // weights, decoded, against another engine's decoder
	Parity     Kind = "parity"     // replay a recording and compare
	Invariance Kind = "invariance" // the same bits whatever the chunks, threads and CPU level
	Restore    Kind = "restore"    // a restored session continues with the same bits
	Bench      Kind = "bench"      // time complete phases
)

// Definition is one gate. The lists Models, Activations and KV multiply: the
// gate must hold for each combination.
type Definition struct {
	Name  string `yaml:"name"`
	Kind  Kind   `yaml:"kind"`
	About string `yaml:"about"`
	// Phases are those the gate speaks of: load, prompt, decode, restore.
	Phases []string `yaml:"phases,flow"`
	// Models are paths below the fixtures; none in gates for a file that the user names.
	Models      []string `yaml:"models,flow"`
	Activations []string `yaml:"activations,flow"`
	KV          []string `yaml:"kv,flow"`
	// Evidence is a recording below the fixtures.
	Evidence string `yaml:"evidence"`
	// RecordedOf is the file that the recording was made of, when it is another one
	// whose weights have the same values.
	RecordedOf string `yaml:"recorded_of"`
	// For is set in gates for one real checkpoint and the recordings of it, which
	// the user names.
	For *Subject `yaml:"for"`
	// Batch feeds produced ids together with the prompt, which changes no bit.
	Batch bool `yaml:"batch"`
	// Diverges is the relative RMS from which a state tensor counts as divergent
	// when a failure is diagnosed (parity).
	Diverges float64 `yaml:"diverges"`
	// Config is the description that the file must give of itself, Formats the
	// number of its tensors by format (structure).
	Config  string         `yaml:"config"`
	Formats map[string]int `yaml:"formats,flow"`
	// Chunks, Threads and Levels are the configurations to run (invariance). A
	// chunk of 0 is the whole prompt at once, a level "all" all of this machine.
	Chunks  []int    `yaml:"chunks,flow"`
	Threads []int    `yaml:"threads,flow"`
	Levels  []string `yaml:"levels,flow"`
	// Cross runs every combination of the three; otherwise one is changed at a time.
	Cross bool `yaml:"cross"`
	// Prompt is the golden prompt to feed: "story" when empty (invariance).
	Prompt string `yaml:"prompt"`
	// Tokens is how many ids a gate without recorded prompts feeds (invariance, restore, bench).
	Tokens int `yaml:"tokens"`
	// Split is how many of them are fed before the snapshot (restore), or belong to the prompt (bench).
	Split int `yaml:"split"`
	// Checks are what is compared, each with its own verdict.
	Checks []Check `yaml:"checks"`

	file string
}

// Subject is a real checkpoint and whose recordings of it the gate is about.
type Subject struct {
	Checkpoint string `yaml:"checkpoint"` // SHA-256 of the weight file
	Engine     string `yaml:"engine"`     // that recorded
}

// Check is one comparison of a gate.
type Check struct {
	What             string `yaml:"what"`
	oracle.Tolerance `yaml:",inline"`
	// Of is what is compared with: the recording (when empty), the rows of a
	// "reference" or a "text" of which another engine's mean NLL is known.
	Of string `yaml:"of"`
	// Only narrows states to those of one place: "L0", "embed" (hidden, kv).
	Only string `yaml:"only"`
	Why  string `yaml:"why"` // the reason for the size of the tolerance
}

// whats are the checks that each kind can make.
var whats = map[Kind][]string{
	Structure:  {"hashes", "config", "formats", "kernels", "tokens"},
	Decode:     {"rows", "tiles"},
	Parity:     {"ids", "logits", "hidden", "kv", "nll"},
	Invariance: {"golden", "chunks", "threads", "levels"},
	Restore:    {"again", "fresh", "larger"},
	Bench:      {"phases"},
}

// phases are the words that --phase takes.
var phases = []string{engine.PhaseLoad, engine.PhasePrompt, engine.PhaseDecode, engine.PhaseRestore}

// DefinitionError is a gate that cannot be carried out as it is written.
type DefinitionError struct {
	File, Gate, Reason string
}

func (e *DefinitionError) Error() string {
	return fmt.Sprintf("gates: %s: gate %q: %s", e.File, e.Gate, e.Reason)
}

// Set is a collection of definitions.
type Set string

// The sets of definitions that are built in.
const (
	OnFixtures Set = "fixtures" // on the embedded checkpoints
	OnModel    Set = "model"    // on any checkpoint that the user names
	OnReal     Set = "real"     // on known real checkpoints, with what they are held to
)

// Load reads a built-in set.
func Load(set Set) ([]Definition, error) {
	sub, err := fs.Sub(definitions, "definitions/"+string(set))
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(sub, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []Definition
	for _, name := range names {
		b, err := fs.ReadFile(sub, name)
		if err != nil {
			return nil, err
		}
		list, err := Parse(string(set)+"/"+name, b)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, unique(all)
}

// Parse reads a list of definitions; file is used in errors only.
func Parse(file string, b []byte) ([]Definition, error) {
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	var list []Definition
	if err := d.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("gates: %s: %w", file, err)
	}
	for i := range list {
		list[i].file = file
		if reason := list[i].check(); reason != "" {
			return nil, &DefinitionError{File: file, Gate: list[i].Name, Reason: reason}
		}
	}
	return list, nil
}

func unique(all []Definition) error {
	seen := map[string]bool{}
	for _, d := range all {
		if seen[d.Name] {
			return &DefinitionError{File: d.file, Gate: d.Name, Reason: "there is another gate of this name"}
		}
		seen[d.Name] = true
	}
	return nil
}

var gateName = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9._/-]*$`)

// check says what is wrong with a definition.
func (d *Definition) check() string {
	allowed, known := whats[d.Kind]
	switch {
	case !gateName.MatchString(d.Name):
		return "a name is made of letters, digits, dots, dashes and slashes"
	case !known:
		return fmt.Sprintf("unknown kind %q", d.Kind)
	case d.About == "":
		return "about is missing: one line for people"
	case len(d.Phases) == 0:
		return "phases are missing"
	case len(d.Checks) == 0:
		return "checks are missing"
	case d.Kind == Parity && d.Evidence == "" && d.For == nil:
		return "evidence is missing"
	}
	for _, p := range d.Phases {
		if !slices.Contains(phases, p) {
			return fmt.Sprintf("unknown phase %q", p)
		}
	}
	for _, a := range d.Activations {
		if _, err := engine.ParseActivations(a); err != nil {
			return err.Error()
		}
	}
	for _, k := range d.KV {
		if _, err := ParseKV(k); err != nil {
			return err.Error()
		}
	}
	for _, c := range d.Checks {
		if !slices.Contains([]string{"", "reference", "text"}, c.Of) {
			return fmt.Sprintf("check %q: nothing is called %q (reference, text)", c.What, c.Of)
		}
		if !slices.Contains(allowed, c.What) {
			return fmt.Sprintf("a gate of kind %s has no check %q (%s)", d.Kind, c.What, strings.Join(allowed, ", "))
		}
		if strings.TrimSpace(c.Why) == "" {
			return fmt.Sprintf("check %q does not say why its tolerance is what it is", c.What)
		}
		if n := d.topK(); c.TopK != 0 && c.TopK != n {
			return fmt.Sprintf("check %q compares the top %d, another one the top %d: a replay counts one size", c.What, c.TopK, n)
		}
	}
	return ""
}

// topK is the size of the sets of largest logits that a replay compares; 0 for
// the usual one.
func (d *Definition) topK() int {
	for _, c := range d.Checks {
		if c.TopK != 0 {
			return c.TopK
		}
	}
	return 0
}
