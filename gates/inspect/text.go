package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"assay/engine/checkpoint/fault"
	"assay/engine/checkpoint/gguf"
)

const (
	shownText = 60 // characters of a long string
	shownList = 4  // elements of a long list
)

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	r.writeHead(out)
	if r.WellFormed {
		r.writeEntries(out)
		r.writeTensors(out)
		r.writeTokenizer(out)
	}
	if o := r.Open; o != nil && o.Runs {
		fmt.Fprintf(out, "model: assay can run it: %s\n", o.Model)
	} else if o != nil {
		fmt.Fprintf(out, "model: assay cannot run it: %s\n", o.Reason)
	}
	return out.Flush()
}

func (r *Report) writeHead(w io.Writer) {
	if !r.WellFormed {
		fmt.Fprintf(w, "%s: not well formed: %s\n", r.Path, r.Reason)
		return
	}
	fmt.Fprintf(w, "%s: %s", r.Path, r.Container)
	if r.Version > 0 {
		fmt.Fprintf(w, " version %d, alignment %d", r.Version, r.Alignment)
	}
	fmt.Fprintf(w, ", %d bytes", r.Bytes)
	if len(r.Files) > 1 {
		fmt.Fprintf(w, " in %d files", len(r.Files))
	}
	fmt.Fprint(w, ", well formed\n")
}

func (r *Report) writeEntries(w io.Writer) {
	fmt.Fprintf(w, "metadata: %d keys\n", len(r.KV))
	for _, e := range r.KV {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", safe(e.Key), e.Type, show(e.Value))
	}
}

func (r *Report) writeTensors(w io.Writer) {
	fmt.Fprintf(w, "tensors: %d\n", len(r.Tensors))
	for _, t := range r.Tensors {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%d bytes", safe(t.Name), t.Type, fault.List(t.Shape), t.Bytes)
		if t.File != "" {
			fmt.Fprintf(w, "\t%s", t.File)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "formats: %d\n", len(r.Formats))
	for _, f := range r.Formats {
		fmt.Fprintf(w, "  %s\t%d tensors\t%d bytes\n", f.Type, f.Tensors, f.Bytes)
	}
}

func (r *Report) writeTokenizer(w io.Writer) {
	t := r.Tokenizer
	if t == nil {
		fmt.Fprintln(w, "tokenizer: none")
		return
	}
	fmt.Fprintf(w, "tokenizer: %s", safe(t.Model))
	if t.Pre != "" {
		fmt.Fprintf(w, ", pre-tokenizer %s", safe(t.Pre))
	}
	fmt.Fprintf(w, ", %d tokens, %d merges", t.Tokens, t.Merges)
	if t.BOS != nil {
		fmt.Fprintf(w, ", bos %d", *t.BOS)
	}
	if t.EOS != nil {
		fmt.Fprintf(w, ", eos %d", *t.EOS)
	}
	if t.ChatTemplate > 0 {
		fmt.Fprintf(w, ", chat template of %d bytes", t.ChatTemplate)
	}
	fmt.Fprintln(w)
}

// safe quotes a name that would not print as itself: files come from anywhere,
// and a terminal obeys control characters.
func safe(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` || name == "" {
		return q
	}
	return name
}

// show renders a value on one line, long ones shortened.
func show(v any) string {
	switch x := v.(type) {
	case string:
		if r := []rune(x); len(r) > shownText {
			return fmt.Sprintf("%q... (%d bytes)", string(r[:shownText]), len(x))
		}
		return fmt.Sprintf("%q", x)
	case gguf.Value:
		if x.Type != gguf.Array {
			return show(x.Any())
		}
		parts := make([]string, 0, shownList)
		x.Elements(func(i int, e gguf.Value) bool {
			parts = append(parts, show(e))
			return i+1 < shownList
		})
		if x.Len > shownList {
			return fmt.Sprintf("[%s, ... %d in all]", strings.Join(parts, ", "), x.Len)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case json.RawMessage:
		var any any
		if json.Unmarshal(x, &any) == nil {
			if _, text := any.(string); text {
				return show(any)
			}
		}
		return strings.Join(strings.Fields(string(x)), " ")
	}
	return fmt.Sprint(v)
}
