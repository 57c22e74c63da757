package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"assay/fixtures"
	"assay/gates"
	"assay/gates/bench"
	"assay/gates/ledger"
	"assay/oracle/llamacpp"
	"assay/snapshots"
)

// TestMain lets the test binary be the child process of samples and of the oracle.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && (os.Args[1] == bench.ChildArgument || os.Args[1] == llamacpp.ServeArgument) {
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// typed runs one command line.
func typed(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return status, o.String(), e.String()
}

func tinyModel(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, fixtures.Materialise(dir))
	return filepath.Join(dir, "models", "llama-Q4_0.gguf")
}

func TestBenchWritesEveryForm(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	t.Setenv("GITHUB_STEP_SUMMARY", at("summary"))
	status, out, errs := typed(t, "bench", "--foreign", "9", "--model", tinyModel(t), "--prompt", "8", "--decode", "2", "--samples", "2", "--threads", "1",
		"--json", at("json"), "--bench", at("bench"), "--markdown", at("md"))
	require.Empty(t, errs)
	for _, phase := range []string{"load", "prepare", "prompt", "boundary", "decode", "restore"} {
		assert.Contains(t, out, "\n"+phase+" ")
	}
	raw, err := os.ReadFile(at("json"))
	require.NoError(t, err)
	var b snapshots.Bench
	require.NoError(t, json.Unmarshal(raw, &b))
	assert.Equal(t, "assay-bench/1", b.Format)
	assert.Positive(t, b.Machine.ReadGBs)
	assert.Positive(t, b.Machine.Int8GMACs)
	assert.Equal(t, b.Void(), status == statusUnanswered)
	assert.Equal(t, !b.Void(), status == statusHeld)

	raw, err = os.ReadFile(at("bench"))
	require.NoError(t, err)
	n := 0
	for r := benchfmt.NewReader(bytes.NewReader(raw), "bench"); r.Scan(); {
		if _, ok := r.Result().(*benchfmt.Result); ok {
			n++
		}
	}
	assert.GreaterOrEqual(t, n, 8)
	markdown, err := os.ReadFile(at("md"))
	require.NoError(t, err)
	summary, err := os.ReadFile(at("summary"))
	require.NoError(t, err)
	assert.Equal(t, string(markdown), string(summary))
}

func TestBenchRefusesWhatMakesNoSense(t *testing.T) {
	model := filepath.Join(materialised(t), "models", "llama-Q4_0.gguf")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"bench"}, "--model is missing"},
		{[]string{"bench", "--model", "x", "--peer", "abacus"}, `unknown peer "abacus"`},
		{[]string{"bench", "--model", "x", "--prompt", "0"}, "at least one id"},
		{[]string{"bench", "--model", "x", "--samples", "many"}, "invalid argument"},
		{[]string{"bench", "--model", filepath.Join(t.TempDir(), "none.gguf")}, "none.gguf"},
		{[]string{"bench", "--model", model, "--prompt", "9223372036854775807"}, "more than the context"},
		{[]string{"bench", "--model", model, "--decode", "9223372036854775807"}, "more than the context"},
		{[]string{"bench", "--model", model, "--threads", "100000"}, "at most 1024"},
		{[]string{"bench", "--model", model, "--json", t.TempDir()}, "is a folder"},
		{[]string{"calibrate", "--threads", "-1"}, "nothing negative"},
	} {
		status, out, errs := typed(t, c.args...)
		assert.Equal(t, statusUnanswered, status, c.args)
		assert.Empty(t, out, c.args)
		assert.Contains(t, errs, c.want, c.args)
	}
}

func TestMissingPeerIsNamed(t *testing.T) {
	t.Setenv(llamacpp.Environment, t.TempDir())
	status, _, errs := typed(t, "bench", "--model", tinyModel(t), "--prompt", "4", "--decode", "1", "--samples", "1", "--peer", "llamacpp")
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, errs, "not available")
}

func TestCalibrationIsPrintedAndStored(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("HOME", dir)
	status, out, errs := typed(t, "calibrate", "--foreign", "9", "--prompt", "4", "--decode", "1", "--samples", "2", "--threads", "1")
	require.Empty(t, errs)
	assert.Equal(t, statusHeld, status)
	assert.Contains(t, out, "read bandwidth")
	assert.Contains(t, out, "noise floor")
	path, err := bench.CalibrationPath()
	require.NoError(t, err)
	c, err := bench.LoadCalibration(path)
	require.NoError(t, err)
	assert.Positive(t, c.Machine.ReadGBs)
	assert.Len(t, c.Noise, 3)
}

func TestSmallBenchmarkServesTheGates(t *testing.T) {
	b, err := benchRunner(t.Context(), tinyModel(t), gates.BenchOptions{Threads: 1, Activations: "int8", Prompt: 6, Decode: 2, Samples: 2})
	require.NoError(t, err)
	require.Len(t, b.Runs, 1)
	assert.Len(t, b.Runs[0].Phases, 6)
}

func TestLedgersAreWrittenThenUpToDate(t *testing.T) {
	root := t.TempDir()
	var out bytes.Buffer
	s := &shell{out: &out}
	require.NoError(t, ledgers(s, root, true))
	assert.Equal(t, statusFailed, s.status)
	assert.Contains(t, out.String(), "validation-gates.md: stale: there is no such file")
	s.status = statusHeld
	require.NoError(t, ledgers(s, root, false))
	out.Reset()
	require.NoError(t, ledgers(s, root, true))
	assert.Equal(t, statusHeld, s.status)
	assert.Contains(t, out.String(), "validation-gates.md: up to date")
	for _, l := range ledger.All() {
		assert.Contains(t, out.String(), l.Name)
	}
}
