package cases

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"
)

const format = "assay-cases/1"

// Case is one entry of a cases.yaml.
type Case struct {
	ID       string  `yaml:"id"`
	Kind     string  `yaml:"kind"`
	Level    string  `yaml:"level"` // container, tokenizer or model
	File     string  `yaml:"file"`
	Recipe   *Recipe `yaml:"recipe"`
	Expect   string  `yaml:"expect"`   // accept, refuse or either
	Strength string  `yaml:"strength"` // must or should
	Note     string  `yaml:"note"`

	Error        Wording `yaml:"error"`
	ErrorNumbers *Shapes `yaml:"error_numbers"`

	Values    *Values   `yaml:"values"`
	BytesHex  string    `yaml:"bytes_hex"`  // a stored string that must survive
	List      string    `yaml:"list"`       // key of the list that holds BytesHex
	FloatBits []string  `yaml:"float_bits"` // of the first tensor
	Truncate  *Truncate `yaml:"truncate"`

	Prompt []int32 `yaml:"prompt"`
	SameAs string  `yaml:"same_as"`
}

// Recipe is a folder put together from a base and replacements.
type Recipe struct {
	Base    string            `yaml:"base"`
	Replace map[string]string `yaml:"replace"`
}

// Wording is what an error text must hold.
type Wording struct {
	Names []string `yaml:"names"` // every one
	Hints []string `yaml:"hints"` // at least one, in any case
}

// Shapes are the two shapes that a message about shapes shows.
type Shapes struct {
	Expected []int `yaml:"expected"`
	Found    []int `yaml:"found"`
}

// Truncate asks that every prefix shorter than EveryLengthBelow is refused.
type Truncate struct {
	EveryLengthBelow int `yaml:"every_length_below"`
}

// Values is what an accepted file must be read as.
type Values struct {
	KV       map[string]any    `yaml:"kv"`
	Tensors  []TensorValue     `yaml:"tensors"`
	Metadata map[string]string `yaml:"metadata"`

	Encode           []Encoding `yaml:"encode"`
	Decode           []Encoding `yaml:"decode"`
	AddSpecialTokens bool       `yaml:"add_special_tokens"`
}

// TensorValue is one tensor: its shape in file order, the digest of its raw
// bytes, and its first values where those are plain floats.
type TensorValue struct {
	Name   string    `yaml:"name"`
	Shape  []int64   `yaml:"shape"`
	Type   string    `yaml:"type"`
	DType  string    `yaml:"dtype"`
	Bytes  int64     `yaml:"bytes"`
	SHA256 string    `yaml:"sha256"`
	First  []float64 `yaml:"first"`
}

// Encoding is a text and its token ids.
type Encoding struct {
	Text string  `yaml:"text"`
	IDs  []int32 `yaml:"ids"`
}

// Logits are the recorded logits of one case.
type Logits struct {
	Prompt []int32   `json:"prompt"`
	Last   []float32 `json:"logits_last"`
}

// Folder is a loaded folder of cases.
type Folder struct {
	Dir      string
	Cases    []Case
	Expected map[string]Logits // by case id
	NotRun   []NotRun
}

// NotRun is a case of a kind that this package does not run yet.
type NotRun struct{ ID, File string }

// Load reads the *.yaml files of dir that call themselves assay-cases/1, the
// recorded logits under expected/, and the ids of other kinds in sub-folders.
func Load(dir string) (*Folder, error) {
	f := &Folder{Dir: dir, Expected: map[string]Logits{}}
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	if err := f.loadCases(); err != nil {
		return nil, err
	}
	if err := f.loadExpected(); err != nil {
		return nil, err
	}
	if err := f.loadOthers(); err != nil {
		return nil, err
	}
	if len(f.Cases) == 0 && len(f.NotRun) == 0 {
		return nil, fmt.Errorf("cases: no *.yaml of format %s in %s", format, dir)
	}
	return f, nil
}

func (f *Folder) loadCases() error {
	paths, _ := filepath.Glob(filepath.Join(f.Dir, "*.yaml"))
	seen := map[string]string{}
	for _, path := range paths {
		var kind struct {
			Format string `yaml:"format"`
		}
		if err := readYAML(path, &kind); err != nil {
			return err
		}
		if kind.Format != format {
			continue
		}
		var file struct {
			Cases []Case `yaml:"cases"`
		}
		if err := readYAML(path, &file); err != nil {
			return err
		}
		for _, c := range file.Cases {
			if err := c.check(); err != nil {
				return fmt.Errorf("cases: %s: case %q: %w", path, c.ID, err)
			}
			if other, ok := seen[c.ID]; ok {
				return fmt.Errorf("cases: %s: case %q is also in %s", path, c.ID, other)
			}
			seen[c.ID] = path
			f.Cases = append(f.Cases, c)
		}
	}
	return nil
}

// check refuses a case that could not be judged; a typing error in a case must
// not pass as a case that holds.
func (c Case) check() error {
	switch {
	case c.ID == "":
		return fmt.Errorf("id is missing")
	case !slices.Contains([]string{"container", "tokenizer", "model"}, c.Level):
		return fmt.Errorf("level %q is none of container, tokenizer, model", c.Level)
	case !slices.Contains([]string{"accept", "refuse", "either"}, c.Expect):
		return fmt.Errorf("expect %q is none of accept, refuse, either", c.Expect)
	case (c.File == "") == (c.Recipe == nil):
		return fmt.Errorf("want one of file and recipe")
	}
	return nil
}

func (f *Folder) loadExpected() error {
	paths, _ := filepath.Glob(filepath.Join(f.Dir, "expected", "*.json"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var all map[string]Logits
		if err := json.Unmarshal(text, &all); err != nil {
			return fmt.Errorf("cases: %s: %w", path, err)
		}
		for id, l := range all {
			f.Expected[id] = l
		}
	}
	return nil
}

// loadOthers lists cases of other kinds: numerics, state, harness, extract.
func (f *Folder) loadOthers() error {
	for _, pattern := range []string{"*/*.yaml", "*/*.json"} {
		paths, _ := filepath.Glob(filepath.Join(f.Dir, pattern))
		for _, path := range paths {
			var file struct {
				Format    string             `yaml:"format"`
				Cases     []struct{ ID any } `yaml:"cases"`
				Scenarios []struct{ ID any } `yaml:"scenarios"`
			}
			// Files of other formats need not fit; they are none of ours.
			if readYAML(path, &file) != nil || file.Format != format {
				continue
			}
			for _, c := range append(file.Cases, file.Scenarios...) {
				f.NotRun = append(f.NotRun, NotRun{fmt.Sprint(c.ID), path})
			}
		}
	}
	return nil
}

func readYAML(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return fmt.Errorf("cases: %s: %w", path, err)
	}
	return nil
}
