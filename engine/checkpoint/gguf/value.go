package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// ValueType is the stored type of a metadata value, with the file's numbers.
type ValueType uint32

// The value types of the format.
const (
	Uint8 ValueType = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	Array
	Uint64
	Int64
	Float64
)

var valueTypes = [...]struct {
	name string
	size int // bytes of a plain value, 0 for String and Array
}{
	Uint8: {"u8", 1}, Int8: {"i8", 1}, Uint16: {"u16", 2}, Int16: {"i16", 2},
	Uint32: {"u32", 4}, Int32: {"i32", 4}, Float32: {"f32", 4}, Bool: {"bool", 1},
	String: {"string", 0}, Array: {"array", 0}, Uint64: {"u64", 8}, Int64: {"i64", 8},
	Float64: {"f64", 8},
}

// String is the short name: u8, f32, string, array, ...
func (t ValueType) String() string {
	if int(t) < len(valueTypes) {
		return valueTypes[t].name
	}
	return fmt.Sprintf("type(%d)", uint32(t))
}

func (t ValueType) known() bool { return int(t) < len(valueTypes) }
func (t ValueType) size() int   { return valueTypes[t].size }

// Value is one metadata value. It refers to the stored bytes and decodes them
// when asked; the zero Value is none.
type Value struct {
	Type ValueType
	Elem ValueType // of an Array
	Len  int       // elements of an Array
	raw  []byte    // plain: the value; String: its bytes; Array: the elements
}

// TypeName describes the stored type: "u32", "array of string".
func (v Value) TypeName() string {
	if v.Type == Array {
		return "array of " + v.Elem.String()
	}
	return v.Type.String()
}

// Text gives a String as stored; it need not be UTF-8.
func (v Value) Text() (string, error) {
	if v.Type != String {
		return "", fmt.Errorf("has type %s, want a string", v.TypeName())
	}
	return string(v.raw), nil
}

// Bool gives a Bool.
func (v Value) Bool() (bool, error) {
	if v.Type != Bool {
		return false, fmt.Errorf("has type %s, want a bool", v.TypeName())
	}
	return v.raw[0] != 0, nil
}

// Uint gives an integer of any stored width that is not negative.
func (v Value) Uint() (uint64, error) {
	switch v.Type {
	case Uint8, Uint16, Uint32, Uint64:
		return v.unsigned(), nil
	case Int8, Int16, Int32, Int64:
		if n := v.signed(); n < 0 {
			return 0, fmt.Errorf("is negative (%d): out of range", n)
		}
		return uint64(v.signed()), nil
	}
	return 0, fmt.Errorf("has type %s, want an integer", v.TypeName())
}

// Int gives an integer of any stored width that fits int64.
func (v Value) Int() (int64, error) {
	switch v.Type {
	case Int8, Int16, Int32, Int64:
		return v.signed(), nil
	}
	n, err := v.Uint()
	if err == nil && n > math.MaxInt64 {
		return 0, fmt.Errorf("is %d: out of range", n)
	}
	return int64(n), err
}

// Float gives a float of either width, or an integer that float64 holds exactly.
func (v Value) Float() (float64, error) {
	switch v.Type {
	case Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v.raw))), nil
	case Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(v.raw)), nil
	case String, Array, Bool:
		return 0, fmt.Errorf("has type %s, want a number", v.TypeName())
	}
	n, err := v.Int()
	if err != nil {
		return 0, err
	}
	if n > 1<<53 || n < -(1<<53) {
		return 0, fmt.Errorf("is %d, which a float does not hold exactly: out of range", n)
	}
	return float64(n), nil
}

func (v Value) unsigned() uint64 {
	switch len(v.raw) {
	case 1:
		return uint64(v.raw[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(v.raw))
	case 4:
		return uint64(binary.LittleEndian.Uint32(v.raw))
	}
	return binary.LittleEndian.Uint64(v.raw)
}

func (v Value) signed() int64 {
	shift := 64 - 8*len(v.raw)
	return int64(v.unsigned()<<shift) >> shift
}

// Elements calls yield for each element of an Array until it returns false.
func (v Value) Elements(yield func(int, Value) bool) {
	if v.Type != Array {
		return
	}
	rest := v.raw
	for i := range v.Len {
		var e Value
		e, rest = takeElement(v.Elem, rest)
		if !yield(i, e) {
			return
		}
	}
}

// takeElement splits one element off bytes that the parser has checked.
func takeElement(t ValueType, b []byte) (Value, []byte) {
	n := 0
	e := Value{Type: t}
	switch t {
	case String:
		n = int(binary.LittleEndian.Uint64(b))
		b = b[8:]
	case Array:
		e.Elem = ValueType(binary.LittleEndian.Uint32(b))
		e.Len = int(binary.LittleEndian.Uint64(b[4:]))
		b = b[12:]
		n = arrayBytes(e.Elem, e.Len, b)
	default:
		n = t.size()
	}
	e.raw = b[:n:n]
	return e, b[n:]
}

func arrayBytes(t ValueType, count int, b []byte) int {
	if t != String && t != Array {
		return count * t.size()
	}
	rest := b
	for range count {
		_, rest = takeElement(t, rest)
	}
	return len(b) - len(rest)
}

// Strings gives an Array of String; the strings are copies.
func (v Value) Strings() ([]string, error) {
	if v.Type != Array || v.Elem != String {
		return nil, fmt.Errorf("has type %s, want an array of strings", v.TypeName())
	}
	out := make([]string, 0, v.Len)
	v.Elements(func(_ int, e Value) bool {
		out = append(out, string(e.raw))
		return true
	})
	return out, nil
}

// Ints gives an Array of integers of any width as int64.
func (v Value) Ints() ([]int64, error) { return elements(v, "integers", Value.Int) }

// Floats gives an Array of numbers as float64.
func (v Value) Floats() ([]float64, error) { return elements(v, "numbers", Value.Float) }

func elements[T any](v Value, kind string, get func(Value) (T, error)) ([]T, error) {
	if v.Type != Array {
		return nil, fmt.Errorf("has type %s, want an array of %s", v.TypeName(), kind)
	}
	out := make([]T, 0, v.Len)
	var failed error
	v.Elements(func(i int, e Value) bool {
		n, err := get(e)
		if err != nil {
			failed = fmt.Errorf("element %d %w", i, err)
			return false
		}
		out = append(out, n)
		return true
	})
	if failed != nil {
		return nil, failed
	}
	return out, nil
}

// Any gives the value as a Go value: bool, uint64, int64, float32, float64,
// string, or []any for an Array.
func (v Value) Any() any {
	switch v.Type {
	case Bool:
		return v.raw[0] != 0
	case String:
		return string(v.raw)
	case Float32:
		return math.Float32frombits(binary.LittleEndian.Uint32(v.raw))
	case Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(v.raw))
	case Uint8, Uint16, Uint32, Uint64:
		return v.unsigned()
	case Int8, Int16, Int32, Int64:
		return v.signed()
	}
	out := make([]any, 0, v.Len)
	v.Elements(func(_ int, e Value) bool {
		out = append(out, e.Any())
		return true
	})
	return out
}
