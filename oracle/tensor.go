package oracle

import (
	"encoding/binary"
	"fmt"
	"math"

	"assay/engine/checkpoint"
)

// DType is the element type of a tensor, as safetensors spells it.
type DType string

// The element types that evidence is made of; others are carried along unread.
const (
	F32 DType = "F32"
	I32 DType = "I32"
)

// Tensor is one named array of a recording, row-major, little endian. The data of a loaded recording are mapped, not read: they
// cost memory only while they are used, and cannot be read after the recording is closed.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	data  []byte
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
	n := 4
	for _, d := range shape {
		n *= d
	}
	if n != len(b) {
		panic(fmt.Sprintf("oracle: tensor %s: shape %v does not hold %d bytes", name, shape, len(b)))
	}
	return &Tensor{Name: name, DType: t, Shape: shape, data: b}
}

// Len is the number of elements.
func (t *Tensor) Len() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Bytes is the raw data, to be left unchanged.
func (t *Tensor) Bytes() []byte { return t.data }

// Float32s copies all elements of an F32 tensor.
func (t *Tensor) Float32s() ([]float32, error) {
	dst := make([]float32, len(t.data)/4)
	return dst, t.ReadFloat32(dst, 0)
}

// Int32s copies all elements of an I32 tensor.
func (t *Tensor) Int32s() ([]int32, error) {
	dst := make([]int32, len(t.data)/4)
	return dst, t.ReadInt32(dst, 0)
}

// ReadFloat32 fills dst from element at on.
func (t *Tensor) ReadFloat32(dst []float32, at int) (err error) {
	defer checkpoint.Catch(&err, checkpoint.Watch())
	b, err := t.words(F32, len(dst), at)
	for i := 0; i < len(b)/4; i++ {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return err
}

// ReadInt32 fills dst from element at on.
func (t *Tensor) ReadInt32(dst []int32, at int) (err error) {
	defer checkpoint.Catch(&err, checkpoint.Watch())
	b, err := t.words(I32, len(dst), at)
	for i := 0; i < len(b)/4; i++ {
		dst[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return err
}

// words is the bytes of n 4-byte elements from element at on.
func (t *Tensor) words(want DType, n, at int) ([]byte, error) {
	if t.DType != want {
		return nil, fmt.Errorf("oracle: tensor %s is %s, not %s", t.Name, t.DType, want)
	}
	if have := len(t.data) / 4; at < 0 || n > have-at {
		return nil, fmt.Errorf("oracle: tensor %s has %d elements, asked for %d from %d (is the recording closed?)", t.Name, have, n, at)
	}
	return t.data[4*at : 4*(at+n)], nil
}
