package attention

import (
	"math"

	"assay/kernels/arith"
	"assay/kernels/race"
)

// Queries is up to MaxColumns queries against one key/value head.
type Queries struct {
	Q    []float32 // query c starts at Q[c*LdQ]
	LdQ  int
	C    int
	Keys int // query 0 sees positions up to Keys-1
	Step int // query c sees up to Keys-1 + c*Step: 1 for tokens in a row, 0 for heads of one token
	// Window is the number of positions that a query sees, its own included; 0: all.
	Window int
	Scale  float32
	Out    []float32 // result c is written to Out[c*LdOut:][:headDim]
	LdOut  int
}

const block = arith.AttentionBlock

// span is the range of positions that query c sees.
func (q *Queries) span(c int) (first, end int) {
	end = q.Keys + c*q.Step
	if q.Window > 0 {
		first = max(end-q.Window, 0)
	}
	return first, end
}

// inBlock is the part of query c's span in the block at b, counted from b.
func (q *Queries) inBlock(c, b int) (first, end int) {
	first, end = q.span(c)
	end = min(end-b, block)
	return min(max(first-b, 0), max(end, 0)), max(end, 0)
}

// Scratch is the working memory of one worker.
type Scratch struct {
	scores [MaxColumns * block]float32
	part   [MaxColumns]partial
	total  [MaxColumns]partial
	out    []float32 // parts [C][padded head dim], then totals
}

// partial is max, sum and last correction of one query, in the layout that the
// softmax kernels write.
type partial [3]float32

// NewScratch makes working memory for heads of up to headDim values.
func NewScratch(headDim int) *Scratch {
	return &Scratch{out: make([]float32, 2*MaxColumns*((headDim+15)&^15))}
}

// Attend computes attention for q in the order of arith.Attention.
func (s *Set) Attend(h *Head, q *Queries, w *Scratch) {
	p := h.padded()
	part, total := w.out[:q.C*p], w.out[MaxColumns*p:][:q.C*p]
	first, _ := q.span(0)
	_, last := q.span(q.C - 1)
	if race.Enabled {
		k, v := h.Bytes((last + KeyTile - 1) / KeyTile * KeyTile)
		race.Read(h.K[:k])
		race.Read(h.V[:min(v, len(h.V))])
		race.Read(q.Q[:(q.C-1)*q.LdQ+h.HeadDim])
	}
	for from := first / arith.AttentionSplit * arith.AttentionSplit; from < last; from += arith.AttentionSplit {
		clear(part)
		for c := range q.C {
			w.part[c] = partial{negativeInfinity, 0, 0}
		}
		for b := max(from, first/block*block); b < min(from+arith.AttentionSplit, last); b += block {
			s.attendBlock(h, q, w, part, b)
		}
		for c := range q.C {
			lo, hi := q.span(c)
			switch {
			case lo/arith.AttentionSplit*arith.AttentionSplit == from:
				w.total[c] = w.part[c]
				copy(total[c*p:(c+1)*p], part[c*p:(c+1)*p])
			case lo < from && hi > from:
				merge(&w.total[c], total[c*p:(c+1)*p], &w.part[c], part[c*p:(c+1)*p])
			}
		}
	}
	for c := range q.C {
		inv := 1 / w.total[c][1]
		out := q.Out[c*q.LdOut:][:h.HeadDim]
		for d, o := range total[c*p:][:h.HeadDim] {
			out[d] = o * inv
		}
	}
}

func merge(a *partial, ao []float32, b *partial, bo []float32) {
	m := a[0]
	if b[0] > m {
		m = b[0]
	}
	ca, cb := arith.Exp(a[0]-m), arith.Exp(b[0]-m)
	a[0] = m
	a[1] = float32(a[1]*ca) + float32(b[1]*cb)
	for d := range ao {
		ao[d] = float32(ao[d]*ca) + float32(bo[d]*cb)
	}
}

// attendBlock folds the keys of one block, starting at position b, into part.
func (s *Set) attendBlock(h *Head, q *Queries, w *Scratch, part []float32, b int) {
	size, p := h.size(), h.padded()
	f := s.f32
	if h.F16 {
		f = s.f16
	}
	_, most := q.inBlock(q.C-1, b)
	clear(w.scores[:q.C*block])
	for t := range (most + KeyTile - 1) / KeyTile {
		k := h.K[(b/KeyTile+t)*h.HeadDim*KeyTile*size:]
		_ = k[h.HeadDim*KeyTile*size-1]
		f[q.C-1](&w.scores[t*KeyTile], block, &k[0], KeyTile*size, &q.Q[0], q.LdQ, h.HeadDim)
	}
	from, to := 0, block // what all columns have in common
	for c := range q.C {
		lo, hi := q.inBlock(c, b)
		from, to = max(from, lo), min(to, hi)
		if lo < hi {
			s.softmaxColumn(w, q, part[c*p:(c+1)*p], c, lo, hi)
		}
	}
	to = max(from, to)
	v := h.V[b*p*size:]
	_ = v[most*p*size-1]
	chain := func(C, c, d, lo, hi int) {
		if lo < hi {
			f[C-1](&part[c*p+d], p, &v[(lo*p+d)*size], p*size, &w.scores[c*block+lo], block, hi-lo)
		}
	}
	for d := 0; d < p; d += 16 {
		for c := range q.C {
			lo, hi := q.inBlock(c, b)
			chain(1, c, d, lo, min(from, hi))
		}
		chain(q.C, 0, d, from, to)
		for c := range q.C {
			lo, hi := q.inBlock(c, b)
			chain(1, c, d, max(lo, to), hi)
		}
	}
}

// softmaxColumn turns the raw scores lo..hi-1 of column c into weights and
// rescales its values so far.
func (s *Set) softmaxColumn(w *Scratch, q *Queries, out []float32, c, lo, hi int) {
	p := w.scores[c*block : (c+1)*block]
	groups := (hi + 15) / 16
	for j := range lo {
		p[j] = negativeInfinity
	}
	for j := hi; j < 16*groups; j++ {
		p[j] = negativeInfinity
	}
	s.softmax(&p[0], groups, &q.Scale, &w.part[c][0])
	if m := w.part[c][2]; math.Float32bits(m) != 0x3f800000 {
		for d := range out {
			out[d] *= m
		}
	}
}
