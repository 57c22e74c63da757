package decoder

import (
	"time"

	"assay/kernels/matmul"
	"assay/kernels/quant"
)

// pack brings n rows of width values into panels of every rounding that the
// matrices need, each row normed first when norm is given.
func (r *Runner) pack(x rows, width, n int, norm []float32, ms []*Matrix) {
	j := &r.quantise
	j.x, j.width, j.n, j.norm = x, width, n, norm
	j.need = [3]bool{}
	for _, m := range ms {
		j.need[m.rounding] = true
	}
	if n == 1 {
		j.Do(0, 0, 1)
		return
	}
	r.pool.For(n, 4, j)
}

type quantiseJob struct {
	r        *Runner
	x        rows
	width, n int
	norm     []float32
	need     [3]bool
}

// Do packs tokens [lo, hi).
func (j *quantiseJob) Do(worker, lo, hi int) {
	r := j.r
	for t := lo; t < hi; t++ {
		row := j.x.row(t, j.width)
		if j.norm != nil {
			dst := r.workers[worker].norm[:j.width]
			r.vec.RMSNorm(dst, row, j.norm, r.spec.NormEps)
			row = dst
		}
		for k, need := range j.need {
			if !need {
				continue
			}
			rounding := matmul.Rounding(k)
			width := r.width(rounding)
			p := matmul.PanelOf(j.n, width, t)
			a, b := matmul.Split(j.n, width, p), matmul.Split(j.n, width, p+1)
			column := rounding.ColumnBytes(j.width)
			rounding.Pack(r.vec, row, r.panels[k][a*column:b*column], t-a, b-a)
		}
	}
}

// epilogue is what happens to a product while it is warm.
type epilogue uint8

const (
	keep     epilogue = iota // leave it
	residual                 // add it to the residual stream x
	gated                    // first output = gate(first) * second
)

// multiply computes the products of n packed rows with each matrix into outs.
// The matrices share the packed input; with gated they also share their rows.
func (r *Runner) multiply(ms []*Matrix, n int, e epilogue, outs ...rows) {
	j := &r.product
	j.ms, j.n, j.e = ms, n, e
	j.outs[0] = outs[0]
	for i := 1; i < len(outs); i++ {
		j.outs[i] = outs[i]
	}
	total := 0
	for _, m := range ms {
		total += m.groups()
	}
	if e == gated {
		total = ms[0].groups()
	}
	r.count(ms)
	r.pool.For(total, j.grain(total), j)
}

type productJob struct {
	r    *Runner
	ms   []*Matrix
	outs [3]rows
	n    int
	e    epilogue
}

// grain is the number of 16-row groups in a chunk: several chunks per worker,
// at most 64 rows where many tokens reuse them from the cache, and for a single
// token enough bytes that claiming costs nothing.
func (j *productJob) grain(total int) int {
	if g := j.r.tuning.Grain; g > 0 {
		return g
	}
	workers := j.r.pool.Workers()
	g := max(total/(workers*4), 1)
	if j.n > 1 {
		return min(g, 4)
	}
	bytes := quant.GroupBytes(j.ms[0].Format, j.ms[0].Cols)
	return min(g, max(1<<18/bytes, 1))
}

// Do multiplies the groups [lo, hi) of all matrices, counted through.
func (j *productJob) Do(worker, lo, hi int) {
	if j.r.tuning.Slow > 0 {
		defer j.r.stretch(time.Now())
	}
	if j.e == gated {
		j.gatedRows(worker, lo, hi)
		return
	}
	for i, m := range j.ms {
		g := m.groups()
		if a, b := max(lo, 0), min(hi, g); a < b {
			j.rowsOf(worker, i, a, b)
			if j.e == residual {
				j.addResidual(a*quant.TileRows, min(b*quant.TileRows, m.Rows))
			}
		}
		lo, hi = lo-g, hi-g
	}
}

// rowsOf multiplies groups [a, b) of matrix i and adds its bias.
func (j *productJob) rowsOf(worker, i, a, b int) {
	m, out := j.ms[i], j.outs[i]
	m.multiply(a, b, j.r.panels[m.rounding], j.n, j.r.width(m.rounding), out.data, out.ld, j.r.workers[worker].group)
	if m.Bias != nil {
		first, last := a*quant.TileRows, min(b*quant.TileRows, m.Rows)
		for t := range j.n {
			j.r.vec.Add(out.data[t*out.ld+first:t*out.ld+last], m.Bias[first:last])
		}
	}
}

func (j *productJob) gatedRows(worker, a, b int) {
	j.rowsOf(worker, 0, a, b)
	j.rowsOf(worker, 1, a, b)
	j.r.activate(j.n, a*quant.TileRows, min(b*quant.TileRows, j.ms[0].Rows))
}

// activate writes gate(gate) * up into the gate rows of n tokens.
func (r *Runner) activate(n, first, last int) {
	activate := r.vec.SiLUMul
	if r.spec.Gate == GELUTanh {
		activate = r.vec.GELUMul
	}
	for t := range n {
		g := r.gate.data[t*r.gate.ld+first : t*r.gate.ld+last]
		activate(g, g, r.up.data[t*r.up.ld+first:t*r.up.ld+last])
	}
}

func (j *productJob) addResidual(first, last int) {
	x, y := j.r.x, j.outs[0]
	for t := range j.n {
		j.r.vec.Add(x.data[t*x.ld+first:t*x.ld+last], y.data[t*y.ld+first:t*y.ld+last])
	}
}
