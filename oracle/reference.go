package oracle

import (
	"fmt"
	"strings"

	"assay/engine/checkpoint/safetensors"
)

// LoadReference reads rows that another engine computed for the prompts of a recording, kept as one tensor file without a
// manifest: NAME.top_idx, NAME.top_val and NAME.lse, NAME being a prompt's name. The result holds the prompts of which there
// are rows and is checked as a recording is, but for the order of equal logits; engine names who computed it.
func LoadReference(path, engine string, of *Evidence) (*Evidence, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, &RefusedError{File: path, Err: err}
	}
	e := &Evidence{file: f, anyTies: true, Manifest: Manifest{Format: Format, Engine: Engine{Name: engine}, Compute: Compute{Device: "cpu"}, Checkpoint: of.Manifest.Checkpoint}}
	if err := e.readReference(f, of); err != nil {
		f.Close()
		return nil, inFile(path, err)
	}
	return e, nil
}

func (e *Evidence) readReference(f *safetensors.File, of *Evidence) error {
	list := fromFile(f)
	e.Tensors = map[string]*Tensor{}
	e.Manifest.Checkpoint.Vocab = of.Vocab()
	for i := range of.Manifest.Prompts {
		p := of.Manifest.Prompts[i]
		p.Index = &i
		rows := 0
		for _, t := range list {
			if part, ok := strings.CutPrefix(t.Name, p.Name+"."); ok {
				t.Name = fmt.Sprintf("p%d.%s", i, part)
				e.Tensors[t.Name] = t
				if err := e.checkTensorBytes(t); err != nil {
					return err
				}
				rows++
			}
		}
		if rows > 0 {
			e.Manifest.Prompts = append(e.Manifest.Prompts, p)
		}
	}
	if len(e.Manifest.Prompts) == 0 {
		return &RefusedError{Reason: "no tensor belongs to a prompt of the recording"}
	}
	return e.checkTensors()
}
