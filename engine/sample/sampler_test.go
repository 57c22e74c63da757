package sample

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// number reads a JSON number or "NaN", "+Inf", "-Inf".
type number float64

func (n *number) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		_, err := fmt.Sscan(word, (*float64)(n))
		return err
	}
	return json.Unmarshal(data, (*float64)(n))
}

type numericCase struct {
	ID    string
	Input struct {
		Logits      []number
		Temperature float32
		TopK        int     `json:"top_k"`
		TopP        float32 `json:"top_p"`
		Order       []string
	}
	Want struct {
		ID    int32
		Kept  []int32
		Probs []float64
	}
}

func (c numericCase) logits() []float32 {
	var row []float32
	for _, x := range c.Input.Logits {
		row = append(row, float32(x))
	}
	return row
}

func readCases(t *testing.T, pattern string) []numericCase {
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var cases []numericCase
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		var c numericCase
		require.NoError(t, json.Unmarshal(data, &c), f)
		cases = append(cases, c)
	}
	return cases
}

func TestGreedyTakesTheFirstLargestNumber(t *testing.T) {
	for _, c := range readCases(t, "greedy/*.json") {
		t.Run(c.ID, func(t *testing.T) {
			id, err := Greedy(c.logits())
			require.NoError(t, err)
			assert.Equal(t, c.Want.ID, id)
		})
	}
	nan := float32(math.NaN())
	_, err := Greedy([]float32{nan, nan})
	assert.ErrorIs(t, err, ErrNoNumber)
	_, err = Greedy(nil)
	assert.ErrorIs(t, err, ErrNoNumber)
	id, err := Greedy([]float32{nan, float32(math.Inf(-1)), nan})
	require.NoError(t, err)
	assert.EqualValues(t, 1, id, "-Inf is a number, NaN is not")
}

func TestFiltersKeepWhatTheCasesSay(t *testing.T) {
	steps := map[string]Step{"temperature": StepTemperature, "top_k": StepTopK, "top_p": StepTopP}
	for _, c := range readCases(t, "sampling/*.json") {
		t.Run(c.ID, func(t *testing.T) {
			o := Options{Temperature: c.Input.Temperature, TopK: c.Input.TopK, TopP: c.Input.TopP}
			for _, name := range c.Input.Order {
				o.Order = append(o.Order, steps[name])
			}
			s, err := New(o)
			require.NoError(t, err)
			total, err := s.filter(c.logits())
			require.NoError(t, err)
			slices.SortFunc(s.kept, compare)
			var ids []int32
			for i, k := range s.kept {
				ids = append(ids, k.id)
				assert.InDelta(t, c.Want.Probs[i], k.weight/total, 1e-6)
			}
			assert.Equal(t, c.Want.Kept, ids)
		})
	}
}

func row(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	logits := make([]float32, n)
	for i := range logits {
		logits[i] = float32(r.IntN(1<<12)-1<<11) / 256
	}
	return logits
}

func TestMinPKeepsWhatIsProbableEnough(t *testing.T) {
	s, err := New(Options{Temperature: 1, MinP: 0.1})
	require.NoError(t, err)
	_, err = s.filter([]float32{0, 3, 1, 2, -5}) // e^-1 = 0.37, e^-2 = 0.135, e^-3 = 0.05 of the largest
	require.NoError(t, err)
	var ids []int32
	for _, k := range s.kept {
		ids = append(ids, k.id)
	}
	assert.Equal(t, []int32{1, 2, 3}, ids)
}

// The ids are frozen: a change of any bit on the way would change them.
func TestOneSeedDrawsTheSameIDsOnEveryArchitecture(t *testing.T) {
	hash := fnv.New64a()
	for i, o := range []Options{
		{Temperature: 1, Seed: 7},
		{Temperature: 0.7, TopK: 40, TopP: 0.9, MinP: 0.05, Seed: 7},
		{Temperature: 2.5, TopP: 0.95, Seed: 1 << 60},
		{Temperature: 0.1, MinP: 0.02},
	} {
		s, err := New(o)
		require.NoError(t, err)
		for n := range 200 {
			id, err := s.Sample(row(uint64(i*1000+n), 500))
			require.NoError(t, err)
			fmt.Fprintln(hash, id)
		}
	}
	assert.Equal(t, "546c62a01457201f", fmt.Sprintf("%016x", hash.Sum64()))
}

func TestDrawsFollowTheDistribution(t *testing.T) {
	s, err := New(Options{Temperature: 1, Seed: 3})
	require.NoError(t, err)
	logits := []float32{float32(math.Log(0.5)), float32(math.Log(0.25)), float32(math.NaN()), float32(math.Log(0.25)), float32(math.Inf(-1))}
	counts := make([]int, len(logits))
	const draws = 40000
	for range draws {
		id, err := s.Sample(logits)
		require.NoError(t, err)
		counts[id]++
	}
	assert.InDelta(t, 0.5, float64(counts[0])/draws, 0.02)
	assert.InDelta(t, 0.25, float64(counts[1])/draws, 0.02)
	assert.InDelta(t, 0.25, float64(counts[3])/draws, 0.02)
	assert.Zero(t, counts[2], "NaN")
	assert.Zero(t, counts[4], "-Inf")
}

func TestTemperatureZeroIsGreedy(t *testing.T) {
	s, err := New(Options{TopK: 5, Seed: 1})
	require.NoError(t, err)
	for n := range uint64(20) {
		logits := row(n, 300)
		want, err := Greedy(logits)
		require.NoError(t, err)
		id, err := s.Sample(logits)
		require.NoError(t, err)
		assert.Equal(t, want, id)
	}
}

func TestSamplingAllocatesNothingInSteadyState(t *testing.T) {
	logits := row(1, 5000)
	for _, o := range []Options{{Temperature: 1}, {Temperature: 1, TopK: 40, TopP: 0.9, MinP: 0.1}, {Temperature: 1, TopP: 0.9}} {
		s, err := New(o)
		require.NoError(t, err)
		_, err = s.Sample(logits)
		require.NoError(t, err)
		assert.Zero(t, testing.AllocsPerRun(20, func() { _, _ = s.Sample(logits) }))
	}
}

func TestUnusableOptionsAreRefused(t *testing.T) {
	nan := float32(math.NaN())
	for _, o := range []Options{{Temperature: nan}, {TopP: nan}, {TopP: -1}, {MinP: 2}, {MinP: nan}, {Order: []Step{9}}, {Temperature: float32(math.Inf(1))}} {
		_, err := New(o)
		assert.Error(t, err, "%+v", o)
	}
}

func TestExpIsAccurate(t *testing.T) {
	for x := -745.0; x <= 0; x += 0.0371 {
		want := math.Exp(x)
		if x < -708 {
			want = 0
		}
		assert.InEpsilon(t, want+1, exp(x)+1, 1e-15)
		if want > 0 {
			assert.InEpsilon(t, want, exp(x), 4e-15, "%v", x)
		}
	}
	assert.Equal(t, 1.0, exp(0))
	assert.Equal(t, 0.0, exp(math.Inf(-1)))
	assert.Equal(t, 0.0, exp(math.NaN()))
}

func TestHeapSelectsLikeSorting(t *testing.T) {
	for n := range 40 {
		all := make(candidates, n+1)
		for i, x := range row(uint64(n), n+1) {
			all[i] = candidate{logit: math.Round(float64(x)), id: int32(i)}
		}
		want := slices.Clone(all)
		slices.SortFunc(want, compare)
		for k := range n + 2 {
			got := slices.Clone(all)
			got.selectLargest(k)
			require.Equal(t, want[:k], got[:k], "n %d k %d", n+1, k)
		}
	}
}

func BenchmarkSample(b *testing.B) {
	logits := row(1, 151936)
	for _, o := range []Options{{}, {Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05}, {Temperature: 0.8, TopP: 0.95}} {
		b.Run(fmt.Sprintf("t%v,k%d,p%v", o.Temperature, o.TopK, o.TopP), func(b *testing.B) {
			s, _ := New(o)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = s.Sample(logits)
			}
		})
	}
}
