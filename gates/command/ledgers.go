package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"assay/gates/ledger"
)

func init() { register(ledgersCommand) }

func ledgersCommand(s *shell) *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use:   "ledgers",
		Short: "Write the ledgers at the root of the project",
		Long: `ledgers writes validation-gates.md and backend-parity-matrix.md from the definitions
of the gates and the registries of the kernels. With --check it only tells whether
they are stale, and exits with 1 when one is. The matrix is made and checked on
amd64, whose build has every kernel; elsewhere it is named as not checked.`,
		Example: `  validate ledgers
  validate ledgers --check`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			root, err := ledger.Root(".")
			if err != nil {
				return err
			}
			return ledgers(s, root, check)
		},
	}
	c.Flags().BoolVar(&check, "check", false, "only tell whether they are stale")
	return c
}

// ledgers writes or checks all ledgers below root.
func ledgers(s *shell, root string, check bool) error {
	for _, l := range ledger.All() {
		var stale string
		var err error
		if check {
			stale, err = l.Stale(root)
		} else {
			err = l.Write(root)
		}
		switch {
		case errors.Is(err, ledger.ErrElsewhere):
			fmt.Fprintf(s.out, "%s: not checked: %s\n", l.Name, err)
		case err != nil:
			return err
		case stale != "":
			s.status = statusFailed
			fmt.Fprintf(s.out, "%s: stale: %s\n    write it with: go run ./cmd/validate ledgers\n", l.Name, stale)
		case check:
			fmt.Fprintf(s.out, "%s: up to date\n", l.Name)
		default:
			fmt.Fprintf(s.out, "%s: written\n", l.Name)
		}
	}
	return nil
}
