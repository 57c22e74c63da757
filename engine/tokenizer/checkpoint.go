package tokenizer

import (
	"path/filepath"
	"strings"

	"assay/engine/checkpoint"
	"assay/engine/checkpoint/gguf"
)

// FromCheckpoint opens the tokenizer that belongs to an open model: the
// metadata of a GGUF file, or the tokenizer.json of a folder.
func FromCheckpoint(c *checkpoint.Checkpoint) (*Tokenizer, error) {
	if c.Kind() == checkpoint.GGUF {
		return FromGGUF(c.Path(), c.Metadata())
	}
	folder := c.Path()
	if strings.HasSuffix(folder, ".json") || strings.HasSuffix(folder, ".safetensors") {
		folder = filepath.Dir(folder)
	}
	return FromHuggingFace(folder)
}

// FromGGUF opens the tokenizer in the metadata of a GGUF file; path is what
// errors call it.
func FromGGUF(path string, metadata []gguf.KeyValue) (*Tokenizer, error) {
	g, err := readGGUFVocabulary(metadata)
	if err != nil {
		return nil, inFile(err, path)
	}
	t, err := fromGGUF(g)
	if err != nil {
		return nil, inFile(err, path)
	}
	t.source = path
	return t, nil
}

// readGGUFVocabulary reads the tokenizer.* keys.
func readGGUFVocabulary(metadata []gguf.KeyValue) (GGUFVocabulary, error) {
	g := NewGGUFVocabulary("", "", nil, nil)
	for _, kv := range metadata {
		name, ok := strings.CutPrefix(kv.Key, "tokenizer.")
		if !ok {
			continue
		}
		if err := g.set(name, kv.Value); err != nil {
			return g, &Error{Field: kv.Key, Reason: "cannot be read", Err: err}
		}
	}
	if g.Model == "" {
		return g, fieldError("tokenizer.ggml.model", "is missing")
	}
	return g, nil
}

// set takes one key; keys that say nothing about tokenising are passed over.
func (g *GGUFVocabulary) set(name string, v gguf.Value) (err error) {
	switch name {
	case "ggml.model":
		g.Model, err = v.Text()
	case "ggml.pre":
		g.Pre, err = v.Text()
	case "ggml.tokens":
		g.Tokens, err = v.Strings()
	case "ggml.merges":
		g.Merges, err = v.Strings()
	case "ggml.token_type":
		g.Types, err = ids(v)
	case "ggml.bos_token_id":
		g.BOS, err = id(v)
	case "ggml.eos_token_id":
		g.EOS, err = id(v)
	case "ggml.eot_token_id":
		g.EOT, err = id(v)
	case "ggml.eom_token_id":
		g.EOM, err = id(v)
	case "ggml.add_bos_token":
		g.AddBOS, err = flag(v)
	case "ggml.add_eos_token":
		g.AddEOS, err = flag(v)
	case "chat_template":
		g.ChatTemplate, err = v.Text()
	}
	return err
}

func flag(v gguf.Value) (*bool, error) {
	b, err := v.Bool()
	return &b, err
}

// id reads one id. Writers without a token for a purpose store -1 or its
// unsigned twin.
func id(v gguf.Value) (int32, error) {
	n, err := v.Int()
	if n < 0 || n == 1<<32-1 {
		return -1, err
	}
	return int32(min(n, 1<<31-1)), err
}

func ids(v gguf.Value) ([]int32, error) {
	ints, err := v.Ints()
	if err != nil {
		return nil, err
	}
	out := make([]int32, len(ints))
	for i, n := range ints {
		if int64(int32(n)) == n {
			out[i] = int32(n)
		}
	}
	return out, nil
}
