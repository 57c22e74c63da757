package experiment

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"assay/gates/sampling"
	"assay/gates/stats"
)

func TestBenchstatReadsTheSameMedians(t *testing.T) {
	r := runner(t.TempDir())
	r.Adapt = func(s *sampling.Sampler) { scripted(s, 0.9) }
	d := parsed(t, "[6]", "[7]")
	rec, err := r.Run(t.Context(), d)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, WriteGoBench(&b, d, rec))
	read := map[string][]float64{}
	for f := benchfmt.NewReader(&b, "samples"); f.Scan(); {
		result, ok := f.Result().(*benchfmt.Result)
		require.True(t, ok, "%T %+v", f.Result(), f.Result())
		x, ok := result.Value("sec/op")
		require.True(t, ok)
		read[string(result.Name)] = append(read[string(result.Name)], x)
		assert.Equal(t, "small", result.GetConfig("experiment"))
	}
	arms := Set(d.Name, d.Target, d.Judged(), nil, sampling.Decisive(rec.Pairs)).Samples["decode"]
	for name, want := range map[string][]float64{"Decode/tokens=2/arm=baseline-1": numbers(arms.A), "Decode/tokens=2/arm=candidate-1": numbers(arms.B)} {
		require.Len(t, read[name], 7, "%v", read)
		e, err := stats.Median(want)
		require.NoError(t, err)
		s := benchmath.NewSample(read[name], &benchmath.DefaultThresholds)
		assert.InDelta(t, e.Value, benchmath.AssumeNothing.Summary(s, 0.95).Center, 1e-9)
	}
}

func numbers[T ~float64](list []T) (out []float64) {
	for _, x := range list {
		out = append(out, float64(x))
	}
	return out
}
