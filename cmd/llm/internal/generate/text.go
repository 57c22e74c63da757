package generate

import (
	"fmt"
	"io"
	"strings"

	"assay/engine/tokenizer"
)

// text streams whole characters and keeps them all. Without a tokenizer the
// ids themselves are the text.
type text struct {
	stream *tokenizer.Stream
	to     io.Writer
	whole  strings.Builder
	ids    int
}

func newText(o *options, t *tokenizer.Tokenizer, stdout io.Writer) *text {
	w := &text{to: stdout}
	if o.json == "-" {
		w.to = io.Discard
	}
	if t != nil {
		w.stream = t.NewStream(true)
	}
	return w
}

func (w *text) push(id int32) error {
	if w.stream != nil {
		return w.write(w.stream.Push(id))
	}
	separator := ","
	if w.ids == 0 {
		separator = ""
	}
	w.ids++
	_, err := fmt.Fprintf(w.to, "%s%d", separator, id)
	return err
}

// flush ends the text, on a terminal's own line.
func (w *text) flush() error {
	if w.stream != nil {
		if err := w.write(w.stream.Flush()); err != nil {
			return err
		}
	}
	if w.ids > 0 || w.whole.Len() > 0 && !strings.HasSuffix(w.whole.String(), "\n") {
		_, err := io.WriteString(w.to, "\n")
		return err
	}
	return nil
}

func (w *text) write(s string) error {
	if s == "" {
		return nil
	}
	w.whole.WriteString(s)
	_, err := io.WriteString(w.to, s)
	return err
}
