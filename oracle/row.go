package oracle

import (
	"math"
	"sort"
)

// Row is what a recording holds of the logits after one fed id: the whole row, or the largest logits and the log-sum-exp.
type Row struct {
	Logits   []float32 // nil when only the largest are recorded
	TopIndex []int32   // descending by value, ties by lower id; nil when only the whole row is recorded
	TopValue []float32
	LSE      float64 // log-sum-exp over the whole vocabulary; set when TopIndex is
}

// Empty says that nothing was recorded for this row.
func (w *Row) Empty() bool { return w.Logits == nil && w.TopIndex == nil }

// Best is the recorded choice and its margin over the runner-up.
func (w *Row) Best() (id int32, margin float64) {
	if w.TopIndex != nil {
		if len(w.TopValue) > 1 {
			margin = float64(w.TopValue[0]) - float64(w.TopValue[1])
		}
		return w.TopIndex[0], margin
	}
	idx, val := Top(w.Logits, 2)
	if len(val) > 1 {
		margin = float64(val[0]) - float64(val[1])
	}
	return idx[0], margin
}

// LogProb is the recorded log-probability of an id; ok is false when it is not among the stored logits.
func (w *Row) LogProb(id int32) (lp float64, ok bool) {
	if w.Logits != nil {
		if int(id) >= len(w.Logits) {
			return 0, false
		}
		return float64(w.Logits[id]) - LogSumExp(w.Logits), true
	}
	for j, x := range w.TopIndex {
		if x == id {
			return float64(w.TopValue[j]) - w.LSE, true
		}
	}
	return 0, false
}

// rowSource reads the rows of one prompt one by one into the same buffers.
type rowSource struct {
	logits, tail, idx, val, lse *Tensor
	at                          map[int]int // row number -> row of logits; nil: all
	tailFrom                    int
	buf                         Row
	one                         []float32
	full                        []float32
}

func newRowSource(e *Evidence, prompt int) *rowSource {
	s := &rowSource{logits: e.Tensor(prompt, "logits"), tail: e.Tensor(prompt, "logits_tail"), idx: e.Tensor(prompt, "top_idx"),
		val: e.Tensor(prompt, "top_val"), lse: e.Tensor(prompt, "lse"), one: make([]float32, 1)}
	s.tailFrom = len(e.Manifest.Prompts[prompt].IDs) - 1
	if sel := e.Tensor(prompt, "logits.rows"); sel != nil {
		if list, err := sel.Int32s(); err == nil {
			s.at = make(map[int]int, len(list))
			for i, r := range list {
				s.at[int(r)] = i
			}
		}
	}
	return s
}

// row gives row r; the slices are overwritten by the next call.
func (s *rowSource) row(r int) (*Row, error) {
	s.buf = Row{TopIndex: s.buf.TopIndex, TopValue: s.buf.TopValue}
	t, at := s.logits, r
	if s.at != nil {
		i, ok := s.at[r]
		if !ok {
			t = nil
		}
		at = i
	}
	if t == nil && s.tail != nil && r >= s.tailFrom {
		t, at = s.tail, r-s.tailFrom
	}
	if t != nil {
		w := t.Shape[1]
		if len(s.full) != w {
			s.full = make([]float32, w)
		}
		if err := t.ReadFloat32(s.full, at*w); err != nil {
			return nil, err
		}
		s.buf.Logits = s.full
	}
	if s.val == nil {
		s.buf.TopIndex, s.buf.TopValue = nil, nil
		return &s.buf, nil
	}
	k := s.val.Shape[1]
	if len(s.buf.TopIndex) != k {
		s.buf.TopIndex, s.buf.TopValue = make([]int32, k), make([]float32, k)
	}
	if err := s.idx.ReadInt32(s.buf.TopIndex, r*k); err != nil {
		return nil, err
	}
	if err := s.val.ReadFloat32(s.buf.TopValue, r*k); err != nil {
		return nil, err
	}
	if err := s.lse.ReadFloat32(s.one, r); err != nil {
		return nil, err
	}
	s.buf.LSE = float64(s.one[0])
	return &s.buf, nil
}

// LogSumExp is log(sum(exp(x))) in float64, with the largest x taken out first so that nothing overflows.
func LogSumExp(x []float32) float64 {
	if len(x) == 0 {
		return math.Inf(-1)
	}
	m := x[0]
	for _, v := range x[1:] {
		m = max(m, v)
	}
	if math.IsInf(float64(m), 0) || m != m {
		return float64(m)
	}
	sum := 0.0
	for _, v := range x {
		if d := float64(v) - float64(m); !(d <= -50) { // smaller ones do not change the sum; NaN must
			sum += math.Exp(d)
		}
	}
	return float64(m) + math.Log(sum)
}

// ArgMax is the lowest index of the largest value.
func ArgMax(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// Top gives the k largest values with their indices: descending, ties by lower index.
func Top(x []float32, k int) ([]int32, []float32) {
	k = min(k, len(x))
	idx := make([]int32, 0, k+1)
	for i, v := range x {
		if len(idx) == k && (k == 0 || !(v > x[idx[k-1]])) {
			continue
		}
		at := sort.Search(len(idx), func(j int) bool { return x[idx[j]] < v })
		idx = append(idx, 0)
		copy(idx[at+1:], idx[at:])
		idx[at] = int32(i)
		idx = idx[:min(len(idx), k)]
	}
	val := make([]float32, len(idx))
	for i, j := range idx {
		val[i] = x[j]
	}
	return idx, val
}
