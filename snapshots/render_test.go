package snapshots

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, render func(w io.Writer) error) string {
	t.Helper()
	var first, again bytes.Buffer
	require.NoError(t, render(&first))
	require.NoError(t, render(&again))
	require.Equal(t, first.String(), again.String(), "the same data must give the same bytes")
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, first.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update")
	assert.Equal(t, string(want), first.String())
	return first.String()
}

func machine() Machine {
	return Machine{CPU: "Example CPU 9000", Cores: 2, Level: "avx2", Go: "go1.26.0", GOMAXPROCS: 2, OS: "linux/amd64", ReadGBs: 17.1, Int8GMACs: 250, Threads: 2}
}

func bench() *Bench {
	six := func(s ...float64) []float64 { return s }
	return &Bench{
		Format: BenchFormat, Machine: machine(), Threads: 2, Activations: "int8",
		Model: BenchModel{Path: "models/tiny-Q4_0.gguf", SHA256: strings.Repeat("ab", 32), Family: "llama", Format: "Q4_0", Bytes: 98 << 20, WeightsPerTokenBytes: 9e7, MACsPerToken: 1.3e8},
		Runs: []Run{
			{Engine: "assay", Version: "0123456789ab", IDsSHA256: "cd", PeakRSSBytes: 150 << 20, Phases: []BenchPhase{
				{Phase: "load", Samples: six(0.010, 0.011, 0.012, 0.010, 0.011, 0.013), Median: 0.011, Low: 0.010, High: 0.013, Ceiling: "none"},
				{Phase: "prepare", Samples: six(0.1, 0.1, 0.1, 0.1, 0.1, 0.1), Median: 0.1, Low: 0.1, High: 0.1, Ceiling: "none"},
				{Phase: "prompt", Tokens: 124, Samples: six(0.20, 0.21, 0.22, 0.20, 0.21, 0.23), Median: 0.21, Low: 0.20, High: 0.23, TokensPerSec: 590.476, Ceiling: "int8", OfCeiling: 0.61},
				{Phase: "boundary", Tokens: 1, Samples: six(1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5), Median: 1e-5, Low: 1e-5, High: 1e-5, Ceiling: "none"},
				{Phase: "decode", Tokens: 47, Samples: six(0.5, 0.5, 0.5, 0.5, 0.5, 0.5), Median: 0.5, Low: 0.5, High: 0.5, TokensPerSec: 94, Ceiling: "bandwidth", OfCeiling: 0.49},
				{Phase: "restore", Tokens: 124, Samples: six(1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4), Median: 1e-4, Low: 1e-4, High: 1e-4, Ceiling: "none", Void: "sample 3 gave other logits than the first"},
			}},
			{Engine: "llamacpp", Version: "b1, ggml 2, haswell", IDsSHA256: "cd", PeakRSSBytes: 260 << 20, Phases: []BenchPhase{
				{Phase: "load", Samples: six(0.2, 0.2, 0.2, 0.2, 0.2, 0.2), Median: 0.2, Low: 0.2, High: 0.2, Ceiling: "none"},
				{Phase: "prompt", Tokens: 124, Samples: six(0.42, 0.42, 0.42, 0.42, 0.42, 0.42), Median: 0.42, Low: 0.42, High: 0.42, TokensPerSec: 295.238, Ceiling: "int8", OfCeiling: 0.3},
				{Phase: "decode", Tokens: 47, Samples: six(0.75, 0.75, 0.75, 0.75, 0.75, 0.75), Median: 0.75, Low: 0.75, High: 0.75, TokensPerSec: 62.667, Ceiling: "bandwidth", OfCeiling: 0.33},
			}},
		},
		Ratios: []Ratio{
			{Phase: "load+prepare", Of: "assay/llamacpp", Speedup: 1.8, Low: 1.7, High: 1.82},
			{Phase: "prompt", Of: "assay/llamacpp", Speedup: 2, Low: 1.83, High: 2.1},
			{Phase: "decode", Of: "assay/llamacpp", Speedup: 1.5, Low: 1.5, High: 1.5},
		},
		Warnings: []string{"the machine was busy with other work during 1 of 12 samples (up to 14 % of its CPUs): do not trust these times"},
	}
}

func report() *Report {
	float := "two orders of the same sums differ by 1.2e-5; ten times that leaves room for other orders, and single mistakes move logits by 0.03 and more"
	return &Report{
		Format: ReportFormat, Started: time.Date(2026, 9, 8, 12, 30, 0, 0, time.UTC), Seconds: 12.345, Command: "validate", Version: "0123456789ab", Machine: machine(), Bench: bench(),
		Results: []Result{
			{Gate: "parity/llama", Check: "ids", Fixture: "llama float32 K/V f32", Phase: "prompt,decode", Rung: "ids", Value: "512 of 512 equal", Tolerance: "all equal", Why: "the smallest recorded margin is 0.02", Verdict: Held, Seconds: 0.5},
			{Gate: "parity/llama", Check: "logits", Fixture: "llama float32 K/V f32", Phase: "prompt,decode", Rung: "nmse", Value: "largest difference 0.0312 at prompt 1, position 17", Tolerance: "max abs 1e-4", Why: float, Verdict: Failed, Seconds: 0.5,
				Detail: "k.L0 diverges first; everything before it agrees: hidden.embed\n  512 of 1024 values differ | largest 0.5 at layer 0 <head 1>\nhint: the rotary pairing is swapped"},
			{Gate: "parity/qwen2", Check: "logits", Fixture: "qwen2", Rung: "nmse", Value: "9.1e-6", Tolerance: "max abs 1e-4", Why: float, Verdict: Held, Seconds: 0.25},
			{Gate: "bench/tiny", Check: "phases", Value: "not measured", Verdict: Void, Detail: "prompt: error of measurement: 120 % of the int8 ceiling"},
			{Gate: "parity/live", Check: "logits", Fixture: "smollm2", Value: "not measured", Verdict: Missing, Detail: "llamacpp: not available"},
			{Gate: "parity/real", Check: "logits", Value: "", Verdict: Skipped},
		},
	}
}

func TestTableGolden(t *testing.T) {
	s := golden(t, "report.txt", func(w io.Writer) error { return WriteTable(w, report()) })
	for line := range strings.Lines(s) {
		assert.Equal(t, strings.TrimRight(line, " \n"), strings.TrimSuffix(line, "\n"), "no spaces at the end")
		assert.LessOrEqual(t, len([]rune(line)), 160)
	}
}

func TestMarkdownGolden(t *testing.T) {
	golden(t, "report.md", func(w io.Writer) error { return WriteMarkdown(w, report()) })
}

func TestHeadlinesFollowTheExitStatus(t *testing.T) {
	r := &Report{}
	assert.Equal(t, "nothing was answered", headline(r))
	r.Results = []Result{{Verdict: Held}, {Verdict: Skipped}}
	assert.Equal(t, "all held", headline(r))
	r.Results = append(r.Results, Result{Verdict: Void})
	assert.Equal(t, "1 void", headline(r))
	r.Results = append(r.Results, Result{Verdict: Failed})
	assert.Equal(t, "1 failed", headline(r))
}

func TestJSONGoldenReadsBack(t *testing.T) {
	s := golden(t, "report.json", func(w io.Writer) error { return WriteJSON(w, report()) })
	var back Report
	require.NoError(t, json.Unmarshal([]byte(s), &back))
	assert.Equal(t, report(), &back)
}

func TestBenchJSONHasTheDocumentedFields(t *testing.T) {
	s := golden(t, "bench.json", func(w io.Writer) error { return WriteBenchJSON(w, bench()) })
	var back map[string]any
	require.NoError(t, json.Unmarshal([]byte(s), &back))
	assert.Equal(t, "assay-bench/1", back["format"])
	for _, key := range []string{"machine", "model", "threads", "activations", "runs", "ratios"} {
		assert.Contains(t, back, key)
	}
}

func TestJUnitGoldenIsXMLWithEveryCheck(t *testing.T) {
	s := golden(t, "report.xml", func(w io.Writer) error { return WriteJUnit(w, report()) })
	var back junitSuites
	require.NoError(t, xml.Unmarshal([]byte(s), &back))
	assert.Equal(t, 6, back.Tests)
	assert.Equal(t, 1, back.Failures)
	assert.Equal(t, 1, back.Errors)
	assert.Equal(t, 2, back.Skipped)
	require.Len(t, back.Suites, 5)
	assert.Contains(t, back.Suites[0].Cases[1].Failure.Text, "rotary pairing is swapped")
	assert.Contains(t, back.Suites[3].Cases[0].Skipped.Message, "not available")
}

func TestJUnitSurvivesControlCharacters(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteJUnit(&b, &Report{Results: []Result{{Gate: "a", Value: "\x00\x1b]]>&<", Verdict: Failed}}}))
	require.NoError(t, xml.Unmarshal(b.Bytes(), &junitSuites{}))
}

func TestBenchGolden(t *testing.T) {
	golden(t, "bench.txt", func(w io.Writer) error { return WriteBench(w, bench()) })
	alone := bench()
	alone.Runs, alone.Ratios, alone.Warnings = alone.Runs[:1], nil, nil
	golden(t, "bench-alone.txt", func(w io.Writer) error { return WriteBench(w, alone) })
}

func TestGoBenchmarkFormatReadsBack(t *testing.T) {
	s := golden(t, "bench.gobench", func(w io.Writer) error { return WriteGoBench(w, bench()) })
	r := benchfmt.NewReader(strings.NewReader(s), "bench")
	samples := map[string]int{}
	for r.Scan() {
		switch x := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("%s", x)
		case *benchfmt.Result:
			samples[x.Name.String()]++
			assert.Equal(t, "linux", x.GetConfig("goos"))
			assert.Equal(t, "Q4_0", x.GetConfig("format"))
			seconds, ok := x.Value("sec/op")
			assert.True(t, ok)
			assert.Positive(t, seconds)
		}
	}
	require.NoError(t, r.Err())
	assert.Equal(t, 1, r.Units().GetBetter("tok/s"))
	assert.Equal(t, map[string]int{
		"Load/engine=assay-2": 6, "Prepare/engine=assay-2": 6, "Prompt/tokens=124/engine=assay-2": 6, "Boundary/tokens=1/engine=assay-2": 6,
		"Decode/tokens=47/engine=assay-2": 6, "Load/engine=llamacpp-2": 6, "Prompt/tokens=124/engine=llamacpp-2": 6, "Decode/tokens=47/engine=llamacpp-2": 6,
	}, samples, "the void phase is left out")
}

func TestPhasesTellResultsApart(t *testing.T) {
	r := &Report{Results: []Result{{Gate: "a", Check: "phases", Phase: "prompt"}, {Gate: "a", Check: "phases", Phase: "decode"}, {Gate: "b", Check: "phases", Phase: "load"}}}
	assert.Equal(t, []string{"phases prompt", "phases decode", "phases"}, []string{r.check(0), r.check(1), r.check(2)})
}

func TestReasonsNameAFewOfTheirGates(t *testing.T) {
	var results []Result
	for _, gate := range []string{"a", "b", "c", "d", "a"} {
		results = append(results, Result{Gate: gate, Check: "ids", Tolerance: "same", Why: "so"})
	}
	assert.Equal(t, "ids of a, b, c (same)", reasonsOf(results[:3])[0].title())
	all := reasonsOf(append(results, Result{Gate: "a", Check: "kv", Why: "other"}, Result{Gate: "x"}))
	require.Len(t, all, 2)
	assert.Equal(t, "ids of a, b and 2 more gates (same)", all[0].title())
	assert.Equal(t, "kv of a", all[1].title())
}

func TestTextIsWrappedButDiagnosesAreNot(t *testing.T) {
	long := strings.Repeat("word ", 60)
	for line := range strings.Lines(indent(long, "    ")) {
		assert.LessOrEqual(t, len(line), textWidth+1)
		assert.True(t, strings.HasPrefix(line, "    word"))
	}
	assert.Equal(t, "-  "+long[:len(long)-1]+"\n", indent("  "+long, "-"))
}

func TestCodeBlocksCannotBeEnded(t *testing.T) {
	assert.Equal(t, "````text\na ``` b\n````\n", fenced("a ``` b"))
}

func TestEmptyReportsRender(t *testing.T) {
	for _, render := range []func(io.Writer, *Report) error{WriteTable, WriteMarkdown, WriteJSON, WriteJUnit} {
		assert.NoError(t, render(io.Discard, &Report{}))
		assert.NoError(t, render(io.Discard, &Report{Bench: &Bench{}}))
	}
	assert.NoError(t, WriteGoBench(io.Discard, &Bench{}))
}
