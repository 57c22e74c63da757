package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"assay/gates"
	"assay/gates/bench"
	"assay/snapshots"
)

func init() {
	register(benchCommand, benchSampleCommand)
	benchRunner = benchFixture
}

// benchFlags are the workload and how it is run.
type benchFlags struct {
	options               bench.Options
	peer                  string
	goBench, json, report string
}

func (f *benchFlags) addWorkload(c *cobra.Command) {
	c.Flags().IntVar(&f.options.Prompt, "prompt", bench.DefaultPrompt, "ids of the prompt")
	c.Flags().IntVar(&f.options.Decode, "decode", bench.DefaultDecode, "evaluations of one id after it")
	c.Flags().IntVar(&f.options.Threads, "threads", 0, "threads of each engine (default: the cores that the process may use)")
	c.Flags().IntVar(&f.options.Samples, "samples", 6, "samples of each engine, every one a fresh process")
	c.Flags().StringVar(&f.options.CPU, "cpu", "", "kernel level (default: the best of this machine)")
	c.Flags().StringVar(&f.options.Activations, "activations", "int8", "int8 or float32")
	c.Flags().Float64Var(&f.options.Foreign, "foreign", 0.1, "part of the CPUs that others may use during a sample; more during most samples makes the times void")
	c.Flags().StringVar(&f.json, "json", "", "write the samples and figures as JSON to this file (- for standard output)")
}

func benchCommand(s *shell) *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench --model PATH",
		Short: "Time complete phases, alone or beside another engine",
		Long: `bench times load, prepare, prompt, boundary, decode and restore. Every sample is a
fresh process, interleaved A B B A with those of the peer; both engines are fed the
same ids on the same threads. Times above a measured ceiling of the machine, of
samples whose logits differ, or of a machine that was busy with other work most of
the time, are void.`,
		Example: `  validate bench --model model.gguf
  validate bench --model model.gguf --peer llamacpp --threads 2 --json bench.json
  validate bench --model model.gguf --bench new.txt && benchstat old.txt new.txt`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), s) },
	}
	f.addWorkload(c)
	c.Flags().StringVar(&f.options.Model, "model", "", "weight file or folder")
	c.Flags().StringVar(&f.peer, "peer", "", "engine to run beside ours: llamacpp")
	c.Flags().StringVar(&f.goBench, "bench", "", "write every sample in Go benchmark format to this file")
	c.Flags().StringVar(&f.report, "markdown", "", "write the table as Markdown to this file, and to $GITHUB_STEP_SUMMARY when that is set")
	return c
}

// complete turns flags into options.
func (f *benchFlags) complete(command string) error {
	o := &f.options
	switch {
	case o.Prompt < 1 || o.Decode < 0 || o.Samples < 1 || o.Threads < 0:
		return &usageError{command, fmt.Errorf("--prompt %d --decode %d --samples %d --threads %d: want at least one id and one sample, and nothing negative", o.Prompt, o.Decode, o.Samples, o.Threads)}
	case !(o.Foreign > 0):
		return &usageError{command, fmt.Errorf("--foreign %v: want a number above 0", o.Foreign)}
	case o.Decode == 0:
		o.Decode = -1 // zero is the default there
	}
	o.Machine, o.Version = gates.Machine(), gates.Version()
	return nil
}

func (f *benchFlags) run(ctx context.Context, s *shell) error {
	const name = "validate bench"
	if f.options.Model == "" {
		return &usageError{name, errors.New("--model is missing")}
	}
	if err := f.complete(name); err != nil {
		return err
	}
	if err := writable(f.json, f.goBench, f.report); err != nil {
		return err
	}
	if f.peer != "" {
		peer, err := bench.NewPeer(f.peer, nil)
		if err != nil {
			return &usageError{name, err}
		}
		f.options.Peer = peer
	}
	p := newProgress(s.err)
	f.options.Progress = func(done, total int, engine string) { p.line(fmt.Sprintf("[%d/%d] %s", done, total, engine)) }
	b, err := bench.Run(ctx, f.options)
	p.end()
	if err != nil {
		return err
	}
	if b.Void() {
		s.status = statusUnanswered
	}
	return f.write(s, b)
}

// write puts the benchmark wherever it was asked for.
func (f *benchFlags) write(s *shell, b *snapshots.Bench) error {
	if f.json != "-" {
		if err := snapshots.WriteBench(s.out, b); err != nil {
			return err
		}
	}
	var files outputFlags
	for _, x := range []struct {
		path  string
		write func(io.Writer, *snapshots.Bench) error
	}{{f.json, snapshots.WriteBenchJSON}, {f.goBench, snapshots.WriteGoBench}, {f.report, snapshots.WriteBenchMarkdown}} {
		var text bytes.Buffer
		if err := x.write(&text, b); err != nil {
			return err
		}
		if err := files.file(s, x.path, text.Bytes()); err != nil {
			return err
		}
	}
	if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" && f.report != "" {
		return appendTo(path, func(w io.Writer) error { return snapshots.WriteBenchMarkdown(w, b) })
	}
	return nil
}

func appendTo(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// benchSampleCommand is the child process of a sample.
func benchSampleCommand(s *shell) *cobra.Command {
	return &cobra.Command{
		Use:    bench.ChildArgument,
		Short:  "Take one sample of a benchmark",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(c *cobra.Command, _ []string) error { return bench.Serve(c.Context(), s.in, s.out) },
	}
}

// benchFixture is the small benchmark of the gates: samples in this process.
func benchFixture(ctx context.Context, model string, o gates.BenchOptions) (*snapshots.Bench, error) {
	decode := o.Decode
	if decode <= 0 {
		decode = -1
	}
	return bench.Run(ctx, bench.Options{
		Model: model, Prompt: o.Prompt, Decode: decode, Threads: o.Threads, CPU: o.CPU, Activations: o.Activations, Samples: o.Samples,
		Inside: true, Machine: gates.Machine(), Version: gates.Version(),
	})
}
