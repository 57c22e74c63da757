package safetensors

import (
	"assay/engine/checkpoint/fault"
	"assay/engine/checkpoint/internal/mapped"
	"assay/kernels/quant"
)

// KeyValue is one entry of __metadata__.
type KeyValue struct{ Key, Value string }

// Tensor is one tensor of the file.
type Tensor struct {
	Name   string
	DType  string     // as the file spells it
	Type   quant.Type // quant.Invalid where the engine has no such number
	Shape  []int      // slowest first, as in the file: [out, in]
	Offset int64      // from the start of the data
	Bytes  int64
	Data   []byte // raw, read-only, valid until Close; not aligned to anything
	File   string // path of the file that holds it
}

// File is one parsed safetensors file.
type File struct {
	Path      string
	DataStart int64
	Metadata  []KeyValue // in file order
	Tensors   []Tensor   // in header order

	data    []byte
	index   map[string]int
	mapping *mapped.File
}

// Open maps and parses the file at path. Tensor data are valid until Close.
func Open(path string) (*File, error) {
	m, err := mapped.Open(path)
	if err != nil {
		return nil, &fault.Error{Format: "safetensors", Offset: fault.NoOffset, Reason: "cannot open", Err: err}
	}
	f, err := read(m, path)
	if err != nil {
		m.Close()
		return nil, err
	}
	f.mapping = m
	for i := range f.Tensors {
		f.Tensors[i].File = path
	}
	return f, nil
}

// Tensor gives the tensor of a name.
func (f *File) Tensor(name string) (*Tensor, bool) {
	i, ok := f.index[name]
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
	return Parse(m.Bytes(), path)
}
