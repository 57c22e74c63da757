package oracle

import (
	"fmt"
	"strings"
)

// RefusedError says why a recording, or a prompts file, is not accepted. Empty and negative fields do not apply.
type RefusedError struct {
	File   string // path of the file
	Field  string // manifest field, e.g. "engine.name" or "prompts[2].ids"
	Prompt string // name of the prompt
	Tensor string // e.g. "p0.k.L3"
	Reason string
	Err    error // cause, when there is one
}

func (e *RefusedError) Error() string {
	var b strings.Builder
	b.WriteString("oracle: ")
	for _, part := range []string{e.File, e.Field} {
		if part != "" && (e.Err == nil || !strings.Contains(e.Err.Error(), part)) { // readers of files name them already
			b.WriteString(part + ": ")
		}
	}
	if e.Prompt != "" {
		fmt.Fprintf(&b, "prompt %q: ", e.Prompt)
	}
	if e.Tensor != "" {
		b.WriteString(e.Tensor + ": ")
	}
	b.WriteString(e.Reason)
	if e.Err != nil {
		if e.Reason != "" {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// HashError says that bytes are not those a recording was made from or with.
type HashError struct {
	What string // "checkpoint file model.gguf", "evidence.safetensors", ...
	Want string // SHA-256 as recorded
	Got  string // SHA-256 of what is there; empty when the file is missing
}

func (e *HashError) Error() string {
	if e.Got == "" {
		return fmt.Sprintf("oracle: %s: the recording names it with SHA-256 %s, it is not there", e.What, e.Want)
	}
	return fmt.Sprintf("oracle: %s: SHA-256 is %s, recorded was %s", e.What, e.Got, e.Want)
}
