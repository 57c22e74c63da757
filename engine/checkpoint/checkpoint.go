package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"assay/engine/checkpoint/gguf"
	"assay/kernels/quant"
)

// Kind is the container that a checkpoint came in.
type Kind uint8

const (
	// GGUF is one .gguf file or a split of several.
	GGUF Kind = iota
	// HuggingFace is a folder with config.json and safetensors.
	HuggingFace
)

// String is "gguf" or "huggingface".
func (k Kind) String() string {
	if k == HuggingFace {
		return "huggingface"
	}
	return "gguf"
}

// Tensor is one stored tensor. Data is usually mapped: read-only, aligned to
// nothing in particular, and valid until the Checkpoint is closed.
type Tensor struct {
	Name   string     // the file's own name
	Type   quant.Type // quant.Invalid never occurs in an opened checkpoint's canonical tensors
	Format string     // the file's own name of the type
	Shape  []int      // slowest first: [out, in]
	Data   []byte
	File   string // path of the file that holds it

	release func([]byte) error
}

// Elements is the number of values.
func (t *Tensor) Elements() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// SHA256 is the digest of the raw bytes in hex.
func (t *Tensor) SHA256() string {
	sum := sha256.Sum256(t.Data)
	return hex.EncodeToString(sum[:])
}

// Checkpoint is an opened model file. It may be used by many goroutines, but
// not during or after Close.
type Checkpoint struct {
	kind      Kind
	path      string
	config    *Config
	tensors   []*Tensor
	canonical map[string]*Tensor
	metadata  []gguf.KeyValue
	files     []file
	closers   []func() error
}

// file is one file that the checkpoint was made from, for Digest.
type file struct {
	name  string
	bytes func() ([]byte, error)
}

// Open opens path as a model: a .gguf file (of a split: the first), or a
// Hugging Face folder. The config is parsed and validated, and every tensor
// that it asks for is present with the right shape and a type that the engine
// computes with. A refusal is an *Error or wraps one.
func Open(path string) (*Checkpoint, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, &Error{Format: "checkpoint", Offset: -1, Reason: "cannot open", Err: err}
	}
	c := &Checkpoint{path: path}
	if err := c.open(st.IsDir()); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Checkpoint) open(folder bool) (err error) {
	defer Catch(&err, Watch())
	switch ext := filepath.Ext(c.path); {
	case folder:
		return c.openFolder(c.path)
	case ext == ".safetensors" || ext == ".json":
		return refuse("checkpoint", c.path, "", "a model in safetensors is opened by its folder, which holds config.json too")
	}
	return c.openGGUF(c.path)
}

// Kind tells the container.
func (c *Checkpoint) Kind() Kind { return c.kind }

// Path is what Open was given.
func (c *Checkpoint) Path() string { return c.path }

// Config is the validated description of the model.
func (c *Checkpoint) Config() *Config { return c.config }

// Tensor gives a tensor by its canonical name, whatever the file calls it:
// token_embd.weight, output_norm.weight, output.weight, rope_freqs.weight, and
// blk.N.{attn_norm,attn_q,attn_k,attn_v,attn_output,ffn_norm,ffn_gate,ffn_up,ffn_down}.{weight,bias}.
func (c *Checkpoint) Tensor(canonical string) (*Tensor, bool) {
	t, ok := c.canonical[canonical]
	return t, ok
}

// Tensors lists all tensors in file order, also those that no canonical name
// leads to.
func (c *Checkpoint) Tensors() []*Tensor { return c.tensors }

// Metadata is the key/value list of a GGUF file (of a split: the first file's)
// in file order; nil for a folder. It stays valid after Close.
func (c *Checkpoint) Metadata() []gguf.KeyValue { return c.metadata }

// Release tells the system that the tensor's bytes will not be read again soon,
// for instance because a repacked copy exists: its whole pages leave memory.
// The data stay readable.
func (c *Checkpoint) Release(t *Tensor) {
	if t.release != nil {
		// Advice that the system does not take costs memory and nothing else.
		_ = t.release(t.Data)
	}
}

// Digest gives the SHA-256 in hex of each file that the checkpoint was made
// from, by its base name. It reads all bytes.
func (c *Checkpoint) Digest() (map[string]string, error) {
	out := make(map[string]string, len(c.files))
	for _, f := range c.files {
		sum, err := f.sha256()
		if err != nil {
			return nil, &Error{Format: "checkpoint", Offset: -1, Reason: "cannot hash", Err: err}
		}
		out[f.name] = sum
	}
	return out, nil
}

func (f *file) sha256() (_ string, err error) {
	defer Catch(&err, Watch())
	b, err := f.bytes()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// Close ends all mappings. Tensor data must not be touched afterwards.
func (c *Checkpoint) Close() error {
	var first error
	for _, f := range c.closers {
		if err := f(); err != nil && first == nil {
			first = err
		}
	}
	c.closers = nil
	return first
}
