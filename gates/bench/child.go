package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// ChildArgument is the hidden subcommand that a program offers for samples in
// fresh processes: it calls Serve with its standard input and output.
const ChildArgument = "bench-sample"

// answer is what a child process writes.
type answer struct {
	Error  string  `json:"error,omitempty"`
	Parity bool    `json:"parity,omitempty"` // the error is that bits changed
	Sample *Sample `json:"sample,omitempty"`
}

// Serve takes the one sample that the Job read from in asks for and writes it to
// out. Its error is about in and out only.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var j Job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("bench: job: %w", err)
	}
	var a answer
	s, err := Once(ctx, j)
	if err != nil {
		a.Error = err.Error()
		var p *ParityError
		a.Parity = errors.As(err, &p)
	} else {
		a.Sample = s
	}
	return json.NewEncoder(out).Encode(a)
}

// Process takes samples of the engine in processes of their own.
type Process struct {
	Command []string // a program that calls Serve; empty: this executable with ChildArgument
	Env     []string // "NAME=value", added to the environment of this process
	Cores   []int    // to run on, where the system can be told; nil: all
}

// Name is that of the engine.
func (p *Process) Name() string { return "assay" }

// Sample starts a process, gives it the job and reads its answer.
func (p *Process) Sample(ctx context.Context, j Job) (*Sample, error) {
	command := p.Command
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = []string{self, ChildArgument}
	}
	in, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errs
	if len(p.Env) > 0 {
		cmd.Env = append(os.Environ(), p.Env...)
	}
	if err := startOn(cmd, p.Cores); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		first, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return nil, fmt.Errorf("bench: the process of a sample ended: %w: %.200s", err, first)
	}
	var a answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return nil, fmt.Errorf("bench: the answer of a sample's process: %w", err)
	}
	switch {
	case a.Parity:
		return nil, &ParityError{Where: "in a sample", What: strings.TrimPrefix(a.Error, "bench: the timing is void: ")}
	case a.Error != "":
		return nil, errors.New(a.Error)
	case a.Sample == nil:
		return nil, errors.New("bench: a sample's process answered nothing")
	}
	return a.Sample, nil
}

// Self gives a peer that is this engine again, in processes of its own: what
// differs between the two is the noise of the machine.
func Self(command ...string) Engine { return &Process{Command: command} }

// inside takes samples of the engine in this process, whose peak of memory is not
// that of the engine alone.
type inside struct{}

func (inside) Name() string { return "assay" }

func (inside) Sample(ctx context.Context, j Job) (*Sample, error) {
	s, err := Once(ctx, j)
	if err != nil {
		return nil, err
	}
	s.PeakRSS = 0
	return s, nil
}
