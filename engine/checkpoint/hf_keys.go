package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonKeys reads one JSON object of a config by key. Like ggufKeys it remembers
// the first complaint and which keys were understood; null counts as absent.
type jsonKeys struct {
	path   string
	prefix string // "rope_scaling." inside that object
	order  []string
	values map[string]json.RawMessage
	used   map[string]bool
	err    *error // shared with objects inside
}

// parseKeys reads an object. Text after it, or a key given twice, is refused.
func parseKeys(path string, text []byte) (*jsonKeys, error) {
	k := &jsonKeys{path: path, err: new(error)}
	if err := k.parse(text); err != nil {
		return nil, &Error{Format: "config", File: path, Item: filepath.Base(path), Offset: -1, Reason: "cannot parse as a JSON object", Err: err}
	}
	return k, nil
}

func (k *jsonKeys) parse(text []byte) error {
	k.values, k.used = map[string]json.RawMessage{}, map[string]bool{}
	if !utf8.Valid(text) {
		return fmt.Errorf("it is not UTF-8")
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil { // also refuses what follows the object
		return err
	}
	if whole == nil {
		return fmt.Errorf("it is null")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key := t.(string)
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return err
		}
		if _, twice := k.values[key]; twice {
			return fmt.Errorf("duplicate key %q", key)
		}
		k.order = append(k.order, key)
		k.values[key] = v
	}
	return nil
}

func (k *jsonKeys) name(key string) string { return k.prefix + key }

func (k *jsonKeys) fail(key, reason string, args ...any) {
	if *k.err == nil {
		*k.err = refuse("config", k.path, fmt.Sprintf("key %q", k.name(key)), reason, args...)
	}
}

// value gives what a key holds; false for absent and null.
func (k *jsonKeys) value(key string, required bool) (json.RawMessage, bool) {
	k.used[key] = true
	v, ok := k.values[key]
	if ok && string(v) != "null" {
		return v, true
	}
	if required {
		k.fail(key, "is missing, but required")
	}
	return nil, false
}

// object gives the object that a key holds, or nil.
func (k *jsonKeys) object(key string) *jsonKeys {
	v, ok := k.value(key, false)
	if !ok {
		return nil
	}
	o := &jsonKeys{path: k.path, prefix: k.name(key) + ".", err: k.err}
	if v[0] != '{' {
		k.fail(key, "is %s, want an object", jsonType(v))
		return nil
	}
	if err := o.parse(v); err != nil {
		k.fail(key, "%s", err)
		return nil
	}
	return o
}

// size gives an integer in 0..maxDim.
func (k *jsonKeys) size(key string, required bool, absent int) field {
	v, ok := k.value(key, required)
	if !ok {
		return field{k.name(key), absent}
	}
	n, err := jsonInteger(v)
	switch {
	case err != nil:
		k.fail(key, "%s", err)
	case n < 0:
		k.fail(key, "is %d: negative, out of range", n)
	case n > maxDim:
		k.fail(key, "is %d: too large, out of range", n)
	}
	return field{k.name(key), int(n)}
}

func (k *jsonKeys) float(key string, required bool, absent float64) float64 {
	v, ok := k.value(key, required)
	if !ok {
		return absent
	}
	if jsonType(v) != "a number" {
		k.fail(key, "has the wrong type: it is %s, want a number", jsonType(v))
		return absent
	}
	x, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		k.fail(key, "is %s: out of range", v)
	}
	return x
}

func (k *jsonKeys) text(key string, required bool, absent string) string {
	v, ok := k.value(key, required)
	if !ok {
		return absent
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		k.fail(key, "has the wrong type: it is %s, want a string", jsonType(v))
	}
	return s
}

func (k *jsonKeys) flag(key string, absent bool) bool {
	v, ok := k.value(key, false)
	if !ok {
		return absent
	}
	var b bool
	if json.Unmarshal(v, &b) != nil {
		k.fail(key, "has the wrong type: it is %s, want true or false", jsonType(v))
	}
	return b
}

// ids gives token ids: a number, a list, or null.
func (k *jsonKeys) ids(key string, vocab int) []int32 {
	v, ok := k.value(key, false)
	if !ok {
		return nil
	}
	list := []json.RawMessage{v}
	if v[0] == '[' {
		list = nil
		if err := json.Unmarshal(v, &list); err != nil {
			k.fail(key, "%s", err)
		}
	}
	var out []int32
	for _, e := range list {
		n, err := jsonInteger(e)
		switch {
		case err != nil:
			k.fail(key, "%s", err)
		case n == -1: // some writers' mark for "none"
			continue
		case n < 0 || n >= int64(vocab):
			k.fail(key, "is %d: out of range, the vocabulary has %d tokens", n, vocab)
		default:
			out = appendNew(out, int32(n))
		}
	}
	return out
}

// jsonInteger reads an integer, also one written as 2.0 or 1e3.
func jsonInteger(v json.RawMessage) (int64, error) {
	if t := jsonType(v); t != "a number" {
		return 0, fmt.Errorf("has the wrong type: it is %s, want an integer number", t)
	}
	text := string(v)
	if !strings.ContainsAny(text, ".eE") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("is %.40s: out of range", text)
		}
		return n, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) {
		return 0, fmt.Errorf("has the wrong type: %.40s is no integer", text)
	}
	if math.Abs(x) > 1<<53 {
		return 0, fmt.Errorf("is %.40s: out of range", text)
	}
	return int64(x), nil
}

func jsonType(v json.RawMessage) string {
	switch v[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
