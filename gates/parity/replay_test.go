package parity

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/engine"
	"assay/engine/kv"
	"assay/fixtures"
	"assay/oracle"
)

// opened gives a fixture's model and recording.
func opened(t *testing.T, model, evidence string, mode engine.Activations) (*engine.Model, *oracle.Evidence) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, fixtures.Materialise(dir))
	m, err := engine.Open(context.Background(), filepath.Join(dir, "models", model), engine.Options{Activations: mode})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	e, err := oracle.Load(filepath.Join(dir, "evidence", evidence))
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	return m, e
}

func TestFeedingWithThePromptOrOneByOneGivesTheSameComparison(t *testing.T) {
	m, e := opened(t, "llama-Q4_0.gguf", "llama-Q4_0", engine.Int8)
	first, err := Replay(context.Background(), m, e, Options{KV: kv.F32, State: true})
	require.NoError(t, err)
	for _, o := range []Options{{Batch: true}, {Chunk: 7}, {Chunk: 1, Batch: true}} {
		o.KV, o.State = kv.F32, true
		other, err := Replay(context.Background(), m, e, o)
		require.NoError(t, err)
		assert.Equal(t, first.Rows.String(), other.Rows.String())
		assert.Equal(t, first.State, other.State)
	}
}

func TestReplayReadsNoMoreThanItIsAsked(t *testing.T) {
	m, e := opened(t, "llama", "llama", engine.Float32)
	last, rows := 0, 0
	r, err := Replay(context.Background(), m, e, Options{KV: kv.F32, Prompts: []int{0, 3}, Progress: func(done, total int) { last, rows = done, total }})
	require.NoError(t, err)
	assert.Equal(t, 24+23+12+15, rows)
	assert.Equal(t, rows, last)
	assert.Equal(t, rows, r.Rows.Rows)
	assert.Empty(t, r.State, "states were not asked for")
	assert.Nil(t, r.Prompt(1))
	assert.Contains(t, r.Diagnose()[0].Where, "no tensor diverges")
}

func TestTopSetsHaveTheSizeThatIsAskedFor(t *testing.T) {
	m, e := opened(t, "llama-Q4_0.gguf", "llama-Q4_0", engine.Int8)
	same := map[int]int{}
	for _, k := range []int{0, 1, 10, 200} {
		r, err := Replay(context.Background(), m, e, Options{KV: kv.F32, Batch: true, TopK: k})
		require.NoError(t, err)
		same[k] = r.Rows.TopKSame
	}
	assert.Equal(t, same[10], same[0], "ten is the usual size")
	assert.Greater(t, same[1], same[10], "the choice alone is the same more often")
	assert.Less(t, same[200], same[10], "more logits are more near ties")
}

func TestAWrongVocabularyOrAnErrorOfTheCallerEndsTheReplay(t *testing.T) {
	m, e := opened(t, "llama", "llama", engine.Float32)
	enough := errors.New("enough")
	_, err := Replay(context.Background(), m, e, Options{Also: func(_, row int, _ []float32) error {
		if row == 2 {
			return enough
		}
		return nil
	}})
	assert.ErrorIs(t, err, enough)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Replay(ctx, m, e, Options{})
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, `prompt "story-start"`)

	e.Manifest.Prompts[0].IDs[0] = 9999
	_, err = Replay(context.Background(), m, e, Options{})
	assert.ErrorContains(t, err, "outside the vocabulary")
}

func TestRecordedStatesComeBackWithTheirNames(t *testing.T) {
	m, _ := opened(t, "qwen2-Q4_0.gguf", "qwen2-Q4_0", engine.Int8)
	dir := filepath.Join(t.TempDir(), "recording")
	e, err := Record(context.Background(), m, []oracle.Prompt{{Name: "a", IDs: []int32{5, 6, 7}}}, RecordOptions{Tokens: 3, KV: kv.F16, State: true, Nodes: true})
	require.NoError(t, err)
	require.NoError(t, oracle.Save(dir, e))
	loaded, err := oracle.Load(dir)
	require.NoError(t, err)
	defer loaded.Close()
	assert.Equal(t, []int{5, 512}, loaded.Tensor(0, "logits").Shape)
	assert.Equal(t, []int{2, 5, 16}, loaded.Tensor(0, "k.L4").Shape)

	r, err := Replay(context.Background(), m, loaded, Options{KV: kv.F16, State: true})
	require.NoError(t, err)
	assert.Zero(t, r.Rows.Differ)
	for _, d := range r.State[0] {
		assert.Zero(t, d.Differ, d.Name)
	}
	assert.Len(t, r.State[0], 5*2+6+5*len(nodes), "keys and values, the residual stream, every intermediate")
	r, err = Replay(context.Background(), m, loaded, Options{KV: kv.F32, State: true, Diverges: 1e-6})
	require.NoError(t, err)
	assert.Positive(t, r.Rows.Differ, "K/V in another format gives other bits")
	assert.Contains(t, r.FirstNode(0).Name, "kqv_out-0", "where stored keys are read first")
}

func TestTextsAreScoredAndRefused(t *testing.T) {
	m, e := opened(t, "llama", "llama", engine.Float32)
	path := filepath.Join(t.TempDir(), "text.json")
	for says, text := range map[string]string{
		"two at least":       `{"ids": [1], "mean_nll": 1}`,
		"mean_nll (above 0)": `{"ids": [1, 2]}`,
		"unexpected end":     `{"ids": [1, 2`,
		"cannot unmarshal":   `{"ids": "all"}`,
		"invalid character":  `no`,
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err := LoadText(path)
		assert.ErrorContains(t, err, says)
	}
	ids := e.Manifest.Prompts[0].Fed()
	got, err := (&Text{IDs: ids}).Score(context.Background(), m, kv.F32)
	require.NoError(t, err)
	want := 0.0
	row := make([]float32, 512)
	for i := range len(ids) - 1 {
		require.NoError(t, e.Tensor(0, "logits").ReadFloat32(row, i*512))
		want += oracle.NLL(row, ids[i+1])
	}
	assert.InEpsilon(t, want/float64(len(ids)-1), got, 1e-5, "the recorded rows give the same mean")
	_, err = (&Text{IDs: []int32{1, 600}}).Score(context.Background(), m, kv.F32)
	assert.ErrorContains(t, err, "id 600 at 1 of the text")
}
