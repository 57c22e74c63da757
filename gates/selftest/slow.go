package selftest

import (
	"context"
	"fmt"
	"strconv"

	"assay/gates/experiment"
	"assay/gates/verdict"
)

func itoa(n int) string { return strconv.Itoa(n) }

// seeded is an experiment on the smallest work that still shows a kernel. The
// baseline reads the clock as often as the candidate does, so that the stretch is
// all that differs.
const seeded = `name: %s
hypothesis: stretching every matrix product by %g of its time is no slow-down
mechanism: {about: each worker stays busy a little longer after a product, counter: %s}
baseline: {tuning: "slow=0.000001"}
candidate: {tuning: "%s"}
fixture: {model: selftest.gguf, sha256: %s}
workload: {prompt: 64, decode: 16, threads: 1, repeat: 9}
preserve: {rung: bits}
target: prompt
guard: [decode]
effect: 0
pairs: %s
seed: %d
`

// Looks of seeded slow-downs.
const (
	looks      = "[12, 24, 48]" // the default ones
	shortLooks = "[24, 48, 96, 192]"
	moreLooks  = "[48, 96, 192, 384]"
)

// slowDown is the experiment that stretches products.
func (b *bench) slowDown(part float64, pairs string, seed uint64) (*experiment.Definition, error) {
	return b.define(fmt.Sprintf("slow-%g", 1000*part), part, "slow", fmt.Sprintf("slow=%g", part), pairs, seed)
}

// define makes an experiment on the model of self-tests.
func (b *bench) define(name string, part float64, counter, tuning, pairs string, seed uint64) (*experiment.Definition, error) {
	if b.model == "" {
		var err error
		if b.model, err = writeModel(b.dir); err != nil {
			return nil, err
		}
	}
	return experiment.Parse(name+".yaml", fmt.Appendf(nil, seeded, name, part, counter, tuning, b.model, pairs, seed))
}

// slow seeds a slow-down in the kernels of the candidate.
func slow(part float64, pairs string) func(context.Context, *bench) (Finding, error) {
	return func(ctx context.Context, b *bench) (Finding, error) {
		d, err := b.slowDown(part, pairs, 11)
		if err != nil {
			return Finding{}, err
		}
		return b.experiment(ctx, d)
	}
}

// idle is an experiment whose mechanism does not run.
func idleMechanism(ctx context.Context, b *bench) (Finding, error) {
	d, err := b.define("idle", 0, "prefetch", "fuse=off", "[12]", 12)
	if err != nil {
		return Finding{}, err
	}
	return b.experiment(ctx, d)
}

func (b *bench) experiment(ctx context.Context, d *experiment.Definition) (Finding, error) {
	rec, err := b.runner.Run(ctx, d)
	if err != nil {
		return Finding{}, err
	}
	o := rec.Outcome
	f := Finding{Answer: string(o.Verdict), Status: status(o.Verdict), Detail: o.Rule}
	if n, ok := o.Numbers[d.Target]; ok {
		f.Detail = fmt.Sprintf("%s: %.4f [%.4f, %.4f], floor %.2f %%, %d pairs", o.Rule, n.Ratio, n.Low, n.High, 100*n.Floor, o.Pairs)
	}
	return f, nil
}

// edited seeds a change of a registered experiment after its verdict.
func edited(ctx context.Context, b *bench) (Finding, error) {
	d, err := b.slowDown(0.5, "[12]", 13)
	if err != nil {
		return Finding{}, err
	}
	if _, err := b.runner.Run(ctx, d); err != nil {
		return Finding{}, err
	}
	changed, err := experiment.Parse(d.File, []byte(d.Text+"# the effect was never meant to be measured\n"))
	if err != nil {
		return Finding{}, err
	}
	lines, err := b.runner.Store.Read(d.Name)
	if err != nil {
		return Finding{}, err
	}
	s := b.runner.State(changed, experiment.Records(lines))
	return Finding{Answer: s.Word, Status: status(s.Verdict), Detail: s.Why}, nil
}

func status(v verdict.Verdict) int {
	switch v {
	case verdict.Retained, verdict.Level:
		return 0
	case verdict.Rejected:
		return 1
	}
	return 2
}
