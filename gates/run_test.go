package gates

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/kernels/cpu"
	"assay/snapshots"
)

func TestGatesOnFixturesHold(t *testing.T) {
	list, err := Load(OnFixtures)
	require.NoError(t, err)
	o := Options{Fixtures: materialised(t)}
	if raceDetector || testing.Short() { // everything is held without the detector
		o.Select = regexp.MustCompile("^(structure|restore)/|^parity/llama-(transformers|F32|Q4_0)$|^invariance/float$")
		o.Levels = []string{cpu.Detected().String()}
	}
	report, err := Run(context.Background(), list, o)
	require.NoError(t, err)
	for _, x := range report.Results {
		switch {
		case x.Gate == "bench/llama-Q4_0":
			assert.Equal(t, snapshots.Missing, x.Verdict, "no benchmark runner was given")
		case x.Verdict == snapshots.Skipped:
			assert.Equal(t, "levels", x.Check, "only a machine with one level may leave a check out")
		default:
			assert.Equal(t, snapshots.Held, x.Verdict, "%s %s on %s: %s\n%s", x.Gate, x.Check, x.Fixture, x.Value, x.Detail)
			assert.NotEmpty(t, x.Value)
			assert.NotEmpty(t, x.Tolerance)
			assert.NotEmpty(t, x.Why)
			assert.NotEmpty(t, x.Rung)
			assert.NotEmpty(t, x.Phase)
		}
	}
}

func TestInterruptedRunTellsWhatWasDone(t *testing.T) {
	list, err := Load(OnFixtures)
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	report, err := Run(ctx, list, Options{Fixtures: materialised(t), Select: regexp.MustCompile("^structure/"), Progress: func(e Event) {
		if e.Done == 3 {
			cancel(enough)
		}
	}})
	var interrupted *InterruptedError
	require.ErrorAs(t, err, &interrupted)
	assert.Equal(t, 3, interrupted.Done)
	assert.ErrorIs(t, err, enough)
	assert.Len(t, report.Results, 15, "three cases with five checks")
}

func TestCancelledReplayIsNoResult(t *testing.T) {
	list, err := Load(OnFixtures)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	report, err := Run(ctx, list, Options{Fixtures: materialised(t), Select: regexp.MustCompile("^parity/llama-transformers$"), Progress: func(e Event) {
		if e.Rows > 0 {
			cancel()
		}
	}})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, report.Results)
	assert.Equal(t, 2, report.ExitStatus())
}

func TestModelOfTheUserIsHeldToItsOwnGates(t *testing.T) {
	dir := materialised(t)
	list, err := Load(OnModel)
	require.NoError(t, err)
	report, err := Run(context.Background(), list, Options{Model: filepath.Join(dir, "models", "qwen2"), Threads: []int{1, 2}})
	require.NoError(t, err)
	assert.Empty(t, details(report, snapshots.Failed))
	assert.Empty(t, details(report, snapshots.Void))
	assert.Zero(t, report.ExitStatus())

	report, err = Run(context.Background(), list, Options{Model: filepath.Join(dir, "models", "none.gguf")})
	require.NoError(t, err)
	assert.Equal(t, 2, report.ExitStatus(), "a file that cannot be opened leaves the questions open")
	assert.Contains(t, details(report, snapshots.Void), "none.gguf")
}

func TestRecordingsChooseTheirRung(t *testing.T) {
	dir := materialised(t)
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	for _, c := range []struct {
		model, evidence string
		asked           Asked
		mode, tolerance string
	}{
		{"llama", "llama", Asked{}, "int8", "|difference| ≤ 0.002"},
		{"llama-Q4_0.gguf", "llama-Q4_0", Asked{}, "int8", "mean KL ≤ 0.01, top-1 ≥ 93 %, flips up to margin 1.5"},
		{"llama-Q4_0.gguf", "llama-Q4_0", Asked{MeanKL: 3e-4}, "int8", "mean KL ≤ 0.0003, top-1 ≥ 93 %, flips up to margin 1.5"},
		{"llama-Q4_0.gguf", "llama-Q4_0", Asked{Rung: "ids", Activations: "float32"}, "float32", "same ids"},
		{"llama-F32.gguf", "llama-F32", Asked{Rung: "bits"}, "int8", "same bits"},
	} {
		list, err := ForRecording(at("models", c.model), at("evidence", c.evidence), c.asked)
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, []string{c.mode}, list[0].Activations)
		assert.Equal(t, c.tolerance, describe(list[0].Checks[0].Tolerance), "%s %+v", c.model, c.asked)
	}
	_, err := ForRecording(at("models", "llama"), at("evidence", "llama"), Asked{Rung: "best"})
	assert.ErrorContains(t, err, `rung "best"`)
	_, err = ForRecording(at("models", "llama"), at("evidence", "none"), Asked{})
	assert.ErrorIs(t, err, os.ErrNotExist)
}
