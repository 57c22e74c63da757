package oracle

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	toyRows = 12
	toyDim  = 8
)

// rotate turns [heads][positions][dim] keys as a rotary embedding does.
func rotate(k []float32, order KeyOrder, base, scale float64, start int) []float32 {
	out := append([]float32(nil), k...)
	for v := 0; v < len(k)/toyDim; v++ {
		pos := float64(start+v%toyRows) * scale
		for i := range toyDim / 2 {
			a, b := i, i+toyDim/2
			if order == Adjacent {
				a, b = 2*i, 2*i+1
			}
			a, b = v*toyDim+a, v*toyDim+b
			sin, cos := math.Sincos(pos * math.Pow(base, -2*float64(i)/toyDim))
			x, y := float64(k[a]), float64(k[b])
			out[a], out[b] = float32(x*cos-y*sin), float32(x*sin+y*cos)
		}
	}
	return out
}

// toy is what one layer of an engine holds: keys before the rotary embedding, and everything else.
type toy struct{ embed, raw, v, hidden []float32 }

func newToy() toy {
	return toy{wave(toyRows*6, 1), wave(2*toyRows*toyDim, 2), wave(2*toyRows*toyDim, 3), wave(toyRows*6, 4)}
}

func (y toy) evidence(t *testing.T, order KeyOrder) *Evidence {
	t.Helper()
	m := testManifest()
	m.KeyOrderName = order.String()
	m.Prompts = []Prompt{{Name: "toy", IDs: make([]int32, toyRows)}}
	r := NewRecorder(m, KeepNone)
	for p := range toyRows {
		r.Append(0, "hidden.embed", y.embed[p*6:p*6+6])
		r.Append(0, "hidden.L0", y.hidden[p*6:p*6+6])
	}
	r.KeyValue(0, 0, 2, toyRows, rotate(y.raw, order, 10000, 1, 0), y.v)
	e, err := r.Evidence()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, Save(dir, e))
	return loaded(t, dir)
}

func scaled(x []float32, by float32, from int) []float32 {
	out := append([]float32(nil), x...)
	for i := from; i < len(out); i++ {
		out[i] *= by
	}
	return out
}

func TestADivergenceIsTracedToItsCause(t *testing.T) {
	y := newToy()
	right := func(o KeyOrder) []float32 { return rotate(y.raw, o, 10000, 1, 0) }
	state := func(embed, k, v, hidden []float32, o KeyOrder) State {
		return State{Hidden: map[string][]float32{"embed": embed, "L0": hidden}, Keys: map[int][]float32{0: k}, Values: map[int][]float32{0: v}, KeyOrder: o}
	}
	jitter := func(x []float32, from, width int) []float32 {
		out := append([]float32(nil), x...)
		for i := from * width; i < len(out); i++ {
			out[i] += float32(0.3 * math.Sin(float64(i)))
		}
		return out
	}
	for name, c := range map[string]struct {
		order KeyOrder
		state State
		first string
		want  string
	}{
		"equal":                    {Halves, state(y.embed, right(Halves), y.v, y.hidden, Halves), "", "no tensor diverges"},
		"equal in the other order": {Adjacent, state(y.embed, AdjacentToHalves(right(Adjacent), toyDim), y.v, y.hidden, Halves), "", "no tensor diverges"},
		"pairing swapped, adjacent": {Adjacent, state(y.embed, rotate(y.raw, Halves, 10000, 1, 0), y.v, y.hidden, Adjacent), "p0.k.L0",
			"the rotary pairing is swapped"},
		"pairing swapped, halves": {Halves, state(y.embed, rotate(y.raw, Adjacent, 10000, 1, 0), y.v, y.hidden, Halves), "p0.k.L0",
			"the rotary pairing is swapped"},
		"order of elements":     {Halves, state(y.embed, HalvesToAdjacent(right(Halves), toyDim), y.v, y.hidden, Halves), "p0.k.L0", "the order of the elements, not the numbers"},
		"rotary base":           {Halves, state(y.embed, rotate(y.raw, Halves, 500000, 1, 0), y.v, y.hidden, Halves), "p0.k.L0", "pairs from 1 on are turned wrongly: the rotary base"},
		"rope scaling":          {Adjacent, state(y.embed, rotate(y.raw, Adjacent, 10000, 0.5, 0), y.v, y.hidden, Adjacent), "p0.k.L0", "the fastest by -0.5 radians too much per position"},
		"positions from 1":      {Halves, state(y.embed, rotate(y.raw, Halves, 10000, 1, 1), y.v, y.hidden, Halves), "p0.k.L0", "already at position 0: positions are counted from another start"},
		"key weights":           {Halves, state(y.embed, jitter(right(Halves), 0, toyDim), y.v, y.hidden, Halves), "p0.k.L0", "which no rotation changes"},
		"values":                {Halves, state(y.embed, right(Halves), jitter(y.v, 0, toyDim), y.hidden, Halves), "p0.v.L0", "the value weights or bias"},
		"norm":                  {Halves, state(y.embed, scaled(right(Halves), 1.5, 0), scaled(y.v, 1.5, 0), y.hidden, Halves), "p0.k.L0", "keys and values differ together: the norm before attention"},
		"embedding scale":       {Halves, state(scaled(y.embed, 8, 0), right(Halves), y.v, y.hidden, Halves), "p0.hidden.embed", "ours is the recorded tensor times 8"},
		"window":                {Halves, state(y.embed, right(Halves), y.v, jitter(y.hidden, 7, 6), Halves), "p0.hidden.L0", "up to position 6: something begins there, a sliding window"},
		"attention scale":       {Halves, state(y.embed, right(Halves), y.v, jitter(y.hidden, 1, 6), Halves), "p0.hidden.L0", "attention itself, its scale"},
		"feed-forward":          {Halves, state(y.embed, right(Halves), y.v, jitter(y.hidden, 0, 6), Halves), "p0.hidden.L0", "from the first position on"},
		"NaN in hidden states":  {Halves, state(y.embed, right(Halves), y.v, scaled(y.hidden, float32(math.NaN()), 30), Halves), "p0.hidden.L0", "diverging tensor"},
		"growth with positions": {Halves, state(y.embed, rotate(y.raw, Halves, 10000, 1.01, 0), y.v, y.hidden, Halves), "p0.k.L0", "the difference grows with the position"},
	} {
		t.Run(name, func(t *testing.T) {
			diffs, err := CompareState(y.evidence(t, c.order), 0, c.state)
			require.NoError(t, err)
			require.Len(t, diffs, 4)
			g := Diagnose(diffs, nil, 1e-3)
			assert.Contains(t, g.String(), c.want)
			if c.first == "" {
				assert.Nil(t, g.First)
				return
			}
			require.NotNil(t, g.First, g.String())
			assert.Equal(t, c.first, g.First.Name)
		})
	}
}

func TestStatesAreComparedInTheOrderOfComputation(t *testing.T) {
	e := loaded(t, saved(t, KeepAll))
	assert.Equal(t, []string{"hidden.embed", "k.L0", "v.L0", "hidden.L0", "k.L1", "v.L1", "hidden.L1"}, stateParts(e, 0))
	diffs, err := CompareState(e, 0, State{Keys: map[int][]float32{1: wave(testHeads*4*testDim, 1)}, KeyOrder: Halves})
	require.NoError(t, err)
	require.Len(t, diffs, 1, "what the engine does not give is passed over")
	assert.Zero(t, diffs[0].Differ)
	_, err = CompareState(e, 0, State{Keys: map[int][]float32{1: wave(7, 1)}})
	assert.ErrorContains(t, err, "p0.k.L1: 7 values do not divide")
	longer, err := lastPositions([]float32{1, 2, 3, 4, 5, 6}, Layout{Heads: 2, Positions: 2, Width: 1})
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 3, 5, 6}, longer, "a window keeps the last positions")
}

func TestAScaleOfTheLogitsIsNamed(t *testing.T) {
	e := loaded(t, saved(t, KeepAll))
	s := replay(t, e, func(_, _ int, x []float32) { copy(x, scaled(x, 2, 0)) }).Stats()
	g := Diagnose(nil, s, 1e-3)
	assert.Contains(t, g.String(), "our logits are the recorded ones times 2")
	assert.Contains(t, g.String(), "record with nodes and state")
	same, err := CompareState(e, 0, State{Hidden: map[string][]float32{"L1": wave(0, 0)}})
	require.Error(t, err)
	assert.Empty(t, same)
}
