package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/fixtures"
	"assay/kernels/ceiling"
	"assay/oracle/llamacpp"
	"assay/snapshots"
)

// TestMain lets the test binary be the child process of a sample.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		serve := map[string]func() error{
			ChildArgument:          func() error { return Serve(context.Background(), os.Stdin, os.Stdout) },
			llamacpp.ServeArgument: func() error { return llamacpp.Serve(context.Background(), os.Stdin, os.Stdout) },
			"crash":                func() error { return errors.New("as it was asked to") },
			"nothing":              func() error { return nil },
		}[os.Args[1]]
		if serve != nil {
			if err := serve(); err != nil {
				os.Stderr.WriteString(err.Error())
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

func tiny(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, fixtures.Materialise(dir))
	return filepath.Join(dir, "models", "llama-Q4_0.gguf")
}

// roomy are ceilings that no test machine reaches.
func roomy(o ceiling.Options) (ceiling.Figures, error) {
	return ceiling.Figures{Level: o.Level, Threads: o.Threads, ReadGBs: 1e6, Int8GMACs: 1e9}, nil
}

// echo is a peer that takes twice our time.
type echo struct{}

func (e echo) Name() string { return "echo" }

func (e echo) Sample(ctx context.Context, j Job) (*Sample, error) {
	s, err := Once(ctx, j)
	if err != nil {
		return nil, err
	}
	peer := &Sample{Version: "echo 1", PeakRSS: 7}
	for _, t := range s.Timings {
		if t.Phase == "load" || t.Phase == "prompt" || t.Phase == "decode" {
			t.Seconds *= 2
			peer.Timings = append(peer.Timings, t)
		}
	}
	return peer, nil
}

func TestCompletePhasesHaveExactCounts(t *testing.T) {
	b, err := Run(t.Context(), Options{Foreign: 9,
		Model: tiny(t), Prompt: 20, Decode: 5, Samples: 6, Threads: 1, Inside: true, Peer: echo{}, Ceilings: roomy, Version: "v",
		Machine: snapshots.Machine{CPU: "test"},
	})
	require.NoError(t, err)
	require.Len(t, b.Runs, 2)
	counts := map[string]int{}
	for _, p := range b.Runs[0].Phases {
		counts[p.Phase] = p.Tokens
		assert.Len(t, p.Samples, 6, p.Phase)
		assert.LessOrEqual(t, p.Low, p.Median)
		assert.GreaterOrEqual(t, p.High, p.Median)
		assert.Empty(t, p.Void, p.Phase)
	}
	assert.Equal(t, map[string]int{"load": 0, "prepare": 0, "prompt": 20, "boundary": 1, "decode": 5, "restore": 20}, counts)
	assert.Equal(t, "assay-bench/1", b.Format)
	assert.Equal(t, "int8", b.Activations)
	assert.Equal(t, "llama", b.Model.Family)
	assert.Equal(t, "v", b.Runs[0].Version)
	assert.Equal(t, "echo 1", b.Runs[1].Version)
	assert.Equal(t, b.Runs[0].IDsSHA256, b.Runs[1].IDsSHA256)
	assert.Len(t, b.Model.SHA256, 64)
	assert.Positive(t, b.Model.WeightsPerTokenBytes)
	assert.Positive(t, b.Model.MACsPerToken)
	assert.Equal(t, 1e6, b.Machine.ReadGBs)
	var phases []string
	for _, r := range b.Ratios {
		phases = append(phases, r.Phase)
		assert.Equal(t, "assay/echo", r.Of)
		assert.Positive(t, r.Speedup)
	}
	assert.Equal(t, []string{"load+prepare", "prompt", "decode"}, phases)
}

func TestSamplesAreInterleaved(t *testing.T) {
	var order []string
	_, err := Run(t.Context(), Options{
		Model: tiny(t), Prompt: 2, Decode: 1, Samples: 3, Threads: 1, Inside: true, Peer: echo{}, Ceilings: roomy,
		Progress: func(_, _ int, engine string) { order = append(order, engine) },
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"assay", "echo", "echo", "assay", "assay", "echo", ""}, order)
}

func TestSamplesInFreshProcessesTellTheirPeak(t *testing.T) {
	b, err := Run(t.Context(), Options{Model: tiny(t), Prompt: 9, Decode: 2, Samples: 2, Threads: 1, Ceilings: roomy, Foreign: 9})
	require.NoError(t, err)
	require.Len(t, b.Runs, 1)
	if peakRSS() > 0 {
		assert.Positive(t, b.Runs[0].PeakRSSBytes)
	}
	assert.Empty(t, b.Ratios)
	assert.Contains(t, strings.Join(b.Warnings, "\n"), "2 samples: an interval needs 6")
}

func TestProcessesThatDoNotAnswerAreErrors(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for argument, want := range map[string]string{"crash": "as it was asked to", "nothing": "answer of a sample's process"} {
		_, err := Run(t.Context(), Options{Model: tiny(t), Prompt: 2, Samples: 1, Ceilings: roomy, Command: []string{self, argument}})
		assert.ErrorContains(t, err, want)
	}
}

func TestWhatCannotBeTimedIsRefused(t *testing.T) {
	model := tiny(t)
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"model":       {Options{Model: filepath.Join(t.TempDir(), "none.gguf")}, "none.gguf"},
		"level":       {Options{Model: model, CPU: "abacus"}, "abacus"},
		"activations": {Options{Model: model, Activations: "int3"}, "int3"},
		"context":     {Options{Model: model, Prompt: 1 << 20}, "context of the model"},
		"negative":    {Options{Model: model, Prompt: -1}, "negative"},
	} {
		c.o.Ceilings = roomy
		_, err := Run(t.Context(), c.o)
		assert.ErrorContains(t, err, c.want, name)
	}
	_, err := NewPeer("abacus", nil)
	assert.ErrorContains(t, err, "abacus")
	assert.ErrorContains(t, Serve(t.Context(), strings.NewReader("{"), &bytes.Buffer{}), "job")
}

func TestCancelledRunsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, Options{Model: tiny(t), Prompt: 2, Samples: 1, Ceilings: roomy})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestIDsAreTheSameEverywhere(t *testing.T) {
	assert.Equal(t, IDs(5, 1000), IDs(5, 1000))
	assert.Equal(t, IDs(9, 1000)[:5], IDs(5, 1000))
	for _, id := range IDs(1000, 3) {
		assert.True(t, id >= 0 && id < 3)
	}
	assert.Equal(t, idsSum([]int32{1, 2}, []int32{3}), idsSum([]int32{1, 2, 3}))
}

func TestLivePeerRunsOnTheSameFile(t *testing.T) {
	if _, err := llamacpp.Find(); err != nil {
		t.Skip(err)
	}
	peer, err := NewPeer(LlamaCpp, nil)
	require.NoError(t, err)
	b, err := Run(t.Context(), Options{Model: tiny(t), Prompt: 16, Decode: 3, Samples: 2, Threads: 2, Peer: peer, Ceilings: roomy, Foreign: 9})
	require.NoError(t, err)
	require.Len(t, b.Runs, 2)
	assert.Equal(t, "llamacpp", b.Runs[1].Engine)
	assert.NotEmpty(t, b.Runs[1].Version)
	assert.Len(t, b.Ratios, 3)
}
