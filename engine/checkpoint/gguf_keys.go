package checkpoint

import (
	"fmt"
	"math"
	"strings"

	"assay/engine/checkpoint/gguf"
)

// ggufKeys reads metadata by key and remembers the first complaint and which
// keys were understood.
type ggufKeys struct {
	file *gguf.File
	arch string
	used map[string]bool
	err  error
}

func (k *ggufKeys) fail(key, reason string, args ...any) {
	if k.err == nil {
		k.err = refuse("gguf", k.file.Path, fmt.Sprintf("key %q", key), reason, args...)
	}
}

func (k *ggufKeys) name(key string) string { return k.arch + "." + key }

// value gives a key of the architecture.
func (k *ggufKeys) value(key string, required bool) (gguf.Value, bool) {
	key = k.name(key)
	k.used[key] = true
	v, ok := k.file.Value(key)
	if !ok && required {
		k.fail(key, "is missing, but required")
	}
	return v, ok
}

// size gives an integer in 0..maxDim; an array is taken when all its elements
// (one a layer) are equal.
func (k *ggufKeys) size(key string, required bool, absent int) field {
	v, ok := k.value(key, required)
	if !ok {
		return field{k.name(key), absent}
	}
	if v.Type == gguf.Array && v.Len > 0 {
		if v.Len > maxLayerList {
			k.fail(k.name(key), "is an array of %d: out of range", v.Len)
			return field{k.name(key), 0}
		}
		first := gguf.Value{}
		all, err := v.Ints()
		if err != nil {
			k.fail(k.name(key), "%s", err)
			return field{k.name(key), 0}
		}
		v.Elements(func(i int, e gguf.Value) bool {
			if i == 0 {
				first = e
			}
			if all[i] != all[0] {
				k.fail(k.name(key), "differs between layers (%d and %d), which a %s cannot", all[0], all[i], k.arch)
			}
			return k.err == nil
		})
		v = first
	}
	n, err := v.Int()
	switch {
	case err != nil:
		k.fail(k.name(key), "%s", err)
	case n < 0:
		k.fail(k.name(key), "is %d: negative, out of range", n)
	case n > maxDim:
		k.fail(k.name(key), "is %d: too large, out of range", n)
	}
	return field{k.name(key), int(n)}
}

func (k *ggufKeys) float(key string, required bool, absent float64) float64 {
	v, ok := k.value(key, required)
	if !ok {
		return absent
	}
	x, err := v.Float()
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = fmt.Errorf("is %v: out of range", x)
	}
	if err != nil {
		k.fail(k.name(key), "%s", err)
	}
	return x
}

func (k *ggufKeys) text(key, absent string) string {
	v, ok := k.value(key, false)
	if !ok {
		return absent
	}
	s, err := v.Text()
	if err != nil {
		k.fail(k.name(key), "%s", err)
	}
	return s
}

// id gives a token id of the tokenizer; the writers' marks for "none" give none.
func (k *ggufKeys) id(key string, vocab int) []int32 {
	v, ok := k.file.Value(key)
	if !ok {
		return nil
	}
	n, err := v.Int()
	switch {
	case err != nil:
		k.fail(key, "%s", err)
	case n == -1 || n == math.MaxUint32:
		return nil
	case n < 0 || n >= int64(vocab):
		k.fail(key, "is %d: out of range, the vocabulary has %d tokens", n, vocab)
	}
	return []int32{int32(n)}
}

// rest refuses keys of the architecture that nothing has read: they may change
// what the model computes. Values that switch nothing on are let through.
func (k *ggufKeys) rest() {
	for _, kv := range k.file.Metadata {
		if k.used[kv.Key] || !strings.HasPrefix(kv.Key, k.arch+".") || neutral(kv.Value) {
			continue
		}
		k.fail(kv.Key, "is unknown to the engine and may change what the model computes: unsupported")
	}
}

func neutral(v gguf.Value) bool {
	if v.Type == gguf.Array {
		return v.Len == 0
	}
	switch x := v.Any().(type) {
	case bool:
		return !x
	case uint64:
		return x == 0
	case int64:
		return x == 0
	case float32:
		return x == 0
	case float64:
		return x == 0
	case string:
		return x == ""
	}
	return false
}
