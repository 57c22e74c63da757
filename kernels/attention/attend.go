package attention

import (
	"math"

	"assay/kernels/arith"
)

// Queries is up to MaxColumns queries against one key/value head.
type Queries struct {
	Q     []float32 // query c starts at Q[c*LdQ]
	LdQ   int
	C     int
	Keys  int // number of keys that query 0 sees: positions 0..Keys-1
	Step  int // query c sees Keys + c*Step: 1 for tokens in a row, 0 for heads of one token
	Scale float32
	Out   []float32 // result c is written to Out[c*LdOut:][:headDim]
	LdOut int
}

const block = arith.AttentionBlock

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
	last := q.Keys + (q.C-1)*q.Step
	for from := 0; from < last; from += arith.AttentionSplit {
		clear(part)
		for c := range q.C {
			w.part[c] = partial{negativeInfinity, 0, 0}
		}
		for b := from; b < min(from+arith.AttentionSplit, last); b += block {
			s.attendBlock(h, q, w, part, b)
		}
		for c := range q.C {
			if from == 0 {
				w.total[c] = w.part[c]
				copy(total[c*p:(c+1)*p], part[c*p:(c+1)*p])
			} else if q.Keys+c*q.Step > from {
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
	most := min(q.Keys+(q.C-1)*q.Step-b, block)
	tiles := (most + KeyTile - 1) / KeyTile
	clear(w.scores[:q.C*block])
	for t := range tiles {
		k := h.K[(b/KeyTile+t)*h.HeadDim*KeyTile*size:]
		_ = k[h.HeadDim*KeyTile*size-1]
		f[q.C-1](&w.scores[t*KeyTile], block, &k[0], KeyTile*size, &q.Q[0], q.LdQ, h.HeadDim)
	}
	common := block
	for c := range q.C {
		n := min(q.Keys+c*q.Step-b, block)
		common = max(min(common, n), 0)
		if n > 0 {
			s.softmaxColumn(w, q, part[c*p:(c+1)*p], c, n)
		}
	}
	v := h.V[b*p*size:]
	_ = v[most*p*size-1]
	for d := 0; d < p; d += 16 {
		if common > 0 {
			f[q.C-1](&part[d], p, &v[d*size], p*size, &w.scores[0], block, common)
		}
		for c := range q.C {
			if n := min(q.Keys+c*q.Step-b, block) - common; n > 0 {
				f[0](&part[c*p+d], p, &v[(common*p+d)*size], p*size, &w.scores[c*block+common], block, n)
			}
		}
	}
}

// softmaxColumn turns n raw scores of column c into weights and rescales its
// values so far.
func (s *Set) softmaxColumn(w *Scratch, q *Queries, out []float32, c, n int) {
	p := w.scores[c*block : (c+1)*block]
	groups := (n + 15) / 16
	for j := n; j < 16*groups; j++ {
		p[j] = negativeInfinity
	}
	s.softmax(&p[0], groups, &q.Scale, &w.part[c][0])
	if m := w.part[c][2]; math.Float32bits(m) != 0x3f800000 {
		for d := range out {
			out[d] *= m
		}
	}
}
