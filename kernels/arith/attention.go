package arith

import "math"

// Attention is computed in blocks of AttentionBlock keys aligned to absolute
// positions, with an online softmax; a context is split at multiples of
// AttentionSplit and the parts are merged in ascending order, whatever the
// number of threads.
const (
	AttentionBlock = 64
	AttentionSplit = 1024
)

// AttentionPart is the running state of one query over some keys: the largest
// score, the sum of weights relative to it, and the weighted sum of values.
type AttentionPart struct {
	Max, Sum float32
	Out      []float32 // [headDim]
}

// NewAttentionPart is the state before any key.
func NewAttentionPart(headDim int) AttentionPart {
	return AttentionPart{Max: float32(math.Inf(-1)), Out: make([]float32, headDim)}
}

// Block folds in up to AttentionBlock keys k and values v, [keys][headDim], the
// first of which lies at the start of the block; keys before index first are
// outside a sliding window and take no part:
//
//	s[j]  = float32(chain over d of q[d]*k[j][d]) * scale
//	m'    = max(m, s[j]...) where a NaN never wins
//	c     = exp(m - m'),  p[j] = exp(s[j] - m')
//	sum   = sum*c + (p in 16 lanes, lane j mod 16, then Tree16)
//	out   = out*c, then fma(p[j], v[j][d], out[d]) for j ascending
func (a *AttentionPart) Block(q []float32, k, v [][]float32, first int, scale float32) {
	var p [AttentionBlock]float32
	m := a.Max
	for j := first; j < len(k); j++ {
		p[j] = DotChain(0, q, k[j]) * scale
		if p[j] > m {
			m = p[j]
		}
	}
	c := Exp(a.Max - m)
	var l [16]float32
	for j := first; j < len(k); j++ {
		p[j] = Exp(p[j] - m)
		l[j&15] += p[j]
	}
	a.Max = m
	a.Sum = float32(a.Sum*c) + Tree16(&l)
	for d := range a.Out {
		o := float32(a.Out[d] * c)
		for j := first; j < len(v); j++ {
			o = FMA32(p[j], v[j][d], o)
		}
		a.Out[d] = o
	}
}

// Merge folds a later part into an earlier one: with m' the larger maximum and
// c = exp(max - m') of each, sum = sum_a*c_a + sum_b*c_b and the same for out.
func (a *AttentionPart) Merge(b *AttentionPart) {
	m := a.Max
	if b.Max > m {
		m = b.Max
	}
	ca, cb := Exp(a.Max-m), Exp(b.Max-m)
	a.Max = m
	a.Sum = float32(a.Sum*ca) + float32(b.Sum*cb)
	for d := range a.Out {
		a.Out[d] = float32(a.Out[d]*ca) + float32(b.Out[d]*cb)
	}
}

// Finish writes out * (1/sum).
func (a *AttentionPart) Finish(dst []float32) {
	inv := 1 / a.Sum
	for d, o := range a.Out {
		dst[d] = o * inv
	}
}

// Attention is the whole of it for one query and the keys first..len(k)-1.
func Attention(dst, q []float32, k, v [][]float32, first int, scale float32) {
	var total *AttentionPart
	for from := first / AttentionSplit * AttentionSplit; from < len(k); from += AttentionSplit {
		part := NewAttentionPart(len(q))
		start := max(from, first/AttentionBlock*AttentionBlock)
		for b := start; b < min(from+AttentionSplit, len(k)); b += AttentionBlock {
			e := min(b+AttentionBlock, len(k))
			part.Block(q, k[b:e], v[b:e], max(first-b, 0), scale)
		}
		if total == nil {
			total = &part
		} else {
			total.Merge(&part)
		}
	}
	total.Finish(dst)
}
