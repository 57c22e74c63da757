package gates

import (
	"context"
	"fmt"
	"strings"

	"assay/snapshots"
)

// BenchOptions say what a benchmark gate times.
type BenchOptions struct {
	Threads     int
	CPU         string
	Activations string
	Prompt      int // ids of the prompt
	Decode      int // evaluations after the boundary token
	Samples     int
}

// BenchRunner times the complete phases of a model.
type BenchRunner func(ctx context.Context, model string, o BenchOptions) (*snapshots.Bench, error)

// benchJob times phases. Its figures are information: a gate of this kind holds
// when every phase could be measured and none beats the machine's own ceiling.
func benchJob(ctx context.Context, r *run, c *Case) ([]snapshots.Result, error) {
	if r.options.Bench == nil {
		return nil, &missingError{"no benchmark runner in this program"}
	}
	b, err := r.options.Bench(ctx, r.path(c.Model), BenchOptions{
		Threads: c.Threads, CPU: c.Level, Activations: c.Activations.String(), Prompt: c.Split, Decode: c.Tokens - c.Split, Samples: 6,
	})
	if err != nil {
		return nil, err
	}
	r.report.Bench = b
	var results []snapshots.Result
	for _, k := range c.Checks {
		for _, run := range b.Runs {
			for _, p := range run.Phases {
				results = append(results, phaseResult(k, run.Engine, p))
			}
		}
	}
	return results, nil
}

func phaseResult(k Check, engine string, p snapshots.BenchPhase) snapshots.Result {
	x := snapshots.Result{Check: k.What, Phase: p.Phase, Why: k.Why, Tolerance: "at most 100 % of a ceiling", Verdict: snapshots.Held}
	x.Value = fmt.Sprintf("%s %.3g ms [%.3g, %.3g]", engine, 1e3*p.Median, 1e3*p.Low, 1e3*p.High)
	if p.Tokens > 0 && p.TokensPerSec > 0 {
		x.Value += fmt.Sprintf(", %.4g tokens/s", p.TokensPerSec)
	}
	if p.OfCeiling > 0 {
		x.Value += fmt.Sprintf(", %.0f %% of %s", 100*p.OfCeiling, p.Ceiling)
	}
	switch {
	case len(p.Samples) == 0 || !(p.Median > 0):
		x.Verdict, x.Detail = snapshots.Void, "no sample was taken"
	case p.OfCeiling > 1:
		x.Verdict, x.Detail = snapshots.Void, strings.TrimSpace("faster than the machine can be: the measurement or the ceiling is wrong")
	}
	return x
}
