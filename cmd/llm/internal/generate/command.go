package generate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Exit statuses of Main.
const (
	exitDone        = 0
	exitRefused     = 2   // bad usage, or a file, prompt or model that cannot be used
	exitInterrupted = 130 // stopped by a signal; the text so far was written
)

// Main runs llmgen with the arguments after its name and gives its exit status.
// Cancelling the context stops generation as Ctrl-C does.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := newCommand(stdin, stdout, stderr)
	c.SetArgs(joinJSON(args))
	err := c.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "llmgen: %v\n", err)
	return exitRefused
}

const example = `  llmgen --model model.gguf --prompt "What is the capital of France?"
  llmgen --model folder --system "Answer in one line." --prompt - <question.txt
  llmgen --model model.gguf --chat=false --prompt "Once upon a time" --temperature 0.8 --seed 7
  llmgen --model model.gguf --ids 1,2,3 --tokens 16 --json result.json`

const long = `llmgen generates text with a GGUF file or a Hugging Face folder.

Text goes to standard output as it is made, the speeds of the phases to standard
error. Generation ends where the model ends its turn ("stop"), after --tokens
ids or with a full context ("length"), or by Ctrl-C ("interrupted").

Exit status: 0 done; 2 bad usage, or the model or prompt cannot be used;
130 interrupted, with the text so far written.`

func newCommand(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:           "llmgen --model PATH --prompt TEXT",
		Short:         "Generate text with a model file or folder",
		Long:          long,
		Example:       example,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.given = func(flag string) bool { return c.Flags().Changed(flag) }
			if err := o.complete(args); err != nil {
				return fmt.Errorf("%w (llmgen --help tells how it is used)", err)
			}
			return run(c.Context(), &o, stdin, stdout, stderr)
		},
	}
	c.SetOut(stdout)
	c.SetErr(stderr)
	c.CompletionOptions.DisableDefaultCmd = true
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w (llmgen --help tells how it is used)", err)
	})
	o.register(c.Flags())
	return c
}

// joinJSON lets --json stand alone, for standard output, or before the name of
// a file: flags with optional values only know --json=FILE.
func joinJSON(args []string) []string {
	var joined []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--":
			return append(joined, args[i:]...)
		case args[i] == "--json" && i+1 < len(args) && (args[i+1] == "-" || !strings.HasPrefix(args[i+1], "-")):
			joined = append(joined, "--json="+args[i+1])
			i++
		default:
			joined = append(joined, args[i])
			if takesValue(args[i]) && i+1 < len(args) { // a value may look like a flag
				joined = append(joined, args[i+1])
				i++
			}
		}
	}
	return joined
}

// takesValue tells the flags whose next argument is their value, whatever it is.
func takesValue(arg string) bool {
	return strings.HasPrefix(arg, "--") && !strings.Contains(arg, "=") &&
		arg != "--chat" && arg != "--json" && arg != "--help"
}
