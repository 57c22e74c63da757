package bench

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRepetitionsAndKnobsKeepTheBits(t *testing.T) {
	j := Job{Model: tiny(t), Threads: 2, Prompt: IDs(20, 500), Decode: IDs(5, 500)}
	plain, err := Once(t.Context(), j)
	require.NoError(t, err)
	j.Repeat, j.Tuning, j.Rows = 3, "slow=0.05,fuse=off", true
	tuned, err := Once(t.Context(), j)
	require.NoError(t, err)
	assert.Equal(t, plain.Logits, tuned.Logits)
	assert.Positive(t, tuned.Counters["slow"], "the mechanism proves that it ran")
	assert.Positive(t, tuned.Counters["fuse"])
	assert.Zero(t, plain.Counters["slow"])
	for _, fact := range []string{"kv.f16", "threads.2", "activations.int8"} {
		assert.Equal(t, int64(1), plain.Counters[fact], fact)
	}
	assert.Len(t, tuned.Timings, len(plain.Timings))
	assert.Len(t, tuned.Rows, 2)
	assert.Empty(t, plain.Rows)
}

func TestKVFormatsDifferAndAreNamed(t *testing.T) {
	j := Job{Model: tiny(t), Threads: 1, Prompt: IDs(20, 500), Decode: IDs(5, 500), KV: "f32"}
	s, err := Once(t.Context(), j)
	require.NoError(t, err)
	assert.Equal(t, int64(1), s.Counters["kv.f32"])
	j.KV = ""
	other, err := Once(t.Context(), j)
	require.NoError(t, err)
	assert.NotEqual(t, s.Logits, other.Logits)
	j.KV = "f8"
	_, err = Once(t.Context(), j)
	assert.ErrorContains(t, err, `"f8"`)
	j.KV, j.Tuning = "", "nonsense=1"
	_, err = Once(t.Context(), j)
	assert.ErrorContains(t, err, "nonsense")
}

func TestRowsSurviveJSON(t *testing.T) {
	want := []Row{{1, -2.5, float32(math.Inf(1)), math.SmallestNonzeroFloat32}, {}}
	b, err := json.Marshal(want)
	require.NoError(t, err)
	var got []Row
	require.NoError(t, json.Unmarshal(b, &got))
	assert.Equal(t, want, got)
	assert.Error(t, json.Unmarshal([]byte(`["AAA"]`), &got))
}

func TestSamplesRunWhereTheyAreTold(t *testing.T) {
	p := Process{Cores: Cores(1), Env: []string{"ASSAY_CPU=scalar"}}
	s, err := p.Sample(t.Context(), Job{Model: tiny(t), Prompt: IDs(4, 500), Decode: IDs(1, 500)})
	require.NoError(t, err)
	assert.Equal(t, int64(1), s.Counters["level.scalar"])
	if p.Cores != nil {
		assert.Equal(t, int64(1), s.Counters["threads.1"], "a process sees the cores that it may use")
	}
	assert.Nil(t, Cores(1<<20))
	assert.Nil(t, Cores(0))
}
