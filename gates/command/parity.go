package command

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"assay/gates"
)

func init() { register(parityCommand) }

// parityFlags name a recording and what it is held to.
type parityFlags struct {
	model, evidence, reference, text string
	levels                           []string
	threads                          []int
	asked                            gates.Asked
	output                           outputFlags
}

func parityCommand(s *shell) *cobra.Command {
	var f parityFlags
	c := &cobra.Command{
		Use:   "parity --model PATH --evidence DIR",
		Short: "Replay a recording of another engine and compare",
		Long: `parity feeds the recorded ids, whatever the engine would choose, and compares after
each. What a recording is held to follows from who made it: recordings of assay must
give the same bits, float recordings of float weights the same numbers to float
tolerance, recordings of quantised weights a divergence of the size that legal
configurations of one engine have. Known real models bring their own tolerances.
--rung and the figures ask for something else.`,
		Example: `  validate parity --model model.gguf --evidence recording/
  validate parity --model model.gguf --evidence recording/ --rung kl --mean-kl 0.005
  validate parity --model smollm2.gguf --evidence smollm2/ --reference smollm2-float.safetensors --text smollm2-nll.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c, s) },
	}
	c.Flags().StringVar(&f.model, "model", "", "weight file or folder")
	c.Flags().StringVar(&f.evidence, "evidence", "", "folder of the recording")
	c.Flags().StringVar(&f.reference, "reference", "", "rows of a float reference for the same prompts (safetensors)")
	c.Flags().StringVar(&f.text, "text", "", "JSON with engine, ids and mean_nll of a text to score")
	c.Flags().StringVar(&f.asked.Rung, "rung", "", "bits, ids, ulp, nmse, topk or kl instead of what the recording is held to")
	c.Flags().Float64Var(&f.asked.MaxAbs, "max-abs", 0, "largest absolute difference of a logit")
	c.Flags().Float64Var(&f.asked.MeanKL, "mean-kl", 0, "largest mean KL divergence in nats")
	c.Flags().Float64Var(&f.asked.Top1, "top1", 0, "least share of rows with the same choice, 0 to 1")
	c.Flags().Float64Var(&f.asked.Margin, "margin", 0, "recorded margin above which no choice may differ")
	c.Flags().StringVar(&f.asked.Activations, "activations", "", "int8 or float32 (default: as recorded, else int8)")
	c.Flags().StringVar(&f.asked.KV, "kv", "", "K/V format, f16 or f32 (default: as recorded, else f32)")
	c.Flags().BoolVar(&f.asked.StepByStep, "step-by-step", false, "feed produced ids one by one: slower, the same bits")
	c.Flags().StringSliceVar(&f.levels, "cpu", nil, "kernel levels to run on, e.g. scalar,avx2")
	c.Flags().IntSliceVar(&f.threads, "threads", nil, "numbers of threads to run with, e.g. 1,2")
	f.output.add(c)
	return c
}

// figures refuses figures that nothing could be held to: NaN, infinity, and zero,
// which would mean the default.
func (f *parityFlags) figures(c *cobra.Command) error {
	for _, x := range []struct {
		flag string
		at   float64
		most float64
	}{{"max-abs", f.asked.MaxAbs, math.MaxFloat64}, {"mean-kl", f.asked.MeanKL, math.MaxFloat64}, {"top1", f.asked.Top1, 1}, {"margin", f.asked.Margin, math.MaxFloat64}} {
		if c.Flags().Changed(x.flag) && !(x.at > 0 && x.at <= x.most) {
			return fmt.Errorf("--%s %v: want a number above 0%s (no difference at all is --rung bits)", x.flag, x.at, map[bool]string{true: ", at most 1"}[x.most == 1])
		}
	}
	return nil
}

func (f *parityFlags) run(c *cobra.Command, s *shell) error {
	if f.model == "" || f.evidence == "" {
		return &usageError{"validate parity", errors.New("--model and --evidence are needed")}
	}
	if err := f.figures(c); err != nil {
		return &usageError{"validate parity", err}
	}
	ctx := c.Context()
	definitions, err := gates.ForRecording(f.model, f.evidence, f.asked)
	if err != nil {
		return err
	}
	for flag, path := range map[string]string{"reference": f.reference, "text": f.text} {
		if path != "" && !compares(definitions, flag) {
			return &usageError{"validate parity", fmt.Errorf("--%s is for known real models, whose gates say what it is held to; none is about this recording as it is asked for", flag)}
		}
	}
	return f.output.gates(ctx, s, definitions, gates.Options{
		Levels: f.levels, Threads: f.threads, Model: f.model, Evidence: f.evidence, Reference: f.reference, Text: f.text,
	})
}

// compares tells whether some check compares with what --reference or --text
// names: a file that nothing is held to must not look as if it held.
func compares(definitions []gates.Definition, of string) bool {
	return slices.ContainsFunc(definitions, func(d gates.Definition) bool {
		return slices.ContainsFunc(d.Checks, func(c gates.Check) bool { return c.Of == of })
	})
}
