package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/spf13/cobra"

	"assay/gates/sampling"
	"assay/gates/selftest"
)

func init() { register(selftestCommand) }

type selftestFlags struct {
	options selftest.Options
	trust   string
	trials  int
	// of slow-downs, and simulated trials; for tests
	slowPairs, simulated int
	json                 string
	share                float64
}

// busyShare of the CPUs may be used by others while faults are seeded: they are
// large, and must be caught on the machines of CI too.
const busyShare = 0.5

func selftestCommand(s *shell) *cobra.Command {
	var f selftestFlags
	c := &cobra.Command{
		Use:   "selftest",
		Short: "Seed faults and hold the harness to catching them",
		Long: `selftest seeds faults that gates and verdicts must catch: slow kernels, a wrong
logit, a stale ledger, gates that cannot run or were skipped, a flipped bit, an
impossible figure. Exit status: 0 when each was caught, 1 when one was not, 2 when
one could not be seeded.

With --trust FILE it measures instead how far verdicts can be trusted on this machine:
how often they see a difference between a binary and itself, and how often they find
a slow-down. The tables go between the marks of the file, or into a new file.`,
		Example: `  validate selftest --short
  validate selftest
  validate selftest --trust docs/trust.md`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), s) },
	}
	c.Flags().BoolVar(&f.options.Short, "short", false, "leave out what takes more than a minute")
	c.Flags().StringVar(&f.trust, "trust", "", "measure the trust in verdicts and write it to this file")
	c.Flags().IntVar(&f.trials, "trials", 60, "with --trust: trials of the binary against itself")
	c.Flags().Float64Var(&f.share, "foreign", 0, fmt.Sprintf("part of the CPUs that others may use before and during a pair (default %g; %g with --trust)", busyShare, sampling.DefaultRules.Share))
	c.Flags().StringVar(&f.json, "json", "", "write the findings as JSON to this file (- for standard output)")
	return c
}

func (f *selftestFlags) run(ctx context.Context, s *shell) error {
	p := newProgress(s.err)
	f.options.Progress = p.line
	f.options.Rules = sampling.DefaultRules
	switch {
	case f.share > 0:
		f.options.Rules.Share = f.share
	case f.trust == "":
		f.options.Rules.Share = busyShare
	}
	if f.trust != "" {
		defer p.end()
		return f.measureTrust(ctx, s)
	}
	rows, failure := selftest.Run(ctx, f.options)
	p.end()
	if failure != nil && ctx.Err() == nil {
		return failure
	}
	if err := f.write(s, rows); err != nil {
		return err
	}
	if failure != nil {
		s.status = max(s.status, statusUnanswered)
		fmt.Fprintln(s.err, "validate: interrupted")
	}
	return nil
}

// selftestAnswer is one row of --json.
type selftestAnswer struct {
	Fault   string  `json:"fault"`
	Where   string  `json:"where"`
	Expect  string  `json:"expect"`
	Answer  string  `json:"answer"`
	Status  int     `json:"status"`
	Caught  bool    `json:"caught"`
	Detail  string  `json:"detail"`
	Seconds float64 `json:"seconds"`
}

func (f *selftestFlags) write(s *shell, rows []selftest.Row) error {
	t := tablewriter.NewWriter(s.out)
	t.Header("fault", "must be noticed by", "expected", "answer", "exit", "caught")
	var answers []selftestAnswer
	missed := 0
	var details []string
	for _, r := range rows {
		caught := "yes"
		detail := r.Detail
		switch {
		case r.Err != nil:
			caught, detail = "not seeded", r.Err.Error()
			missed++
			s.raise(statusUnanswered)
		case !r.Caught:
			caught = "NO"
			missed++
			s.raise(statusFailed)
		}
		if err := t.Append(r.Name, r.Where, r.Expect, r.Answer, r.Finding.Status, caught); err != nil {
			return err
		}
		if detail != "" {
			details = append(details, r.Name+": "+detail)
		}
		answers = append(answers, selftestAnswer{r.Name, r.Where, r.Expect, r.Answer, r.Finding.Status, r.Caught, detail, r.Seconds})
	}
	if f.json != "-" {
		if err := t.Render(); err != nil {
			return err
		}
		fmt.Fprintln(s.out, strings.Join(details, "\n"))
		fmt.Fprintf(s.out, "%d of %d faults caught\n", len(rows)-missed, len(rows))
	}
	b, err := json.MarshalIndent(answers, "", "  ")
	if err != nil {
		return err
	}
	var files outputFlags
	return files.file(s, f.json, append(b, '\n'))
}
