package bisect

import (
	"context"
	"errors"
	"fmt"

	"assay/engine"
	"assay/engine/checkpoint"
)

// maxTrace is what two traces may take, in bytes.
const maxTrace = 2 << 30

// LimitError is a question about more ids than memory should hold.
type LimitError struct{ IDs, Most int }

func (e *LimitError) Error() string {
	return fmt.Sprintf("%d ids are more than can be kept with all tensors of this model: %d at most", e.IDs, e.Most)
}

// bytesOf is what a trace of one position takes.
func bytesOf(c *checkpoint.Config) int {
	layer := 0
	for _, name := range order {
		if name != Embed && name != Logits {
			layer += widthOf(name, c)
		}
	}
	return 4 * (c.Layers*layer + widthOf(Embed, c) + widthOf(Logits, c))
}

// runner is an opened setup.
type runner struct {
	setup *Setup
	model *engine.Model
}

func open(ctx context.Context, path string, s *Setup) (*runner, error) {
	o, err := s.options()
	if err != nil {
		return nil, err
	}
	m, err := engine.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return &runner{s, m}, nil
}

// follow feeds ids to a new session and keeps everything that observers see.
func (r *runner) follow(ctx context.Context, ids []int32) (_ *Trace, err error) {
	if most := maxTrace / 2 / bytesOf(r.model.Config()); len(ids) > most {
		return nil, &LimitError{len(ids), most}
	}
	format, err := r.setup.format()
	if err != nil {
		return nil, err
	}
	t := newTrace()
	t.HeadDim = r.model.Config().HeadDim
	s, err := r.model.NewSession(engine.SessionOptions{Context: len(ids), KV: format, Chunk: r.setup.Chunk, Observer: &engine.Observer{
		Logits: func(position int, row []float32) { t.put(Tensor{Logits, afterLayers}, position, row) },
		Hidden: func(layer, position int, row []float32) {
			if layer < 0 {
				t.put(Tensor{Embed, noLayer}, position, row)
				return
			}
			t.put(Tensor{Hidden, layer}, position, row)
		},
		Node: func(name string, layer, position int, row []float32) { t.put(Tensor{name, layer}, position, row) },
	}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if r.setup.Chunk == 1 {
		for _, id := range ids {
			if err := s.Decode(ctx, id); err != nil {
				return nil, err
			}
		}
	} else if err := s.Prefill(ctx, ids); err != nil {
		return nil, err
	}
	for l := range r.model.Config().Layers {
		k, v, n := s.KeyValue(l)
		t.state(Tensor{Keys, l}, k, n, t.HeadDim, len(ids)-n)
		t.state(Tensor{Values, l}, v, n, t.HeadDim, len(ids)-n)
	}
	return t, nil
}
