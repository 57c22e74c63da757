package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/snapshots"
)

// made builds samples with the given decode and prompt times.
func made(logits string, decode, prompt float64) *Sample {
	return &Sample{Logits: logits, Work: &Work{Bytes: 1e9, MACs: 1e9, HeadMACs: 2e8, Int8: true}, Timings: []Timing{
		{Phase: "load", Seconds: 0.25}, {Phase: "prepare", Seconds: 0.75}, {Phase: "prompt", Tokens: 100, Seconds: prompt}, {Phase: "decode", Tokens: 10, Seconds: decode},
	}}
}

func condensed(t *testing.T, machine snapshots.Machine, cache int, runs ...series) *snapshots.Bench {
	t.Helper()
	b := &snapshots.Bench{Machine: machine}
	require.NoError(t, condense(b, runs, "ids", cache))
	return b
}

func six(logits string, decode, prompt float64) series {
	s := series{engine: "assay"}
	for range 6 {
		s.samples = append(s.samples, made(logits, decode, prompt))
	}
	return s
}

func find(t *testing.T, b *snapshots.Bench, run int, phase string) snapshots.BenchPhase {
	t.Helper()
	for _, p := range b.Runs[run].Phases {
		if p.Phase == phase {
			return p
		}
	}
	t.Fatalf("no phase %s", phase)
	return snapshots.BenchPhase{}
}

func TestPhasesAreSetAgainstTheirCeilings(t *testing.T) {
	// 10 GB in 1 s of 20 GB/s; 100*0.8e9 + 0.2e9 multiply-adds in 1 s of 160.4e9/s.
	b := condensed(t, snapshots.Machine{ReadGBs: 20, Int8GMACs: 160.4}, 32<<20, six("a", 1, 1))
	decode, prompt := find(t, b, 0, "decode"), find(t, b, 0, "prompt")
	assert.Equal(t, "bandwidth", decode.Ceiling)
	assert.InDelta(t, 0.5, decode.OfCeiling, 1e-12)
	assert.Equal(t, 10.0, decode.TokensPerSec)
	assert.Equal(t, "int8", prompt.Ceiling)
	assert.InDelta(t, 0.5, prompt.OfCeiling, 1e-12)
	assert.Equal(t, "none", find(t, b, 0, "load").Ceiling)
	assert.Empty(t, b.Warnings)
	assert.False(t, b.Void())
}

func TestFasterThanTheMachineIsVoid(t *testing.T) {
	b := condensed(t, snapshots.Machine{ReadGBs: 5, Int8GMACs: 10}, 32<<20, six("a", 1, 1))
	assert.Contains(t, find(t, b, 0, "decode").Void, "error of measurement: 200 % of the bandwidth ceiling")
	assert.Contains(t, find(t, b, 0, "prompt").Void, "error of measurement")
	assert.True(t, b.Void())
	assert.Contains(t, strings.Join(b.Warnings, "\n"), "assay: decode: void: error of measurement")
}

func TestWeightsInTheCacheHaveNoCeiling(t *testing.T) {
	b := condensed(t, snapshots.Machine{ReadGBs: 5}, 2e9, six("a", 1, 1))
	assert.Equal(t, "none", find(t, b, 0, "decode").Ceiling)
	assert.Empty(t, find(t, b, 0, "decode").Void)

	// 200 % with all weights from memory, 80 % with 600 MB of them in the cache.
	b = condensed(t, snapshots.Machine{ReadGBs: 5}, 6e8, six("a", 1, 1))
	assert.Equal(t, "none", find(t, b, 0, "decode").Ceiling)
	assert.Empty(t, find(t, b, 0, "decode").Void)
	assert.Contains(t, strings.Join(b.Warnings, "\n"), "the cache of 572 MiB holds part of the weights")
}

func TestFloatProductsHaveNoInt8Ceiling(t *testing.T) {
	s := six("a", 1, 1)
	s.samples[0].Work.Int8 = false
	b := condensed(t, snapshots.Machine{ReadGBs: 100, Int8GMACs: 100}, 0, s)
	assert.Equal(t, "none", find(t, b, 0, "prompt").Ceiling)
}

func TestTimingWithoutParityIsVoid(t *testing.T) {
	s := six("a", 1, 1)
	s.samples[4].Logits = "b"
	peer := six("", 2, 2)
	peer.engine = "peer"
	b := condensed(t, snapshots.Machine{ReadGBs: 100, Int8GMACs: 1000}, 0, s, peer)
	assert.Contains(t, find(t, b, 0, "decode").Void, "sample 4 gave other logits")
	assert.Empty(t, find(t, b, 1, "decode").Void)
	assert.Empty(t, b.Ratios, "a void side gives no ratio")
}

func TestRatiosArePaired(t *testing.T) {
	ours, peer := series{engine: "assay"}, series{engine: "peer"}
	for i := range 6 {
		slow := float64(1 + i) // the machine slows down
		ours.samples = append(ours.samples, made("a", slow, slow))
		theirs := made("", 3*slow, 2*slow)
		theirs.Timings = slices.Delete(theirs.Timings, 1, 2) // prepares while it loads
		peer.samples = append(peer.samples, theirs)
	}
	b := condensed(t, snapshots.Machine{}, 0, ours, peer)
	require.Len(t, b.Ratios, 3)
	assert.Equal(t, snapshots.Ratio{Phase: Ready, Of: "assay/peer", Speedup: 0.25, Low: 0.25, High: 0.25}, b.Ratios[0])
	assert.Equal(t, 2.0, b.Ratios[1].Speedup)
	assert.Equal(t, snapshots.Ratio{Phase: "decode", Of: "assay/peer", Speedup: 3, Low: 3, High: 3}, b.Ratios[2])
}

func TestCountsMustAgree(t *testing.T) {
	s := six("a", 1, 1)
	s.samples[2].Timings[3].Tokens = 9
	err := condense(&snapshots.Bench{}, []series{s}, "", 0)
	assert.ErrorContains(t, err, "sample 2 of decode has 9 tokens, the first has 10")
}

func TestDigestOfSeveralFilesNamesThem(t *testing.T) {
	assert.Equal(t, "abc", digest(map[string]string{"x": "abc"}))
	a, b := digest(map[string]string{"x": "1", "y": "2"}), digest(map[string]string{"x": "2", "y": "1"})
	assert.NotEqual(t, a, b)
	assert.Len(t, a, 64)
}

func TestBusyMachinesAreWarnedOf(t *testing.T) {
	assert.Empty(t, foreignWarning(nil, 0.1))
	assert.Empty(t, foreignWarning([]float64{0.1, 0}, 0.1))
	assert.Equal(t, "the machine was busy with other work during 2 of 3 samples (up to 50 % of its CPUs): do not trust these times", foreignWarning([]float64{0.5, 0.05, 0.2}, 0.1))
}

func TestTimesOfABusyMachineAreVoid(t *testing.T) {
	assert.False(t, mostlyBusy(nil, 0.1))
	assert.False(t, mostlyBusy([]float64{0.5, 0.05}, 0.1), "half of the samples is not most")
	assert.True(t, mostlyBusy([]float64{0.5, 0.05, 0.2}, 0.1))
	b := &snapshots.Bench{Runs: []snapshots.Run{{Phases: []snapshots.BenchPhase{{Phase: "prompt"}, {Phase: "decode", Void: "no time passed"}}}}, Ratios: []snapshots.Ratio{{Phase: "prompt"}}}
	voidBusy(b)
	assert.True(t, b.Void())
	assert.Equal(t, "machine busy", b.Runs[0].Phases[0].Void)
	assert.Equal(t, "no time passed", b.Runs[0].Phases[1].Void)
	assert.Empty(t, b.Ratios)
}
