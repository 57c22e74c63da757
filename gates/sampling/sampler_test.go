package sampling

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/gates/bench"
)

// bothOrders are what two neighbouring pairs may be.
var bothOrders = []string{AB + BA, BA + AB}

func TestOrderIsMirroredSeededAndNeedsNoHistory(t *testing.T) {
	var first, other strings.Builder
	starts := 0
	for i := 0; i < 400; i += 2 {
		assert.Contains(t, bothOrders, Order(7, i)+Order(7, i+1), "pair %d", i)
		first.WriteString(Order(7, i))
		if Order(7, i) == AB {
			starts++
		}
		other.WriteString(Order(8, i))
	}
	assert.NotEqual(t, first.String(), other.String(), "another seed is another order")
	assert.Greater(t, starts, 60, "both arms begin often")
	assert.Less(t, starts, 140)
}

// bench gives a sampler that runs nothing: each sample says what was asked of it.
type stage struct {
	taken   []string
	foreign []float64 // per pair, of one second
	idle    bool
	logits  map[string]string
	rows    map[string][]bench.Row
	err     error
}

func (g *stage) sampler(r Rules) *Sampler {
	pairs := 0
	return &Sampler{
		Seed: 3, Rules: r,
		Take: func(_ context.Context, arm string, _ *Arm) (*bench.Sample, error) {
			g.taken = append(g.taken, arm)
			if g.err != nil && arm == "B" {
				return nil, g.err
			}
			l := "same"
			if g.logits != nil {
				l = g.logits[arm]
			}
			return &bench.Sample{Logits: l, Rows: g.rows[arm]}, nil
		},
		Idle: func(context.Context) (time.Duration, bool) { return time.Second, g.idle },
		Watch: func() func() (float64, float64, bool) {
			used := 0.0
			if pairs < len(g.foreign) {
				used = g.foreign[pairs]
			}
			pairs++
			return func() (float64, float64, bool) { return used, 1, true }
		},
	}
}

func take(t *testing.T, s *Sampler, n int) (all []Pair) {
	t.Helper()
	for i := range n {
		require.NoError(t, s.Pair(t.Context(), i, func(p Pair) error { all = append(all, p); return nil }))
	}
	return all
}

func TestFirstPairIsDroppedAndOrderKept(t *testing.T) {
	g := &stage{idle: true}
	all := take(t, g.sampler(DefaultRules), 2)
	require.Len(t, all, 2)
	want := Order(3, 0) + Order(3, 0) + Order(3, 1)
	assert.Equal(t, want, strings.Join(g.taken, ""), "the pair that warms up is taken like the first and not handed over")
	assert.Equal(t, Order(3, 1), all[1].Order)
	assert.Equal(t, 1.0, all[0].Waited)
}

func TestContaminatedPairsAreRepeatedKeptAndMarked(t *testing.T) {
	g := &stage{idle: true, foreign: []float64{0, 0.5, 0.5, 0.05, 0.9, 0.9, 0.9, 0}}
	all := take(t, g.sampler(Rules{Share: 0.1, Attempts: 3}), 3)
	require.Len(t, all, 7)
	decisive := Decisive(all)
	require.Len(t, decisive, 3)
	assert.Equal(t, 2, decisive[0].Attempt, "the first clean attempt counts")
	assert.True(t, decisive[0].Clean())
	assert.Equal(t, []Mark{MarkForeign}, all[0].Marks)
	assert.Equal(t, 0.5, all[0].Foreign)
	assert.Equal(t, 2, decisive[1].Attempt, "after the last attempt a marked one counts")
	assert.False(t, decisive[1].Clean())
}

func TestBusyMachinesAreMarked(t *testing.T) {
	all := take(t, (&stage{}).sampler(Rules{Share: 0.1, Attempts: 2}), 1)
	require.Len(t, all, 2)
	assert.Equal(t, []Mark{MarkNotIdle}, all[1].Marks)
}

func TestParityIsCheckedInTheTimedRun(t *testing.T) {
	near, far := []bench.Row{{1, 2, 3}}, []bench.Row{{3, 2, 1}}
	for name, c := range map[string]struct {
		stage  stage
		rules  Rules
		broken string
		arm    string
	}{
		"same bits":        {stage{logits: map[string]string{"A": "x", "B": "x"}}, Rules{}, "", ""},
		"other bits":       {stage{logits: map[string]string{"A": "x", "B": "y"}}, Rules{}, "differ", ""},
		"silent arm":       {stage{logits: map[string]string{"A": "x"}}, Rules{}, "did not tell", ""},
		"near enough":      {stage{logits: map[string]string{"A": "x", "B": "y"}, rows: map[string][]bench.Row{"A": near, "B": {{1, 2, 3.001}}}}, Rules{Distance: 1e-3}, "", ""},
		"too far":          {stage{logits: map[string]string{"A": "x", "B": "y"}, rows: map[string][]bench.Row{"A": near, "B": far}}, Rules{Distance: 1e-3}, "KL divergence", ""},
		"no rows":          {stage{logits: map[string]string{"A": "x", "B": "y"}}, Rules{Distance: 1e-3}, "did not give", ""},
		"other length":     {stage{logits: map[string]string{"A": "x", "B": "y"}, rows: map[string][]bench.Row{"A": near, "B": {{1}}}}, Rules{Distance: 1}, "length", ""},
		"contradicts self": {stage{err: &bench.ParityError{Where: "after restoring", What: "logit 3"}}, Rules{}, "after restoring", "B"},
	} {
		t.Run(name, func(t *testing.T) {
			c.stage.idle = true
			all := take(t, c.stage.sampler(c.rules), 1)
			require.Len(t, all, 1)
			assert.Equal(t, c.arm, all[0].InArm)
			if c.broken == "" {
				assert.Empty(t, all[0].Broken)
				assert.Empty(t, all[0].A.Rows, "rows are not kept")
				return
			}
			assert.Contains(t, all[0].Broken, c.broken)
		})
	}
}

func TestErrorsNameTheArm(t *testing.T) {
	g := &stage{idle: true, err: errors.New("no memory")}
	err := g.sampler(Rules{}).Pair(t.Context(), 0, func(Pair) error { return nil })
	assert.ErrorContains(t, err, "arm B: no memory")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, (&Sampler{Rules: DefaultRules}).Pair(ctx, 0, nil), context.Canceled)
}

func TestDecisivePairsStopBeforeAGap(t *testing.T) {
	var all []Pair
	for _, i := range []int{0, 1, 3} {
		all = append(all, Pair{Index: i})
	}
	assert.Len(t, Decisive(all), 2)
	assert.Empty(t, Decisive(nil))
	assert.Equal(t, "AB", fmt.Sprint(AB))
}
