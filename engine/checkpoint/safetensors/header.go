package safetensors

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"assay/engine/checkpoint/fault"
)

const (
	lengthBytes = 8
	maxHeader   = 100_000_000 // bytes, by the format
)

// Parse reads a whole safetensors file from data, which must not change
// afterwards: tensors refer to it. name is used in errors only.
func Parse(data []byte, name string) (*File, error) {
	f := &File{Path: name, data: data, index: map[string]int{}}
	header, err := f.header()
	if err != nil {
		return nil, err
	}
	if err := f.readHeader(header); err != nil {
		return nil, err
	}
	return f, f.place()
}

func (f *File) fail(item string, format string, args ...any) error {
	return &fault.Error{Format: "safetensors", File: f.Path, Item: item, Offset: fault.NoOffset, Reason: fmt.Sprintf(format, args...)}
}

func (f *File) header() ([]byte, error) {
	if len(f.data) < lengthBytes {
		return nil, f.fail("header", "the file has %d bytes, too short for the header length", len(f.data))
	}
	n := binary.LittleEndian.Uint64(f.data)
	if n > maxHeader {
		return nil, f.fail("header", "length %d is too large, at most %d are allowed", n, maxHeader)
	}
	if n > uint64(len(f.data)-lengthBytes) {
		return nil, f.fail("header", "length %d reaches beyond the file, truncated at %d bytes", n, len(f.data))
	}
	f.DataStart = lengthBytes + int64(n)
	h := f.data[lengthBytes:f.DataStart]
	switch {
	case len(h) == 0:
		return nil, f.fail("header", "the header is empty, want a JSON object")
	case h[0] != '{':
		return nil, f.fail("header", "the JSON header begins with %q, want \"{\"", h[0])
	case !utf8.Valid(h):
		return nil, f.fail("header", "the JSON header is not UTF-8")
	case !json.Valid(h):
		return nil, f.fail("header", "the header is no valid JSON, or is nested too deep")
	}
	return h, nil
}

func (f *File) readHeader(header []byte) error {
	s := scan(header)
	metadata := false
	return s.object("header", func(key string) error {
		if key == "__metadata__" {
			if metadata {
				return f.fail(`"__metadata__"`, "duplicate key in the header")
			}
			metadata = true
			return f.readMetadata(s)
		}
		item := fmt.Sprintf("tensor %q", key)
		if _, ok := f.index[key]; ok {
			return f.fail(item, "duplicate key in the header")
		}
		t := Tensor{Name: key}
		if err := f.readEntry(s, &t); err != nil {
			return f.fail(item, "%s", err)
		}
		f.index[key] = len(f.Tensors)
		f.Tensors = append(f.Tensors, t)
		return nil
	})
}

func (f *File) readMetadata(s scanner) error {
	seen := map[string]bool{}
	err := s.object("it", func(key string) error {
		if seen[key] {
			return fmt.Errorf("duplicate key %q", key)
		}
		seen[key] = true
		text, err := s.text(fmt.Sprintf("the value of %q", key))
		f.Metadata = append(f.Metadata, KeyValue{key, text})
		return err
	})
	if err != nil {
		return f.fail(`"__metadata__"`, "%s; it must map strings to strings", err)
	}
	return nil
}

// readEntry reads {"dtype": .., "shape": [..], "data_offsets": [from, to]} and
// holds the size that shape and dtype ask for against the offsets.
func (f *File) readEntry(s scanner, t *Tensor) error {
	var shape, offsets []int64
	seen := map[string]bool{}
	err := s.object("its entry", func(key string) (err error) {
		if seen[key] {
			return fmt.Errorf("duplicate field %q", key)
		}
		seen[key] = true
		switch key {
		case "dtype":
			t.DType, err = s.text("dtype")
		case "shape":
			shape, err = s.integers("shape")
		case "data_offsets":
			offsets, err = s.integers("data_offsets")
		default:
			err = s.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, field := range []string{"dtype", "shape", "data_offsets"} {
		if !seen[field] {
			return fmt.Errorf("the field %q is missing", field)
		}
	}
	return t.fill(shape, offsets, int64(len(f.data))-f.DataStart)
}

func (t *Tensor) fill(shape, offsets []int64, room int64) error {
	d, ok := dtypes[t.DType]
	if !ok {
		return fmt.Errorf("unknown dtype %q", t.DType)
	}
	t.Type = d.typ
	if len(offsets) != 2 {
		return fmt.Errorf("data_offsets has %d numbers, want 2", len(offsets))
	}
	from, to := offsets[0], offsets[1]
	if from > to {
		return fmt.Errorf("data_offsets end at %d before they begin at %d", to, from)
	}
	if to > room {
		return fmt.Errorf("data_offsets [%d, %d] reach beyond the end of the data (%d bytes): truncated or a wrong size", from, to, room)
	}
	size, err := shapeBytes(shape, d.bits)
	if err != nil {
		return err
	}
	if size != to-from {
		return fmt.Errorf("shape %s of %s takes %d bytes, data_offsets give %d", fault.List(shape), t.DType, size, to-from)
	}
	t.Shape = make([]int, len(shape))
	for i, n := range shape {
		t.Shape[i] = int(n)
	}
	t.Offset, t.Bytes = from, size
	return nil
}

func shapeBytes(shape []int64, width int) (int64, error) {
	n := uint64(width)
	for _, d := range shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, fmt.Errorf("shape %s overflows", fault.List(shape))
		}
		n = lo
	}
	if n%8 != 0 {
		return 0, fmt.Errorf("shape %s of %d-bit elements is no whole number of bytes", fault.List(shape), width)
	}
	return int64(n / 8), nil
}

// place gives each tensor its bytes, and demands that they cover the data
// exactly.
func (f *File) place() error {
	data := f.data[f.DataStart:]
	order := make([]int, len(f.Tensors))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &f.Tensors[a], &f.Tensors[b]
		return cmp.Or(cmp.Compare(x.Offset, y.Offset), cmp.Compare(x.Bytes, y.Bytes))
	})
	end := int64(0)
	for _, i := range order {
		t := &f.Tensors[i]
		item := fmt.Sprintf("tensor %q", t.Name)
		switch {
		case t.Offset < end:
			return f.fail(item, "its data at offset %d overlap the tensor before it, which ends at %d", t.Offset, end)
		case t.Offset > end:
			return f.fail(item, "a gap lies between its data at offset %d and the tensor before it, which ends at %d", t.Offset, end)
		}
		end = t.Offset + t.Bytes
		t.Data = data[t.Offset:end:end]
	}
	if end != int64(len(data)) {
		return f.fail("", "the tensors cover %d of %d data bytes, trailing bytes belong to none", end, len(data))
	}
	return nil
}
