package oracle

import (
	"fmt"
	"math"
	"sort"
	"strings"
)

// maxFlips bounds the differing choices that are kept one by one; all are counted.
const maxFlips = 4096

// Flip is a row at which the engine under test chooses another id than was recorded.
type Flip struct {
	At            Where
	Recorded, Got int32
	// Margin is the recorded margin between the best two logits; NaN when only ids were recorded. OurMargin is ours.
	Margin, OurMargin float64
}

func (f Flip) String() string {
	return fmt.Sprintf("%s: id %d instead of %d, recorded margin %.4g, ours %.4g", f.At, f.Got, f.Recorded, f.Margin, f.OurMargin)
}

// RowStats is what came of comparing rows of logits.
type RowStats struct {
	Rows, WholeRows, TopRows int // compared rows; of these with whole logits, with the largest logits only
	Values, Differ           int
	NonFinite                int
	FirstNonFinite           Where
	MaxAbs, MaxRel           float64
	MaxULP                   uint32
	At, AtRel, First, AtKL   Where
	Got, Want                float32 // at At
	KLRows                   int
	MaxKL                    float64
	Same                     int // rows with the same choice
	Flips                    []Flip
	FlipCount                int
	TopKRows, TopKSame       int
	Scored                   int // rows of which both engines give the log-probability of the id that follows

	sum          moments
	sumKL        float64
	nll, nllWant float64
}

// NMSE is the sum of squared differences over that of squared recorded logits.
func (s *RowStats) NMSE() float64 { return s.sum.nmse() }

// MeanKL is the mean of KL(recorded || ours) in nats.
func (s *RowStats) MeanKL() float64 { return s.sumKL / float64(max(s.KLRows, 1)) }

// Top1 is the share of rows with the same choice.
func (s *RowStats) Top1() float64 { return float64(s.Same) / float64(max(s.Same+s.FlipCount, 1)) }

// TopKShare is the share of rows with the same set of largest logits.
func (s *RowStats) TopKShare() float64 { return float64(s.TopKSame) / float64(max(s.TopKRows, 1)) }

// MeanNLL is the mean negative log-likelihood of the ids that follow, ours and recorded, over the rows where both are known.
func (s *RowStats) MeanNLL() (got, want float64) {
	n := float64(max(s.Scored, 1))
	return s.nll / n, s.nllWant / n
}

// FlipsAbove counts choices that differ although the recorded margin is above margin (an unknown margin counts).
func (s *RowStats) FlipsAbove(margin float64) int {
	n := s.FlipCount - len(s.Flips)
	for _, f := range s.Flips {
		if !(f.Margin <= margin) {
			n++
		}
	}
	return n
}

// WorstFlip is the differing choice with the largest recorded margin, nil when there is none.
func (s *RowStats) WorstFlip() *Flip {
	var worst *Flip
	for i := range s.Flips {
		if worst == nil || !(s.Flips[i].Margin <= worst.Margin) {
			worst = &s.Flips[i]
		}
	}
	return worst
}

func (s *RowStats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows", s.Rows)
	if s.Values > 0 {
		fmt.Fprintf(&b, ", %d of %d logits differ", s.Differ, s.Values)
	}
	if s.Differ > 0 {
		fmt.Fprintf(&b, ", largest absolute difference %.4g (%.8g, recorded %.8g) at %s, largest relative %.3g, nmse %.3g", s.MaxAbs, s.Got, s.Want, s.At, s.MaxRel, s.NMSE())
	}
	if s.KLRows > 0 {
		fmt.Fprintf(&b, ", KL mean %.3g max %.3g", s.MeanKL(), s.MaxKL)
	}
	fmt.Fprintf(&b, ", same choice on %d of %d", s.Same, s.Same+s.FlipCount)
	if f := s.WorstFlip(); f != nil {
		fmt.Fprintf(&b, " (worst: %s)", f)
	}
	return b.String()
}

// RowComparer compares the logits of the engine under test with a recording, row by row and in any order, reading one recorded
// row at a time. TopKSize is the size of the sets compared at rung topk (default 10).
type RowComparer struct {
	TopKSize int
	of       *Evidence
	src      map[int]*rowSource
	all      RowStats
	prompts  map[int]*RowStats
}

// NewRowComparer starts a comparison with e.
func NewRowComparer(e *Evidence) *RowComparer {
	return &RowComparer{TopKSize: 10, of: e, src: map[int]*rowSource{}, prompts: map[int]*RowStats{}}
}

// Stats is what came of all rows so far.
func (c *RowComparer) Stats() *RowStats { return &c.all }

// Prompt is what came of the rows of one prompt so far, nil when there were none.
func (c *RowComparer) Prompt(i int) *RowStats { return c.prompts[i] }

// Row compares the logits after fed id number row of a prompt. Rows of which nothing is recorded are passed over.
func (c *RowComparer) Row(prompt, row int, logits []float32) error {
	if prompt < 0 || prompt >= len(c.of.Manifest.Prompts) || row < 0 || row >= c.of.Manifest.Prompts[prompt].Rows() {
		return fmt.Errorf("oracle: row %d of prompt %d is not in the recording", row, prompt)
	}
	if v := c.of.Vocab(); v > 0 && len(logits) != v || len(logits) == 0 {
		return fmt.Errorf("oracle: row %d of prompt %d has %d logits, recorded are %d", row, prompt, len(logits), v)
	}
	if c.src[prompt] == nil {
		c.src[prompt] = newRowSource(c.of, prompt)
		c.prompts[prompt] = new(RowStats)
	}
	rec, err := c.src[prompt].row(row)
	if err != nil {
		return err
	}
	for _, id := range rec.TopIndex {
		if int(id) >= len(logits) {
			return fmt.Errorf("oracle: row %d of prompt %d has %d logits, id %d is recorded", row, prompt, len(logits), id)
		}
	}
	p := &c.of.Manifest.Prompts[prompt]
	at := Where{Prompt: p.Name, Layer: -1, Head: -1, Position: row, Index: -1}
	one := oneRow(rec, p, row, at, logits, c.TopKSize)
	c.all.merge(&one)
	c.prompts[prompt].merge(&one)
	return nil
}

// oneRow compares one row; what takes a pass over the vocabulary is done once.
func oneRow(rec *Row, p *Prompt, row int, at Where, logits []float32, k int) (s RowStats) {
	if rec.Empty() {
		s.addChoice(p, row, at, logits)
		return s
	}
	s.Rows = 1
	s.addValues(rec, at, logits)
	ours := LogSumExp(logits)
	s.addKL(rec, at, logits, ours)
	id, margin := rec.Best()
	s.choice(id, margin, at, logits)
	s.addTopK(rec, logits, k)
	s.addNLL(rec, p, row, logits, ours)
	return s
}

// merge adds the rows of o.
func (s *RowStats) merge(o *RowStats) {
	if o.Differ > 0 {
		if s.Differ == 0 {
			s.First = o.First
		}
		if o.MaxAbs > s.MaxAbs || s.Differ == 0 {
			s.MaxAbs, s.At, s.Got, s.Want = o.MaxAbs, o.At, o.Got, o.Want
		}
		if o.MaxRel > s.MaxRel || s.Differ == 0 {
			s.MaxRel, s.AtRel = o.MaxRel, o.AtRel
		}
	}
	if s.NonFinite == 0 {
		s.FirstNonFinite = o.FirstNonFinite
	}
	if o.KLRows > 0 && (o.MaxKL > s.MaxKL || s.KLRows == 0) {
		s.MaxKL, s.AtKL = o.MaxKL, o.AtKL
	}
	for _, x := range []struct {
		to *int
		n  int
	}{{&s.Rows, o.Rows}, {&s.WholeRows, o.WholeRows}, {&s.TopRows, o.TopRows}, {&s.Values, o.Values}, {&s.Differ, o.Differ}, {&s.NonFinite, o.NonFinite},
		{&s.KLRows, o.KLRows}, {&s.Same, o.Same}, {&s.FlipCount, o.FlipCount}, {&s.TopKRows, o.TopKRows}, {&s.TopKSame, o.TopKSame}, {&s.Scored, o.Scored}} {
		*x.to += x.n
	}
	s.MaxULP = max(s.MaxULP, o.MaxULP)
	s.Flips = append(s.Flips, o.Flips[:min(len(o.Flips), maxFlips-len(s.Flips))]...)
	s.sum.merge(o.sum)
	s.sumKL, s.nll, s.nllWant = s.sumKL+o.sumKL, s.nll+o.nll, s.nllWant+o.nllWant
}

// addChoice compares with the recorded id alone.
func (s *RowStats) addChoice(p *Prompt, row int, at Where, logits []float32) {
	if p.Forced || row < len(p.IDs)-1 || row-len(p.IDs)+1 >= len(p.Produced) {
		return
	}
	s.Rows++
	s.choice(p.Produced[row-len(p.IDs)+1], math.NaN(), at, logits)
}

func (s *RowStats) choice(id int32, margin float64, at Where, logits []float32) {
	idx, val := Top(logits, 2)
	if idx[0] == id {
		s.Same++
		return
	}
	f := Flip{At: at, Recorded: id, Got: idx[0], Margin: margin}
	if len(val) > 1 {
		f.OurMargin = float64(val[0]) - float64(val[1])
	}
	if s.FlipCount++; len(s.Flips) < maxFlips {
		s.Flips = append(s.Flips, f)
	}
}

// addValues compares every logit that is recorded.
func (s *RowStats) addValues(rec *Row, at Where, logits []float32) {
	if rec.Logits != nil {
		s.WholeRows++
		for i, w := range rec.Logits {
			s.value(logits[i], w, i, at)
		}
		return
	}
	s.TopRows++
	for i, id := range rec.TopIndex {
		s.value(logits[id], rec.TopValue[i], int(id), at)
	}
}

func (s *RowStats) value(g, w float32, i int, at Where) {
	at.Index = i
	s.Values++
	if !s.sum.add(g, w) {
		if s.NonFinite++; s.NonFinite == 1 {
			s.FirstNonFinite = at
		}
	}
	if math.Float32bits(g) == math.Float32bits(w) {
		return
	}
	if s.Differ++; s.Differ == 1 {
		s.First = at
	}
	if a := nanHigh(math.Abs(float64(g) - float64(w))); a > s.MaxAbs || s.Differ == 1 {
		s.MaxAbs, s.At, s.Got, s.Want = a, at, g, w
	}
	if r := relative(g, w); r > s.MaxRel || s.Differ == 1 {
		s.MaxRel, s.AtRel = r, at
	}
	s.MaxULP = max(s.MaxULP, ulps(g, w))
}

func (s *RowStats) addKL(rec *Row, at Where, logits []float32, ours float64) {
	kl := divergence(rec, logits, ours)
	s.KLRows++
	s.sumKL += kl
	if k := nanHigh(kl); k > s.MaxKL || s.KLRows == 1 {
		s.MaxKL, s.AtKL = k, at
	}
}

// addTopK compares the sets of the k largest logits.
func (s *RowStats) addTopK(rec *Row, logits []float32, k int) {
	idx := rec.TopIndex
	if idx == nil {
		idx, _ = Top(rec.Logits, k)
	}
	k = min(k, len(idx), len(logits))
	ours, _ := Top(logits, k)
	a, b := append([]int32(nil), idx[:k]...), ours
	sort.Slice(a, func(i, j int) bool { return a[i] < a[j] })
	sort.Slice(b, func(i, j int) bool { return b[i] < b[j] })
	s.TopKRows++
	for i := range a {
		if a[i] != b[i] {
			return
		}
	}
	s.TopKSame++
}

func (s *RowStats) addNLL(rec *Row, p *Prompt, row int, logits []float32, ours float64) {
	next, ok := p.Next(row)
	if !ok || int(next) >= len(logits) {
		return
	}
	if want, ok := rec.LogProb(next); ok {
		s.Scored++
		s.nllWant -= want
		s.nll += ours - float64(logits[next])
	}
}

// NLL is the negative log-likelihood of an id under a row of logits, in nats.
func NLL(logits []float32, id int32) float64 { return LogSumExp(logits) - float64(logits[id]) }

// KLDivergence is KL(recorded || ours) in nats. Where only the largest logits are recorded, all others are one bucket: its
// mass is what the recorded log-sum-exp leaves, and on our side the sum over the same ids. One bucket can only hide divergence, so
// figures of both kinds are not compared with each other.
func KLDivergence(rec *Row, logits []float32) float64 {
	return divergence(rec, logits, LogSumExp(logits))
}

func divergence(rec *Row, logits []float32, ours float64) float64 {
	kl := 0.0
	if rec.Logits != nil {
		theirs := LogSumExp(rec.Logits)
		for i, w := range rec.Logits {
			lp := float64(w) - theirs
			if p := math.Exp(lp); p > 0 {
				kl += p * (lp - float64(logits[i]) + ours)
			}
		}
		return kl
	}
	p, q := 0.0, 0.0
	for i, id := range rec.TopIndex {
		lp, lq := float64(rec.TopValue[i])-rec.LSE, float64(logits[id])-ours
		kl += math.Exp(lp) * (lp - lq)
		p += math.Exp(lp)
		q += math.Exp(lq)
	}
	// The recorded log-sum-exp is a float32: below its rounding there is no bucket to speak of.
	if rest := 1 - p; rest > 2e-6 && len(rec.TopIndex) < len(logits) {
		kl += rest * math.Log(rest/max(1-q, 1e-30))
	}
	return kl
}
