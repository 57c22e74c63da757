package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"assay/engine/checkpoint/regular"
)

// Format is the one evidence format there is.
const Format = "assay-evidence/1"

// ManifestName and TensorsName are the two files of a recording.
const (
	ManifestName = "manifest.yaml"
	TensorsName  = "evidence.safetensors"
)

// maxManifest bounds what is read of a manifest or prompts file: 40 times the largest one known.
const maxManifest = 16 << 20

// Manifest is manifest.yaml. Keys that are not named here are kept in Extra, so that loading and saving loses nothing.
type Manifest struct {
	Format     string     `yaml:"format"`
	Kind       string     `yaml:"kind,omitempty"` // set on recordings of something else than a decoder
	Engine     Engine     `yaml:"engine"`
	Compute    Compute    `yaml:"compute"`
	Checkpoint Checkpoint `yaml:"checkpoint"`
	// Tokenizer says where the tokenizer is, or is its SHA-256.
	Tokenizer       string `yaml:"tokenizer,omitempty"`
	TokenizerSHA256 string `yaml:"tokenizer_sha256,omitempty"`
	// EvidenceSHA256 is the SHA-256 of evidence.safetensors, TensorSHA256 that of each tensor's bytes in it.
	EvidenceSHA256 string            `yaml:"evidence_sha256,omitempty"`
	TensorSHA256   map[string]string `yaml:"tensor_sha256,omitempty"`
	Command        string            `yaml:"command,omitempty"`
	// Tensors explains the tensor names, for people.
	Tensors map[string]string `yaml:"tensors,omitempty"`
	// KeyOrderName says how the elements of p*.k.* are ordered: "adjacent" or "halves" (see KeyOrder).
	KeyOrderName string `yaml:"key_order,omitempty"`
	// KVPositions gives the first and last position kept in the state of a layer ("L3"), of the first prompt.
	KVPositions map[string][]int `yaml:"kv_positions,omitempty"`
	Prompts     []Prompt         `yaml:"prompts,omitempty"`
	// Holds says in words or figures what the recording can be held to.
	Holds any            `yaml:"holds,omitempty"`
	Extra map[string]any `yaml:",inline"`
}

// Engine is who computed.
type Engine struct {
	Name    string         `yaml:"name"`
	Version string         `yaml:"version,omitempty"`
	Build   string         `yaml:"build,omitempty"`
	Level   string         `yaml:"level,omitempty"` // instruction-set level of the kernels that ran
	Extra   map[string]any `yaml:",inline"`
}

// Compute is how it was computed.
type Compute struct {
	Device         Text           `yaml:"device,omitempty"`
	DType          Text           `yaml:"dtype,omitempty"`
	Activations    Text           `yaml:"activations,omitempty"`
	Threads        Text           `yaml:"threads,omitempty"`
	Attention      Text           `yaml:"attention,omitempty"`
	KVTypes        Text           `yaml:"kv_types,omitempty"`
	FlashAttention Text           `yaml:"flash_attention,omitempty"`
	Batch          Text           `yaml:"batch,omitempty"`
	Backend        Text           `yaml:"backend,omitempty"`
	RopeType       Text           `yaml:"rope_type,omitempty"`
	Extra          map[string]any `yaml:",inline"`
}

// Checkpoint is what was run: file names with the SHA-256 of each. Recorders write the map as files or as sha256.
type Checkpoint struct {
	Path   string            `yaml:"path,omitempty"`
	Files  map[string]string `yaml:"files,omitempty"`
	SHA256 map[string]string `yaml:"sha256,omitempty"`
	// Tensors is the SHA-256 of each tensor's raw bytes in the checkpoint.
	Tensors map[string]string `yaml:"tensors,omitempty"`
	Vocab   int               `yaml:"vocab,omitempty"`
	Extra   map[string]any    `yaml:",inline"`
}

// Hashes is file name -> SHA-256 in whichever spelling the recorder used.
func (c *Checkpoint) Hashes() map[string]string {
	all := map[string]string{}
	for _, m := range []map[string]string{c.Files, c.SHA256} {
		for name, sum := range m {
			all[name] = sum
		}
	}
	return all
}

// Prompt is one teacher-forced sequence: the prompt ids, then the produced ids but the last are fed.
type Prompt struct {
	Name     string    `yaml:"name"`
	Text     string    `yaml:"text,omitempty"`
	Messages []Message `yaml:"messages,omitempty"`
	// Index is the N of the tensor names pN.*, where it is not the prompt's place in the list.
	Index    *int    `yaml:"index,omitempty"`
	IDs      []int32 `yaml:"ids,flow,omitempty"`
	Produced []int32 `yaml:"produced,flow,omitempty"`
	// Forced says that the produced ids were given, so that they are not the choices of the engine that recorded.
	Forced bool           `yaml:"forced,omitempty"`
	Extra  map[string]any `yaml:",inline"`
}

// Message is one turn of a conversation.
type Message struct {
	Role    string         `yaml:"role"`
	Content string         `yaml:"content"`
	Extra   map[string]any `yaml:",inline"`
}

// Rows is how many ids are fed and therefore how many logit rows there are: n + g - 1 (n without produced ids).
func (p *Prompt) Rows() int { return len(p.IDs) + max(len(p.Produced)-1, 0) }

// Fed gives the ids to feed in order: the prompt, then the produced ids but the last.
func (p *Prompt) Fed() []int32 {
	fed := append(make([]int32, 0, p.Rows()), p.IDs...)
	if len(p.Produced) > 1 {
		fed = append(fed, p.Produced[:len(p.Produced)-1]...)
	}
	return fed
}

// Next is the id that follows row i in the recorded sequence; ok is false after the last one.
func (p *Prompt) Next(row int) (id int32, ok bool) {
	switch at := row + 1; {
	case at < len(p.IDs):
		return p.IDs[at], true
	case at-len(p.IDs) < len(p.Produced):
		return p.Produced[at-len(p.IDs)], true
	}
	return 0, false
}

// prefix is "p3." for the tensors of Prompts[i].
func (m *Manifest) prefix(i int) string {
	if x := m.Prompts[i].Index; x != nil {
		i = *x
	}
	return fmt.Sprintf("p%d.", i)
}

// Text is a string that a recorder may also have written as a number, a truth value or a list.
type Text string

// UnmarshalYAML accepts any scalar or a list of scalars (joined with ", ").
func (t *Text) UnmarshalYAML(n *yaml.Node) error {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag != "!!null" {
			*t = Text(n.Value)
		}
		return nil
	case yaml.SequenceNode:
		parts := make([]string, 0, len(n.Content))
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: a list of plain values is expected", c.Line)
			}
			parts = append(parts, c.Value)
		}
		*t = Text(strings.Join(parts, ", "))
		return nil
	}
	return fmt.Errorf("line %d: a plain value or a list of them is expected", n.Line)
}

// LoadManifest reads DIR/manifest.yaml (or the file itself) and checks all that can be checked without the tensors.
func LoadManifest(path string) (*Manifest, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, ManifestName)
	}
	b, err := regular.Read(path, maxManifest)
	if err != nil {
		return nil, &RefusedError{File: path, Err: err}
	}
	return ParseManifest(path, b)
}

// ParseManifest is LoadManifest for bytes; path is used in errors only.
func ParseManifest(path string, b []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := decodeYAML(b, m); err != nil {
		return nil, &RefusedError{File: path, Err: err}
	}
	if err := m.check(path); err != nil {
		return nil, err
	}
	return m, nil
}

// wholeIDs refuses ids that are no integers: the decoder would cut 1.5 down to 1.
func wholeIDs(n *yaml.Node) error {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && c.Kind == yaml.SequenceNode && (n.Content[i-1].Value == "ids" || n.Content[i-1].Value == "produced") {
			for _, id := range c.Content {
				if id.Kind == yaml.ScalarNode && id.ShortTag() != "!!int" {
					return fmt.Errorf("line %d: %.40q in %s is no integer", id.Line, id.Value, n.Content[i-1].Value)
				}
			}
			continue
		}
		if err := wholeIDs(c); err != nil {
			return err
		}
	}
	return nil
}

// decodeYAML decodes exactly one document.
func decodeYAML(b []byte, to any) error {
	d := yaml.NewDecoder(bytes.NewReader(b))
	var top yaml.Node
	if err := d.Decode(&top); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("empty")
		}
		return err
	}
	if err := wholeIDs(&top); err != nil {
		return err
	}
	if err := top.Decode(to); err != nil {
		return err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("more than one YAML document")
	}
	return nil
}
