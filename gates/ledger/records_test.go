package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/gates/history"
	"assay/snapshots"
)

// onRecord is this tree with one snapshot of gates, kernels and phases, and one of
// validate cross.
func onRecord(t *testing.T) *tree {
	t.Helper()
	root, err := Root(".")
	require.NoError(t, err)
	s, err := history.ReadSources(root)
	require.NoError(t, err)
	full := &snapshots.Report{Name: "20260901T000000Z-m", Started: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), Machine: snapshots.Machine{CPU: "Example CPU"}, Sources: map[string]string{},
		Results: []snapshots.Result{{Gate: "parity/llama-transformers", Check: "ids", Verdict: snapshots.Held}, {Gate: "parity/llama-transformers", Check: "logits", Verdict: snapshots.Failed}},
		Kernels: []snapshots.Kernel{
			{Package: "kernels/vector", Benchmark: "RMSNorm3584", Case: "scalar", Median: 6e-6},
			{Package: "kernels/vector", Benchmark: "RMSNorm3584", Case: "avx2", Median: 3.6e-7, Ceiling: "cache", OfCeiling: 0.62},
			{Package: "kernels/vector", Benchmark: "RMSNorm3584", Case: "avx512", Median: 3.5e-7, Ceiling: "cache", OfCeiling: 0.64},
		},
		Benches: []*snapshots.Bench{{Model: snapshots.BenchModel{Path: "models/llama-Q4_0.gguf"}, Runs: []snapshots.Run{{Phases: []snapshots.BenchPhase{
			{Phase: "prompt", Tokens: history.PromptIDs, TokensPerSec: 1000}, {Phase: "decode", Tokens: history.Evaluations, TokensPerSec: 100},
		}}}}},
	}
	for _, e := range s.Entries() {
		if e.MeasuredIn(full) {
			for k, v := range s.Hashes(e.Sources) {
				full.Sources[k] = v
			}
		}
	}
	for k, v := range s.Hashes(s.OfGates()) {
		full.Sources[k] = v
	}
	cross := &snapshots.Report{Name: "20260902T000000Z-m", Started: full.Started.Add(24 * time.Hour), Sources: s.Hashes(s.OfGates()), Results: []snapshots.Result{
		{Gate: "cross/linux-arm64", Check: "build", Value: "compiled", Verdict: snapshots.Held},
		{Gate: "cross/linux-arm64", Check: "kernels on cortex-a53", Value: "ran", Verdict: snapshots.Held},
		{Gate: "cross/linux-arm64", Check: "kernels on max", Value: "ran", Verdict: snapshots.Held},
		{Gate: "cross/linux-arm64", Check: "engine on max", Value: "ran", Verdict: snapshots.Held},
		{Gate: "cross/linux-riscv64", Check: "build", Value: "compiled", Verdict: snapshots.Held},
		{Gate: "cross/linux-riscv64", Check: "run", Value: "compiled", Verdict: snapshots.Missing},
		{Gate: "cross/windows-amd64", Check: "build", Value: "failed", Verdict: snapshots.Failed},
	}}
	return &tree{sources: s, records: []*snapshots.Report{full, cross}}
}

func filled(t *testing.T, name string, x *tree) string {
	t.Helper()
	for _, l := range All() {
		if l.Name == name {
			data, err := l.make(x)
			require.NoError(t, err)
			b, err := l.fill(data)
			require.NoError(t, err)
			noStrayBlankLines(t, string(b))
			return string(b)
		}
	}
	t.Fatalf("no ledger %s", name)
	return ""
}

func TestQueueNamesEveryEntryPointWithItsReason(t *testing.T) {
	text := generate(t, "benchmark-snapshot-queue.md")
	root, err := Root(".")
	require.NoError(t, err)
	s, err := history.ReadSources(root)
	require.NoError(t, err)
	for _, e := range s.Entries() {
		assert.Contains(t, text, "\n| "+cell(e.Name)+" |")
	}
	noStrayBlankLines(t, text)
}

func TestQueueTellsFreshFromStale(t *testing.T) {
	x := onRecord(t)
	const page = "[20260901T000000Z-m](snapshots/records/20260901T000000Z-m/snapshot.md)"
	text := filled(t, "benchmark-snapshot-queue.md", x)
	assert.Contains(t, text, "| kernels/vector.RMSNorm3584 | measured in "+page+" on Example CPU |")
	assert.Contains(t, text, `| phases/llama-Q4\_0.gguf | prompt 1000 tokens/s, decode 100 tokens/s | `+page+" |")
	assert.Contains(t, text, "| 6.000µs | 350.0ns (avx512) | 64 % of cache | 649 ns |")
	x.records[0].Sources["kernels/vector"] = "other"
	text = filled(t, "benchmark-snapshot-queue.md", x)
	assert.Contains(t, text, "| kernels/vector.RMSNorm3584 | stale | what it measures has changed since "+page)
}

func TestGatesHaveTheirLastVerdict(t *testing.T) {
	x := onRecord(t)
	text := filled(t, "validation-gates.md", x)
	assert.Contains(t, text, "\nLast verdict: **failed**, 1 of 2 checks held, in [20260901T000000Z-m](snapshots/records/20260901T000000Z-m/snapshot.md).\n")
	assert.Contains(t, text, "\nLast verdict: none on the record.\n")
	x.records[0].Sources["engine"] = "other"
	assert.Contains(t, filled(t, "validation-gates.md", x), "snapshot.md); what is held has changed since.\n")
	x.records[0].Superseded = &snapshots.Superseded{Reason: "busy"}
	assert.NotContains(t, filled(t, "validation-gates.md", x), "**failed**", "what is superseded counts for nothing")
}

func TestTargetsAreToldToHaveRunOrOnlyCompiled(t *testing.T) {
	text := filled(t, "backend-parity-matrix.md", onRecord(t))
	const page = "[20260902T000000Z-m](snapshots/records/20260902T000000Z-m/snapshot.md)"
	assert.Contains(t, text, "| linux/arm64 | ran | kernels on cortex-a53, max; engine on max | "+page+" |")
	assert.Contains(t, text, "| linux/riscv64 | compiled |  | "+page+" |")
	assert.Contains(t, text, "| windows/amd64 | failed | build | "+page+" |")
	assert.Contains(t, text, "| darwin/arm64 | not on the record |  |  |")
	assert.Contains(t, text, " as scalar: ran | as scalar: compiled |")
}

func TestRecordsThatCannotBeReadAreErrors(t *testing.T) {
	_, err := readTree(t.TempDir())
	assert.Error(t, err)
}
