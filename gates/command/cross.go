package command

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assay/gates"
	"assay/gates/cross"
	"assay/gates/ledger"
	"assay/snapshots"
)

func init() { register(crossCommand) }

func crossCommand(s *shell) *cobra.Command {
	var o cross.Options
	var output outputFlags
	c := &cobra.Command{
		Use:   "cross",
		Short: "Build, vet and run the tests for other processors",
		Long: `cross builds and vets this tree for every target and runs the tests of kernels and
engine natively at each kernel level and, where an emulator is installed, on a
ladder of CPU models. It says "compiled" or "ran", never one for the other. Run it
inside the source tree.`,
		Example: `  validate cross
  validate cross --target linux/arm64,linux/riscv64
  validate cross --compile`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := os.Getwd()
			if err != nil {
				return err
			}
			if o.Root, err = ledger.Root(at); err != nil {
				return err
			}
			o.Progress = func(r *snapshots.Result) {
				fmt.Fprintf(s.err, "%s %s: %s (%.0f s)\n", r.Gate, r.Check, r.Value, r.Seconds)
			}
			start := time.Now()
			results, err := cross.Run(c.Context(), o)
			if err != nil && len(results) == 0 {
				return err
			}
			r := &snapshots.Report{
				Format: snapshots.ReportFormat, Started: start.UTC(), Seconds: time.Since(start).Seconds(),
				Command: "validate cross", Version: gates.Version(), Results: results, Machine: gates.Machine(),
			}
			s.status = r.ExitStatus()
			if err != nil {
				s.status = statusUnanswered
			}
			return output.report(s, r)
		},
	}
	c.Flags().StringSliceVar(&o.Only, "target", nil, "targets, e.g. linux/arm64; without the flag, all")
	c.Flags().BoolVar(&o.Compile, "compile", false, "build and vet only")
	output.add(c)
	return c
}
