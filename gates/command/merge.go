package command

import (
	"github.com/spf13/cobra"

	"assay/gates/shard"
)

func init() { register(mergeCommand) }

func mergeCommand(s *shell) *cobra.Command {
	var output outputFlags
	c := &cobra.Command{
		Use:   "merge REPORT...",
		Short: "Join the reports of shards into one",
		Long: `merge joins what validate gates --shard i/n --json FILE wrote into the report of one
run. Reports of another revision or another list of cases, and two of one shard, are
refused. A shard whose report is missing or that was interrupted is void: the others
are reported all the same. Exit status: as of the gates, 2 when a shard is void.`,
		Example: `  validate gates --shard 1/2 --json shard-1.json
  validate gates --shard 2/2 --json shard-2.json
  validate merge shard-*.json --markdown report.md --junit report.xml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := output.check(); err != nil {
				return err
			}
			var all []*shard.Report
			for _, path := range args {
				r, err := shard.Read(path)
				if err != nil {
					return err
				}
				all = append(all, r)
			}
			merged, err := shard.Merge(all)
			if err != nil {
				return err
			}
			if err := output.report(s, merged); err != nil {
				return err
			}
			s.status = merged.ExitStatus()
			return nil
		},
	}
	output.add(c)
	return c
}
