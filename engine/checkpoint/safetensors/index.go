package safetensors

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"assay/engine/checkpoint/fault"
	"assay/engine/checkpoint/regular"
)

// MaxIndex is the size of the largest index that is read, in bytes; published
// ones have some hundred KB.
const MaxIndex = 64 << 20

// Set is one model's tensors, from a single file or from shards.
type Set struct {
	Path    string // the file or the index
	Sharded bool
	Files   []*File   // in the order in which the index first names them
	Tensors []*Tensor // in file order
	index   map[string]*Tensor
}

// OpenSingle opens one file as a Set.
func OpenSingle(path string) (*Set, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	s := &Set{Path: path, Files: []*File{f}, index: map[string]*Tensor{}}
	for i := range f.Tensors {
		s.add(&f.Tensors[i])
	}
	return s, nil
}

// OpenIndex opens a model.safetensors.index.json and every shard it names.
// Shards lie beside the index; a name that leads elsewhere is refused. The
// metadata's total_size is informative and often wrong, so it is not checked.
func OpenIndex(path string) (*Set, error) {
	entries, err := readIndex(path)
	if err != nil {
		return nil, err
	}
	s := &Set{Path: path, Sharded: true, index: map[string]*Tensor{}}
	if err := s.openShards(filepath.Dir(path), entries); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Set) add(t *Tensor) {
	s.Tensors = append(s.Tensors, t)
	s.index[t.Name] = t
}

// Tensor gives the tensor of a name.
func (s *Set) Tensor(name string) (*Tensor, bool) {
	t, ok := s.index[name]
	return t, ok
}

// Close closes every file.
func (s *Set) Close() error {
	var first error
	for _, f := range s.Files {
		if err := f.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (s *Set) openShards(folder string, entries []KeyValue) error {
	shards := map[string]*File{}
	wanted := map[string]string{}
	for _, e := range entries {
		wanted[e.Key] = e.Value
		if shards[e.Value] != nil {
			continue
		}
		f, err := Open(filepath.Join(folder, e.Value))
		if err != nil {
			return indexError(s.Path, fmt.Sprintf("shard %q of tensor %q", e.Value, e.Key), "cannot be opened", err)
		}
		shards[e.Value] = f
		s.Files = append(s.Files, f)
	}
	for _, e := range entries {
		if _, ok := shards[e.Value].Tensor(e.Key); !ok {
			return indexError(s.Path, fmt.Sprintf("tensor %q", e.Key), fmt.Sprintf("is missing: not found in shard %q", e.Value), nil)
		}
	}
	for _, f := range s.Files {
		for i := range f.Tensors {
			t := &f.Tensors[i]
			if shards[wanted[t.Name]] == f {
				s.add(t)
			}
		}
	}
	return nil
}

func indexError(path, item, reason string, err error) error {
	return &fault.Error{Format: "safetensors", File: path, Item: item, Offset: fault.NoOffset, Reason: reason, Err: err}
}

func readIndex(path string) ([]KeyValue, error) {
	text, err := regular.Read(path, MaxIndex)
	if err != nil {
		return nil, indexError(path, "index", "cannot be read", err)
	}
	return ParseIndex(text, path)
}

// ParseIndex gives the weight_map of an index in file order: tensor name and
// the name of its shard, checked to be a plain file name.
func ParseIndex(text []byte, path string) ([]KeyValue, error) {
	if !utf8.Valid(text) || !json.Valid(text) {
		return nil, indexError(path, "index", "is no valid JSON", nil)
	}
	var entries []KeyValue
	found := false
	s := scan(text)
	err := s.object("the index", func(key string) error {
		if key != "weight_map" {
			return s.skip()
		}
		if found {
			return fmt.Errorf("duplicate weight_map")
		}
		found = true
		seen := map[string]bool{}
		return s.object("weight_map", func(name string) error {
			if seen[name] {
				return fmt.Errorf("duplicate tensor %q", name)
			}
			seen[name] = true
			shard, err := s.text(fmt.Sprintf("the shard of tensor %q", name))
			if err != nil {
				return err
			}
			if !plainName(shard) {
				return fmt.Errorf("tensor %q: shard name %q lies outside the folder of the index", name, shard)
			}
			entries = append(entries, KeyValue{name, shard})
			return nil
		})
	})
	if err == nil && !found {
		err = fmt.Errorf("weight_map is missing")
	}
	if err != nil {
		return nil, indexError(path, "index", err.Error(), nil)
	}
	return entries, nil
}

// plainName tells whether a shard's name is a file beside the index on every
// system: no separators, no drive, not "." or "..".
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\:\x00")
}
