package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/engine/decoder"
	"assay/engine/kv"
	"assay/engine/sample"
	"assay/kernels/cpu"
	"assay/kernels/race"
)

const tiny = "../fixtures/models/llama-Q4_0.gguf"

var story = []int32{504, 411, 298, 266, 259, 445, 447, 348, 258, 497, 473, 13, 488, 385, 328, 64, 281, 305, 13, 330, 463, 357, 258, 402}

func open(t testing.TB, path string, o Options) *Model {
	t.Helper()
	m, err := Open(context.Background(), path, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	return m
}

func session(t testing.TB, m *Model, o SessionOptions) *Session {
	t.Helper()
	s, err := m.NewSession(o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// bits is the exact state of a session.
func bits(s *Session) []uint32 {
	var b []uint32
	add := func(x []float32) {
		for _, v := range x {
			b = append(b, math.Float32bits(v))
		}
	}
	add(s.Logits())
	for l := range s.model.spec.Layers {
		k, v, _ := s.KeyValue(l)
		add(k)
		add(v)
	}
	return b
}

func TestPiecesThreadsAndLevelsChangeNoBit(t *testing.T) {
	ctx := context.Background()
	paths := []string{tiny, "../fixtures/models/llama-Q8_0.gguf", "../fixtures/models/llama-256-Q6_K.gguf", "../fixtures/models/llama", "../fixtures/models/qwen2-Q4_0.gguf"}
	if testing.Short() {
		paths = paths[:1] // under an emulator; the golden bits cover every format there
	}
	for _, path := range paths {
		for _, mode := range []Activations{Int8, Float32} {
			var want []uint32
			for _, level := range cpu.Supported() {
				if race.Enabled && level == cpu.Scalar {
					continue // minutes under the detector; the jobs are the same
				}
				for _, threads := range []int{1, 2, 3} {
					m := open(t, path, Options{Threads: threads, CPU: level.String(), Activations: mode})
					for _, chunk := range []int{0, 1, 7, 64} {
						s := session(t, m, SessionOptions{Chunk: chunk})
						require.NoError(t, s.Prefill(ctx, story))
						if want == nil {
							want = bits(s)
							continue
						}
						require.Equal(t, want, bits(s), "%s %s: level %s, %d threads, pieces of %d", path, mode, level, threads, chunk)
					}
				}
			}
		}
	}
}

func TestTheFastestLevelOfThisMachineRuns(t *testing.T) {
	t.Setenv("ASSAY_CPU", "")
	m := open(t, tiny, Options{})
	assert.Equal(t, cpu.Detected(), m.Level())
	for format, kernel := range m.Kernels() {
		if cpu.Detected() > cpu.Scalar {
			assert.NotEqual(t, "scalar", kernel, "%s fell back", format)
		}
	}
}

func TestAForcedLevelRunsAndAnUnknownOneIsRefused(t *testing.T) {
	t.Setenv("ASSAY_CPU", "scalar")
	m := open(t, tiny, Options{})
	assert.Equal(t, cpu.Scalar, m.Level())
	for _, kernel := range m.Kernels() {
		assert.Equal(t, "scalar", kernel)
	}
	var unknown *cpu.UnknownLevelError
	_, err := Open(context.Background(), tiny, Options{CPU: "sse9"})
	require.ErrorAs(t, err, &unknown)
	assert.Contains(t, err.Error(), "scalar")
}

func TestRestoreGivesTheBitsOfFeeding(t *testing.T) {
	ctx := context.Background()
	for _, typ := range []kv.Type{kv.F16, kv.F32} {
		m := open(t, tiny, Options{Threads: 2})
		s := session(t, m, SessionOptions{KV: typ})
		require.NoError(t, s.Prefill(ctx, story))
		snap := s.Checkpoint()
		want := bits(s)
		for _, id := range []int32{302, 338, 79} {
			require.NoError(t, s.Decode(ctx, id))
		}
		after := bits(s)
		other := session(t, m, SessionOptions{KV: typ, Context: 40})
		require.NoError(t, other.Prefill(ctx, story[:5]))
		for _, into := range []*Session{s, other} {
			require.NoError(t, into.Restore(snap))
			assert.Equal(t, len(story), into.Position())
			require.Equal(t, want, bits(into))
			for _, id := range []int32{302, 338, 79} {
				require.NoError(t, into.Decode(ctx, id))
			}
			require.Equal(t, after, bits(into))
		}
	}
}

func TestASnapshotFitsOnlyItsModelAndFormat(t *testing.T) {
	m, n := open(t, tiny, Options{}), open(t, tiny, Options{})
	s := session(t, m, SessionOptions{})
	require.NoError(t, s.Prefill(context.Background(), story))
	snap := s.Checkpoint()
	assert.Error(t, session(t, n, SessionOptions{}).Restore(snap))
	assert.Error(t, session(t, m, SessionOptions{KV: kv.F32}).Restore(snap))
	assert.Error(t, session(t, m, SessionOptions{Context: 16}).Restore(snap))
}

func TestPhasesHaveExactCounts(t *testing.T) {
	ctx := context.Background()
	m := open(t, tiny, Options{})
	s := session(t, m, SessionOptions{})
	prompt := make([]int32, 124)
	require.NoError(t, s.Prefill(ctx, prompt))
	pick := func(x []float32) int32 {
		id, err := sample.Greedy(x)
		require.NoError(t, err)
		return id
	}
	ids := []int32{s.Choose(pick)}
	for len(ids) < 48 {
		require.NoError(t, s.Decode(ctx, ids[len(ids)-1]))
		ids = append(ids, s.Choose(pick))
	}
	count := map[string]int{}
	for _, p := range append(m.LoadPhases(), s.Phases()...) {
		count[p.Name] = p.Tokens
		assert.Positive(t, p.Duration, p.Name)
	}
	assert.Equal(t, map[string]int{PhaseLoad: 0, PhasePrepare: 0, PhasePrompt: 124, PhaseBoundary: 1, PhaseDecode: 47}, count)
	require.NoError(t, s.Restore(s.Checkpoint()))
	phases := s.Phases()
	assert.Equal(t, PhaseRestore, phases[len(phases)-1].Name)
	assert.Equal(t, 171, phases[len(phases)-1].Tokens)
}

func TestDecodeAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	for _, threads := range []int{1, 2} {
		m := open(t, tiny, Options{Threads: threads})
		s := session(t, m, SessionOptions{})
		require.NoError(t, s.Prefill(ctx, story))
		require.NoError(t, s.Decode(ctx, 1))
		assert.Zero(t, testing.AllocsPerRun(50, func() { _ = s.Decode(ctx, 302) }), "%d threads", threads)
	}
}

func TestBadIDsAndFullContextsAreTypedErrorsThatChangeNothing(t *testing.T) {
	ctx := context.Background()
	m := open(t, tiny, Options{})
	s := session(t, m, SessionOptions{Context: 32})
	require.NoError(t, s.Prefill(ctx, story))
	want := bits(s)
	var token *TokenError
	require.ErrorAs(t, s.Prefill(ctx, []int32{3, 512}), &token)
	assert.Equal(t, TokenError{ID: 512, Index: 1, Vocab: 512}, *token)
	require.ErrorAs(t, s.Decode(ctx, -1), &token)
	var full *ContextFullError
	require.ErrorAs(t, s.Prefill(ctx, make([]int32, 9)), &full)
	assert.Equal(t, ContextFullError{Used: 24, Asked: 9, Capacity: 32}, *full)
	assert.Equal(t, want, bits(s))
}

func TestContextsBeyondAllMemoryAreRefused(t *testing.T) {
	m := open(t, tiny, Options{})
	for _, n := range []int{-1, 1 << 30, 1 << 60, math.MaxInt} {
		_, err := m.NewSession(SessionOptions{Context: n})
		assert.ErrorContains(t, err, fmt.Sprint(n))
	}
}

func TestCancellationStopsBetweenLayersAndKeepsTheState(t *testing.T) {
	m := open(t, tiny, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	layers := 0
	s := session(t, m, SessionOptions{Chunk: 8, Observer: &Observer{Hidden: func(layer, pos int, _ []float32) {
		if pos == 15 && layer == 1 {
			layers = layer
			cancel()
		}
		assert.False(t, pos >= 8 && layer > 1, "went on after the cancellation")
	}}})
	err := s.Prefill(ctx, story)
	require.True(t, errors.Is(err, context.Canceled))
	assert.Equal(t, 1, layers)
	assert.Equal(t, 8, s.Position(), "the first piece is kept")
}

func TestClosedModelsAndSessionsSaySo(t *testing.T) {
	m, err := Open(context.Background(), tiny, Options{})
	require.NoError(t, err)
	s, err := m.NewSession(SessionOptions{})
	require.NoError(t, err)
	closed, err := m.NewSession(SessionOptions{})
	require.NoError(t, err)
	require.NoError(t, closed.Prefill(context.Background(), story))
	snapshot := closed.Checkpoint()
	require.NoError(t, closed.Close())
	assert.ErrorIs(t, closed.Decode(context.Background(), 1), ErrClosed)
	assert.ErrorIs(t, closed.Restore(snapshot), ErrClosed)
	k, v, positions := closed.KeyValue(0)
	assert.Empty(t, k)
	assert.Empty(t, v)
	assert.Zero(t, positions)
	assert.Zero(t, closed.Checkpoint().Position())
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	assert.ErrorIs(t, s.Decode(context.Background(), 1), ErrClosed)
	_, err = m.NewSession(SessionOptions{})
	assert.ErrorIs(t, err, ErrClosed)
	require.NoError(t, s.Close())
}

func TestSessionsOfOneModelRunSideBySide(t *testing.T) {
	m := open(t, tiny, Options{Threads: 2})
	want := session(t, m, SessionOptions{})
	require.NoError(t, want.Prefill(context.Background(), story))
	var wg sync.WaitGroup
	for range 4 {
		s := session(t, m, SessionOptions{})
		wg.Go(func() {
			for i, id := range story {
				if err := s.Decode(context.Background(), id); err != nil {
					t.Errorf("id %d: %v", i, err)
				}
			}
			assert.Equal(t, bits(want), bits(s))
		})
	}
	wg.Wait()
}

func TestAWindowHidesEarlierPositions(t *testing.T) {
	ctx := context.Background()
	m := open(t, tiny, Options{Alter: func(s *decoder.Spec) { s.Window = 8 }})
	s, u := session(t, m, SessionOptions{}), session(t, m, SessionOptions{Chunk: 1})
	require.NoError(t, s.Prefill(ctx, story))
	require.NoError(t, u.Prefill(ctx, story))
	require.Equal(t, bits(s), bits(u), "pieces change no bit with a window either")
	whole := session(t, open(t, tiny, Options{}), SessionOptions{})
	require.NoError(t, whole.Prefill(ctx, story))
	assert.NotEqual(t, bits(whole), bits(s))
}
