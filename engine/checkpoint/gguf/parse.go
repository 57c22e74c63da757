package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

const (
	magic            = "GGUF"
	defaultAlignment = 32
	// maxNesting bounds arrays in arrays. The format names no limit; nobody
	// writes more than two levels, and a bound keeps hostile files cheap.
	maxNesting = 8
	maxKey     = 1<<16 - 1 // bytes, by the format
	maxName    = 64        // bytes, by the format
	maxDims    = 4         // by the format

	leastKey    = 8 + 4 + 1         // empty name, type, one byte
	leastTensor = 8 + 4 + 0 + 4 + 8 // empty name, no dimensions
)

// Parse reads a whole GGUF file from data, which must not change afterwards:
// metadata and tensors refer to it. name is used in errors only.
func Parse(data []byte, name string) (*File, error) {
	f := &File{Path: name, data: data}
	c := &cursor{data: data, file: name}
	tensors, keys, err := f.readHeader(c)
	if err != nil {
		return nil, err
	}
	if err := f.readMetadata(c, keys); err != nil {
		return nil, err
	}
	if err := f.readAlignment(c); err != nil {
		return nil, err
	}
	if err := f.readTensors(c, tensors); err != nil {
		return nil, err
	}
	return f, f.placeTensors(c)
}

func (f *File) readHeader(c *cursor) (tensors, keys int, err error) {
	c.item = "header"
	if len(c.data) < len(magic) || string(c.data[:len(magic)]) != magic {
		head := c.data[:min(len(c.data), len(magic))]
		return 0, 0, c.fail("magic is %q, want \"GGUF\": not a GGUF file, or truncated (%d bytes)", head, len(c.data))
	}
	c.pos = len(magic)
	if f.Version, err = c.u32("version"); err != nil {
		return 0, 0, err
	}
	if f.Version != 2 && f.Version != 3 {
		if v := bits.ReverseBytes32(f.Version); v >= 1 && v <= 3 {
			return 0, 0, c.failAt(4, "version %d in big-endian byte order is unsupported", v)
		}
		return 0, 0, c.failAt(4, "version %d is unsupported, want 2 or 3", f.Version)
	}
	if tensors, err = c.count("tensor count", leastTensor); err != nil {
		return 0, 0, err
	}
	keys, err = c.count("metadata key count", leastKey)
	return tensors, keys, err
}

func (f *File) readMetadata(c *cursor, keys int) error {
	f.index = make(map[string]int, min(keys, 1024))
	for i := range keys {
		c.item = "key " + strconv.Itoa(i)
		at := int64(c.pos)
		raw, err := c.bytes("key")
		if err != nil {
			return err
		}
		switch {
		case len(raw) == 0:
			return c.failAt(at, "the key is empty")
		case len(raw) > maxKey:
			return c.failAt(at, "the key has %d bytes, at most %d are allowed", len(raw), maxKey)
		case !utf8.Valid(raw):
			return c.failAt(at, "the key %q is not UTF-8", raw)
		}
		key := string(raw)
		c.item = fmt.Sprintf("key %d %q", i, key)
		if first, ok := f.index[key]; ok {
			return c.failAt(at, "duplicate of key %d", first)
		}
		t, err := c.u32("type")
		if err != nil {
			return err
		}
		v, err := c.value(ValueType(t), 0)
		if err != nil {
			return err
		}
		f.index[key] = i
		f.Metadata = append(f.Metadata, KeyValue{key, v})
	}
	return nil
}

// value reads one value of the given type; depth counts the arrays around it.
func (c *cursor) value(t ValueType, depth int) (Value, error) {
	if !t.known() {
		return Value{}, c.fail("unknown value type %d", uint32(t))
	}
	switch t {
	case String:
		raw, err := c.bytes("string")
		return Value{Type: String, raw: raw}, err
	case Array:
		return c.array(depth)
	}
	raw, err := c.take(t.size(), t.String()+" value")
	if err == nil && t == Bool && raw[0] > 1 {
		err = c.failAt(int64(c.pos-1), "a bool is %d, want 0 or 1", raw[0])
	}
	return Value{Type: t, raw: raw}, err
}

func (c *cursor) array(depth int) (Value, error) {
	if depth >= maxNesting {
		return Value{}, c.fail("arrays are nested deeper than %d", maxNesting)
	}
	t, err := c.u32("element type")
	if err != nil {
		return Value{}, err
	}
	v := Value{Type: Array, Elem: ValueType(t)}
	if !v.Elem.known() {
		return Value{}, c.fail("unknown value type %d of array elements", t)
	}
	least := v.Elem.size()
	switch v.Elem {
	case String:
		least = 8
	case Array:
		least = 12
	}
	at := c.pos
	n, err := c.u64("array length")
	if err != nil {
		return Value{}, err
	}
	if n > uint64(c.left()/least) {
		return Value{}, c.failAt(int64(at), "array length %d of %s reaches beyond the end of the file", n, v.Elem)
	}
	v.Len = int(n)
	from := c.pos
	if err := c.skipElements(v.Elem, v.Len, least, depth); err != nil {
		return Value{}, err
	}
	v.raw = c.data[from:c.pos:c.pos]
	return v, nil
}

func (c *cursor) skipElements(t ValueType, count, size, depth int) error {
	if t != String && t != Array {
		raw, err := c.take(count*size, "array")
		if err == nil && t == Bool {
			if i := bytes.IndexFunc(raw, func(r rune) bool { return r > 1 }); i >= 0 {
				return c.failAt(int64(c.pos-len(raw)+i), "a bool is %d, want 0 or 1", raw[i])
			}
		}
		return err
	}
	for range count {
		if _, err := c.value(t, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// readAlignment takes general.alignment, an integer of any width. By the
// format it is a multiple of 8; powers of two are usual, not required.
func (f *File) readAlignment(c *cursor) error {
	f.Alignment = defaultAlignment
	v, ok := f.Value("general.alignment")
	if !ok {
		return nil
	}
	c.item = `key "general.alignment"`
	n, err := v.Uint()
	if err != nil {
		return c.failAt(-1, "the alignment %s: wrong type or value", err)
	}
	if n == 0 || n%8 != 0 || n > 1<<32-1 {
		return c.failAt(-1, "alignment %d is no positive 32-bit multiple of 8", n)
	}
	f.Alignment = int64(n)
	return nil
}

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
