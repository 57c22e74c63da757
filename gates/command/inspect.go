package command

import (
	"github.com/spf13/cobra"

	"assay/gates/inspect"
)

func init() { register(inspectCommand) }

func inspectCommand(s *shell) *cobra.Command {
	var o inspect.Options
	c := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Tell what a weight file or folder holds",
		Long: `inspect judges the container alone: exit status 0 when it is well formed, 2 with the
reason when it is not. With --open it also opens it as a model and tells whether assay
can run it, and why not.`,
		Example: `  validate inspect model.gguf
  validate inspect --open folder/
  validate inspect --json - model.gguf`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return inspect.Run(s.out, args[0], o) },
	}
	c.Flags().BoolVar(&o.Open, "open", false, "also open it as a model")
	c.Flags().StringVar(&o.JSON, "json", "", "write everything, with a SHA-256 of each tensor, to this file (- for standard output)")
	return c
}
