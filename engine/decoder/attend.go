package decoder

import (
	"assay/engine/kv"
	"assay/kernels/attention"
)

// rotateJob turns queries and keys and stores keys and values of each token.
type rotateJob struct {
	r     *Runner
	cache *kv.Cache
	layer int
	from  int
}

func (j *rotateJob) run(cache *kv.Cache, layer, from, n int) {
	j.cache, j.layer, j.from = cache, layer, from
	if n == 1 {
		j.Do(0, 0, 1)
		return
	}
	j.r.pool.For(n, 4, j)
}

// Do handles tokens [lo, hi).
func (j *rotateJob) Do(worker, lo, hi int) {
	r, s := j.r, j.r.spec
	hd, w := s.HeadDim, &r.workers[worker]
	rotate := r.vec.RotateHalves
	if s.Rotary.Adjacent {
		rotate = r.vec.RotateAdjacent
	}
	half := j.cache.Shape().Type == kv.F16
	for t := lo; t < hi; t++ {
		cos, sin := r.cos.row(t, s.Rotary.width()), r.sin.row(t, s.Rotary.width())
		q, k, v := r.q.row(t, s.Heads*hd), r.k.row(t, s.KVHeads*hd), r.v.row(t, s.KVHeads*hd)
		for h := range s.Heads {
			rotate(q[h*hd:(h+1)*hd], cos, sin)
		}
		for h := range s.KVHeads {
			kh, vh := k[h*hd:(h+1)*hd], v[h*hd:(h+1)*hd]
			rotate(kh, cos, sin)
			head := j.cache.Head(j.layer, h)
			if half {
				r.vec.NarrowF16(w.k16, kh)
				r.vec.NarrowF16(w.v16, vh)
				head.PutF16(j.from+t, w.k16, w.v16)
			} else {
				head.PutF32(j.from+t, kh, vh)
			}
		}
	}
}

// attendJob computes attention. For one token the columns of a call are the
// query heads that share a key/value head; for several tokens they are tokens
// in a row of one query head.
type attendJob struct {
	r     *Runner
	cache *kv.Cache
	layer int
	from  int
	n     int
	parts int // column groups per head
}

func (j *attendJob) run(cache *kv.Cache, layer, from, n int) {
	j.cache, j.layer, j.from, j.n = cache, layer, from, n
	s := j.r.spec
	if n == 1 {
		group := s.Heads / s.KVHeads
		j.parts = (group + attention.MaxColumns - 1) / attention.MaxColumns
		j.r.pool.For(s.KVHeads*j.parts, 1, j)
		return
	}
	j.parts = (n + attention.MaxColumns - 1) / attention.MaxColumns
	j.r.pool.For(s.Heads*j.parts, 1, j)
}

// Do handles the tasks [lo, hi), a task being one group of columns.
func (j *attendJob) Do(worker, lo, hi int) {
	r, s := j.r, j.r.spec
	hd, group := s.HeadDim, s.Heads/s.KVHeads
	w := &r.workers[worker]
	q := &w.queries
	for task := lo; task < hi; task++ {
		major, part := task/j.parts, task%j.parts
		first := part * attention.MaxColumns
		var at, head int
		if j.n == 1 {
			head = major
			at = (head*group + first) * hd
			*q = attention.Queries{LdQ: hd, LdOut: hd, C: min(attention.MaxColumns, group-first), Keys: j.from + 1}
		} else {
			head = major / group
			at = first*r.q.ld + major*hd
			*q = attention.Queries{LdQ: r.q.ld, LdOut: r.attended.ld, C: min(attention.MaxColumns, j.n-first), Keys: j.from + first + 1, Step: 1}
		}
		q.Scale, q.Window = s.AttentionScale, s.Window
		q.Q, q.Out = r.q.data[at:], r.attended.data[at:]
		r.att.Attend(j.cache.Head(j.layer, head), q, w.att)
	}
}
