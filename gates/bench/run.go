package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"assay/engine"
	"assay/engine/checkpoint"
	"assay/gates/stats"
	"assay/kernels/ceiling"
	"assay/kernels/cpu"
	"assay/snapshots"
)

// The workload that figures of this project are given for.
const (
	DefaultPrompt = 124
	DefaultDecode = 47 // evaluations: 48 output ids
)

// maxIDs bounds the workload where a model does not tell its context.
const maxIDs = 1 << 20

// Options say what is timed and how.
type Options struct {
	Model       string
	Prompt      int // ids of the prompt; 0: DefaultPrompt
	Decode      int // evaluations of one id behind it; 0: DefaultDecode, negative: none
	Threads     int // 0: the cores that the process may use
	CPU         string
	Activations string
	Samples     int    // per engine; 0: stats.MinSamples
	Peer        Engine // interleaved with ours; nil: none
	// Inside takes our samples in this process, not in fresh ones.
	Inside bool
	// Command is a program that calls Serve; empty: this executable with
	// ChildArgument.
	Command []string
	// Machine and Version go into the result; ceilings and threads are filled in.
	Machine snapshots.Machine
	Version string
	// Ceilings measures the machine; nil: ceiling.Measure.
	Ceilings func(ceiling.Options) (ceiling.Figures, error)
	// Progress is told of every sample before it begins, and of the end.
	Progress func(done, total int, engine string)
	// Foreign is the part of all CPUs that others may use during a sample, 0.1 when
	// zero. More is warned of, and more during most samples makes the times void.
	Foreign float64
}

func (o *Options) complete() (cpu.Level, error) {
	if o.Prompt == 0 {
		o.Prompt = DefaultPrompt
	}
	if o.Decode == 0 {
		o.Decode = DefaultDecode
	}
	o.Decode = max(o.Decode, 0)
	if o.Threads == 0 {
		o.Threads = min(runtime.GOMAXPROCS(0), runtime.NumCPU())
	}
	if o.Samples == 0 {
		o.Samples = stats.MinSamples
	}
	if o.Ceilings == nil {
		o.Ceilings = ceiling.Measure
	}
	if o.Foreign == 0 {
		o.Foreign = foreignLimit
	}
	if o.Prompt < 0 || o.Threads < 0 || o.Samples < 0 {
		return 0, fmt.Errorf("bench: negative option: prompt %d, threads %d, samples %d", o.Prompt, o.Threads, o.Samples)
	}
	if o.Threads > engine.MaxThreads {
		return 0, fmt.Errorf("bench: %d threads: want at most %d", o.Threads, engine.MaxThreads)
	}
	a, err := engine.ParseActivations(o.Activations)
	if err != nil {
		return 0, err
	}
	o.Activations = a.String()
	if o.CPU != "" {
		return cpu.Parse(o.CPU)
	}
	return cpu.Default()
}

// Run times the phases and condenses them.
func Run(ctx context.Context, o Options) (*snapshots.Bench, error) {
	level, err := o.complete()
	if err != nil {
		return nil, err
	}
	o.CPU = level.String()
	model, config, err := describe(o.Model)
	if err != nil {
		return nil, err
	}
	limit := config.Context
	if limit <= 0 {
		limit = maxIDs
	}
	if o.Prompt > limit || o.Decode > limit-o.Prompt {
		return nil, fmt.Errorf("bench: a prompt of %d ids and %d more are more than the context of the model, %d", o.Prompt, o.Decode, limit)
	}
	ids := IDs(o.Prompt+o.Decode, config.Vocab)
	job := Job{Model: o.Model, Threads: o.Threads, CPU: o.CPU, Activations: o.Activations, Prompt: ids[:o.Prompt], Decode: ids[o.Prompt:]}
	b := &snapshots.Bench{Format: snapshots.BenchFormat, Machine: o.Machine, Model: *model, Threads: o.Threads, Activations: o.Activations}
	b.Machine.Level = o.CPU
	b.Machine.Threads = o.Threads

	limits := ceiling.Options{Level: level, Threads: o.Threads, Passes: 5}
	before, err := o.Ceilings(limits)
	if err != nil {
		return nil, err
	}
	runs, shares, err := take(ctx, &o, job)
	if err != nil {
		return nil, err
	}
	after, err := o.Ceilings(limits)
	if err != nil {
		return nil, err
	}
	// Whatever disturbed one of the two measurements, the machine can do the larger.
	b.Machine.ReadGBs = max(before.ReadGBs, after.ReadGBs)
	b.Machine.Int8GMACs = max(before.Int8GMACs, after.Int8GMACs)
	if w := foreignWarning(shares, o.Foreign); w != "" {
		b.Warnings = append(b.Warnings, w)
	}
	if cores := runtime.NumCPU(); o.Threads > cores {
		b.Warnings = append(b.Warnings, fmt.Sprintf("%d threads on %d cores", o.Threads, cores))
	}
	if err := condense(b, runs, idsSum(ids), lastLevelCache()); err != nil {
		return b, err
	}
	if !o.Inside && mostlyBusy(shares, o.Foreign) {
		voidBusy(b)
	}
	return b, nil
}

// series are the samples of one engine in the order they were taken.
type series struct {
	engine  string
	version string
	samples []*Sample
}

// take takes the samples: A B B A A B ..., so that a drift of the machine meets
// both engines alike.
func take(ctx context.Context, o *Options, j Job) (runs []series, shares []float64, err error) {
	var ours Engine = &Process{Command: o.Command}
	if o.Inside {
		ours = inside{}
	}
	engines := []Engine{ours}
	if o.Peer != nil {
		engines = append(engines, o.Peer)
	}
	runs = make([]series, len(engines))
	total := o.Samples * len(engines)
	for i := range total {
		k := i % len(engines)
		if (i/len(engines))%2 == 1 {
			k = len(engines) - 1 - k
		}
		o.progress(i, total, engines[k].Name())
		w := StartWatch()
		s, err := engines[k].Sample(ctx, j)
		if err != nil {
			return nil, nil, err
		}
		if share, ok := w.share(); ok {
			shares = append(shares, share)
		}
		r := &runs[k]
		r.engine, r.version = engines[k].Name(), s.Version
		if k == 0 {
			r.version = o.Version
		}
		r.samples = append(r.samples, s)
	}
	o.progress(total, total, "")
	return runs, shares, nil
}

func (o *Options) progress(done, total int, engine string) {
	if o.Progress != nil {
		o.Progress(done, total, engine)
	}
}

// describe reads what the result says of the model.
func describe(path string) (_ *snapshots.BenchModel, _ *checkpoint.Config, err error) {
	c, err := checkpoint.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	files, err := c.Digest()
	if err != nil {
		return nil, nil, err
	}
	m := &snapshots.BenchModel{Path: filepath.ToSlash(path), Family: c.Config().Family, SHA256: digest(files)}
	weights, formats := map[string]bool{}, map[string]int{}
	for _, t := range c.Tensors() {
		weights[t.File] = true
		formats[t.Format] += len(t.Data)
	}
	for name := range weights {
		info, err := os.Stat(name)
		if err != nil {
			return nil, nil, err
		}
		m.Bytes += info.Size()
	}
	m.Format = largest(formats)
	return m, c.Config(), nil
}
