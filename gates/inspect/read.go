package inspect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/engine/checkpoint/gguf"
	"assay/engine/checkpoint/safetensors"
)

// read fills the report from the container at path. The returned function ends
// the mappings that tensor data refer to; it is never nil.
func (r *Report) read(path string) (func() error, error) {
	none := func() error { return nil }
	st, err := os.Stat(path)
	if err != nil {
		return none, err
	}
	switch {
	case st.IsDir():
		r.Container = "huggingface"
		return r.readFolder(path)
	case strings.HasSuffix(path, ".index.json"):
		r.Container = "safetensors-index"
		return r.readSet(safetensors.OpenIndex(path))
	case filepath.Ext(path) == ".safetensors":
		r.Container = "safetensors"
		return r.readSet(safetensors.OpenSingle(path))
	}
	r.Container = "gguf"
	f, err := gguf.Open(path)
	if err != nil {
		return none, err
	}
	r.readGGUF(f)
	return f.Close, nil
}

func (r *Report) readGGUF(f *gguf.File) {
	r.Version, r.Alignment = f.Version, f.Alignment
	r.addFile(f.Path, f.Bytes())
	for _, kv := range f.Metadata {
		r.KV = append(r.KV, Entry{kv.Key, kv.Value.TypeName(), kv.Value})
	}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		shape := make([]int64, len(t.Dims))
		for i, d := range t.Dims {
			shape[i] = int64(d)
		}
		r.Tensors = append(r.Tensors, Tensor{
			Name: t.Name, Type: t.Format.Name, Shape: shape, Bytes: t.Bytes, Offset: int64(t.Offset), data: t.Data,
		})
	}
	r.Tokenizer = ggufTokenizer(f)
}

func (r *Report) readSet(s *safetensors.Set, err error) (func() error, error) {
	if err != nil {
		return func() error { return nil }, err
	}
	for _, f := range s.Files {
		r.addFile(f.Path, f.Bytes())
		for _, kv := range f.Metadata {
			if !slices.ContainsFunc(r.KV, func(e Entry) bool { return e.Key == kv.Key && e.Value == kv.Value }) {
				r.KV = append(r.KV, Entry{Key: kv.Key, Value: kv.Value})
			}
		}
	}
	for _, t := range s.Tensors {
		shape := make([]int64, len(t.Shape))
		for i, d := range t.Shape {
			shape[i] = int64(d)
		}
		own := Tensor{Name: t.Name, Type: t.DType, DType: t.DType, Shape: shape, Bytes: t.Bytes, Offset: t.Offset, data: t.Data}
		if s.Sharded {
			own.File = filepath.Base(t.File)
		}
		r.Tensors = append(r.Tensors, own)
	}
	return s.Close, nil
}

// readFolder reads the weights and shows config.json beside them. A folder
// without one is no model, but its weights are well formed all the same.
func (r *Report) readFolder(dir string) (func() error, error) {
	single := filepath.Join(dir, "model.safetensors")
	var end func() error
	var err error
	if _, missing := os.Stat(single); missing == nil {
		end, err = r.readSet(safetensors.OpenSingle(single))
	} else {
		end, err = r.readSet(safetensors.OpenIndex(single + ".index.json"))
	}
	if err != nil {
		return end, err
	}
	config, err := readObject(filepath.Join(dir, "config.json"))
	if err != nil {
		return end, err
	}
	r.KV = append(config, r.KV...)
	r.Tokenizer, err = folderTokenizer(dir)
	return end, err
}

func (r *Report) addFile(path string, data []byte) {
	r.Files = append(r.Files, File{Name: filepath.Base(path), Bytes: int64(len(data)), data: data})
	r.Bytes += int64(len(data))
}
