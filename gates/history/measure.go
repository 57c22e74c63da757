package history

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/gates/stats"
	"assay/snapshots"
)

// Measure runs entry points and adds their figures to a report.
type Measure struct {
	Root    string
	Sources *Sources
	// Phases times the complete phases of a model below the fixtures.
	Phases func(ctx context.Context, model string) (*snapshots.Bench, error)
	// GoTest runs go test with arguments in Root; nil: the go command.
	GoTest  func(ctx context.Context, args ...string) ([]byte, error)
	Samples int           // of each benchmark; 0: the least that have an interval
	Time    time.Duration // of each sample of a Go benchmark; 0: 100 ms
	// Progress is told of each entry point, or package of them, before it runs.
	Progress func(done, total int, what string)
}

// ceilings are benchmarks that every measurement of kernels needs beside it.
var ceilings = Entry{Kind: Kernels, Package: "kernels/ceiling"}

// Run measures the entry points in their order, those of one package of
// benchmarks together. What was measured before an error is in the report.
func (m *Measure) Run(ctx context.Context, r *snapshots.Report, entries []*Entry) error {
	if r.Sources == nil {
		r.Sources = map[string]string{}
	}
	var packages []string
	byPackage := map[string][]*Entry{}
	steps := 0
	for _, e := range entries {
		if e.Kind == Phases {
			steps++
			continue
		}
		if byPackage[e.Package] == nil {
			packages = append(packages, e.Package)
			steps++
		}
		byPackage[e.Package] = append(byPackage[e.Package], e)
	}
	done := 0
	for _, e := range entries {
		if e.Kind != Phases {
			continue
		}
		m.progress(done, steps, e.Name)
		b, err := m.Phases(ctx, e.Model)
		if err != nil {
			return fmt.Errorf("history: %s: %w", e.Name, err)
		}
		b.Model.Path = e.Model // not where the fixtures happened to lie
		r.Benches = append(r.Benches, b)
		m.note(r, e)
		done++
	}
	var kernels []snapshots.Kernel
	defer func() {
		snapshots.SetCeilings(kernels)
		r.Kernels = append(r.Kernels, kernels...)
	}()
	if len(packages) > 0 && byPackage[ceilings.Package] == nil {
		some, err := m.benchmarks(ctx, ceilings.Package, []string{"CacheRead", "Int8"})
		if err != nil {
			return err
		}
		kernels = some
	}
	for _, p := range packages {
		var marks []string
		for _, e := range byPackage[p] {
			marks = append(marks, e.Mark)
		}
		m.progress(done, steps, p+": "+strings.Join(marks, ", "))
		some, err := m.benchmarks(ctx, p, marks)
		if err != nil {
			return err
		}
		kernels = append(kernels, some...)
		for _, e := range byPackage[p] {
			if !slices.ContainsFunc(some, func(k snapshots.Kernel) bool { return k.Entry() == e.Name }) {
				r.Notes = append(r.Notes, e.Name+" gave no figures: it was skipped")
				continue
			}
			m.note(r, e)
		}
		done++
	}
	m.progress(steps, steps, "")
	return nil
}

// note keeps what an entry point was measured on.
func (m *Measure) note(r *snapshots.Report, e *Entry) {
	maps.Copy(r.Sources, m.Sources.Hashes(e.Sources))
}

func (m *Measure) progress(done, total int, what string) {
	if m.Progress != nil {
		m.Progress(done, total, what)
	}
}

// benchmarks runs Go benchmarks of one package.
func (m *Measure) benchmarks(ctx context.Context, p string, marks []string) ([]snapshots.Kernel, error) {
	samples, each := m.Samples, m.Time
	if samples == 0 {
		samples = stats.MinSamples
	}
	if each == 0 {
		each = 100 * time.Millisecond
	}
	quoted := slices.Clone(marks)
	for i := range quoted {
		quoted[i] = regexp.QuoteMeta(quoted[i])
	}
	test := m.GoTest
	if test == nil {
		test = m.goTest
	}
	out, err := test(ctx, "-run=^$", "-bench=^Benchmark("+strings.Join(quoted, "|")+")$", "-benchmem", fmt.Sprintf("-count=%d", samples), "-benchtime="+each.String(), "./"+p)
	if err != nil {
		return nil, fmt.Errorf("history: benchmarks of %s: %w\n%s", p, err, lastLines(out, 20))
	}
	return snapshots.ReadKernels(bytes.NewReader(out), module, func(s []float64) (median, low, high float64, err error) {
		e, err := stats.Median(s)
		return e.Value, e.Low, e.High, err
	})
}

func (m *Measure) goTest(ctx context.Context, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "go", append([]string{"test"}, args...)...)
	c.Dir = m.Root
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "ASSAY_CPU=")
	c.WaitDelay = 5 * time.Second
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	return out, err
}

func lastLines(b []byte, n int) string {
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}
