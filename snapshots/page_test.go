package snapshots

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// snapshot is a whole one: gates that held, benchmarks, kernels, experiments.
func snapshot() *Report {
	r := report()
	r.Name, r.MachineID = "20260908T123000Z-0123456789ab", "0123456789ab"
	r.Command = "validate snapshot"
	r.Identity = []Field{{"cpu", "Example CPU 9000"}, {"governor", "performance"}, {"memory", "16384 MiB"}}
	r.Benches, r.Bench = []*Bench{bench()}, nil
	r.Kernels = []Kernel{
		{Package: "kernels/vector", Benchmark: "RMSNorm3584", Case: "scalar", Samples: []float64{6e-6}, Median: 6e-6, Low: 6e-6, High: 6e-6, Ceiling: "cache", OfCeiling: 0.05},
		{Package: "kernels/vector", Benchmark: "RMSNorm3584", Case: "avx2", Samples: []float64{3.5e-7}, Median: 3.5e-7, Low: 3.4e-7, High: 3.6e-7, Ceiling: "cache", OfCeiling: 0.8},
		{Package: "kernels/attention", Benchmark: "AppendF16x512", Samples: []float64{2e-6}, Median: 2e-6, Low: 2e-6, High: 2e-6, Allocs: 1, Ceiling: "none"},
		{Package: "kernels/matmul", Benchmark: "ProductQ4_0", Case: "avx2/tokens=8", Median: 1e-6, Low: 1e-6, High: 1e-6, Ceiling: "int8", OfCeiling: 1.1, Void: "error of measurement: 110 % of the int8 ceiling"},
	}
	r.Experiments = []Experiment{
		{Name: "no-prefetch", State: "level", Sentence: "No difference beyond the noise.", Target: "decode", Ratio: 1.002, Low: 0.993, High: 1.008, Floor: 0.02, Pairs: 24},
		{Name: "kv-f32", State: "never run", Target: "decode"},
	}
	r.Notes = []string{"2 entry points were left out: --match"}
	return r
}

// earlier is the snapshot before: another value, another verdict, slower.
func earlier() *Report {
	r := snapshot()
	r.Name, r.Started, r.Version = "20260907T123000Z-0123456789ab", r.Started.Add(-24*time.Hour), "00000000beef"
	r.Results[1].Verdict, r.Results[1].Value = Held, "1.2e-5"
	r.Results[2].Value = "9.0e-6"
	r.Results = append(r.Results[:5], Result{Gate: "parity/old", Check: "ids", Verdict: Held})
	p := &r.Benches[0].Runs[0].Phases[2]
	p.Median, p.Low, p.High = 0.30, 0.29, 0.31
	k := &r.Kernels[1]
	k.Median, k.Low, k.High = 2.5e-7, 2.4e-7, 2.6e-7
	return r
}

func TestPageGolden(t *testing.T) {
	pictures := []Picture{
		{"roofline.svg", "Phases under the ceilings of the machine", OfPhases},
		{"experiments.svg", "Experiments", OfExperiments},
		{"history.svg", "History of decode", OfHistory},
	}
	s := golden(t, "page.md", func(w io.Writer) error { return WritePage(w, snapshot(), Page{Since: earlier(), Pictures: pictures}) })
	assert.Contains(t, s, "held → **failed**")
	assert.Contains(t, s, "Checks that are gone: parity/old ids.")
	assert.Contains(t, s, "1.43× | faster")
	assert.Contains(t, s, "0.71× | slower")
	assert.Less(t, strings.Index(s, "### Since"), strings.Index(s, "### Complete phases"))
	for _, p := range pictures {
		assert.Contains(t, s, "]("+p.File+")")
	}
}

func TestSupersededPagesStayAndSayWhy(t *testing.T) {
	r := snapshot()
	r.Superseded = &Superseded{By: "20260909T000000Z-0123456789ab", Reason: "the machine was busy"}
	var b bytes.Buffer
	require.NoError(t, WriteMarkdown(&b, r))
	assert.Contains(t, b.String(), "> **Superseded** by `20260909T000000Z-0123456789ab`: the machine was busy\n")
	assert.Contains(t, b.String(), "### Complete phases")
}

func TestTimesOfOtherMachinesAreNotCompared(t *testing.T) {
	then := earlier()
	then.MachineID = "ffffffffffff"
	c := Compare(then, snapshot())
	assert.Empty(t, c.Times)
	assert.Equal(t, "that was machine ffffffffffff, this is 0123456789ab", c.Machine)
	assert.Len(t, c.Verdicts, 2, "verdicts are")

	then = earlier()
	then.MachineID, then.Machine.CPU = "", "Other CPU"
	c = Compare(then, snapshot())
	assert.Contains(t, c.Machine, "Other CPU")
	var b bytes.Buffer
	require.NoError(t, WritePage(&b, snapshot(), Page{Since: then}))
	assert.Contains(t, b.String(), "Times are not compared: that was on Other CPU")
}

func TestNothingChangesAgainstItself(t *testing.T) {
	c := Compare(snapshot(), snapshot())
	assert.True(t, c.None())
	assert.NotEmpty(t, c.Times)
	assert.False(t, Compare(earlier(), snapshot()).None())
}

func TestTimesOfGatesAreNoChange(t *testing.T) {
	a := &Report{Results: []Result{{Gate: "bench/x", Check: "phases", Phase: "decode", Value: "1 ms", Verdict: Held}}}
	b := &Report{Results: []Result{{Gate: "bench/x", Check: "phases", Phase: "decode", Value: "2 ms", Verdict: Held}}}
	assert.Empty(t, Compare(a, b).Verdicts)
	b.Results[0].Verdict = Void
	assert.Len(t, Compare(a, b).Verdicts, 1)
}

func TestEqualKeysAreToldApart(t *testing.T) {
	r := &Report{Results: []Result{{Gate: "a", Check: "x", Rung: "bits", Value: "1"}, {Gate: "a", Check: "x", Rung: "bits", Value: "2"}}}
	assert.True(t, Compare(r, r).None())
}

func TestMeasurementsAloneHaveAHeadline(t *testing.T) {
	r := snapshot()
	r.Results = nil
	assert.Equal(t, "void measurements", headline(r))
	r.Kernels, r.Benches = r.Kernels[:1], nil
	assert.Equal(t, "measured", headline(r))
}

func TestGatesAreCountedByTheirWorst(t *testing.T) {
	verdict, held, all := report().GateVerdict("parity/llama")
	assert.Equal(t, Failed, verdict)
	assert.Equal(t, [2]int{1, 2}, [2]int{held, all})
	verdict, _, _ = report().GateVerdict("no such")
	assert.Empty(t, verdict)
}

func TestManyModelsShareATableAndManyChecksARow(t *testing.T) {
	r := snapshot()
	r.Benches = nil
	for range several {
		b := bench()
		b.Runs, b.Ratios = b.Runs[:1], nil
		r.Benches = append(r.Benches, b)
	}
	for _, fixture := range []string{"a", "b", "c"} {
		r.Results = append(r.Results, Result{Gate: "invariance", Check: "levels", Rung: "bits", Fixture: fixture, Value: "same", Tolerance: "same bits", Verdict: Held})
	}
	var b bytes.Buffer
	require.NoError(t, WriteMarkdown(&b, r))
	assert.Contains(t, b.String(), "### Complete phases of 3 models\n")
	assert.Equal(t, several, strings.Count(b.String(), "### Complete phases: tiny"), "every phase is folded up below")
	assert.Contains(t, b.String(), "| invariance | levels | a; and 2 more | bits | same | same bits | held |\n")
	assert.Equal(t, "a; b", someOf([]string{"a", "b"}))
}
