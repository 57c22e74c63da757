package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"assay/engine/checkpoint/gguf"
)

var ggufNaming = naming{format: "gguf", fileOrder: true, own: func(s string) string { return s }}

func (c *Checkpoint) openGGUF(path string) error {
	c.kind = GGUF
	first, err := gguf.Open(path)
	if err != nil {
		return err
	}
	c.addGGUF(first)
	c.metadata = first.Metadata
	if err := c.openSplit(first, path); err != nil {
		return err
	}
	c.canonical = make(map[string]*Tensor, len(c.tensors))
	for _, t := range c.tensors {
		if other, ok := c.canonical[t.Name]; ok {
			return refuse("gguf", t.File, fmt.Sprintf("tensor %q", t.Name), "duplicate: already in %s", other.File)
		}
		c.canonical[t.Name] = t
	}
	if c.config, err = c.ggufConfig(first); err != nil {
		return err
	}
	if err := c.checkTensors(ggufNaming); err != nil {
		return err
	}
	return c.readDivisors()
}

func (c *Checkpoint) addGGUF(f *gguf.File) {
	c.closers = append(c.closers, f.Close)
	c.files = append(c.files, file{filepath.Base(f.Path), func() ([]byte, error) { return f.Bytes(), nil }})
	for i := range f.Tensors {
		t := &f.Tensors[i]
		c.tensors = append(c.tensors, &Tensor{
			Name: t.Name, Type: t.Format.Type, Format: t.Format.Name, Shape: t.Shape(),
			Data: t.Data, File: f.Path, release: f.Release,
		})
	}
}

// splitKeys are the three keys that every file of a split carries.
type splitKeys struct{ no, count, tensors int64 }

func readSplitKeys(f *gguf.File) (s splitKeys, err error) {
	s.count = 1
	for _, k := range []struct {
		name string
		to   *int64
	}{{"split.no", &s.no}, {"split.count", &s.count}, {"split.tensors.count", &s.tensors}} {
		v, ok := f.Value(k.name)
		if !ok {
			continue
		}
		if *k.to, err = v.Int(); err != nil {
			return s, refuse("gguf", f.Path, fmt.Sprintf("key %q", k.name), "%s", err)
		}
	}
	return s, nil
}

// openSplit opens the other files when the first belongs to a split. They lie
// beside it, named NAME-00002-of-00005.gguf.
func (c *Checkpoint) openSplit(first *gguf.File, path string) error {
	head, err := readSplitKeys(first)
	if err != nil {
		return err
	}
	if head.count == 0 || head.count == 1 {
		return nil
	}
	if head.count < 0 || head.count > 99999 {
		return refuse("gguf", path, `key "split.count"`, "is %d: out of range", head.count)
	}
	stem, ok := strings.CutSuffix(filepath.Base(path), fmt.Sprintf("-00001-of-%05d.gguf", head.count))
	if !ok || head.no != 0 {
		return refuse("gguf", path, `key "split.no"`, "this file is number %d (from 0) of a split of %d; open the first, whose name ends in -00001-of-%05d.gguf and whose split.no is 0", head.no, head.count, head.count)
	}
	for no := int64(1); no < head.count; no++ {
		name := fmt.Sprintf("%s-%05d-of-%05d.gguf", stem, no+1, head.count)
		if err := c.openPart(filepath.Join(filepath.Dir(path), name), head, no); err != nil {
			return err
		}
	}
	if head.tensors != 0 && head.tensors != int64(len(c.tensors)) {
		return refuse("gguf", path, `key "split.tensors.count"`, "is %d, but the %d files of the split hold %d tensors", head.tensors, head.count, len(c.tensors))
	}
	return nil
}

func (c *Checkpoint) openPart(path string, head splitKeys, no int64) error {
	f, err := gguf.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("gguf", path, "split", "file %d of %d is missing: %s", no+1, head.count, filepath.Base(path))
	}
	if err != nil {
		return err
	}
	c.addGGUF(f)
	part, err := readSplitKeys(f)
	if err != nil {
		return err
	}
	if part.no != no || part.count != head.count {
		return refuse("gguf", path, `key "split.no"`, "this file calls itself number %d of %d, want number %d of %d (from 0)", part.no, part.count, no, head.count)
	}
	return nil
}

// readDivisors decodes rope_freqs.weight, by which llama-3 scaling is stored.
func (c *Checkpoint) readDivisors() error {
	t, ok := c.canonical["rope_freqs.weight"]
	if !ok {
		return nil
	}
	r := &c.config.Rope
	if err := checkTensor(t, requirement{name: t.Name, shape: []int{r.Dim / 2}}, ggufNaming); err != nil {
		return err
	}
	if t.Format != "F32" {
		return refuse("gguf", t.File, fmt.Sprintf("tensor %q", t.Name), "has type %s, want F32", t.Format)
	}
	r.Divisors = make([]float32, r.Dim/2)
	for i := range r.Divisors {
		d := math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
		if !(d > 0) || math.IsInf(float64(d), 0) {
			return refuse("gguf", t.File, fmt.Sprintf("tensor %q", t.Name), "divisor %d is %v, want a positive number", i, d)
		}
		r.Divisors[i] = d
	}
	return nil
}
