package oracle

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"assay/engine/checkpoint/safetensors"
)

// fromFile gives the tensors of a parsed file.
func fromFile(f *safetensors.File) []*Tensor {
	list := make([]*Tensor, len(f.Tensors))
	for i := range f.Tensors {
		t := &f.Tensors[i]
		list[i] = &Tensor{Name: t.Name, DType: DType(t.DType), Shape: t.Shape, data: t.Data}
	}
	return list
}

// header is the entry of one tensor in the header of a safetensors file.
type header struct {
	DType   DType  `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// writeContainer writes tensors as a safetensors file, in the order given.
func writeContainer(w io.Writer, tensors []*Tensor, meta map[string]string) error {
	var head bytes.Buffer
	if meta == nil {
		meta = map[string]string{}
	}
	m, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	fmt.Fprintf(&head, `{"__metadata__":%s`, m)
	end := 0
	for _, t := range tensors {
		name, err := json.Marshal(t.Name)
		if err != nil {
			return err
		}
		e, err := json.Marshal(header{t.DType, append([]int{}, t.Shape...), [2]int{end, end + len(t.data)}})
		if err != nil {
			return err
		}
		fmt.Fprintf(&head, ",%s:%s", name, e)
		end += len(t.data)
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
		if _, err := w.Write(t.data); err != nil {
			return err
		}
	}
	return nil
}
