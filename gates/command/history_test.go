package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/gates/experiment"
	"assay/gates/history"
	"assay/snapshots"
)

// seeded is a store with ten snapshots of one phase, which became faster at the
// sixth.
func seeded(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	store := history.Store{Dir: dir}
	for i := range 10 {
		m := 0.05 + 0.0001*float64(i%3)
		if i >= 5 {
			m /= 1.25
		}
		_, err := store.Add(&snapshots.Report{
			Format: snapshots.ReportFormat, Started: time.Date(2026, 9, 1+i, 12, 0, 0, 0, time.UTC), Command: "validate snapshot", Version: "abc", MachineID: "0123456789ab",
			Results: []snapshots.Result{{Gate: "a", Check: "b", Rung: "bits", Value: "same", Verdict: snapshots.Held}},
			Benches: []*snapshots.Bench{{Threads: 2, Activations: "int8", Model: snapshots.BenchModel{Path: "models/tiny.gguf"}, Runs: []snapshots.Run{{Engine: "assay", Phases: []snapshots.BenchPhase{
				{Phase: "decode", Tokens: 47, Samples: []float64{m}, Median: m, Low: m * 0.99, High: m * 1.01},
			}}}}},
		})
		require.NoError(t, err)
	}
	return dir
}

func TestSnapshotsAreListed(t *testing.T) {
	dir := seeded(t)
	status, out, errs := typed(t, "history", "--store", dir)
	assert.Zero(t, status)
	assert.Empty(t, errs)
	assert.Equal(t, 10, strings.Count(out, "1 held, 0 failed, 0 void"))
	status, out, _ = typed(t, "history", "--store", dir, "--json", "-")
	assert.Zero(t, status)
	var rows []listed
	require.NoError(t, json.Unmarshal([]byte(out), &rows))
	assert.Len(t, rows, 10)
	status, out, _ = typed(t, "history", "--store", t.TempDir())
	assert.Zero(t, status)
	assert.Contains(t, out, "No snapshots in ")
}

func TestPhasesAreFollowedWithTheirChangePoints(t *testing.T) {
	dir := seeded(t)
	svg := filepath.Join(t.TempDir(), "decode.svg")
	status, out, errs := typed(t, "history", "decode", "--store", dir, "--svg", svg)
	assert.Zero(t, status, errs)
	golden(t, "history.txt", out)
	assert.Regexp(t, regexp.MustCompile(`20260906T120000Z-0123456789ab .* from here 1\.25× faster`), out)
	b, err := os.ReadFile(svg)
	require.NoError(t, err)
	assert.Contains(t, string(b), "1.25× faster")
	status, out, _ = typed(t, "history", "decode", "--store", dir, "--json", "-")
	assert.Zero(t, status)
	var rows []followed
	require.NoError(t, json.Unmarshal([]byte(out), &rows))
	require.Len(t, rows, 1)
	assert.Equal(t, 5, rows[0].Changes[0].At)
}

func TestSnapshotsAreSuperseded(t *testing.T) {
	dir := seeded(t)
	status, out, errs := typed(t, "history", "--store", dir, "--supersede", "20260903T120000Z-0123456789ab", "--reason", "the machine was busy")
	assert.Zero(t, status, errs)
	assert.Contains(t, out, "is superseded: the machine was busy")
	_, out, _ = typed(t, "history", "--store", dir)
	assert.Contains(t, out, "superseded: the machine was busy")
}

func TestHistoryRefusesWhatMakesNoSense(t *testing.T) {
	dir := seeded(t)
	for _, c := range []struct{ want, args string }{
		{"--supersede needs a --reason", "--supersede x"},
		{"no snapshot x in", "--supersede x --reason y"},
		{"--svg needs a phase", "--svg x.svg"},
		{"--window 0", "decode --window 0"},
		{`has a phase "nothing"`, "nothing"},
		{`machine ffff has`, "decode --machine ffff"},
	} {
		status, out, errs := typed(t, append([]string{"history", "--store", dir}, strings.Fields(c.args)...)...)
		assert.Equal(t, statusUnanswered, status, c.args)
		assert.Empty(t, out)
		assert.Contains(t, errs, c.want)
	}
	for _, c := range []struct{ want, args string }{
		{"--samples 0", "--samples 0"},
		{"--peer needs --model", "--peer llamacpp"},
		{"missing argument to repetition operator", "--list --match *"},
		{"no such file", "--import nothing.json"},
	} {
		status, _, errs := typed(t, append([]string{"snapshot", "--store", dir}, strings.Fields(c.args)...)...)
		assert.Equal(t, statusUnanswered, status, c.args)
		assert.Contains(t, errs, c.want)
	}
}

func TestEntryPointsAreListedWithTheirState(t *testing.T) {
	status, out, errs := typed(t, "snapshot", "--list", "--queue", "--store", t.TempDir(), "--match", "RMSNorm")
	assert.Zero(t, status, errs)
	assert.Contains(t, out, "kernels/vector.RMSNorm3584 │ never run │ no snapshot has it")
	assert.NotContains(t, out, "Softmax")
}

// quick replaces what takes time by quick answers.
func quick(f *snapshotFlags, ctx func()) {
	f.prepare = func(_ context.Context, _ *shell, f *snapshotFlags) (func(), error) {
		f.hold = func(context.Context) (*snapshots.Report, error) {
			return &snapshots.Report{Results: []snapshots.Result{{Gate: "a", Check: "b", Verdict: snapshots.Held}}}, nil
		}
		f.tell = func(context.Context, *shell) ([]snapshots.Experiment, error) {
			return []snapshots.Experiment{{Name: "x", State: "level", Target: "decode", Ratio: 1, Low: 0.99, High: 1.01}}, nil
		}
		f.large = func(context.Context, string, string) (*snapshots.Bench, error) {
			return &snapshots.Bench{Model: snapshots.BenchModel{Path: "large.gguf"}}, nil
		}
		f.measure.Phases = func(c context.Context, model string) (*snapshots.Bench, error) {
			if ctx != nil {
				ctx()
			}
			return &snapshots.Bench{Model: snapshots.BenchModel{Path: model}, Runs: []snapshots.Run{{Engine: "assay", Phases: []snapshots.BenchPhase{{Phase: "decode", Tokens: history.Evaluations, Median: 1, Low: 1, High: 1, Samples: []float64{1}}}}}}, c.Err()
		}
		f.measure.GoTest = func(c context.Context, args ...string) ([]byte, error) {
			return []byte("pkg: assay/" + strings.TrimPrefix(args[len(args)-1], "./") + "\n"), c.Err()
		}
		return func() {}, nil
	}
}

func taken(t *testing.T, ctx context.Context, f *snapshotFlags) (status int, out string) {
	t.Helper()
	var b bytes.Buffer
	s := &shell{out: &b, err: &b}
	require.NoError(t, f.run(ctx, s), b.String())
	return s.status, b.String()
}

func TestQueueTakesWhatIsDueAndThenNothing(t *testing.T) {
	f := snapshotFlags{store: t.TempDir(), queue: true, gates: true, experiments: true, samples: 6, time: time.Millisecond, match: "phases/", model: "x"}
	quick(&f, nil)
	status, out := taken(t, t.Context(), &f)
	assert.Zero(t, status)
	assert.Contains(t, out, "11 models timed, 0 benchmarks of kernels, 1 experiments")
	assert.Contains(t, out, "/snapshot.md\n")
	all, err := (&history.Store{Dir: f.store}).List()
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, experiment.Here().ID(), all[0].MachineID)
	assert.NotEmpty(t, all[0].Identity)
	status, out = taken(t, t.Context(), &f)
	assert.Zero(t, status)
	assert.Equal(t, "Nothing is due.\n", out)
}

func TestInterruptedSnapshotsKeepWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := snapshotFlags{store: t.TempDir(), gates: true, samples: 6, time: time.Millisecond}
	quick(&f, cancel)
	status, _ := taken(t, ctx, &f)
	assert.Equal(t, statusUnanswered, status)
	all, err := (&history.Store{Dir: f.store}).List()
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Contains(t, all[0].Notes, "interrupted: what was not measured by then is missing")
	assert.Len(t, all[0].Results, 1)
}

func TestReportsOfOtherCommandsAreKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "cross.json")
	here := experiment.Here()
	r := &snapshots.Report{Format: snapshots.ReportFormat, Started: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), Command: "validate cross", Machine: snapshots.Machine{CPU: here.CPU},
		Results: []snapshots.Result{{Gate: "cross/linux-arm64", Check: "build", Value: "compiled", Verdict: snapshots.Failed}}}
	var b bytes.Buffer
	require.NoError(t, snapshots.WriteJSON(&b, r))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	status, _, errs := typed(t, "snapshot", "--import", path, "--store", dir)
	assert.Equal(t, statusFailed, status, errs)
	kept, err := (&history.Store{Dir: dir}).Read("20260901T000000Z-" + here.ID())
	require.NoError(t, err)
	assert.NotEmpty(t, kept.Sources["engine"])

	r.Machine.CPU = "another"
	b.Reset()
	require.NoError(t, snapshots.WriteJSON(&b, r))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	status, _, errs = typed(t, "snapshot", "--import", path, "--store", dir)
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, errs, "taken on another machine")
}

func TestFoldersTellWhatChangedSinceTheirLastReport(t *testing.T) {
	o := outputFlags{folder: t.TempDir()}
	r := &snapshots.Report{Format: snapshots.ReportFormat, Command: "validate", Results: []snapshots.Result{{Gate: "a", Check: "b", Rung: "nmse", Value: "1e-5", Verdict: snapshots.Held}}}
	page := func() string {
		require.NoError(t, o.snapshot(r))
		b, err := os.ReadFile(filepath.Join(o.folder, "report.md"))
		require.NoError(t, err)
		return string(b)
	}
	assert.NotContains(t, page(), "### Since")
	r.Results[0].Value = "2e-5"
	assert.Contains(t, page(), "| 1e-5 | 2e-5 | held")
	assert.FileExists(t, filepath.Join(o.folder, "report.junit.xml"))
}

// The program is built from the tree, and one entry point is really timed.
func TestSnapshotsAreTakenWithTheProgramOfTheTree(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	dir := t.TempDir()
	status, out, errs := typed(t, "snapshot", "--store", dir, "--gates=false", "--match", "phases/llama-Q4_0|ceiling.Int8$", "--samples", "1", "--time", "1ms")
	assert.Contains(t, []int{statusHeld, statusUnanswered}, status, "void on a busy machine: %s%s", out, errs)
	all, err := (&history.Store{Dir: dir}).List()
	require.NoError(t, err)
	require.Len(t, all, 1)
	r := all[0]
	require.Len(t, r.Benches, 1)
	assert.Equal(t, "models/llama-Q4_0.gguf", r.Benches[0].Model.Path)
	assert.Equal(t, r.Version, r.Benches[0].Runs[0].Version)
	assert.NotEmpty(t, r.Kernels)
	assert.NotEmpty(t, r.Experiments)
}
