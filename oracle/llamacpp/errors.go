package llamacpp

import (
	"fmt"
	"strings"
)

// NotAvailableError says that the library cannot be used here, which is no failure of anything that was tested.
type NotAvailableError struct {
	Dir    string // where it was looked for, empty when the platform is the reason
	Reason string
}

func (e *NotAvailableError) Error() string {
	s := "llamacpp: not available: "
	if e.Dir != "" {
		s += e.Dir + ": "
	}
	return s + e.Reason
}

// LayoutError says that the library is not the release whose layouts this binding knows.
type LayoutError struct {
	What, Got string
}

func (e *LayoutError) Error() string {
	return fmt.Sprintf("llamacpp: the binding knows release %s; %s: %s", Release, e.What, e.Got)
}

// CallError says that a call of the library failed; Log is what the library wrote about it.
type CallError struct {
	Call   string // C function
	Detail string
	Log    []string
}

func (e *CallError) Error() string {
	s := "llamacpp: " + e.Call
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if len(e.Log) > 0 {
		s += ": " + strings.Join(e.Log, "; ")
	}
	return s
}

// CrashError says that the child process that ran the library ended without an answer.
type CrashError struct {
	Op     string
	Status string // as the operating system tells it, e.g. "signal: aborted"
	Stderr string // its last lines
}

func (e *CrashError) Error() string {
	s := fmt.Sprintf("llamacpp: %s: the library ended its process: %s", e.Op, e.Status)
	if e.Stderr != "" {
		s += ": " + e.Stderr
	}
	return s
}
