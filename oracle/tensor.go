package oracle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// DType is the element type of a tensor, as safetensors spells it.
type DType string

// The element types that evidence is made of; others are carried along unread.
const (
	F32 DType = "F32"
	I32 DType = "I32"
)

var dtypeBytes = map[DType]int{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1}

// Tensor is one named array of a recording, row-major, little endian. Its elements stay on disk until they are asked for.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	src   io.ReaderAt // the elements, from offset 0
	size  int64       // bytes
}

// NewFloat32 makes a tensor in memory from a copy of data. It panics when the shape does not fit the data.
func NewFloat32(name string, shape []int, data []float32) *Tensor {
	b := make([]byte, 4*len(data))
	for i, x := range data {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return newTensor(name, F32, shape, b)
}

// NewInt32 is NewFloat32 for integers.
func NewInt32(name string, shape []int, data []int32) *Tensor {
	b := make([]byte, 4*len(data))
	for i, x := range data {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(x))
	}
	return newTensor(name, I32, shape, b)
}

func newTensor(name string, t DType, shape []int, b []byte) *Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	if n*dtypeBytes[t] != len(b) {
		panic(fmt.Sprintf("oracle: tensor %s: shape %v does not hold %d bytes", name, shape, len(b)))
	}
	return &Tensor{Name: name, DType: t, Shape: shape, src: bytes.NewReader(b), size: int64(len(b))}
}

// Len is the number of elements.
func (t *Tensor) Len() int { return int(t.size) / dtypeBytes[t.DType] }

// Reader reads the raw bytes.
func (t *Tensor) Reader() io.Reader { return io.NewSectionReader(t.src, 0, t.size) }

// Float32s reads all elements of an F32 tensor.
func (t *Tensor) Float32s() ([]float32, error) {
	dst := make([]float32, t.Len())
	return dst, t.ReadFloat32(dst, 0)
}

// Int32s reads all elements of an I32 tensor.
func (t *Tensor) Int32s() ([]int32, error) {
	dst := make([]int32, t.Len())
	return dst, t.ReadInt32(dst, 0)
}

// ReadFloat32 fills dst from element at on.
func (t *Tensor) ReadFloat32(dst []float32, at int) error {
	if t.DType != F32 {
		return fmt.Errorf("oracle: tensor %s is %s, not F32", t.Name, t.DType)
	}
	return t.words(len(dst), at, func(i int, u uint32) { dst[i] = math.Float32frombits(u) })
}

// ReadInt32 fills dst from element at on.
func (t *Tensor) ReadInt32(dst []int32, at int) error {
	if t.DType != I32 {
		return fmt.Errorf("oracle: tensor %s is %s, not I32", t.Name, t.DType)
	}
	return t.words(len(dst), at, func(i int, u uint32) { dst[i] = int32(u) })
}

func (t *Tensor) words(n, at int, put func(i int, u uint32)) error {
	if at < 0 || n > t.Len()-at {
		return fmt.Errorf("oracle: tensor %s has %d elements, asked for %d from %d", t.Name, t.Len(), n, at)
	}
	buf := make([]byte, min(4*n, 1<<18))
	for i := 0; i < n; {
		k := min(len(buf)/4, n-i)
		if _, err := t.src.ReadAt(buf[:4*k], 4*int64(at+i)); err != nil {
			return fmt.Errorf("oracle: tensor %s: %w", t.Name, err)
		}
		for j := range k {
			put(i+j, binary.LittleEndian.Uint32(buf[4*j:]))
		}
		i += k
	}
	return nil
}
