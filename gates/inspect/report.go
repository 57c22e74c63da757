package inspect

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"unicode/utf8"

	"assay/engine/checkpoint/gguf"
)

// Report is everything that Inspect found. Its JSON is what --json writes.
type Report struct {
	Path       string `json:"path"`
	Container  string `json:"container"` // gguf, safetensors, safetensors-index or huggingface
	WellFormed bool   `json:"well_formed"`
	Reason     string `json:"reason,omitempty"` // why not

	Version   uint32  `json:"version,omitempty"`   // GGUF
	Alignment int64   `json:"alignment,omitempty"` // GGUF
	Bytes     int64   `json:"bytes"`               // of all files
	Files     []File  `json:"files"`
	KV        Entries `json:"kv"`

	Tensors   []Tensor   `json:"tensors"`
	Formats   []Format   `json:"formats"`
	Tokenizer *Tokenizer `json:"tokenizer,omitempty"`
	Open      *Opened    `json:"open,omitempty"`
}

// File is one file that was read.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"`

	data []byte
}

// Tensor is one tensor of the container.
type Tensor struct {
	Name   string  `json:"name"`
	Type   string  `json:"type"`
	DType  string  `json:"dtype,omitempty"` // the same, where the format calls it so
	Shape  []int64 `json:"shape"`           // file order: GGUF has the row length first
	Bytes  int64   `json:"bytes"`
	Offset int64   `json:"offset"` // from the start of the data
	SHA256 string  `json:"sha256,omitempty"`
	File   string  `json:"file,omitempty"` // where there are several

	data []byte
}

// Format sums the tensors of one type.
type Format struct {
	Type    string `json:"type"`
	Tensors int    `json:"tensors"`
	Bytes   int64  `json:"bytes"`
}

// Tokenizer is what the file says of its tokenizer, not whether it works.
type Tokenizer struct {
	Model        string   `json:"model"`
	Pre          string   `json:"pre,omitempty"` // GGUF: name of the pre-tokenizer
	Tokens       int      `json:"tokens"`
	Merges       int      `json:"merges"`
	BOS          *int64   `json:"bos,omitempty"`
	EOS          *int64   `json:"eos,omitempty"`
	ChatTemplate int      `json:"chat_template_bytes"`
	Files        []string `json:"files,omitempty"`
}

// Opened tells whether assay can run the model.
type Opened struct {
	Runs   bool   `json:"runs"`
	Reason string `json:"reason,omitempty"` // why not
	Model  string `json:"model,omitempty"`  // in a few words
	Config any    `json:"config,omitempty"`
}

// Entry is one metadata value.
type Entry struct {
	Key   string
	Type  string // u32, array of string, ...; empty in safetensors and JSON
	Value any    // gguf.Value, string or json.RawMessage
}

// Entries are metadata in file order; in JSON an object.
type Entries []Entry

// MarshalJSON writes the entries as one object, in order.
func (e Entries) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, entry := range e {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := marshal(entry.Key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		if err := writeValue(&b, entry.Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// writeValue writes lists element by element: a list of a million numbers is
// never held as a million Go values.
func writeValue(b *bytes.Buffer, v any) error {
	stored, ok := v.(gguf.Value)
	if ok && stored.Type == gguf.Array {
		b.WriteByte('[')
		var failed error
		stored.Elements(func(i int, e gguf.Value) bool {
			if i > 0 {
				b.WriteByte(',')
			}
			failed = writeValue(b, e)
			return failed == nil
		})
		b.WriteByte(']')
		return failed
	}
	if ok {
		v = stored.Any()
	}
	text, err := marshal(plain(v))
	b.Write(text)
	return err
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// plain replaces what JSON cannot hold: floats that are no number become
// strings, strings that are not UTF-8 become {"bytes_hex": ...}. A float32 is
// written in full, as the float64 of the same value.
func plain(v any) any {
	switch x := v.(type) {
	case float32:
		return plain(float64(x))
	case float64:
		switch {
		case math.IsNaN(x):
			return "NaN"
		case math.IsInf(x, 1):
			return "+Inf"
		case math.IsInf(x, -1):
			return "-Inf"
		}
	case string:
		if !utf8.ValidString(x) {
			return map[string]string{"bytes_hex": hex.EncodeToString([]byte(x))}
		}
	}
	return v
}
