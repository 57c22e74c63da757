package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"

	"assay/snapshots"
)

var update = flag.Bool("update", false, "write the golden files")

// golden holds a picture to its file, byte by byte, and sees that it is XML.
func golden(t *testing.T, name string, draw func(w io.Writer) error) string {
	t.Helper()
	var first, again bytes.Buffer
	require.NoError(t, draw(&first))
	require.NoError(t, draw(&again))
	require.Equal(t, first.String(), again.String(), "the same data must give the same bytes")
	d := xml.NewDecoder(bytes.NewReader(first.Bytes()))
	for {
		if _, err := d.Token(); err != nil {
			require.True(t, errors.Is(err, io.EOF), "%v", err)
			break
		}
	}
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

func machine() snapshots.Machine {
	return snapshots.Machine{CPU: "Example CPU 9000", Cores: 2, Level: "avx2", Go: "go1.26.0", OS: "linux/amd64", ReadGBs: 17.1, Int8GMACs: 250}
}

func bench(name string, macs int64, prompt, decode float64, ceiling string) *snapshots.Bench {
	return &snapshots.Bench{
		Machine: machine(), Threads: 2, Activations: "int8",
		Model: snapshots.BenchModel{Path: "models/" + name + ".gguf", WeightsPerTokenBytes: macs * 9 / 16, MACsPerToken: macs},
		Runs: []snapshots.Run{{Engine: "assay", Phases: []snapshots.BenchPhase{
			{Phase: "load", Median: 0.1},
			{Phase: "prompt", Tokens: 124, Median: 124 / prompt, TokensPerSec: prompt, Ceiling: "int8", OfCeiling: prompt * float64(macs) / 250e9},
			{Phase: "decode", Tokens: 47, Median: 47 / decode, TokensPerSec: decode, Ceiling: ceiling, OfCeiling: decode * float64(macs) * 9 / 16 / 17.1e9},
		}}},
		Ratios: []snapshots.Ratio{{Phase: "load+prepare", Speedup: 1.8, Low: 1.7, High: 1.82}, {Phase: "prompt", Speedup: 2, Low: 1.83, High: 2.1}, {Phase: "decode", Speedup: 0.97, Low: 0.92, High: 1.04}},
	}
}

func TestRooflineGolden(t *testing.T) {
	real := bench("smollm2-135m-instruct-q4_1", 134515008, 1100, 160, "bandwidth")
	real.Runs = append(real.Runs, snapshots.Run{Engine: "llamacpp", Phases: []snapshots.BenchPhase{
		{Phase: "prompt", Tokens: 124, TokensPerSec: 560, Ceiling: "int8", OfCeiling: 0.3},
		{Phase: "decode", Tokens: 47, TokensPerSec: 118, Ceiling: "bandwidth", OfCeiling: 0.52},
		{Phase: "decode", Tokens: 47, TokensPerSec: 1e9, Void: "impossible"},
	}})
	golden(t, "roofline.svg", func(w io.Writer) error { return Roofline(w, []*snapshots.Bench{real}) })

	var many []*snapshots.Bench
	for i := range 10 {
		many = append(many, bench(fmt.Sprintf("llama-256-Q%d_K", i), 1<<19, 60000+float64(i)*900, 20000+float64(i)*10, "none"))
	}
	golden(t, "roofline-many.svg", func(w io.Writer) error { return Roofline(w, append(many, real)) })
}

func TestRooflineNeedsCeilingsAndPhases(t *testing.T) {
	b := bench("a", 1000, 10, 10, "none")
	b.Machine.ReadGBs = 0
	assert.ErrorContains(t, Roofline(io.Discard, []*snapshots.Bench{b}), "no phase with ceilings")
	assert.ErrorContains(t, Roofline(io.Discard, nil), "no phase with ceilings")
}

func TestRatiosGolden(t *testing.T) {
	golden(t, "peer.svg", func(w io.Writer) error {
		return Ratios(w, "assay beside llamacpp", "times as fast", Of(bench("tiny-Q4_0", 1000, 10, 10, "none")))
	})
	experiments := []snapshots.Experiment{
		{Name: "no-prefetch", State: "level", Target: "decode", Ratio: 1.002, Low: 0.993, High: 1.008, Floor: 0.02},
		{Name: "goroutine-pool", State: "rejected", Target: "decode", Ratio: 0.81, Low: 0.78, High: 0.84, Floor: 0.02},
		{Name: "panel-width-4", State: "ambiguous", Target: "prompt", Ratio: 1.02, Low: 0.99, High: 1.05, Floor: 0.015},
		{Name: "level-avx2", State: "retained", Target: "prompt", Ratio: 1.34, Low: 1.29, High: 1.41, Floor: 0.03},
		{Name: "kv-f32", State: "never run", Target: "decode"},
	}
	svg := golden(t, "experiments.svg", func(w io.Writer) error {
		return Ratios(w, "Experiments", "baseline over candidate: right of 1 the candidate is faster", OfExperiments(experiments), "Bands are the noise floors.")
	})
	assert.NotContains(t, svg, "kv-f32", "what has no figure is not drawn")
}

func track(n int, faster ...int) *snapshots.Track {
	t := &snapshots.Track{Of: "tiny-Q4_0.gguf 2 threads int8", Phase: "decode", Machine: machine(), MachineID: "0123456789ab"}
	base := 0.05
	for i := range n {
		for _, f := range faster {
			if i == f {
				base /= 1.25
			}
		}
		m := base * (1 + 0.012*math.Sin(float64(3*i)))
		t.Points = append(t.Points, snapshots.Point{Snapshot: fmt.Sprintf("202612%02dT1200%02dZ-0123456789ab", 1+i, i), Median: m, Low: m * 0.985, High: m * 1.02})
	}
	return t
}

func TestHistoryGolden(t *testing.T) {
	long := track(20, 8)
	long.Points[5].Superseded = "measured on a busy machine"
	long.Points[5].Median *= 1.15
	long.Points[5].High *= 1.2
	for i := 15; i < 20; i++ {
		p := &long.Points[i]
		p.Median, p.Low, p.High = p.Median*1.1, p.Low*1.1, p.High*1.1
	}
	svg := golden(t, "history.svg", func(w io.Writer) error { return History(w, long, snapshots.DefaultWindow) })
	assert.Contains(t, svg, "1.25× faster")
	assert.Contains(t, svg, "slower")
	svg = golden(t, "history-short.svg", func(w io.Writer) error { return History(w, track(2), snapshots.DefaultWindow) })
	assert.Contains(t, svg, "Change points need 8 snapshots")
}

func TestTextIsWrappedToItsWidth(t *testing.T) {
	s := style(9, ink)
	for _, l := range wrap(s, "one two three four five six seven eight nine ten", 80) {
		assert.LessOrEqual(t, s.Width(l), vg.Length(80))
	}
	assert.Empty(t, wrap(s, "", 80))
}

func TestLettersStayApart(t *testing.T) {
	assert.Equal(t, []string{"a", "z", "a2"}, []string{letter(0), letter(25), letter(26)})
	at := vg.Point{X: 50, Y: 50}
	taken := []vg.Point{at}
	for range 10 {
		p := place(at, taken)
		for _, q := range taken {
			assert.Greater(t, math.Hypot(float64(p.X-q.X), float64(p.Y-q.Y)), 5.0)
		}
		taken = append(taken, p)
	}
}
