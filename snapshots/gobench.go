package snapshots

import (
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// WriteGoBench writes every sample in the Go benchmark format, so that benchstat
// reads it: `benchstat -col /engine FILE` sets the engines side by side, and
// `benchstat old.txt new.txt` two runs. Void phases are left out.
func WriteGoBench(w io.Writer, b *Bench) error {
	out := benchfmt.NewWriter(w)
	if err := out.Write(&benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: "tok/s", Key: "better"}, OrigUnit: "tok/s", Value: "higher"}); err != nil {
		return err
	}
	goos, goarch, _ := strings.Cut(b.Machine.OS, "/")
	config := fileConfig([][2]string{
		{"goos", goos}, {"goarch", goarch}, {"cpu", b.Machine.CPU}, {"level", b.Machine.Level},
		{"model", path.Base(b.Model.Path)}, {"format", b.Model.Format}, {"activations", b.Activations}, {"threads", fmt.Sprint(b.Threads)},
	})
	for _, r := range b.Runs {
		for _, p := range r.Phases {
			if p.Void != "" {
				continue
			}
			if err := writeSamples(out, config, r.Engine, &p, b.Threads); err != nil {
				return err
			}
		}
	}
	return nil
}

// fileConfig makes lines "key: value" of what has a value.
func fileConfig(pairs [][2]string) (config []benchfmt.Config) {
	for _, c := range pairs {
		if value := strings.Join(strings.Fields(c[1]), " "); value != "" {
			config = append(config, benchfmt.Config{Key: c[0], Value: []byte(value), File: true})
		}
	}
	return config
}

func writeSamples(out *benchfmt.Writer, config []benchfmt.Config, engine string, p *BenchPhase, threads int) error {
	name := strings.ToUpper(p.Phase[:1]) + p.Phase[1:]
	if p.Tokens > 0 {
		name += fmt.Sprintf("/tokens=%d", p.Tokens)
	}
	name += fmt.Sprintf("/engine=%s-%d", engine, threads)
	for _, s := range p.Samples {
		r := &benchfmt.Result{Config: config, Name: benchfmt.Name(name), Iters: 1}
		r.Values = append(r.Values, benchfmt.Value{Value: s, Unit: "sec", OrigValue: s * 1e9, OrigUnit: "ns/op"})
		if p.TokensPerSec > 0 && s > 0 {
			r.Values = append(r.Values, benchfmt.Value{Value: float64(p.Tokens) / s, Unit: "tok/s"})
		}
		if err := out.Write(r); err != nil {
			return err
		}
	}
	return nil
}
