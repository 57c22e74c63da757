package gguf

import (
	"bytes"

	"assay/engine/checkpoint/fault"
	"assay/engine/checkpoint/internal/mapped"
)

// KeyValue is one metadata entry.
type KeyValue struct {
	Key   string
	Value Value
}

// Tensor is one tensor of the file.
type Tensor struct {
	Name   string
	Format Format
	Dims   []uint64 // file order, fastest first: [in, out]
	Offset uint64   // from the start of the data
	Bytes  int64
	Data   []byte // raw, read-only, valid until Close

	recordEnd int64 // byte after its record, for messages
}

// Shape is Dims slowest first, [out, in], as the rest of the engine writes it.
func (t *Tensor) Shape() []int {
	s := make([]int, len(t.Dims))
	for i, d := range t.Dims {
		s[len(s)-1-i] = int(d)
	}
	return s
}

// File is one parsed GGUF file.
type File struct {
	Path      string
	Version   uint32
	Alignment int64
	DataStart int64      // byte at which tensor data begin
	Metadata  []KeyValue // in file order
	Tensors   []Tensor   // in file order

	data    []byte
	index   map[string]int // key -> place in Metadata
	tensors map[string]int // name -> place in Tensors
	mapping *mapped.File
}

// Open maps and parses the file at path. Metadata stay valid after Close,
// tensor data do not.
func Open(path string) (*File, error) {
	m, err := mapped.Open(path)
	if err != nil {
		return nil, &fault.Error{Format: "gguf", Offset: fault.NoOffset, Reason: "cannot open", Err: err}
	}
	f, err := read(m, path)
	if err != nil {
		m.Close()
		return nil, err
	}
	f.mapping = m
	return f, nil
}

// detachMetadata moves what values refer to out of the mapping.
func (f *File) detachMetadata() {
	total := 0
	for _, kv := range f.Metadata {
		total += len(kv.Value.raw)
	}
	store := bytes.NewBuffer(make([]byte, 0, total))
	for i := range f.Metadata {
		v := &f.Metadata[i].Value
		from := store.Len()
		store.Write(v.raw)
		v.raw = store.Bytes()[from:store.Len():store.Len()]
	}
}

// Value gives the metadata value of a key.
func (f *File) Value(key string) (Value, bool) {
	i, ok := f.index[key]
	if !ok {
		return Value{}, false
	}
	return f.Metadata[i].Value, true
}

// Tensor gives the tensor of a name.
func (f *File) Tensor(name string) (*Tensor, bool) {
	i, ok := f.tensors[name]
	if !ok {
		return nil, false
	}
	return &f.Tensors[i], true
}

// Bytes is the whole file, valid until Close.
func (f *File) Bytes() []byte { return f.data }

// Release lets the pages of a tensor's data leave memory; see mapped.File.
func (f *File) Release(data []byte) error {
	if f.mapping == nil {
		return nil
	}
	return f.mapping.Release(data)
}

// Close ends the mapping.
func (f *File) Close() error {
	f.data = nil
	if f.mapping == nil {
		return nil
	}
	return f.mapping.Close()
}

// read parses the mapped file. One that is cut short meanwhile is an error.
func read(m *mapped.File, path string) (f *File, err error) {
	defer mapped.Catch(&err, mapped.Watch())
	if f, err = Parse(m.Bytes(), path); err == nil {
		f.detachMetadata()
	}
	return f, err
}
