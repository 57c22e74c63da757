package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"assay/engine/checkpoint/regular"
)

// maxFile bounds every file of a tokenizer; the largest published ones have
// some 30 MB.
const maxFile = 128 << 20

// FromFile opens a tokenizer.json alone: no chat template, no named BOS, and
// only the end-of-turn tokens that are known by their text.
func FromFile(path string) (*Tokenizer, error) {
	data, err := regular.Read(path, maxFile)
	if err != nil {
		return nil, &Error{File: path, Reason: "cannot be read", Err: err}
	}
	t, err := parseTokenizerJSON(data)
	if err != nil {
		return nil, inFile(err, path)
	}
	t.source = path
	t.addEndOfTurn()
	return t, nil
}

// FromHuggingFace opens the tokenizer of a model folder: tokenizer.json, and
// beside it, where present, tokenizer_config.json, generation_config.json,
// config.json and chat_template.jinja.
func FromHuggingFace(folder string) (*Tokenizer, error) {
	t, err := FromFile(filepath.Join(folder, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	var config tokenizerConfig
	if err := readJSON(folder, "tokenizer_config.json", &config); err != nil {
		return nil, err
	}
	var generation, model idConfig
	if err := readJSON(folder, "generation_config.json", &generation); err != nil {
		return nil, err
	}
	if err := readJSON(folder, "config.json", &model); err != nil {
		return nil, err
	}
	t.bos = -1
	for _, ids := range [][]int32{t.ids(config.BOS.text), generation.BOS, model.BOS} {
		if t.bos < 0 && len(ids) > 0 && t.vocabulary.has(ids[0]) {
			t.bos = ids[0]
		}
	}
	ends := append(t.ids(config.EOS.text), generation.EOS...)
	t.addEndOfTurn(append(ends, model.EOS...)...)

	source, name, err := config.template(folder)
	if err != nil {
		return nil, err
	}
	bos, eos := config.BOS.text, config.EOS.text
	t.chat = newChatTemplate(source, name, bos, eos)
	return t, nil
}

// ids gives the id of a token text, none where there is none.
func (t *Tokenizer) ids(text string) []int32 {
	if id, ok := t.vocabulary.id(text); ok && text != "" {
		return []int32{id}
	}
	return nil
}

// readJSON reads a file of a model folder into v; a missing file leaves v alone.
func readJSON(folder, name string, v any) error {
	path := filepath.Join(folder, name)
	data, err := regular.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &Error{File: path, Reason: "cannot be read", Err: err}
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &Error{File: path, Reason: "cannot be parsed", Err: err}
	}
	return nil
}

// tokenizerConfig is what tokenizer_config.json adds.
type tokenizerConfig struct {
	BOS          tokenText       `json:"bos_token"`
	EOS          tokenText       `json:"eos_token"`
	ChatTemplate json.RawMessage `json:"chat_template"`
}

// tokenText is a token given as its text or as an object with its content.
type tokenText struct{ text string }

func (t *tokenText) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("{")) {
		var object struct {
			Content string `json:"content"`
		}
		err := json.Unmarshal(data, &object)
		t.text = object.Content
		return err
	}
	return json.Unmarshal(data, &t.text)
}

// template gives the chat template and the name of where it stands. A file of
// its own wins over the field.
func (c *tokenizerConfig) template(folder string) (source, name string, err error) {
	path := filepath.Join(folder, "chat_template.jinja")
	data, err := regular.Read(path, maxFile)
	if err == nil {
		return string(data), path, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", "", &Error{File: path, Reason: "cannot be read", Err: err}
	}
	path = filepath.Join(folder, "tokenizer_config.json") + ": chat_template"
	source, err = templateText(c.ChatTemplate)
	if err != nil {
		return "", "", &Error{File: path, Reason: "is neither a template nor a list of named ones", Err: err}
	}
	return source, path, nil
}

// templateText reads a template, or the one called "default" of a list.
func templateText(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return "", nil
	}
	if raw[0] != '[' {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	}
	var list []struct {
		Name     string `json:"name"`
		Template string `json:"template"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", err
	}
	for _, e := range list {
		if e.Name == "default" {
			return e.Template, nil
		}
	}
	return "", nil
}

// idConfig is what generation_config.json and config.json say about ids.
type idConfig struct {
	BOS idList `json:"bos_token_id"`
	EOS idList `json:"eos_token_id"`
}

// idList is one id, a list of ids, or null.
type idList []int32

func (l *idList) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, (*[]int32)(l))
	}
	var id *int32
	if err := json.Unmarshal(data, &id); err != nil {
		return err
	}
	*l = nil
	if id != nil {
		*l = idList{*id}
	}
	return nil
}
