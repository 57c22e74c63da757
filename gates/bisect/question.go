package bisect

import (
	"context"
	"errors"
	"slices"
)

// Question asks where two runs over the same ids part.
type Question struct {
	Model string // weight file or folder
	IDs   []int32
	A     *Setup
	B     *Setup    // or
	Kept  *Recorded // what was recorded, instead
	// Tolerance is the relative RMS from which a row differs; 0: any bit.
	Tolerance float64
	// Build makes the programs of revisions; nil: there is no source tree.
	Build Build
}

// Answer is what was found.
type Answer struct {
	First  *Difference `json:"first"` // nil: none
	Counts Counts      `json:"compared"`
	IDs    []int32     `json:"ids"` // the fewest that were seen to show it
	Whole  int         `json:"of_ids"`
	// Note tells when the ids could not be made fewer.
	Note string `json:"note,omitempty"`

	rowB []float32 // of b where First is
}

// side gives the trace of one side for ids, as often as it is asked.
type side interface {
	follow(ctx context.Context, ids []int32) (*Trace, error)
}

// fixed is a side that was recorded: of fewer ids it knows as much.
type fixed struct{ trace *Trace }

func (f fixed) follow(context.Context, []int32) (*Trace, error) { return f.trace, nil }

// Find compares the two sides and then tries with fewer ids.
func (q *Question) Find(ctx context.Context) (*Answer, error) {
	return q.answer(ctx, func(a, b side, answer *Answer) (*Answer, error) {
		if answer.First == nil {
			return answer, nil
		}
		answer.Whole = len(q.IDs)
		return q.shorten(ctx, a, b, answer)
	})
}

// answer compares the two sides over all ids and hands both to then, before
// they are closed.
func (q *Question) answer(ctx context.Context, then func(a, b side, answer *Answer) (*Answer, error)) (_ *Answer, err error) {
	a, closeA, err := q.side(ctx, q.A, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeA()) }()
	b, closeB, err := q.side(ctx, q.B, q.Kept)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeB()) }()
	answer, err := q.compare(ctx, a, b, q.IDs)
	if err != nil {
		return nil, err
	}
	return then(a, b, answer)
}

func (q *Question) side(ctx context.Context, s *Setup, kept *Recorded) (side, func() error, error) {
	nothing := func() error { return nil }
	switch {
	case kept != nil:
		return fixed{kept.Trace}, nothing, nil
	case s.Revision != "":
		r, err := FromRevision(ctx, q.Build, q.Model, s, q.IDs)
		if err != nil {
			return nil, nil, err
		}
		return fixed{r.Trace}, nothing, nil
	}
	r, err := open(ctx, q.Model, s)
	if err != nil {
		return nil, nil, err
	}
	return r, r.model.Close, nil
}

func (q *Question) compare(ctx context.Context, a, b side, ids []int32) (*Answer, error) {
	x, err := a.follow(ctx, ids)
	if err != nil {
		return nil, err
	}
	y, err := b.follow(ctx, ids)
	if err != nil {
		return nil, err
	}
	first, counts, err := First(x, y, q.Tolerance)
	if err != nil {
		return nil, err
	}
	answer := &Answer{First: first, Counts: counts, IDs: ids, Whole: len(ids)}
	if first != nil {
		t, err := ParseTensor(first.Tensor)
		if err != nil {
			return nil, err
		}
		answer.rowB = slices.Clone(y.row(t, first.Position))
	}
	return answer, nil
}

// shorten looks for fewer ids with the same first tensor: those up to the position,
// and of two setups, which can compute anything, also the last few of these alone.
func (q *Question) shorten(ctx context.Context, a, b side, whole *Answer) (*Answer, error) {
	ids := whole.IDs[:whole.First.Position+1]
	best, err := q.again(ctx, a, b, ids, whole)
	if err != nil {
		return nil, err
	}
	if best == nil {
		whole.Note = "with the ids up to the position alone it does not show: ids that are fed together matter"
		return whole, nil
	}
	if _, recorded := a.(fixed); recorded {
		return best, nil
	}
	if _, recorded := b.(fixed); recorded {
		return best, nil
	}
	for n := 1; n < len(ids); n *= 2 {
		fewer, err := q.again(ctx, a, b, ids[len(ids)-n:], whole)
		if err != nil {
			return nil, err
		}
		if fewer != nil {
			return fewer, nil
		}
	}
	return best, nil
}

// again is the answer for other ids when it names the same tensor; it keeps the
// counts of the whole.
func (q *Question) again(ctx context.Context, a, b side, ids []int32, whole *Answer) (*Answer, error) {
	r, err := q.compare(ctx, a, b, ids)
	if err != nil {
		return nil, err
	}
	if r.First == nil || r.First.Tensor != whole.First.Tensor {
		return nil, nil
	}
	r.Counts, r.Whole = whole.Counts, whole.Whole
	return r, nil
}
