package cases

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"assay/engine/checkpoint/gguf"
	"assay/engine/checkpoint/safetensors"
)

// container is a file's content as both readers give it.
type container struct {
	kv       map[string]any
	metadata map[string]string
	tensors  []stored
	end      func() error
}

type stored struct {
	name, format string
	shape        []int64 // file order
	data         []byte
}

func openContainer(path string) (subject, error) {
	switch {
	case strings.HasSuffix(path, ".index.json"):
		s, err := safetensors.OpenIndex(path)
		if err != nil {
			return nil, err
		}
		return fromSafetensors(s), nil
	case filepath.Ext(path) == ".safetensors":
		s, err := safetensors.OpenSingle(path)
		if err != nil {
			return nil, err
		}
		return fromSafetensors(s), nil
	}
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	return fromGGUF(f), nil
}

func fromGGUF(f *gguf.File) *container {
	c := &container{kv: map[string]any{}, end: f.Close}
	for _, kv := range f.Metadata {
		c.kv[kv.Key] = kv.Value.Any()
	}
	for _, t := range f.Tensors {
		shape := make([]int64, len(t.Dims))
		for i, d := range t.Dims {
			shape[i] = int64(d)
		}
		c.tensors = append(c.tensors, stored{t.Name, t.Format.Name, shape, t.Data})
	}
	return c
}

func fromSafetensors(s *safetensors.Set) *container {
	c := &container{metadata: map[string]string{}, end: s.Close}
	for _, f := range s.Files {
		for _, kv := range f.Metadata {
			c.metadata[kv.Key] = kv.Value
		}
	}
	for _, t := range s.Tensors {
		shape := make([]int64, len(t.Shape))
		for i, d := range t.Shape {
			shape[i] = int64(d)
		}
		c.tensors = append(c.tensors, stored{t.Name, t.DType, shape, t.Data})
	}
	return c
}

func (c *container) close() error { return c.end() }

func (c *container) check(_ *Folder, want Case, o *Outcome) {
	if want.BytesHex != "" {
		c.checkBytes(want, o)
	}
	if v := want.Values; v != nil {
		for key, value := range v.KV {
			if got, ok := c.kv[key]; !ok || !sameValue(got, value) {
				o.problem("key %q is %v, want %v", key, got, value)
			}
		}
		for key, value := range v.Metadata {
			if got, ok := c.metadata[key]; !ok || got != value {
				o.problem("metadata %q is %q, want %q", key, got, value)
			}
		}
		c.checkTensors(v.Tensors, o)
	}
	if want.FloatBits != nil {
		c.checkBits(want.FloatBits, o)
	}
}

func (c *container) checkTensors(want []TensorValue, o *Outcome) {
	if len(c.tensors) != len(want) {
		o.problem("%d tensors, want %d", len(c.tensors), len(want))
	}
	for _, w := range want {
		i := slices.IndexFunc(c.tensors, func(t stored) bool { return t.name == w.Name })
		if i < 0 {
			o.problem("tensor %q was not read", w.Name)
			continue
		}
		c.tensors[i].check(w, o)
	}
}

func (t stored) check(w TensorValue, o *Outcome) {
	if !slices.Equal(t.shape, w.Shape) {
		o.problem("tensor %q has shape %v, want %v", w.Name, t.shape, w.Shape)
	}
	if format := w.Type + w.DType; t.format != format {
		o.problem("tensor %q has type %s, want %s", w.Name, t.format, format)
	}
	if int64(len(t.data)) != w.Bytes {
		o.problem("tensor %q has %d bytes, want %d", w.Name, len(t.data), w.Bytes)
	}
	if sum := sha256.Sum256(t.data); hex.EncodeToString(sum[:]) != w.SHA256 {
		o.problem("tensor %q has other bytes: SHA-256 %x, want %s", w.Name, sum, w.SHA256)
	}
	if t.format != "F32" {
		return
	}
	for i, f := range w.First {
		if 4*i+4 > len(t.data) {
			o.problem("tensor %q has no value %d", w.Name, i)
			return
		}
		if got := math.Float32frombits(binary.LittleEndian.Uint32(t.data[4*i:])); float64(got) != f {
			o.problem("tensor %q: value %d is %v, want %v", w.Name, i, got, f)
		}
	}
}

// checkBytes looks for a string that must survive byte for byte.
func (c *container) checkBytes(want Case, o *Outcome) {
	raw, err := hex.DecodeString(want.BytesHex)
	if err != nil {
		o.problem("bytes_hex of the case: %v", err)
		return
	}
	texts := []any{}
	if want.List != "" {
		texts, _ = c.kv[want.List].([]any)
	} else {
		for _, v := range c.kv {
			texts = append(texts, v)
		}
	}
	if !slices.Contains(texts, any(string(raw))) {
		o.problem("no string holds the bytes %s", want.BytesHex)
	}
}

func (c *container) checkBits(want []string, o *Outcome) {
	if len(c.tensors) == 0 || len(c.tensors[0].data) != 4*len(want) {
		o.problem("the first tensor has not %d float32 values", len(want))
		return
	}
	for i, w := range want {
		if got := fmt.Sprintf("%08x", binary.LittleEndian.Uint32(c.tensors[0].data[4*i:])); got != w {
			o.problem("value %d has bits %s, want %s", i, got, w)
		}
	}
}

// sameValue compares a read value with one of a case: numbers by value, lists
// element by element. Floats of a case are float32 values written in full.
func sameValue(got, want any) bool {
	if list, ok := want.([]any); ok {
		g, ok := got.([]any)
		return ok && slices.EqualFunc(g, list, sameValue)
	}
	switch g := reflect.ValueOf(got); g.Kind() {
	case reflect.Int64, reflect.Uint64:
		return fmt.Sprint(got) == fmt.Sprint(want)
	case reflect.Bool:
		return fmt.Sprint(got) == fmt.Sprint(want) || g.Bool() == (want == 1) && (want == 0 || want == 1)
	case reflect.Float32, reflect.Float64:
		w := reflect.ValueOf(want)
		return w.CanFloat() && g.Float() == w.Float() || w.CanInt() && g.Float() == float64(w.Int())
	}
	return got == want
}
