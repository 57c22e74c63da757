package experiment

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"

	"assay/gates/sampling"
)

// WriteGoBench writes every sample that counts in the Go benchmark format:
// `benchstat -col /arm FILE` sets the arms side by side.
func WriteGoBench(w io.Writer, d *Definition, rec *Record) error {
	out := benchfmt.NewWriter(w)
	reg := rec.Registration
	var config []benchfmt.Config
	goos, goarch, _ := strings.Cut(reg.Machine.OS, "/")
	for _, c := range [][2]string{
		{"goos", goos}, {"goarch", goarch}, {"cpu", reg.Machine.CPU}, {"level", reg.Machine.Level}, {"model", reg.Fixture.Name},
		{"experiment", d.Name}, {"experiment-sha256", reg.SHA256}, {"machine", reg.Machine.ID()}, {"run", rec.Run},
	} {
		if value := strings.Join(strings.Fields(c[1]), " "); value != "" {
			config = append(config, benchfmt.Config{Key: c[0], Value: []byte(value), File: true})
		}
	}
	s := Set(d.Name, d.Target, d.Judged(), nil, sampling.Decisive(rec.Pairs))
	for _, phase := range d.Judged() {
		arms := s.Samples[phase]
		for i := range arms.A {
			if i >= len(arms.B) {
				break
			}
			for _, x := range []struct {
				arm     string
				seconds float64
				tokens  int
			}{{"baseline", float64(arms.A[i]), arms.TokensA[i]}, {"candidate", float64(arms.B[i]), arms.TokensB[i]}} {
				name := strings.ToUpper(phase[:1]) + phase[1:]
				if x.tokens > 0 {
					name += fmt.Sprintf("/tokens=%d", x.tokens)
				}
				r := &benchfmt.Result{Config: config, Iters: 1, Name: benchfmt.Name(fmt.Sprintf("%s/arm=%s-%d", name, x.arm, d.Workload.Threads))}
				r.Values = []benchfmt.Value{{Value: x.seconds, Unit: "sec/op", OrigValue: x.seconds * 1e9, OrigUnit: "ns/op"}}
				if err := out.Write(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
