package oracle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Evidence is one recording: its manifest and its tensors. Loaded evidence has passed every check; its tensors are read from
// disk when they are asked for, so Close it when done.
type Evidence struct {
	Dir      string
	Manifest Manifest
	Tensors  map[string]*Tensor
	vocab    int
	file     *os.File
}

// Load reads and checks the recording in dir. What does not hold together is refused with a *RefusedError or a *HashError:
// wrong hashes, shapes that do not fit the prompts, values that are not finite, ids outside of the vocabulary, rows of top
// logits that are not in order or disagree with their log-sum-exp, an unnamed engine, a CPU recording with a GPU behind it.
func Load(dir string) (*Evidence, error) {
	m, err := LoadManifest(filepath.Join(dir, ManifestName))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, TensorsName)
	f, err := os.Open(path)
	if err != nil {
		return nil, &RefusedError{File: path, Err: err}
	}
	e := &Evidence{Dir: dir, Manifest: *m, file: f}
	if err := e.open(path); err != nil {
		f.Close()
		return nil, err
	}
	return e, nil
}

func (e *Evidence) open(path string) error {
	st, err := e.file.Stat()
	if err != nil {
		return &RefusedError{File: path, Err: err}
	}
	return e.read(path, e.file, st.Size())
}

// read takes the tensors from src and checks them against the manifest.
func (e *Evidence) read(path string, src io.ReaderAt, size int64) error {
	if err := e.checkFileHash(src, size); err != nil {
		return err
	}
	list, err := readContainer(src, size)
	if err != nil {
		return inFile(path, err)
	}
	e.Tensors = make(map[string]*Tensor, len(list))
	for _, t := range list {
		e.Tensors[t.Name] = t
		if err := e.checkTensorBytes(t); err != nil {
			return inFile(path, err)
		}
	}
	for name := range e.Manifest.TensorSHA256 {
		if e.Tensors[name] == nil {
			return &RefusedError{File: path, Tensor: name, Reason: "named in the manifest, not in the file"}
		}
	}
	return inFile(path, e.checkTensors())
}

// Close releases the file. Tensors cannot be read afterwards.
func (e *Evidence) Close() error {
	if e.file == nil {
		return nil
	}
	return e.file.Close()
}

// Vocab is the size of the vocabulary: the width of whole logit rows, else what the manifest says; 0 when neither tells.
func (e *Evidence) Vocab() int { return e.vocab }

// Names lists the tensors in order.
func (e *Evidence) Names() []string {
	names := make([]string, 0, len(e.Tensors))
	for n := range e.Tensors {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Tensor gives the tensor of prompt i with this name, e.g. "k.L3", or nil.
func (e *Evidence) Tensor(prompt int, name string) *Tensor {
	return e.Tensors[e.Manifest.prefix(prompt)+name]
}

// inFile puts the path into errors that know only the tensor.
func inFile(path string, err error) error {
	switch x := err.(type) {
	case nil:
		return nil
	case *RefusedError:
		if x.File == "" {
			x.File = path
		}
		return x
	case *HashError:
		return x
	}
	return &RefusedError{File: path, Err: err}
}

func (e *Evidence) checkFileHash(src io.ReaderAt, size int64) error {
	want := e.Manifest.EvidenceSHA256
	if want == "" {
		want, _ = e.Manifest.Checkpoint.Extra[TensorsName].(string)
	}
	if want == "" {
		return nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(src, 0, size)); err != nil {
		return &RefusedError{File: filepath.Join(e.Dir, TensorsName), Err: err}
	}
	if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, want) {
		return &HashError{What: filepath.Join(e.Dir, TensorsName), Want: want, Got: got}
	}
	return nil
}

// checkTensorBytes reads a tensor once: its hash, where one is recorded, and that its floats are finite.
func (e *Evidence) checkTensorBytes(t *Tensor) error {
	if want := e.Manifest.TensorSHA256[t.Name]; want != "" {
		h := sha256.New()
		if _, err := io.Copy(h, t.Reader()); err != nil {
			return &RefusedError{Tensor: t.Name, Err: err}
		}
		if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, want) {
			return &HashError{What: filepath.Join(e.Dir, TensorsName) + ": " + t.Name, Want: want, Got: got}
		}
	}
	if t.DType != F32 {
		return nil
	}
	bad, i := -1, 0
	err := t.words(t.Len(), 0, func(at int, u uint32) {
		if u&0x7f800000 == 0x7f800000 && bad < 0 {
			bad, i = at, int(u)
		}
	})
	if err == nil && bad >= 0 {
		err = fmt.Errorf("element %s is %v, evidence is finite", index(bad, t.Shape), math.Float32frombits(uint32(i)))
	}
	if err != nil {
		return &RefusedError{Tensor: t.Name, Err: err}
	}
	return nil
}

// index writes the flat index i as coordinates in shape.
func index(i int, shape []int) string {
	at := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d], i = i%shape[d], i/shape[d]
	}
	return strings.ReplaceAll(fmt.Sprint(at), " ", ",")
}

// VerifyCheckpoint says whether the files of a checkpoint (name -> SHA-256) are those the recording was made with. A single
// weight file may have another name. Recorded tokenizer and generation files may be absent; weights and config may not.
func (e *Evidence) VerifyCheckpoint(files map[string]string) error {
	return e.Manifest.VerifyCheckpoint(files)
}

// VerifyCheckpoint: see Evidence.VerifyCheckpoint.
func (m *Manifest) VerifyCheckpoint(files map[string]string) error {
	recorded := m.Checkpoint.Hashes()
	if len(recorded) == 0 {
		return &RefusedError{Field: "checkpoint", Reason: "names no file, so nothing says on which weights this was recorded"}
	}
	names := make([]string, 0, len(recorded))
	for n := range recorded {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, name := range names {
		want := recorded[name]
		got, there := files[name]
		if !there && len(files) == 1 && len(recorded) == 1 {
			for _, only := range files {
				got, there = only, true
			}
		}
		needed := name == "config.json" || strings.HasSuffix(name, ".gguf") || strings.HasSuffix(name, ".safetensors")
		if there && !strings.EqualFold(got, want) || !there && needed {
			return &HashError{What: "checkpoint file " + name, Want: want, Got: got}
		}
	}
	return nil
}
