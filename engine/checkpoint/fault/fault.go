package fault

import (
	"fmt"
	"strings"
)

// NoOffset marks an Error that belongs to no particular byte.
const NoOffset = -1

// Error tells what is wrong with a weight file and where. It reads
//
//	gguf: tensor 3 "blk.0.attn_q.weight": dims overflow (m.gguf, byte 431)
type Error struct {
	Format string // "gguf", "safetensors", "config", "checkpoint"
	File   string // path as the caller gave it or the reader found it; may be empty
	Item   string // `tensor 3 "name"`, `key "general.alignment"`, "header"; may be empty
	Offset int64  // byte in File, or NoOffset
	Reason string
	Err    error // the cause, where another package reported it; may be nil
}

// Error renders the fields, most telling first.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Format)
	if e.Item != "" {
		b.WriteString(": " + clip(e.Item))
	}
	b.WriteString(": " + clip(e.Reason))
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	switch {
	case e.File != "" && e.Offset >= 0:
		fmt.Fprintf(&b, " (%s, byte %d)", e.File, e.Offset)
	case e.File != "":
		fmt.Fprintf(&b, " (%s)", e.File)
	case e.Offset >= 0:
		fmt.Fprintf(&b, " (byte %d)", e.Offset)
	}
	return b.String()
}

// maxPart bounds what a hostile name or value can add to a message.
const maxPart = 500 // bytes

func clip(s string) string {
	if len(s) <= maxPart {
		return s
	}
	return strings.ToValidUTF8(s[:maxPart], "") + "..."
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// List renders a shape the way every message shows it: [16, 264].
func List[T int | int64 | uint64](shape []T) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = fmt.Sprint(d)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
