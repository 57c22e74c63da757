package oracle

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"sort"
	"strings"

	"assay/engine/checkpoint"
	"assay/engine/checkpoint/safetensors"
)

// Evidence is one recording: its manifest and its tensors. Loaded evidence has passed every check; its tensors are mapped
// from disk, so Close it when done.
type Evidence struct {
	Dir      string
	Manifest Manifest
	Tensors  map[string]*Tensor
	vocab    int
	anyTies  bool // equal logits may stand in any order
	file     *safetensors.File
}

// Load reads and checks the recording in dir. What does not hold together is refused with a *RefusedError or a *HashError:
// wrong hashes, shapes that do not fit the prompts, values that are not finite, ids outside of the vocabulary, rows of top
// logits that are not in order or disagree with their log-sum-exp, an unnamed engine, a CPU recording with a GPU behind it.
func Load(dir string) (*Evidence, error) {
	m, err := LoadManifest(filepath.Join(dir, ManifestName))
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Open(filepath.Join(dir, TensorsName))
	if err != nil {
		return nil, &RefusedError{File: filepath.Join(dir, TensorsName), Err: err}
	}
	e := &Evidence{Dir: dir, Manifest: *m, file: f}
	if err := e.read(f); err != nil {
		f.Close()
		return nil, err
	}
	return e, nil
}

// read takes the tensors of f and checks them against the manifest.
func (e *Evidence) read(f *safetensors.File) (err error) {
	defer checkpoint.Catch(&err, checkpoint.Watch())
	if err := e.checkFileHash(f); err != nil {
		return err
	}
	e.Tensors = make(map[string]*Tensor, len(f.Tensors))
	for _, t := range fromFile(f) {
		e.Tensors[t.Name] = t
		if err := e.checkTensorBytes(t); err != nil {
			return inFile(f.Path, err)
		}
	}
	for name := range e.Manifest.TensorSHA256 {
		if e.Tensors[name] == nil {
			return &RefusedError{File: f.Path, Tensor: name, Reason: "named in the manifest, not in the file"}
		}
	}
	return inFile(f.Path, e.checkTensors())
}

// Close ends the mapping of the file. Tensors cannot be read afterwards.
func (e *Evidence) Close() error {
	if e.file == nil {
		return nil
	}
	for _, t := range e.Tensors {
		t.data = nil
	}
	f := e.file
	e.file = nil
	return f.Close()
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

func (e *Evidence) checkFileHash(f *safetensors.File) error {
	want := e.Manifest.EvidenceSHA256
	if want == "" {
		want, _ = e.Manifest.Checkpoint.Extra[TensorsName].(string)
	}
	return checkHash(f.Path, want, f.Bytes())
}

// checkHash compares with a recorded SHA-256, where there is one.
func checkHash(what, want string, data []byte) error {
	if want == "" {
		return nil
	}
	if got := hash(data); !strings.EqualFold(got, want) {
		return &HashError{What: what, Want: want, Got: got}
	}
	return nil
}

func hash(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// checkTensorBytes looks at every byte of a tensor: its hash, where one is recorded, and that its floats are finite.
func (e *Evidence) checkTensorBytes(t *Tensor) error {
	if err := checkHash(filepath.Join(e.Dir, TensorsName)+": "+t.Name, e.Manifest.TensorSHA256[t.Name], t.data); err != nil {
		return err
	}
	if t.DType != F32 {
		return nil
	}
	for i := 0; i+4 <= len(t.data); i += 4 {
		if u := binary.LittleEndian.Uint32(t.data[i:]); u&0x7f800000 == 0x7f800000 {
			return &RefusedError{Tensor: t.Name, Reason: fmt.Sprintf("element %s is %v, evidence is finite", index(i/4, t.Shape), math.Float32frombits(u))}
		}
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
