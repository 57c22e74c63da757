package bisect

import (
	"fmt"
	"strings"

	"assay/engine/checkpoint"
	"assay/gates/parity"
	"assay/oracle"
)

// Recorded is what somebody computed at another time.
type Recorded struct {
	From  string // a folder, or a revision
	By    string // the engine
	IDs   []int32
	Trace *Trace
	// Exact says that it must have our bits: it is of this engine.
	Exact bool
	// Activations and KV are how it was computed, where it says so in our words.
	Activations, KV string
}

// EvidenceError is a recording in which nothing can be found.
type EvidenceError struct{ Dir, Reason string }

func (e *EvidenceError) Error() string { return fmt.Sprintf("%s: %s", e.Dir, e.Reason) }

// FromEvidence reads one prompt of a recording of the model's files, by name or, when that is empty,
// the first one. Keys, and what becomes of them, are brought into the order of the
// model's own.
func FromEvidence(dir, prompt string, model *checkpoint.Checkpoint) (_ *Recorded, err error) {
	e, err := oracle.Load(dir)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	digest, err := model.Digest()
	if err != nil {
		return nil, err
	}
	if err := e.VerifyCheckpoint(digest); err != nil {
		return nil, err
	}
	p := -1
	for i := range e.Manifest.Prompts {
		if prompt == "" || e.Manifest.Prompts[i].Name == prompt {
			p = i
			break
		}
	}
	if p < 0 {
		return nil, &EvidenceError{dir, fmt.Sprintf("it has no prompt %q", prompt)}
	}
	m := &e.Manifest
	r := &Recorded{From: dir, By: strings.TrimSpace(m.Engine.Name + " " + m.Engine.Version), IDs: m.Prompts[p].Fed(), Trace: newTrace(), Exact: m.Engine.Name == parity.EngineName}
	if r.Exact {
		r.Activations, r.KV = string(m.Compute.Activations), string(m.Compute.KVTypes)
	}
	reader := &evidenceReader{e: e, prompt: p, model: model.Config(), into: r.Trace}
	if err := reader.read(); err != nil {
		return nil, err
	}
	if len(r.Trace.Rows) == 0 {
		return nil, &EvidenceError{dir, fmt.Sprintf("prompt %q has no tensor that the engine could be compared with", m.Prompts[p].Name)}
	}
	return r, nil
}

// evidenceReader turns the tensors of a prompt into a trace.
type evidenceReader struct {
	e      *oracle.Evidence
	prompt int
	model  *checkpoint.Config
	into   *Trace
}

func (r *evidenceReader) read() error {
	c := r.model
	r.into.HeadDim = c.HeadDim
	rows := r.e.Manifest.Prompts[r.prompt].Rows()
	if err := r.rows(Tensor{Embed, noLayer}, r.e.Tensor(r.prompt, "hidden.embed"), rows, false); err != nil {
		return err
	}
	for l := range c.Layers {
		if err := r.rows(Tensor{Hidden, l}, r.e.Tensor(r.prompt, fmt.Sprintf("hidden.L%d", l)), rows, false); err != nil {
			return err
		}
		if err := r.state(l); err != nil {
			return err
		}
		for _, name := range order {
			t, rotated := parity.RecordedNode(r.e, r.prompt, name, l), name == "Qcur" || name == "Kcur"
			if err := r.rows(Tensor{name, l}, t, rows, rotated); err != nil {
				return err
			}
		}
	}
	if r.e.Tensor(r.prompt, "logits.rows") != nil {
		return nil // some rows only
	}
	return r.rows(Tensor{Logits, afterLayers}, r.e.Tensor(r.prompt, Logits), rows, false)
}

// rows keeps a tensor that has a row per fed id; one of another size is not what
// its name says here, and is passed over.
func (r *evidenceReader) rows(of Tensor, t *oracle.Tensor, rows int, rotated bool) error {
	width := widthOf(of.Name, r.model)
	if t == nil || t.Len() != rows*width {
		return nil
	}
	x, err := t.Float32s()
	if err != nil {
		return err
	}
	if rotated {
		var ok bool
		if x, ok = r.reorder(x); !ok {
			return nil
		}
	}
	for p := range rows {
		r.into.put(of, p, x[p*width:(p+1)*width])
	}
	return nil
}

// reorder brings vectors of heads into the order of the model; it cannot when the
// recording does not tell its own.
func (r *evidenceReader) reorder(x []float32) ([]float32, bool) {
	from, err := r.e.Manifest.KeyOrder()
	if err != nil || from == oracle.UnknownOrder {
		return nil, false
	}
	to := oracle.Halves
	if r.model.Rope.Pairing == checkpoint.Adjacent {
		to = oracle.Adjacent
	}
	return oracle.Reorder(x, r.model.HeadDim, from, to), true
}

// state keeps keys and values of a layer.
func (r *evidenceReader) state(l int) error {
	first := r.e.FirstPosition(r.prompt, l)
	for _, name := range []string{Keys, Values} {
		t := r.e.Tensor(r.prompt, fmt.Sprintf("%s.L%d", name, l))
		if t == nil || len(t.Shape) != 3 || t.Shape[2] != r.model.HeadDim || t.Shape[0] != r.model.KVHeads {
			continue
		}
		x, err := t.Float32s()
		if err != nil {
			return err
		}
		if name == Keys {
			var ok bool
			if x, ok = r.reorder(x); !ok {
				continue
			}
		}
		r.into.state(Tensor{name, l}, x, t.Shape[1], t.Shape[2], first)
	}
	return nil
}
