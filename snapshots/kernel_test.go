package snapshots

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const benchOutput = `goos: linux
goarch: amd64
pkg: assay/kernels/ceiling
cpu: Example
BenchmarkCacheRead/avx2-2 	 100	 160 ns/op	100000 MB/s	 0 B/op	 0 allocs/op
BenchmarkInt8/avx2-2 	 100	 160 ns/op	 200 GMAC/s	 0 B/op	 0 allocs/op
PASS
pkg: assay/kernels/matmul
BenchmarkProductQ4_0/avx2/tokens=8-2 	 10	 300 ns/op	 10 MB/s	 100 GMAC/s	 0 B/op	 0 allocs/op
BenchmarkProductQ4_0/avx2/tokens=8-2 	 10	 100 ns/op	 30 MB/s	 300 GMAC/s	 0 B/op	 0 allocs/op
BenchmarkProductQ4_0/avx2/tokens=8-2 	 10	 200 ns/op	 20 MB/s	 150 GMAC/s	 16 B/op	 1 allocs/op
pkg: assay/kernels/vector
BenchmarkAdd3584/scalar-2 	 10	 500 ns/op	 50000 MB/s	 0 B/op	 0 allocs/op
pkg: assay/engine/sample
BenchmarkSample-2 	 10	 500 ns/op	 0 B/op	 0 allocs/op
ok  	assay/engine/sample	0.1s
`

func spread3(s []float64) (median, low, high float64, err error) {
	return middle(s), slices.Min(s), slices.Max(s), nil
}

func TestBenchmarksOfGoAreRead(t *testing.T) {
	all, err := ReadKernels(strings.NewReader(benchOutput), "assay", spread3)
	require.NoError(t, err)
	require.Len(t, all, 5)
	k := all[2]
	assert.Equal(t, "kernels/matmul.ProductQ4_0", k.Entry())
	assert.Equal(t, "avx2/tokens=8", k.Case)
	assert.InDelta(t, 200e-9, k.Median, 1e-15)
	assert.Equal(t, 1.0, k.Allocs, "the worst sample counts")
	assert.Equal(t, 16.0, k.Bytes)
}

func TestKernelsAreSetAgainstTheCeilingsOfOneCore(t *testing.T) {
	all, err := ReadKernels(strings.NewReader(benchOutput), "assay", spread3)
	require.NoError(t, err)
	SetCeilings(all)
	assert.Equal(t, "int8", all[2].Ceiling)
	assert.Equal(t, "error of measurement: 150 % of the int8 ceiling", all[2].Void)
	assert.Equal(t, "cache", all[3].Ceiling)
	assert.InDelta(t, 0.5, all[3].OfCeiling, 1e-9)
	assert.Equal(t, "none", all[4].Ceiling, "what is no kernel has no ceiling")
	assert.Equal(t, "none", all[0].Ceiling, "a ceiling is not held to itself")
}

func TestSamplesOfKernelsAreWrittenForBenchstat(t *testing.T) {
	all, err := ReadKernels(strings.NewReader(benchOutput), "assay", spread3)
	require.NoError(t, err)
	SetCeilings(all)
	s := golden(t, "kernels.gobench", func(w io.Writer) error { return WriteKernelBench(w, machine(), all) })
	assert.NotContains(t, s, "ProductQ4_0", "what is void is left out")
	again, err := ReadKernels(strings.NewReader(s), "kernels", spread3)
	require.NoError(t, err)
	assert.Len(t, again, 4)
}

func TestEstimatesThatFailAreErrors(t *testing.T) {
	_, err := ReadKernels(strings.NewReader(benchOutput), "assay", func([]float64) (float64, float64, float64, error) { return 0, 0, 0, errors.New("too few") })
	assert.ErrorContains(t, err, "kernels/ceiling.CacheRead: too few")
}
