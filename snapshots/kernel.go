package snapshots

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Kernel is one Go benchmark of one implementation.
type Kernel struct {
	Package   string    `json:"package"` // below the module
	Benchmark string    `json:"benchmark"`
	Case      string    `json:"case,omitempty"` // of a sub-benchmark: level, and what follows it
	Samples   []float64 `json:"samples_s"`      // seconds of one operation
	Median    float64   `json:"median_s"`
	Low       float64   `json:"low_s"`
	High      float64   `json:"high_s"`
	Bytes     float64   `json:"bytes_per_op"`
	Allocs    float64   `json:"allocs_per_op"`
	ReadGBs   float64   `json:"read_gbs,omitempty"`   // that one operation must read at least, 1e9 bytes/s
	Int8GMACs float64   `json:"int8_gmacs,omitempty"` // 1e9 int8 multiply-adds/s
	Ceiling   string    `json:"ceiling"`              // cache, int8, none
	OfCeiling float64   `json:"of_ceiling"`
	Void      string    `json:"void,omitempty"`
}

// Entry is the entry point of the benchmark: "kernels/vector.RMSNorm3584".
func (k *Kernel) Entry() string { return k.Package + "." + k.Benchmark }

// The two benchmarks that measure what one core can do at most.
const (
	ceilingPackage = "kernels/ceiling"
	cacheCeiling   = ceilingPackage + ".CacheRead"
	int8Ceiling    = ceilingPackage + ".Int8"
)

// Estimator condenses samples into a median with an interval.
type Estimator func(samples []float64) (median, low, high float64, err error)

// ReadKernels reads what go test -bench wrote. Packages are named below module.
func ReadKernels(r io.Reader, module string, estimate Estimator) ([]Kernel, error) {
	in := benchfmt.NewReader(r, "go test")
	var all []Kernel
	for in.Scan() {
		x, ok := in.Result().(*benchfmt.Result)
		if !ok {
			continue // what tests print
		}
		base, parts := x.Name.Parts()
		k := Kernel{Package: strings.TrimPrefix(x.GetConfig("pkg"), module+"/"), Benchmark: string(base), Case: caseOf(parts), Ceiling: "none"}
		i := slices.IndexFunc(all, func(y Kernel) bool { return y.Package == k.Package && y.Benchmark == k.Benchmark && y.Case == k.Case })
		if i < 0 {
			i = len(all)
			all = append(all, k)
		}
		all[i].add(x)
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("snapshots: benchmarks: %w", err)
	}
	for i := range all {
		k := &all[i]
		var err error
		if k.Median, k.Low, k.High, err = estimate(k.Samples); err != nil {
			return nil, fmt.Errorf("snapshots: %s: %w", k.Entry(), err)
		}
	}
	return all, nil
}

// caseOf joins the parts of a sub-benchmark's name, without that of GOMAXPROCS.
func caseOf(parts [][]byte) string {
	var s string
	for _, p := range parts {
		if p[0] == '/' {
			s += string(p)
		}
	}
	return strings.TrimPrefix(s, "/")
}

func (k *Kernel) add(x *benchfmt.Result) {
	for _, v := range x.Values {
		switch v.Unit {
		case "sec/op":
			k.Samples = append(k.Samples, v.Value)
		case "B/op":
			k.Bytes = max(k.Bytes, v.Value)
		case "allocs/op":
			k.Allocs = max(k.Allocs, v.Value)
		case "B/s":
			k.ReadGBs = max(k.ReadGBs, v.Value/1e9)
		case "GMAC/s":
			k.Int8GMACs = max(k.Int8GMACs, v.Value)
		}
	}
}

// SetCeilings sets benchmarks against what the best benchmark of a ceiling among
// them reached: multiplications of int8 against the rate of one core, everything
// else that counts its bytes against how fast the core reads its first cache. The
// best sample counts on both sides, so that no disturbance makes a record.
func SetCeilings(all []Kernel) {
	var cache, int8 float64
	for i := range all {
		switch k := &all[i]; k.Entry() {
		case cacheCeiling:
			cache = max(cache, k.ReadGBs)
		case int8Ceiling:
			int8 = max(int8, k.Int8GMACs)
		}
	}
	for i := range all {
		k := &all[i]
		switch {
		case k.Package == ceilingPackage || !strings.HasPrefix(k.Package, "kernels/"):
		case k.Int8GMACs > 0 && int8 > 0:
			k.Ceiling, k.OfCeiling = "int8", k.Int8GMACs/int8
		case k.Int8GMACs == 0 && k.ReadGBs > 0 && cache > 0:
			k.Ceiling, k.OfCeiling = "cache", k.ReadGBs/cache
		}
		if k.OfCeiling > 1 {
			k.Void = fmt.Sprintf("error of measurement: %.0f %% of the %s ceiling", 100*k.OfCeiling, k.Ceiling)
		}
	}
}

// WriteKernelBench writes the samples in the Go benchmark format.
func WriteKernelBench(w io.Writer, m Machine, all []Kernel) error {
	out := benchfmt.NewWriter(w)
	goos, goarch, _ := strings.Cut(m.OS, "/")
	for i := range all {
		k := &all[i]
		if k.Void != "" {
			continue
		}
		config := fileConfig([][2]string{{"goos", goos}, {"goarch", goarch}, {"cpu", m.CPU}, {"pkg", k.Package}})
		name := k.Benchmark
		if k.Case != "" {
			name += "/" + k.Case
		}
		for _, s := range k.Samples {
			if err := out.Write(&benchfmt.Result{Config: config, Name: benchfmt.Name(fmt.Sprintf("%s-%d", name, max(m.GOMAXPROCS, 1))), Iters: 1, Values: []benchfmt.Value{
				{Value: s, Unit: "sec/op", OrigValue: s * 1e9, OrigUnit: "ns/op"}, {Value: k.Bytes, Unit: "B/op"}, {Value: k.Allocs, Unit: "allocs/op"},
			}}); err != nil {
				return err
			}
		}
	}
	return nil
}
