package decoder

import (
	"fmt"
	"sync"

	"assay/engine/checkpoint"
	"assay/kernels/cpu"
	"assay/kernels/memory"
	"assay/kernels/parallel"
	"assay/kernels/quant"
)

// Layer holds the weights of one layer.
type Layer struct {
	AttnNorm, FFNNorm []float32
	Q, K, V, O        *Matrix
	Gate, Up, Down    *Matrix
	qkv, o, ffn, down []*Matrix // the groups that one parallel job covers
}

// Weights is everything a forward pass reads. Immutable after Load.
type Weights struct {
	Layers     []Layer
	OutputNorm []float32
	Head       *Matrix
	Level      cpu.Level
	Float      bool // float activations throughout

	heads     [1]*Matrix         // the head, as the group that one job covers
	embedding *checkpoint.Tensor // the stored table where the head is a matrix of its own
	block     *memory.Block
}

// LoadOptions say how weights are to be multiplied.
type LoadOptions struct {
	Level cpu.Level
	Float bool // float activations also for quantised weights

	Tuning Tuning
}

// Load repacks a checkpoint's matrices into tiles, on all workers of the pool,
// and lets go of the mapped bytes behind it.
func Load(c *checkpoint.Checkpoint, s *Spec, pool *parallel.Pool, o LoadOptions) (*Weights, error) {
	l := &loader{c: c, o: o}
	w := &Weights{Layers: make([]Layer, s.Layers), Level: o.Level, Float: o.Float}
	qd, kvd := s.Heads*s.HeadDim, s.KVHeads*s.HeadDim
	for i := range w.Layers {
		y := &w.Layers[i]
		name := func(part string) string { return fmt.Sprintf("blk.%d.%s", i, part) }
		y.AttnNorm, y.FFNNorm = l.vector(name("attn_norm.weight"), s.Hidden), l.vector(name("ffn_norm.weight"), s.Hidden)
		y.Q, y.K, y.V = l.matrix(name("attn_q"), qd, s.Hidden), l.matrix(name("attn_k"), kvd, s.Hidden), l.matrix(name("attn_v"), kvd, s.Hidden)
		y.O = l.matrix(name("attn_output"), s.Hidden, qd)
		y.Gate, y.Up, y.Down = l.matrix(name("ffn_gate"), s.FFN, s.Hidden), l.matrix(name("ffn_up"), s.FFN, s.Hidden), l.matrix(name("ffn_down"), s.Hidden, s.FFN)
		y.qkv, y.o, y.ffn, y.down = []*Matrix{y.Q, y.K, y.V}, []*Matrix{y.O}, []*Matrix{y.Gate, y.Up}, []*Matrix{y.Down}
	}
	w.OutputNorm = l.vector("output_norm.weight", s.Hidden)
	if s.TiedHead {
		w.Head = l.matrix("token_embd", s.Vocab, s.Hidden)
	} else {
		w.Head = l.matrix("output", s.Vocab, s.Hidden)
		w.embedding, _ = c.Tensor("token_embd.weight")
		if w.embedding == nil || !quant.Decodable(w.embedding.Type) {
			l.fail(fmt.Errorf("decoder: tensor %q: no decoder for its format", "token_embd.weight"))
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	w.heads[0] = w.Head
	var err error
	if w.block, err = l.repack(pool); err != nil {
		return nil, err
	}
	return w, nil
}

// Bytes is the size of the tiles.
func (w *Weights) Bytes() int { return len(w.block.Data) }

// Close frees the tiles.
func (w *Weights) Close() error { return w.block.Free() }

// embed writes the embedding of one id.
func (w *Weights) embed(id int, dst []float32) (err error) {
	if w.embedding == nil {
		return w.Head.row(id, dst)
	}
	defer checkpoint.Catch(&err, checkpoint.Watch())
	n, err := w.embedding.Type.RowBytes(len(dst))
	if err != nil {
		return err
	}
	return quant.DecodeRow(w.embedding.Type, dst, w.embedding.Data[id*n:(id+1)*n])
}

// loader collects what is to be repacked; it keeps the first error.
type loader struct {
	c    *checkpoint.Checkpoint
	o    LoadOptions
	work []repackItem
	err  error
}

type repackItem struct {
	m *Matrix
	t *checkpoint.Tensor
}

func (l *loader) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

func (l *loader) vector(name string, n int) []float32 {
	t, ok := l.c.Tensor(name)
	if !ok {
		l.fail(fmt.Errorf("decoder: tensor %q is missing", name))
		return nil
	}
	x := make([]float32, n)
	if err := decodeRow(t, x); err != nil {
		l.fail(fmt.Errorf("decoder: tensor %q: %w", t.Name, err))
	}
	return x
}

// decodeRow decodes a stored vector.
func decodeRow(t *checkpoint.Tensor, dst []float32) (err error) {
	defer checkpoint.Catch(&err, checkpoint.Watch())
	return quant.DecodeRow(t.Type, dst, t.Data)
}

func (l *loader) matrix(name string, rows, cols int) *Matrix {
	t, ok := l.c.Tensor(name + ".weight")
	if !ok {
		l.fail(fmt.Errorf("decoder: tensor %q is missing", name+".weight"))
		return nil
	}
	m, err := newMatrix(t.Name, t.Type, rows, cols, l.o)
	if err != nil {
		l.fail(err)
		return nil
	}
	if _, ok := l.c.Tensor(name + ".bias"); ok {
		m.Bias = l.vector(name+".bias", rows)
	}
	l.work = append(l.work, repackItem{m, t})
	return m
}

// repack fills one block of memory with all tiles.
func (l *loader) repack(pool *parallel.Pool) (*memory.Block, error) {
	total := 0
	for _, w := range l.work {
		total += align64(quant.TiledBytes(w.m.Format, w.m.Rows, w.m.Cols))
	}
	alloc := memory.Alloc
	if l.o.Tuning.SmallPages {
		alloc = memory.AllocSmallPages
	}
	block, err := alloc(total + readAhead)
	if err != nil {
		return nil, err
	}
	at := 0
	for _, w := range l.work {
		n := quant.TiledBytes(w.m.Format, w.m.Rows, w.m.Cols)
		w.m.Tiles = block.Data[at : at+n : at+n]
		at += align64(n)
		job := &repackJob{item: w}
		pool.For(w.m.groups(), 32, job)
		if job.err != nil {
			_ = block.Free()
			return nil, fmt.Errorf("decoder: tensor %q: %w", w.t.Name, job.err)
		}
		l.c.Release(w.t)
	}
	return block, nil
}

// readAhead keeps the prefetches of the last tile inside the mapping.
const readAhead = 1 << 13

func align64(n int) int { return (n + 63) &^ 63 }

type repackJob struct {
	item repackItem
	mu   sync.Mutex
	err  error
}

// Do repacks the groups [lo, hi).
func (j *repackJob) Do(_, lo, hi int) {
	if err := j.repack(lo, hi); err != nil {
		j.mu.Lock()
		j.err = err
		j.mu.Unlock()
	}
}

func (j *repackJob) repack(lo, hi int) (err error) {
	defer checkpoint.Catch(&err, checkpoint.Watch())
	m := j.item.m
	rowBytes, err := m.Format.RowBytes(m.Cols)
	for g := lo; g < hi && err == nil; g++ {
		first, last := g*quant.TileRows, min((g+1)*quant.TileRows, m.Rows)
		err = quant.Repack(m.Format, m.group(g, g+1), j.item.t.Data[first*rowBytes:last*rowBytes], m.Cols)
	}
	return err
}

// matrices visits every matrix that a token's evaluation multiplies with.
func (w *Weights) matrices(visit func(*Matrix)) {
	for i := range w.Layers {
		y := &w.Layers[i]
		for _, m := range []*Matrix{y.Q, y.K, y.V, y.O, y.Gate, y.Up, y.Down} {
			visit(m)
		}
	}
	visit(w.Head)
}

// Work is what one token costs: bytes of weights and multiply-adds.
func (w *Weights) Work() (bytes, multiplyAdds int) {
	w.matrices(func(m *Matrix) {
		bytes += len(m.Tiles)
		multiplyAdds += m.Rows * m.Cols
	})
	return bytes, multiplyAdds
}

// Kernels tells, per format, the name of the implementation that multiplies it.
func (w *Weights) Kernels() map[string]string {
	k := map[string]string{}
	w.matrices(func(m *Matrix) { k[m.Format.String()] = m.kernel.Name })
	return k
}
