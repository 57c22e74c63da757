package parity

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"assay/engine"
	"assay/engine/checkpoint"
	"assay/engine/kv"
	"assay/oracle"
)

// Options say how a recording is replayed.
type Options struct {
	KV      kv.Type
	Chunk   int   // prompt in pieces; 0: as the engine likes
	Prompts []int // which; nil: all
	// State compares hidden states and K/V too, where they are recorded.
	State bool
	// Batch feeds produced ids together with the prompt instead of one by one: the
	// same bits, faster.
	Batch bool
	// Diverges is the relative RMS above which Diagnose calls a tensor divergent; 0: 1e-3.
	Diverges float64
	// TopK is the size of the sets of largest logits that are compared; 0: 10.
	TopK int
	// Progress is told how many of all rows have been evaluated.
	Progress func(done, total int)
	// Also receives every row of logits besides the comparison.
	Also func(prompt, row int, logits []float32) error
}

const defaultDiverges = 1e-3

// Result is what came of a replay.
type Result struct {
	Evidence *oracle.Evidence
	Rows     *oracle.RowStats
	State    map[int][]oracle.Difference // by prompt
	// Diverges is the relative RMS above which Diagnose calls a tensor divergent.
	Diverges float64
	rows     *oracle.RowComparer
}

// Prompt gives the row statistics of one prompt.
func (r *Result) Prompt(i int) *oracle.RowStats { return r.rows.Prompt(i) }

// Diagnose names the first tensor that diverges, for each prompt with recorded
// states; when none diverges, what the logits of all prompts tell.
func (r *Result) Diagnose() []oracle.Diagnosis {
	var out []oracle.Diagnosis
	var last []oracle.Difference
	for _, i := range slices.Sorted(maps.Keys(r.State)) {
		last = r.State[i]
		d := oracle.Diagnose(last, r.Prompt(i), r.Diverges)
		if d.First == nil {
			continue
		}
		if n := r.FirstNode(i); n != nil {
			d.Hints = append(d.Hints, "first diverging intermediate, in the order of computation: "+n.String())
		}
		out = append(out, d)
	}
	if len(out) == 0 {
		out = append(out, oracle.Diagnose(last, r.Rows, r.Diverges))
	}
	return out
}

// KeyOrder is how the elements of the model's keys are ordered.
func KeyOrder(m *engine.Model) oracle.KeyOrder {
	if m.Config().Rope.Pairing == checkpoint.Adjacent {
		return oracle.Adjacent
	}
	return oracle.Halves
}

// Replay feeds every prompt of the recording and compares.
func Replay(ctx context.Context, m *engine.Model, e *oracle.Evidence, o Options) (*Result, error) {
	if v := e.Vocab(); v != 0 && v != m.Config().Vocab {
		return nil, fmt.Errorf("parity: the recording in %s has a vocabulary of %d, the model %d", e.Dir, v, m.Config().Vocab)
	}
	r := &Result{Evidence: e, rows: oracle.NewRowComparer(e), State: map[int][]oracle.Difference{}, Diverges: o.Diverges}
	if r.Diverges == 0 {
		r.Diverges = defaultDiverges
	}
	r.rows.TopKSize = cmp.Or(o.TopK, r.rows.TopKSize)
	prompts := o.Prompts
	if prompts == nil {
		for i := range e.Manifest.Prompts {
			prompts = append(prompts, i)
		}
	}
	p := &progress{report: o.Progress}
	for _, i := range prompts {
		p.total += e.Manifest.Prompts[i].Rows()
	}
	for _, i := range prompts {
		if err := r.prompt(ctx, m, i, o, p); err != nil {
			return nil, err
		}
	}
	r.Rows = r.rows.Stats()
	return r, nil
}

type progress struct {
	report      func(done, total int)
	done, total int
}

func (p *progress) row() {
	p.done++
	if p.report != nil {
		p.report(p.done, p.total)
	}
}

func (r *Result) prompt(ctx context.Context, m *engine.Model, i int, o Options, p *progress) error {
	e := r.Evidence
	c := &collector{m: m, e: e, prompt: i, hidden: map[string][]float32{}, nodes: map[string][]float32{}}
	var rowErr error
	observer := &engine.Observer{Logits: func(pos int, row []float32) {
		if err := r.rows.Row(i, pos, row); err != nil && rowErr == nil {
			rowErr = err
		}
		if o.Also != nil && rowErr == nil {
			rowErr = o.Also(i, pos, row)
		}
		p.row()
	}}
	if o.State && e.Tensor(i, "hidden.L0") != nil {
		observer.Hidden = c.addHidden
	}
	if o.State && c.wantsNodes() {
		observer.Node = c.addNode
	}
	fed := e.Manifest.Prompts[i].Fed()
	s, err := m.NewSession(engine.SessionOptions{Context: len(fed), KV: o.KV, Chunk: o.Chunk, Observer: observer})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := feed(ctx, s, &e.Manifest.Prompts[i], o.Batch); err != nil {
		return fmt.Errorf("parity: prompt %q: %w", e.Manifest.Prompts[i].Name, err)
	}
	if rowErr != nil {
		return rowErr
	}
	if !o.State {
		return nil
	}
	if diffs, err := oracle.CompareState(e, i, c.state(s)); err != nil {
		return err
	} else if len(diffs) > 0 {
		r.State[i] = diffs
	}
	return nil
}

// feed evaluates the prompt, then the produced ids one by one.
func feed(ctx context.Context, s *engine.Session, p *oracle.Prompt, batch bool) error {
	fed := p.Fed()
	n := len(p.IDs)
	if batch {
		n = len(fed)
	}
	if err := s.Prefill(ctx, fed[:n]); err != nil {
		return err
	}
	for _, id := range fed[n:] {
		if err := s.Decode(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// collector gathers the state of one prompt.
type collector struct {
	m             *engine.Model
	e             *oracle.Evidence
	prompt        int
	hidden, nodes map[string][]float32
}

// wantsNodes tells whether the recording has intermediates of the first layer.
// Recordings whose keys are in another order are compared by state only.
func (c *collector) wantsNodes() bool {
	order, err := c.e.Manifest.KeyOrder()
	return err == nil && order == KeyOrder(c.m) && slices.ContainsFunc(nodes, func(n node) bool {
		return recordedNode(c.e, c.prompt, n.name, 0) != ""
	})
}

func (c *collector) addNode(name string, layer, _ int, row []float32) {
	if to := recordedNode(c.e, c.prompt, name, layer); to != "" {
		c.nodes[to] = append(c.nodes[to], row...)
	}
}

func (c *collector) addHidden(layer, _ int, row []float32) {
	name := layerName(layer)
	c.hidden[name] = append(c.hidden[name], row...)
}

func (c *collector) state(s *engine.Session) oracle.State {
	st := oracle.State{Hidden: c.hidden, Nodes: c.nodes, Keys: map[int][]float32{}, Values: map[int][]float32{}, KeyOrder: KeyOrder(c.m)}
	for l := range c.m.Config().Layers {
		st.Keys[l], st.Values[l], _ = s.KeyValue(l)
	}
	return st
}
