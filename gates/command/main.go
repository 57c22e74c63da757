package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"assay/oracle/llamacpp"
)

// Exit statuses.
const (
	statusHeld       = 0
	statusFailed     = 1 // a gate failed, or a verdict is rejected
	statusUnanswered = 2 // the question could not be answered
)

// shell is what a command writes to, and the status that it leaves.
type shell struct {
	in       io.Reader
	out, err io.Writer
	status   int
}

// subcommands make the commands below the root; files of this package add theirs
// in an init function.
var subcommands []func(*shell) *cobra.Command

func register(c ...func(*shell) *cobra.Command) { subcommands = append(subcommands, c...) }

// Main runs one command line and gives its exit status. An interrupt ends the
// command cleanly; what was found until then is reported.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	return run(ctx, args, os.Stdin, stdout, stderr)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == llamacpp.ServeArgument { // a child process of our own
		if err := llamacpp.Serve(ctx, stdin, stdout); err != nil {
			fmt.Fprintln(stderr, err)
			return statusUnanswered
		}
		return statusHeld
	}
	out := &checkedWriter{Writer: stdout}
	s := &shell{in: stdin, out: out, err: stderr}
	root := rootCommand(s)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = out.failed // what could not be told is not answered
	}
	if err != nil {
		fmt.Fprintf(stderr, "validate: %s\n", strings.TrimPrefix(err.Error(), "validate: "))
		var usage *usageError
		if errors.As(err, &usage) {
			fmt.Fprintf(stderr, "See: %s --help\n", usage.command)
		}
		return statusUnanswered
	}
	return s.status
}

// checkedWriter remembers the first failure to write, which printers forget.
type checkedWriter struct {
	io.Writer
	failed error
}

func (w *checkedWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if err != nil && w.failed == nil {
		w.failed = err
	}
	return n, err
}

// usageError is a command line that makes no sense.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func rootCommand(s *shell) *cobra.Command {
	var f gateFlags
	root := &cobra.Command{
		Use:   "validate",
		Short: "Hold the assay engine to what it promises",
		Long: `validate runs every gate on the embedded fixtures: tiny trained checkpoints with
what other engines computed from them. Exit status: 0 all held, 1 a gate failed,
2 the question could not be answered.`,
		Example: `  validate
  validate --markdown report.md --json report.json
  validate gates 'parity/.*' --cpu scalar,avx2
  validate parity --model model.gguf --evidence recording/`,
		Args:              cobra.NoArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return noEmptyValues(c) },
		RunE:              func(c *cobra.Command, _ []string) error { return f.run(c.Context(), s, "") },
	}
	f.add(root)
	for _, make := range subcommands {
		root.AddCommand(make(s))
	}
	asUsage(root)
	return root
}

// noEmptyValues refuses --model "" and the like: a script whose variable is not
// set means no fixtures, and no report that goes nowhere. An empty --cpu is the
// best level by definition.
func noEmptyValues(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && f.Name != "cpu" && err == nil {
			err = &usageError{c.CommandPath(), fmt.Errorf("--%s is empty", f.Name)}
		}
	})
	return err
}

// asUsage marks errors about flags and arguments.
func asUsage(c *cobra.Command) {
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return &usageError{c.CommandPath(), err} })
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return &usageError{c.CommandPath(), err}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		asUsage(sub)
	}
}

// isTerminal tells whether people watch w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
