package craft

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// KV is a GGUF key with a value: a Go scalar, string, or Raw.
type KV struct {
	Key   string
	Value any
}

// Raw is a value written as it is, after its type number.
type Raw struct {
	Type  uint32
	Bytes []byte
}

// Tensor is a GGUF tensor record and its data.
type Tensor struct {
	Name   string
	Type   uint32
	Dims   []uint64
	Offset uint64 // used as it is; Place fills it
	Data   []byte
}

// Place gives tensors consecutive offsets.
func Place(align int, tensors []Tensor) []Tensor {
	at := 0
	for i := range tensors {
		tensors[i].Offset = uint64(at)
		at = (at + len(tensors[i].Data) + align - 1) / align * align
	}
	return tensors
}

// GGUF writes a file: keys, records, padding to align, data at the offsets.
func GGUF(version uint32, align int, kvs []KV, tensors []Tensor) []byte {
	var b bytes.Buffer
	b.WriteString("GGUF")
	le(&b, version, uint64(len(tensors)), uint64(len(kvs)))
	for _, kv := range kvs {
		text(&b, kv.Key)
		value(&b, kv.Value)
	}
	for _, t := range tensors {
		text(&b, t.Name)
		le(&b, uint32(len(t.Dims)), t.Dims, t.Type, t.Offset)
	}
	pad(&b, align)
	start := b.Len()
	for _, t := range tensors {
		for uint64(b.Len()-start) < t.Offset {
			b.WriteByte(0)
		}
		b.Write(t.Data)
	}
	return b.Bytes()
}

// Floats is little-endian float32 data: n values that count up from first.
func Floats(n int, first float32) []byte {
	var b bytes.Buffer
	for i := range n {
		le(&b, math.Float32bits(first+float32(i)/64))
	}
	return b.Bytes()
}

// Array is a GGUF array value of scalars or strings.
func Array[T any](elem uint32, list ...T) Raw {
	var b bytes.Buffer
	le(&b, elem, uint64(len(list)))
	for _, e := range list {
		if s, ok := any(e).(string); ok {
			text(&b, s)
			continue
		}
		le(&b, e)
	}
	return Raw{9, b.Bytes()}
}

func value(b *bytes.Buffer, v any) {
	number := map[string]uint32{
		"uint8": 0, "int8": 1, "uint16": 2, "int16": 3, "uint32": 4, "int32": 5, "float32": 6,
		"bool": 7, "string": 8, "uint64": 10, "int64": 11, "float64": 12,
	}
	switch x := v.(type) {
	case Raw:
		le(b, x.Type)
		b.Write(x.Bytes)
	case string:
		le(b, number["string"])
		text(b, x)
	default:
		le(b, number[fmt.Sprintf("%T", v)], v)
	}
}

func text(b *bytes.Buffer, s string) {
	le(b, uint64(len(s)))
	b.WriteString(s)
}

func le(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if err := binary.Write(b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
}

func pad(b *bytes.Buffer, align int) {
	for b.Len()%align != 0 {
		b.WriteByte(0)
	}
}

// Entry is one safetensors tensor.
type Entry struct {
	Name, DType string
	Shape       []int
	Data        []byte
}

// Safetensors writes a legal file with the entries in order.
func Safetensors(entries ...Entry) []byte {
	var h, data bytes.Buffer
	h.WriteByte('{')
	for i, e := range entries {
		if i > 0 {
			h.WriteByte(',')
		}
		name, _ := json.Marshal(e.Name)
		shape, _ := json.Marshal(append([]int{}, e.Shape...))
		fmt.Fprintf(&h, `%s:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, e.DType, shape, data.Len(), data.Len()+len(e.Data))
		data.Write(e.Data)
	}
	h.WriteByte('}')
	return Header(h.String(), data.Bytes())
}

// Header writes a safetensors file from the text of its header.
func Header(header string, data []byte) []byte {
	var b bytes.Buffer
	le(&b, uint64(len(header)))
	b.WriteString(header)
	b.Write(data)
	return b.Bytes()
}
