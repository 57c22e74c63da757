package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"assay/engine/checkpoint/gguf"
	"assay/engine/checkpoint/regular"
)

// maxText bounds every text file of a folder, as its readers in the engine do.
const maxText = 128 << 20

// ggufTokenizer sums up the tokenizer.* keys; nil where there are none.
func ggufTokenizer(f *gguf.File) *Tokenizer {
	model, ok := f.Value("tokenizer.ggml.model")
	if !ok {
		return nil
	}
	t := &Tokenizer{}
	t.Model, _ = model.Text()
	if v, ok := f.Value("tokenizer.ggml.pre"); ok {
		t.Pre, _ = v.Text()
	}
	if v, ok := f.Value("tokenizer.ggml.tokens"); ok {
		t.Tokens = v.Len
	}
	if v, ok := f.Value("tokenizer.ggml.merges"); ok {
		t.Merges = v.Len
	}
	if v, ok := f.Value("tokenizer.chat_template"); ok {
		text, _ := v.Text()
		t.ChatTemplate = len(text)
	}
	t.BOS = ggufID(f, "tokenizer.ggml.bos_token_id")
	t.EOS = ggufID(f, "tokenizer.ggml.eos_token_id")
	return t
}

func ggufID(f *gguf.File, key string) *int64 {
	v, ok := f.Value(key)
	if !ok {
		return nil
	}
	id, err := v.Int()
	if err != nil {
		return nil
	}
	return &id
}

// folderTokenizer sums up tokenizer.json and its companions; nil without one.
func folderTokenizer(dir string) (*Tokenizer, error) {
	text, err := regular.Read(filepath.Join(dir, "tokenizer.json"), maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var file struct {
		Model struct {
			Type   string            `json:"type"`
			Vocab  json.RawMessage   `json:"vocab"`
			Merges []json.RawMessage `json:"merges"`
		} `json:"model"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	t := &Tokenizer{Model: file.Model.Type, Merges: len(file.Model.Merges), Files: []string{"tokenizer.json"}}
	t.Tokens = length(file.Model.Vocab)
	t.readTemplate(dir)
	return t, nil
}

// length counts the members of an object or list.
func length(v json.RawMessage) int {
	var object map[string]json.RawMessage
	if json.Unmarshal(v, &object) == nil {
		return len(object)
	}
	var list []json.RawMessage
	_ = json.Unmarshal(v, &list) // neither: 0 members
	return len(list)
}

func (t *Tokenizer) readTemplate(dir string) {
	if text, err := regular.Read(filepath.Join(dir, "tokenizer_config.json"), maxText); err == nil {
		t.Files = append(t.Files, "tokenizer_config.json")
		var config struct {
			ChatTemplate json.RawMessage `json:"chat_template"`
		}
		var template string
		if json.Unmarshal(text, &config) == nil && json.Unmarshal(config.ChatTemplate, &template) == nil {
			t.ChatTemplate = len(template)
		}
	}
	if text, err := regular.Read(filepath.Join(dir, "chat_template.jinja"), maxText); err == nil {
		t.Files = append(t.Files, "chat_template.jinja")
		t.ChatTemplate = len(text)
	}
}

// readObject gives the members of a JSON object in order.
func readObject(path string) (Entries, error) {
	text, err := regular.Read(path, maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	bad := func(err error) error { return fmt.Errorf("%s: cannot parse as a JSON object: %w", path, err) }
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, bad(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, bad(fmt.Errorf("it begins with %v", t))
	}
	var out Entries
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, bad(err)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, bad(err)
		}
		out = append(out, Entry{Key: key.(string), Value: v})
	}
	return out, nil
}
