package command

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/olekukonko/tablewriter"
	"github.com/spf13/cobra"

	"assay/engine/checkpoint/regular"
	"assay/gates/verdict"
)

const maxSampleSets = 256 << 20 // bytes

func init() { register(verdictCommand) }

func verdictCommand(s *shell) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "verdict FILE",
		Short: "Judge sample sets by the verdict rules",
		Long: `verdict judges the sample sets of a JSON file: seconds per phase of a baseline A and
a candidate B, pair by pair. Exit status: 0 when every set could be judged, 2 when
the file cannot be read as sample sets.`,
		Example: `  validate verdict samples.json
  validate verdict samples.json --json verdicts.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := regular.ReadAny(args[0], maxSampleSets)
			if err != nil {
				return err
			}
			sets, err := verdict.Parse(b)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			var all []*verdict.Judgement
			for i := range sets {
				all = append(all, verdict.Judge(&sets[i], verdict.OrderStatistics))
			}
			return writeVerdicts(s, all, sets, out)
		},
	}
	c.Flags().StringVar(&out, "json", "", "write the verdicts to this file; - for standard output in place of the table")
	return c
}

func writeVerdicts(s *shell, all []*verdict.Judgement, sets []verdict.Set, out string) error {
	if out != "" {
		b, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return err
		}
		b = append(b, '\n')
		if out == "-" {
			_, err = s.out.Write(b)
			return err
		}
		if err := os.WriteFile(out, b, 0o644); err != nil {
			return err
		}
	}
	t := tablewriter.NewWriter(s.out)
	t.Header("set", "verdict", "rule", "target", "ratio", "interval")
	for i, j := range all {
		ratio, interval := "", ""
		if n, ok := j.Numbers[sets[i].Target]; ok {
			ratio, interval = fmt.Sprintf("%.4f", n.Ratio), fmt.Sprintf("%.4f to %.4f", n.Low, n.High)
		}
		if err := t.Append(j.ID, string(j.Verdict), j.Rule, sets[i].Target, ratio, interval); err != nil {
			return err
		}
	}
	return t.Render()
}
