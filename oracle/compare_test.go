package oracle

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func TestADifferenceIsMeasuredAndPlaced(t *testing.T) {
	want := []float32{1, 2, 3, 4, 5, 6, 7, 8} // 2 heads, 2 positions, width 2
	got := []float32{1, 2, 3, 4.5, 5, 6, 7, 8}
	d, err := Compare("p0.v.L3", got, want, Layout{Prompt: "a", Layer: 3, Heads: 2, Positions: 2, Width: 2, First: 10})
	require.NoError(t, err)
	assert.Equal(t, 8, d.Values)
	assert.Equal(t, 1, d.Differ)
	assert.InDelta(t, 0.5, d.MaxAbs, 0)
	assert.InDelta(t, 0.5/4.5, d.MaxRel, 1e-15)
	assert.Equal(t, Where{Prompt: "a", Layer: 3, Head: 0, Position: 11, Index: 1}, d.At)
	assert.Equal(t, d.At, d.First)
	assert.Equal(t, uint32(1<<20), d.MaxULP, "4 to 4.5 is an eighth of a binade of 2^23 values")
	assert.InDelta(t, 0.25/204, d.NMSE, 1e-15)
	assert.Zero(t, d.ByPosition[0])
	assert.InDelta(t, math.Sqrt(0.25/(9+16+49+64)), d.ByPosition[1], 1e-15)
	assert.Contains(t, d.String(), `1 of 8 values differ, largest absolute difference 0.5 (4.5, recorded 4) at prompt "a", layer 3, head 0, position 11, index 1`)
	_, err = Compare("x", got, want, Layout{Positions: 3, Width: 2})
	assert.ErrorContains(t, err, "x: 8 values, recorded are 8 (0 heads, 3 positions, width 2)")
}

func TestUnitsInTheLastPlaceCrossZero(t *testing.T) {
	tiny := math.SmallestNonzeroFloat32
	for _, c := range []struct {
		a, b float32
		want uint32
	}{{1, 1, 0}, {1, math.Nextafter32(1, 2), 1}, {0, float32(math.Copysign(0, -1)), 0}, {float32(tiny), float32(-tiny), 2}, {-1, math.Nextafter32(-1, -2), 1}} {
		assert.Equal(t, c.want, ulps(c.a, c.b), "%v %v", c.a, c.b)
		assert.Equal(t, c.want, ulps(c.b, c.a))
	}
}

func TestLogSumExpSurvivesLargeLogits(t *testing.T) {
	assert.InDelta(t, 1000+math.Log(2), LogSumExp([]float32{1000, 1000}), 1e-12)
	assert.InDelta(t, -1000+math.Log(3), LogSumExp([]float32{-1000, -1000, -1000}), 1e-12)
	assert.True(t, math.IsNaN(LogSumExp([]float32{1, float32(math.NaN()), 0})))
	assert.InDelta(t, math.Log(4)-1, NLL([]float32{0, 1, float32(math.Log(3) - 0)}, 1)+math.Log(4)-math.Log(1+math.E+3), 1e-6)
}

func TestTopIsDescendingWithTiesByLowerID(t *testing.T) {
	idx, val := Top([]float32{1, 3, 2, 3, 0}, 3)
	assert.Equal(t, []int32{1, 3, 2}, idx)
	assert.Equal(t, []float32{3, 3, 2}, val)
	idx, _ = Top([]float32{5, 6}, 64)
	assert.Equal(t, []int32{1, 0}, idx)
	assert.Equal(t, 1, ArgMax([]float32{1, 3, 2, 3}))
}

func TestKLOfWholeRowsAndOfBuckets(t *testing.T) {
	ln := func(x float64) float32 { return float32(math.Log(x)) }
	p, q := []float32{ln(.5), ln(.25), ln(.25)}, []float32{ln(.25), ln(.25), ln(.5)}
	want := .5*math.Log(2) + .25*math.Log(.5)
	assert.InDelta(t, want, KLDivergence(&Row{Logits: p}, q), 1e-7)
	assert.InDelta(t, 0, KLDivergence(&Row{Logits: p}, p), 1e-12)
	shifted := []float32{p[0] + 7, p[1] + 7, p[2] + 7}
	assert.InDelta(t, 0, KLDivergence(&Row{Logits: p}, shifted), 1e-6, "a constant in all logits changes nothing")
	// the first logit alone, the others one bucket: .5 against .25, and .5 against .75
	bucket := &Row{TopIndex: []int32{0}, TopValue: p[:1], LSE: 0}
	assert.InDelta(t, .5*math.Log(2)+.5*math.Log(.5/.75), KLDivergence(bucket, q), 1e-7)
	all := &Row{TopIndex: []int32{0, 1, 2}, TopValue: p, LSE: 0}
	assert.InDelta(t, want, KLDivergence(all, q), 1e-7, "no bucket is left when all are stored")
}

// replay feeds the rows of the synthetic recording, changed by change.
func replay(t *testing.T, e *Evidence, change func(prompt, row int, logits []float32)) *RowComparer {
	t.Helper()
	c := NewRowComparer(e)
	for i, p := range e.Manifest.Prompts {
		for row := range p.Rows() {
			x := testRow(i, row)
			change(i, row, x)
			require.NoError(t, c.Row(i, row, x))
		}
	}
	return c
}

func TestEqualRowsHoldAtEveryRung(t *testing.T) {
	for _, keep := range []Keep{KeepAll, KeepTop64} {
		s := replay(t, loaded(t, saved(t, keep)), func(int, int, []float32) {}).Stats()
		assert.Equal(t, 6, s.Rows)
		assert.Equal(t, 36, s.Values)
		for _, r := range []Rung{Bits, ULP, NMSE, TopKSet, KL} {
			assert.Empty(t, Tolerance{Rung: r, MeanKL: 1e-6, Top1: 1, NLL: 1e-6}.Judge(s), r)
		}
		got, want := s.MeanNLL()
		assert.InDelta(t, want, got, 1e-6)
		assert.Equal(t, 6, s.Scored, "every row but none past the last produced id")
	}
}

func TestAWrongLogitIsFoundAndItsRungTold(t *testing.T) {
	e := loaded(t, saved(t, KeepAll))
	c := replay(t, e, func(prompt, row int, x []float32) {
		if prompt == 0 && row == 2 {
			x[4] = 9
		}
	})
	s := c.Stats()
	at := Where{Prompt: "first", Layer: -1, Head: -1, Position: 2, Index: 4}
	assert.Equal(t, 1, s.Differ)
	assert.Equal(t, at, s.At)
	assert.Equal(t, at, s.First)
	assert.Equal(t, float32(9), s.Got)
	assert.Equal(t, testRow(0, 2)[4], s.Want)
	assert.Equal(t, 1, c.Prompt(0).Differ)
	assert.Zero(t, c.Prompt(1).Differ)
	idx, val := Top(testRow(0, 2), 2)
	flip := s.WorstFlip()
	require.NotNil(t, flip)
	assert.Equal(t, Flip{At: Where{Prompt: "first", Layer: -1, Head: -1, Position: 2, Index: -1}, Recorded: idx[0], Got: 4, Margin: float64(val[0]) - float64(val[1]), OurMargin: 9 - float64(val[0])}, *flip)
	for tol, want := range map[Tolerance]string{
		{Rung: Bits}:                   `1 of 36 values differ in their bits, the first at prompt "first", position 2, index 4`,
		{Rung: IDs}:                    `1 choices differ where the recorded margin is above 0`,
		{Rung: ULP, MaxULP: 4}:         `units in the last place at prompt "first", position 2, index 4, 4 allowed`,
		{Rung: NMSE, MaxAbs: 1e-4}:     `largest absolute difference`,
		{Rung: NMSE, NMSE: 1e-4}:       `nmse`,
		{Rung: KL, MeanKL: 1e-3}:       `mean KL`,
		{Rung: KL, MaxKL: 1e-3}:        `largest KL`,
		{Rung: KL, Top1: 0.99}:         `the same choice on 0.8333 of the rows, want 0.99`,
		{Rung: KL, Margin: 0.0001}:     `id 4 instead of`,
		{Rung: KL, NLL: 0.001}:         `mean NLL`,
		{Rung: NMSE, MaxRel: 0.000001}: `largest relative difference`,
	} {
		bad := tol.Judge(s)
		require.Len(t, bad, 1, "%+v", tol)
		assert.Contains(t, bad[0], want)
	}
	assert.Empty(t, Tolerance{Rung: IDs, Margin: 100}.Judge(s), "a near tie by the margin written before")
	d := Diagnose(nil, s, 1e-4)
	assert.Contains(t, d.String(), "a single logit differs, id 4 at")
}

func TestNaNFromTheEngineNeverHolds(t *testing.T) {
	for _, keep := range []Keep{KeepAll, KeepTop64} {
		s := replay(t, loaded(t, saved(t, keep)), func(prompt, row int, x []float32) { x[0] = float32(math.NaN()) }).Stats()
		for _, r := range []Rung{Bits, IDs, ULP, NMSE, TopKSet, KL} {
			assert.NotEmpty(t, Tolerance{Rung: r, MaxAbs: 1e9, MeanKL: 1e9, MaxULP: math.MaxUint32, Margin: 1e9}.Judge(s), r)
		}
	}
}

func TestIDsAloneAreComparedWithTheProducedOnes(t *testing.T) {
	e := loaded(t, saved(t, KeepNone))
	c := NewRowComparer(e)
	for row, id := range []int32{0, 0, 4, 1} { // produced: 4, 5
		x := make([]float32, testVocab)
		x[id] = 1
		require.NoError(t, c.Row(0, row, x))
	}
	assert.Equal(t, 2, c.Stats().Rows, "the rows before the last prompt id choose nothing")
	assert.Equal(t, 1, c.Stats().Same)
	assert.Len(t, Tolerance{Rung: IDs, Margin: 1}.Judge(c.Stats()), 1, "an unknown margin excuses nothing")
	assert.NotEmpty(t, Tolerance{Rung: Bits}.Judge(c.Stats()), "ids cannot stand for bits")
	assert.ErrorContains(t, c.Row(0, 4, make([]float32, testVocab)), "not in the recording")
	assert.ErrorContains(t, c.Row(0, 0, make([]float32, 3)), "has 3 logits")
}

func TestSelectedAndTailRowsAreFound(t *testing.T) {
	m := testManifest()
	m.Format = Format
	tail := append(append([]float32(nil), testRow(0, 2)...), testRow(0, 3)...)
	e := &Evidence{Manifest: m, Tensors: map[string]*Tensor{
		"p0.logits_tail": NewFloat32("p0.logits_tail", []int{2, testVocab}, tail),
		"p1.logits":      NewFloat32("p1.logits", []int{1, testVocab}, testRow(1, 1)),
		"p1.logits.rows": NewInt32("p1.logits.rows", []int{1}, []int32{1})}}
	dir := t.TempDir()
	require.NoError(t, Save(dir, e))
	s := replay(t, loaded(t, dir), func(int, int, []float32) {}).Stats()
	assert.Equal(t, 3, s.WholeRows)
	assert.Empty(t, Tolerance{Rung: Bits}.Judge(s))
}

func TestKeyOrdersAreInverse(t *testing.T) {
	adjacent := []float32{0, 4, 1, 5, 2, 6, 3, 7, 10, 14, 11, 15, 12, 16, 13, 17}
	halves := []float32{0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17}
	assert.Equal(t, halves, AdjacentToHalves(adjacent, 8))
	assert.Equal(t, adjacent, HalvesToAdjacent(halves, 8))
	assert.Equal(t, halves, Reorder(adjacent, 8, Adjacent, Halves))
	assert.Equal(t, halves, Reorder(halves, 8, Halves, Halves))
	assert.Equal(t, halves, Reorder(halves, 8, UnknownOrder, Adjacent))
}

func TestTolerancesAreReadFromYAML(t *testing.T) {
	var tol Tolerance
	require.NoError(t, yaml.Unmarshal([]byte("{rung: kl, mean_kl: 3.0e-4, margin: 1, top1: 0.945}"), &tol))
	assert.Equal(t, Tolerance{Rung: KL, MeanKL: 3e-4, Margin: 1, Top1: .945}, tol)
	b, err := yaml.Marshal(Tolerance{Rung: NMSE, MaxAbs: 1})
	require.NoError(t, err)
	assert.Equal(t, "rung: nmse\nmax_abs: 1\n", string(b))
	assert.ErrorContains(t, yaml.Unmarshal([]byte("{rung: close}"), &tol), `rung "close"`)
	r, err := ParseRung("rtol")
	require.NoError(t, err)
	assert.Equal(t, NMSE, r)
}
