package gates

import (
	"context"
	"fmt"

	"assay/engine"
	"assay/snapshots"
)

// restoreJob feeds a prompt, takes a snapshot, feeds on; then restores the
// snapshot and feeds the same ids again. The bits must be those of feeding
// everything in one go.
func restoreJob(ctx context.Context, r *run, c *Case) ([]snapshots.Result, error) {
	m, err := r.open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	ids := spread(c.Tokens, m.Config().Vocab)
	if c.Split < 1 || c.Split >= len(ids) {
		return nil, fmt.Errorf("gates: %s: split %d is not within %d tokens", c.Name, c.Split, len(ids))
	}
	whole, err := follow(ctx, m, ids, c.KV, 0)
	if err != nil {
		return nil, err
	}
	want := whole.after(c.Split)
	s, t, err := c.session(m, len(ids))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.Prefill(ctx, ids[:c.Split]); err != nil {
		return nil, err
	}
	snapshot := s.Checkpoint()
	if err := feed(ctx, s, ids[c.Split:], oneByOne); err != nil { // spoils what a restored session must not see
		return nil, err
	}
	var results []snapshots.Result
	for i := range c.Checks {
		k := &c.Checks[i]
		target, got := s, t
		if k.What != "again" {
			capacity := len(ids)
			if k.What == "larger" {
				capacity = 3*len(ids) + 5
			}
			if target, got, err = c.session(m, capacity); err != nil {
				return nil, err
			}
			defer target.Close()
			// Something else was there before.
			if err := target.Prefill(ctx, spread(c.Split/2+1, 7)); err != nil {
				return nil, err
			}
		}
		x, err := c.restored(ctx, m, k, target, got, snapshot, ids[c.Split:], want)
		if err != nil {
			return nil, err
		}
		results = append(results, x)
	}
	return results, nil
}

// after leaves only the rows of logits from a position on.
func (t *trace) after(position int) *trace {
	cut := *t
	cut.logits = t.logits[position*t.vocab:]
	return &cut
}

func (c *Case) session(m *engine.Model, capacity int) (*engine.Session, *trace, error) {
	t := &trace{}
	s, err := m.NewSession(engine.SessionOptions{Context: capacity, KV: c.KV, Observer: t.observer()})
	return s, t, err
}

// restored restores, feeds the rest and compares.
func (c *Case) restored(ctx context.Context, m *engine.Model, k *Check, s *engine.Session, t *trace, snapshot *engine.Snapshot, rest []int32, want *trace) (snapshots.Result, error) {
	if err := s.Restore(snapshot); err != nil {
		return snapshots.Result{}, err
	}
	t.logits = nil
	if err := feed(ctx, s, rest, oneByOne); err != nil {
		return snapshots.Result{}, err
	}
	t.state(m, s)
	differs, err := t.equal(want)
	if err != nil {
		return snapshots.Result{}, err
	}
	x := k.result(fmt.Sprintf("%d logits and %d layers of K/V compared", len(want.logits), len(want.keys)))
	fail(&x, differs...)
	return x, nil
}
