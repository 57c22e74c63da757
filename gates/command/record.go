package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/engine"
	"assay/engine/checkpoint"
	"assay/engine/kv"
	"assay/engine/tokenizer"
	"assay/gates"
	"assay/gates/parity"
	"assay/oracle"
	"assay/oracle/llamacpp"
)

func init() { register(recordCommand) }

// recordFlags say what is recorded, by which engine.
type recordFlags struct {
	model, prompts, out string
	engine              string
	tokens, threads     int
	level               string
	chunk               int
	activations         string
	nodes, state        bool
	logits, kv          string
}

func recordCommand(s *shell) *cobra.Command {
	var f recordFlags
	c := &cobra.Command{
		Use:   "record --model PATH --prompts FILE --out DIR",
		Short: "Write evidence: what an engine computes for given prompts",
		Long: `record feeds prompts and writes what was computed as a recording that parity can
replay. Prompts are YAML: a list of {name, ids}, {name, text} or {name, messages}, each
with an optional produced list that is fed as it is; the manifest of a recording is
accepted too. The engine llamacpp is the published library, run in a process of its own.`,
		Example: `  validate record --model model.gguf --prompts prompts.yaml --tokens 48 --out recording/
  validate record --engine llamacpp --model model.gguf --prompts recording/manifest.yaml --logits top64 --out other/`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), s) },
	}
	c.Flags().StringVar(&f.model, "model", "", "weight file or folder")
	c.Flags().StringVar(&f.prompts, "prompts", "", "YAML file of prompts, or the manifest of a recording")
	c.Flags().StringVar(&f.out, "out", "", "folder to write, which must be new or empty")
	c.Flags().StringVar(&f.engine, "engine", parity.EngineName, "assay or llamacpp")
	c.Flags().IntVar(&f.tokens, "tokens", 24, "ids to choose greedily for prompts without produced ids")
	c.Flags().IntVar(&f.threads, "threads", 0, "threads (default: the cores that the process may use; llamacpp: 1)")
	c.Flags().StringVar(&f.level, "cpu", "", "kernel level; llamacpp: CPU variant, e.g. haswell")
	c.Flags().IntVar(&f.chunk, "chunk", 0, "feed prompts in pieces of this many ids")
	c.Flags().StringVar(&f.activations, "activations", "int8", "int8 or float32 (assay)")
	c.Flags().BoolVar(&f.nodes, "nodes", false, "keep the residual stream and named intermediates")
	c.Flags().BoolVar(&f.state, "kv", false, "keep keys and values of every layer after the last id")
	c.Flags().StringVar(&f.kv, "kv-type", kv.F32.String(), "format of keys and values: f32 or f16")
	c.Flags().StringVar(&f.logits, "logits", "all", "all or top64")
	return c
}

func (f *recordFlags) run(ctx context.Context, s *shell) error {
	const name = "validate record"
	if f.model == "" || f.prompts == "" || f.out == "" {
		return &usageError{name, errors.New("--model, --prompts and --out are needed")}
	}
	keep, err := oracle.ParseKeep(f.logits)
	if err != nil {
		return &usageError{name, err}
	}
	if f.tokens < 1 || f.chunk < 0 || f.threads < 0 {
		return &usageError{name, fmt.Errorf("--tokens %d --chunk %d --threads %d: want at least one token and nothing negative", f.tokens, f.chunk, f.threads)}
	}
	if list, err := os.ReadDir(f.out); err == nil && len(list) > 0 {
		return fmt.Errorf("%s is there and not empty: evidence is not overwritten", f.out)
	}
	prompts, err := oracle.LoadPrompts(f.prompts)
	if err != nil {
		return err
	}
	switch f.engine {
	case parity.EngineName:
		err = f.assay(ctx, s, prompts, keep)
	case "llamacpp", "llama.cpp":
		err = f.llamacpp(ctx, prompts, keep)
	default:
		return &usageError{name, fmt.Errorf("unknown engine %q (assay, llamacpp)", f.engine)}
	}
	if err != nil {
		return err
	}
	return f.told(s)
}

// assay records this engine.
func (f *recordFlags) assay(ctx context.Context, s *shell, prompts []oracle.Prompt, keep oracle.Keep) error {
	format, err := gates.ParseKV(f.kv)
	if err != nil {
		return &usageError{"validate record", err}
	}
	mode, err := engine.ParseActivations(f.activations)
	if err != nil {
		return &usageError{"validate record", err}
	}
	m, err := engine.Open(ctx, f.model, engine.Options{Threads: f.threads, CPU: f.level, Activations: mode})
	if err != nil {
		return err
	}
	defer m.Close()
	if err := resolve(prompts, m.Tokenizer); err != nil {
		return err
	}
	p := newProgress(s.err)
	defer p.end()
	e, err := parity.Record(ctx, m, prompts, parity.RecordOptions{
		Tokens: f.tokens, Chunk: f.chunk, KV: format, Keep: keep, State: f.state, Nodes: f.nodes,
		Version: gates.Version(), Command: f.commandLine(), Progress: p.count("recording"),
	})
	if err != nil {
		return err
	}
	return oracle.Save(f.out, e)
}

// llamacpp records the published library, in a child process that an assertion
// inside of it may end.
func (f *recordFlags) llamacpp(ctx context.Context, prompts []oracle.Prompt, keep oracle.Keep) error {
	if err := f.render(prompts); err != nil {
		return err
	}
	q := llamacpp.RecordRequest{
		Model: f.model, Prompts: prompts, Tokens: f.tokens, Chunk: f.chunk, Keep: keep, KV: f.state, Hidden: f.nodes, Command: f.commandLine(),
		Context: llamacpp.ContextOptions{Threads: max(f.threads, 1), Flash: llamacpp.FlashOff, KV: f.kv},
	}
	if f.nodes {
		q.Nodes = llamacpp.DefaultNodes
	}
	var c llamacpp.Client
	_, err := c.Do(ctx, llamacpp.Request{Op: "record", Variant: f.level, Record: &q, Out: f.out})
	return err
}

// render gives conversations their ids; text is left to the library's own
// tokenizer.
func (f *recordFlags) render(prompts []oracle.Prompt) error {
	if !slices.ContainsFunc(prompts, func(p oracle.Prompt) bool { return len(p.IDs) == 0 && len(p.Messages) > 0 }) {
		return nil
	}
	c, err := checkpoint.Open(f.model)
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range prompts {
		if len(prompts[i].Messages) == 0 {
			continue
		}
		if err := resolve(prompts[i:i+1], func() (*tokenizer.Tokenizer, error) { return tokenizer.FromCheckpoint(c) }); err != nil {
			return err
		}
	}
	return nil
}

// resolve gives prompts ids and opens the tokenizer only when one needs it.
func resolve(prompts []oracle.Prompt, open func() (*tokenizer.Tokenizer, error)) error {
	for i := range prompts {
		if len(prompts[i].IDs) > 0 {
			continue
		}
		t, err := open()
		if err != nil {
			return err
		}
		return parity.Resolve(t, prompts)
	}
	return nil
}

// commandLine is what makes the recording again.
func (f *recordFlags) commandLine() string {
	parts := []string{"validate record", "--engine", f.engine, "--model", f.model, "--prompts", f.prompts, "--tokens", fmt.Sprint(f.tokens), "--logits", f.logits, "--kv-type", f.kv}
	for _, x := range []struct {
		flag string
		set  bool
		text string
	}{{"--threads", f.threads > 0, fmt.Sprint(f.threads)}, {"--cpu", f.level != "", f.level}, {"--chunk", f.chunk > 0, fmt.Sprint(f.chunk)},
		{"--activations", f.engine == parity.EngineName, f.activations}, {"--nodes", f.nodes, ""}, {"--kv", f.state, ""}} {
		if x.set {
			parts = append(parts, strings.TrimSpace(x.flag+" "+x.text))
		}
	}
	return strings.Join(parts, " ")
}

// told loads what was written, as anybody will who uses it, and tells what it is.
func (f *recordFlags) told(s *shell) error {
	e, err := oracle.Load(f.out)
	if err != nil {
		return err
	}
	defer e.Close()
	rows := 0
	for i := range e.Manifest.Prompts {
		rows += e.Manifest.Prompts[i].Rows()
	}
	fmt.Fprintf(s.out, "%s: %s %s, %d prompts, %d rows, %d tensors\n", f.out, e.Manifest.Engine.Name, e.Manifest.Engine.Version, len(e.Manifest.Prompts), rows, len(e.Tensors))
	return nil
}
