package oracle

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
)

// maxHeader bounds the JSON header of a tensor file.
const maxHeader = 32 << 20

type entry struct {
	DType   DType    `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// readContainer reads the header of a safetensors file of size bytes. Tensors come back in file order; they must fill the
// data part exactly, without gaps or overlaps.
func readContainer(src io.ReaderAt, size int64) ([]*Tensor, error) {
	var head [8]byte
	if size < 8 {
		return nil, errors.New("shorter than a header")
	}
	if _, err := src.ReadAt(head[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > maxHeader || n > uint64(size-8) {
		return nil, fmt.Errorf("header of %d bytes in a file of %d", n, size)
	}
	raw := make([]byte, n)
	if _, err := src.ReadAt(raw, 8); err != nil {
		return nil, err
	}
	entries, err := parseHeader(raw)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	data := io.NewSectionReader(src, 8+int64(n), size-8-int64(n))
	tensors := make([]*Tensor, 0, len(entries))
	at := map[string]int64{}
	for name, e := range entries {
		t, err := e.tensor(name, data)
		if err != nil {
			return nil, &RefusedError{Tensor: name, Err: err}
		}
		at[name] = e.Offsets[0]
		tensors = append(tensors, t)
	}
	sort.Slice(tensors, func(i, j int) bool {
		a, b := tensors[i], tensors[j]
		if at[a.Name] != at[b.Name] {
			return at[a.Name] < at[b.Name]
		}
		return a.size < b.size || a.size == b.size && a.Name < b.Name
	})
	end := int64(0)
	for _, t := range tensors {
		if at[t.Name] != end {
			return nil, &RefusedError{Tensor: t.Name, Reason: fmt.Sprintf("data begins at %d, the tensor before ends at %d", at[t.Name], end)}
		}
		end += t.size
	}
	if end != data.Size() {
		return nil, fmt.Errorf("%d bytes of data, the tensors take %d", data.Size(), end)
	}
	return tensors, nil
}

// parseHeader reads the JSON object by tokens, because a second entry of the same name must not win silently.
func parseHeader(raw []byte) (map[string]entry, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	entries := map[string]entry{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		if name == "__metadata__" {
			if err := d.Decode(new(map[string]string)); err != nil {
				return nil, fmt.Errorf("__metadata__: %w", err)
			}
			continue
		}
		if _, twice := entries[name]; twice {
			return nil, fmt.Errorf("tensor %.80q twice", name)
		}
		var e entry
		if err := d.Decode(&e); err != nil {
			return nil, fmt.Errorf("tensor %.80q: %w", name, err)
		}
		entries[name] = e
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(raw[d.InputOffset():])) != 0 {
		return nil, errors.New("text after the JSON object")
	}
	return entries, nil
}

func (e *entry) tensor(name string, data *io.SectionReader) (*Tensor, error) {
	width, known := dtypeBytes[e.DType]
	if !known {
		return nil, fmt.Errorf("unknown element type %.20q", e.DType)
	}
	from, to := e.Offsets[0], e.Offsets[1]
	if from < 0 || to < from || to > data.Size() {
		return nil, fmt.Errorf("offsets [%d, %d] in %d bytes of data", from, to, data.Size())
	}
	n, shape := int64(1), make([]int, len(e.Shape))
	for i, d := range e.Shape {
		if d < 0 || d > data.Size() || d > 0 && n > data.Size()/d {
			return nil, fmt.Errorf("shape %v is larger than the file", e.Shape)
		}
		n *= d
		shape[i] = int(d)
	}
	if n*int64(width) != to-from {
		return nil, fmt.Errorf("shape %v of %s takes %d bytes, the offsets give %d", e.Shape, e.DType, n*int64(width), to-from)
	}
	return &Tensor{Name: name, DType: e.DType, Shape: shape, src: io.NewSectionReader(data, from, to-from), size: to - from}, nil
}

// writeContainer writes tensors as a safetensors file, in the order given.
func writeContainer(w io.Writer, tensors []*Tensor, meta map[string]string) error {
	var head bytes.Buffer
	m, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	fmt.Fprintf(&head, `{"__metadata__":%s`, m)
	end := int64(0)
	for _, t := range tensors {
		name, err := json.Marshal(t.Name)
		if err != nil {
			return err
		}
		shape := make([]int64, len(t.Shape))
		for i, d := range t.Shape {
			shape[i] = int64(d)
		}
		e, err := json.Marshal(entry{t.DType, shape, [2]int64{end, end + t.size}})
		if err != nil {
			return err
		}
		fmt.Fprintf(&head, ",%s:%s", name, e)
		end += t.size
	}
	head.WriteByte('}')
	for head.Len()%8 != 0 {
		head.WriteByte(' ')
	}
	if err := binary.Write(w, binary.LittleEndian, uint64(head.Len())); err != nil {
		return err
	}
	if _, err := head.WriteTo(w); err != nil {
		return err
	}
	for _, t := range tensors {
		if _, err := io.Copy(w, t.Reader()); err != nil {
			return err
		}
	}
	return nil
}
