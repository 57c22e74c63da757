package decoder

import (
	"context"
	"unsafe"

	"assay/engine/kv"
	"assay/kernels/attention"
	"assay/kernels/matmul"
	"assay/kernels/parallel"
	"assay/kernels/quant"
	"assay/kernels/vector"
)

// MaxBatch is the number of tokens that one pass handles; longer prompts are
// fed in pieces, which changes no bit.
const MaxBatch = 128

// Runner executes forward passes: weights, worker pool and working memory. One
// pass at a time; the caller serialises.
type Runner struct {
	spec    *Spec
	weights *Weights
	pool    *parallel.Pool
	vec     *vector.Set
	att     *attention.Set

	capacity int // tokens that the buffers hold
	x        rows
	normed   rows // only for observers
	q, k, v  rows
	attended rows // attention output
	gate, up rows
	y        rows // product that is added to x
	logits   rows
	cos, sin rows
	panels   panels
	workers  []scratch

	tuning   Tuning
	counters counters

	quantise quantiseJob
	product  productJob
	rotate   rotateJob
	attend   attendJob
}

// rows is a matrix of activations, [tokens][ld]float32.
type rows struct {
	data []float32
	ld   int
}

func newRows(tokens, width int) rows {
	ld := (width + quant.TileRows - 1) &^ (quant.TileRows - 1)
	return rows{make([]float32, tokens*ld), ld}
}

func (r rows) row(i, n int) []float32 { return r.data[i*r.ld:][:n:n] }

// panels holds the packed activations of one input, one buffer per rounding.
type panels [3][]byte

// scratch is the working memory of one worker.
type scratch struct {
	norm    []float32
	group   []byte // one decoded group of 16 rows
	att     *attention.Scratch
	queries attention.Queries
	k16     []uint16
	v16     []uint16
	_       [64]byte
}

// NewRunner prepares passes over shared weights.
func NewRunner(s *Spec, w *Weights, pool *parallel.Pool, t Tuning) *Runner {
	r := &Runner{tuning: t, spec: s, weights: w, pool: pool, vec: vector.For(w.Level), att: attention.For(w.Level)}
	widest := max(s.Hidden, s.FFN, s.Heads*s.HeadDim)
	r.workers = make([]scratch, pool.Workers())
	decodes := false
	w.matrices(func(m *Matrix) { decodes = decodes || m.decode })
	for i := range r.workers {
		r.workers[i] = scratch{
			norm: make([]float32, widest),
			att:  attention.NewScratch(s.HeadDim),
			k16:  make([]uint16, s.HeadDim), v16: make([]uint16, s.HeadDim),
		}
		if decodes {
			r.workers[i].group = make([]byte, quant.GroupBytes(quant.F32, widest))
		}
	}
	r.quantise.r, r.product.r, r.rotate.r, r.attend.r = r, r, r, r
	r.logits = newRows(1, s.Vocab)
	return r
}

// reserve grows the buffers to n tokens.
func (r *Runner) reserve(n int) {
	if n <= r.capacity {
		return
	}
	if n > 1 {
		n = MaxBatch
	}
	s := r.spec
	r.capacity = n
	qd, kvd := s.Heads*s.HeadDim, s.KVHeads*s.HeadDim
	r.x, r.y, r.normed = newRows(n, s.Hidden), newRows(n, s.Hidden), newRows(n, s.Hidden)
	r.q, r.k, r.v, r.attended = newRows(n, qd), newRows(n, kvd), newRows(n, kvd), newRows(n, qd)
	r.gate, r.up = newRows(n, s.FFN), newRows(n, s.FFN)
	r.cos, r.sin = newRows(n, s.Rotary.width()), newRows(n, s.Rotary.width())
	widest := max(s.Hidden, s.FFN, qd)
	for _, k := range []matmul.Rounding{matmul.Float, matmul.Int8x32, matmul.Int8x256} {
		// Some widths are no multiple of 256; such inputs never meet K-quants.
		r.panels[k] = alignedBytes(n * k.ColumnBytes((widest+255)&^255))
	}
}

// alignedBytes is memory that float kernels may read as float32.
func alignedBytes(n int) []byte {
	f := make([]float32, (n+3)/4)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), n)
}

// Rows asks for what a pass must hand out beside the state it writes.
type Rows struct {
	// Logits of every token instead of the last one only: called per token in
	// ascending order. The slice is reused.
	Logits func(token int, logits []float32)
	// Hidden is the residual stream entering layer 0 (layer -1) and leaving each
	// layer, per token.
	Hidden func(layer, token int, x []float32)
	// Node receives named intermediates of each layer, per token.
	Node func(name string, layer, token int, x []float32)
}

// Run feeds ids at positions cache.Used() and following, and returns the logits
// after the last one; the slice is valid until the next pass. len(ids) is at
// most MaxBatch, ids are in range, and the cache has room. A cancelled context
// ends the pass between two layers; the cache then still ends where it did.
func (r *Runner) Run(ctx context.Context, cache *kv.Cache, ids []int32, want *Rows) ([]float32, error) {
	n := len(ids)
	r.reserve(n)
	from := cache.Used()
	s, w := r.spec, r.weights
	for t, id := range ids {
		if err := w.embed(int(id), r.x.row(t, s.Hidden)); err != nil {
			return nil, err
		}
		s.Rotary.table(from+t, r.cos.row(t, s.Rotary.width()), r.sin.row(t, s.Rotary.width()))
	}
	r.hidden(want, -1, n)
	for i := range w.Layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.layer(cache, i, from, n, want)
	}
	cache.SetUsed(from + n)
	return r.head(n, want), nil
}

// layer runs one layer for n tokens at positions from and following.
func (r *Runner) layer(cache *kv.Cache, i, from, n int, want *Rows) {
	s, y := r.spec, &r.weights.Layers[i]
	r.pack(r.x, s.Hidden, n, y.AttnNorm, y.qkv)
	r.nodeNorm(want, "attn_norm", i, n, y.AttnNorm)
	r.multiply(y.qkv, n, keep, r.q, r.k, r.v)
	r.node(want, "Vcur", i, n, r.v, s.KVHeads*s.HeadDim)
	r.rotate.run(cache, i, from, n)
	r.node(want, "Qcur", i, n, r.q, s.Heads*s.HeadDim)
	r.node(want, "Kcur", i, n, r.k, s.KVHeads*s.HeadDim)
	r.attend.run(cache, i, from, n)
	r.node(want, "kqv_out", i, n, r.attended, s.Heads*s.HeadDim)
	r.pack(r.attended, s.Heads*s.HeadDim, n, nil, y.o)
	r.multiply(y.o, n, residual, r.y)
	r.node(want, "ffn_inp", i, n, r.x, s.Hidden)
	r.pack(r.x, s.Hidden, n, y.FFNNorm, y.ffn)
	r.nodeNorm(want, "ffn_norm", i, n, y.FFNNorm)
	if r.tuning.Separate {
		r.separate(y, n)
	} else {
		r.multiply(y.ffn, n, gated, r.gate, r.up)
	}
	r.node(want, "ffn_gate_par", i, n, r.gate, s.FFN)
	r.pack(r.gate, s.FFN, n, nil, y.down)
	r.multiply(y.down, n, residual, r.y)
	r.node(want, "ffn_out", i, n, r.y, s.Hidden)
	r.hidden(want, i, n)
}

// headBatch is the number of rows whose logits are computed together when
// every row is asked for.
const headBatch = 16

// width is the panel width of a rounding.
func (r *Runner) width(k matmul.Rounding) int {
	if w := r.tuning.Columns; w > 0 {
		return min(w, k.Columns())
	}
	return k.Columns()
}

// head computes logits: of the last token, or of each when they are asked for.
func (r *Runner) head(n int, want *Rows) []float32 {
	all := want != nil && want.Logits != nil
	first, batch := n-1, 1
	if all {
		first, batch = 0, min(n, headBatch)
	}
	if len(r.logits.data) < batch*r.logits.ld {
		r.logits = newRows(batch, r.spec.Vocab)
	}
	heads := r.weights.heads[:]
	var row []float32
	for t := first; t < n; t += batch {
		count := min(batch, n-t)
		r.pack(rows{r.x.data[t*r.x.ld:], r.x.ld}, r.spec.Hidden, count, r.weights.OutputNorm, heads)
		r.multiply(heads, count, keep, r.logits)
		for i := range count {
			row = r.logits.row(i, r.spec.Vocab)
			if all {
				want.Logits(t+i, row)
			}
		}
	}
	return row
}

func (r *Runner) hidden(want *Rows, layer, n int) {
	if want == nil || want.Hidden == nil {
		return
	}
	for t := range n {
		want.Hidden(layer, t, r.x.row(t, r.spec.Hidden))
	}
}

func (r *Runner) node(want *Rows, name string, layer, n int, x rows, width int) {
	if want == nil || want.Node == nil {
		return
	}
	for t := range n {
		want.Node(name, layer, t, x.row(t, width))
	}
}

func (r *Runner) nodeNorm(want *Rows, name string, layer, n int, w []float32) {
	if want == nil || want.Node == nil {
		return
	}
	for t := range n {
		r.vec.RMSNorm(r.normed.row(t, len(w)), r.x.row(t, len(w)), w, r.spec.NormEps)
	}
	r.node(want, name, layer, n, r.normed, len(w))
}
