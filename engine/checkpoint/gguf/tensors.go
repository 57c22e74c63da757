package gguf

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"assay/engine/checkpoint/fault"
)

func (f *File) readTensors(c *cursor, count int) error {
	f.tensors = make(map[string]int, min(count, 1024))
	f.Tensors = make([]Tensor, 0, min(count, 1024))
	for i := range count {
		c.item = "tensor " + strconv.Itoa(i)
		at := int64(c.pos)
		raw, err := c.bytes("tensor name")
		if err != nil {
			return err
		}
		switch {
		case len(raw) > maxName:
			return c.failAt(at, "the tensor name is %d bytes long, at most %d are allowed", len(raw), maxName)
		case !utf8.Valid(raw):
			return c.failAt(at, "the tensor name %q is not UTF-8", raw)
		}
		t := Tensor{Name: string(raw)}
		c.item = fmt.Sprintf("tensor %d %q", i, t.Name)
		if first, ok := f.tensors[t.Name]; ok {
			return c.failAt(at, "duplicate name: already used by tensor %d", first)
		}
		if err := c.record(&t); err != nil {
			return err
		}
		f.tensors[t.Name] = i
		f.Tensors = append(f.Tensors, t)
	}
	return nil
}

// record reads what follows the name: dimensions, type, offset. It computes the
// size in bytes and refuses what does not fit 63 bits.
func (c *cursor) record(t *Tensor) error {
	at := int64(c.pos)
	n, err := c.u32("number of dims")
	if err != nil {
		return err
	}
	if n > maxDims {
		return c.failAt(at, "%d dims, at most %d are allowed", n, maxDims)
	}
	at = int64(c.pos)
	raw, err := c.take(int(n)*8, "dims")
	if err != nil {
		return err
	}
	t.Dims = make([]uint64, n)
	elements := uint64(1)
	for i := range t.Dims {
		t.Dims[i] = le64(raw[8*i:])
		hi, lo := bits.Mul64(elements, t.Dims[i])
		if hi != 0 || t.Dims[i] > math.MaxInt64 {
			return c.failAt(at, "dims %s overflow", fault.List(t.Dims[:i+1]))
		}
		elements = lo
	}
	number, err := c.u32("type")
	if err != nil {
		return err
	}
	if t.Format, err = formatOf(number); err != nil {
		return c.failAt(int64(c.pos-4), "%s", err)
	}
	row := uint64(1)
	if n > 0 {
		row = t.Dims[0]
	}
	if block := uint64(t.Format.BlockSize); row%block != 0 {
		return c.failAt(at, "a row of %d elements is no multiple of the %s block of %d", row, t.Format.Name, block)
	}
	hi, size := bits.Mul64(elements/uint64(t.Format.BlockSize), uint64(t.Format.BlockBytes))
	if hi != 0 || size > math.MaxInt64 || elements > math.MaxInt64 {
		return c.failAt(at, "dims %s overflow: the size in bytes does not fit", fault.List(t.Dims))
	}
	t.Bytes = int64(size)
	t.Offset, err = c.u64("offset")
	t.recordEnd = int64(c.pos)
	return err
}

// placeTensors finds the data behind the records and gives each tensor its
// bytes. They must be aligned, inside the file and disjoint; order and holes
// are free, as are bytes after the last one.
func (f *File) placeTensors(c *cursor) error {
	if len(f.Tensors) == 0 {
		f.DataStart = int64(c.pos)
		return nil
	}
	f.DataStart = (int64(c.pos) + f.Alignment - 1) / f.Alignment * f.Alignment
	if f.DataStart > int64(len(f.data)) && f.needsData() {
		c.item = ""
		if _, ok := f.Value("general.alignment"); ok {
			c.item = `key "general.alignment"`
		}
		return c.failAt(-1, "the data, aligned to %d, would start at byte %d, beyond the end of the file (%d bytes)", f.Alignment, f.DataStart, len(f.data))
	}
	room := uint64(max(0, int64(len(f.data))-f.DataStart))
	order := make([]int, len(f.Tensors))
	for i := range f.Tensors {
		t := &f.Tensors[i]
		order[i] = i
		c.item = fmt.Sprintf("tensor %d %q", i, t.Name)
		at := t.recordEnd - 8
		if t.Offset%uint64(f.Alignment) != 0 {
			return c.failAt(at, "offset %d is not aligned to %d", t.Offset, f.Alignment)
		}
		if t.Bytes > 0 && (t.Offset > room || uint64(t.Bytes) > room-t.Offset) {
			return c.failAt(at, "%d bytes at offset %d lie beyond the end of the data (%d bytes): truncated or a wrong offset", t.Bytes, t.Offset, room)
		}
		if t.Bytes > 0 {
			from := f.DataStart + int64(t.Offset)
			t.Data = f.data[from : from+t.Bytes : from+t.Bytes]
		}
	}
	return f.disjoint(c, order)
}

func (f *File) needsData() bool {
	return slices.ContainsFunc(f.Tensors, func(t Tensor) bool { return t.Bytes > 0 })
}

func (f *File) disjoint(c *cursor, order []int) error {
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.Tensors[a].Offset, f.Tensors[b].Offset) })
	var last *Tensor
	for _, i := range order {
		t := &f.Tensors[i]
		if t.Bytes == 0 {
			continue
		}
		if last != nil && t.Offset < last.Offset+uint64(last.Bytes) {
			c.item = fmt.Sprintf("tensor %d %q", i, t.Name)
			return c.failAt(t.recordEnd-8, "its bytes at offset %d overlap those of %q", t.Offset, last.Name)
		}
		last = t
	}
	return nil
}
