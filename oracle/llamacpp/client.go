package llamacpp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Client does each Request in a fresh child process, so that an assertion inside the library, and what it leaves behind in
// memory, ends with that process.
type Client struct {
	// Command is the program and its arguments; the program calls Serve with its standard input and output. Empty: this
	// executable with the one argument ServeArgument.
	Command []string
	Env     []string // further NAME=value settings
}

// ServeArgument is the hidden subcommand that a program offers for Client: it calls Serve.
const ServeArgument = "llamacpp-serve"

// Do does one Request. The library's end of the process is a *CrashError, a missing library a *NotAvailableError.
func (c *Client) Do(ctx context.Context, q Request) (*Response, error) {
	command := c.Command
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = []string{self, ServeArgument}
	}
	in, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	errs := tail{limit: 4096}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			return nil, err
		}
		return nil, &CrashError{Op: q.Op, Status: exit.String(), Stderr: errs.last()}
	}
	var r Response
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return nil, fmt.Errorf("llamacpp: %s: the answer of the child process: %w", q.Op, err)
	}
	switch {
	case r.NotAvailable:
		return nil, &NotAvailableError{Reason: strings.TrimPrefix(r.Error, "llamacpp: not available: ")}
	case r.Error != "":
		return nil, &CallError{Call: q.Op, Detail: strings.TrimPrefix(r.Error, "llamacpp: ")}
	}
	return &r, nil
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	b     []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > 2*t.limit {
		t.b = append(t.b[:0], t.b[len(t.b)-t.limit:]...)
	}
	return len(p), nil
}

// last gives the first and last lines that say something; Go's own traces of a crash are left out.
func (t *tail) last() string {
	text, _, _ := strings.Cut(string(t.b), "\ngoroutine ")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > 6 {
		lines = append(lines[:3], lines[len(lines)-3:]...)
	}
	return strings.Join(lines, "; ")
}
