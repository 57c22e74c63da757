package command

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"assay/gates"
	"assay/gates/shard"
)

func init() { register(gatesCommand) }

// gateFlags select gates and say where the report goes.
type gateFlags struct {
	phases, levels []string
	threads        []int
	model          string
	evidence       string
	shard          string
	list           bool
	output         outputFlags
}

func (f *gateFlags) add(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.phases, "phase", nil, "gates that speak of these phases: load,prompt,decode,restore")
	c.Flags().StringSliceVar(&f.levels, "cpu", nil, "kernel levels to run on, e.g. scalar,avx2")
	c.Flags().IntSliceVar(&f.threads, "threads", nil, "numbers of threads to run with, e.g. 1,2")
	c.Flags().StringVar(&f.model, "model", "", "hold gates to this weight file or folder instead of the fixtures")
	c.Flags().StringVar(&f.evidence, "evidence", "", "with --model: a recording to hold it to")
	f.output.add(c)
}

func gatesCommand(s *shell) *cobra.Command {
	var f gateFlags
	c := &cobra.Command{
		Use:   "gates [REGEX]",
		Short: "Run a selection of the gates",
		Example: `  validate gates --list
  validate gates 'invariance/.*' --cpu scalar,avx2 --threads 1,2
  validate gates --phase restore
  validate gates --model model.gguf --junit gates.xml
  validate gates --shard 2/4 --json shard-2.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{""}
			}
			return f.run(c.Context(), s, args[0])
		},
	}
	f.add(c)
	c.Flags().StringVar(&f.shard, "shard", "", "run part i of n of the cases, e.g. 2/4; validate merge joins the reports")
	c.Flags().BoolVar(&f.list, "list", false, "list the gates instead of running them")
	return c
}

func (f *gateFlags) run(ctx context.Context, s *shell, pattern string) error {
	o := gates.Options{Phases: f.phases, Levels: f.levels, Threads: f.threads, Model: f.model, Evidence: f.evidence, Bench: benchRunner}
	if pattern != "" {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return &usageError{"validate gates", err}
		}
		o.Select = re
	}
	part, err := shard.Parse(f.shard)
	if err != nil {
		return &usageError{"validate gates", err}
	}
	o.Shard = part
	definitions, err := f.definitions()
	if err != nil {
		return err
	}
	if f.list {
		return list(s, definitions, o.Select)
	}
	return f.output.gates(ctx, s, definitions, o)
}

// definitions are those of the fixtures or those for a model of the user.
func (f *gateFlags) definitions() ([]gates.Definition, error) {
	if f.model == "" {
		if f.evidence != "" {
			return nil, &usageError{"validate gates", errors.New("--evidence needs --model")}
		}
		return gates.Load(gates.OnFixtures)
	}
	definitions, err := gates.Load(gates.OnModel)
	if err != nil || f.evidence == "" {
		return definitions, err
	}
	more, err := gates.ForRecording(f.model, f.evidence, gates.Asked{})
	return append(definitions, more...), err
}

func list(s *shell, definitions []gates.Definition, selected *regexp.Regexp) error {
	for i := range definitions {
		d := &definitions[i]
		if selected != nil && !selected.MatchString(d.Name) {
			continue
		}
		fmt.Fprintf(s.out, "%s: %s\n", d.Name, d.About)
		for j := range d.Checks {
			fmt.Fprintf(s.out, "    %s\n", d.Checks[j].String())
		}
	}
	return nil
}

// benchRunner times phases, where that part of the harness is built in.
var benchRunner gates.BenchRunner

// gates runs definitions with progress, writes the report and sets the status.
func (o *outputFlags) gates(ctx context.Context, s *shell, definitions []gates.Definition, run gates.Options) error {
	if err := o.check(); err != nil {
		return err
	}
	p := newProgress(s.err)
	run.Progress = p.event
	report, err := gates.Run(ctx, definitions, run)
	p.end()
	if report != nil {
		if werr := o.report(s, report); werr != nil {
			return werr
		}
		s.status = report.ExitStatus()
	}
	var interrupted *gates.InterruptedError
	if errors.As(err, &interrupted) {
		fmt.Fprintf(s.err, "validate: interrupted: %d of %d cases were done\n", interrupted.Done, interrupted.Total)
		if s.status != statusFailed {
			s.status = statusUnanswered
		}
		return nil
	}
	return err
}
