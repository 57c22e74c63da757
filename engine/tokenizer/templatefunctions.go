package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"
)

// jsonFilter is the name under which templates find tojson; the library's own
// reorders keys and escapes <, > and & when it indents.
const jsonFilter = "assay_tojson"

type (
	callArgs   = []jinja.Value
	callKwargs = map[string]jinja.Value
)

// maxRange bounds range() in templates.
const maxRange = 100_000

// boundedRange is range() for lists of a sane length.
func boundedRange(args callArgs, _ callKwargs) (jinja.Value, error) {
	bounds := [3]int64{0, 0, 1}
	for i, a := range args {
		if i > 2 || !a.IsInt() {
			return jinja.Undefined(), errors.New("range: expected one to three integers")
		}
		bounds[i] = a.AsInt()
	}
	start, stop, step := bounds[0], bounds[1], bounds[2]
	if len(args) == 1 {
		start, stop = 0, bounds[0]
	}
	if len(args) == 0 || step == 0 {
		return jinja.Undefined(), errors.New("range: no end or a step of zero")
	}
	var items []jinja.Value
	for n := start; step > 0 && n < stop || step < 0 && n > stop; n += step {
		if len(items) == maxRange {
			return jinja.Undefined(), fmt.Errorf("range: more than %d items", maxRange)
		}
		items = append(items, jinja.NewInt(n))
	}
	return jinja.NewList(items), nil
}

// dateFormats are the directives of strftime_now.
var dateFormats = map[byte]string{
	'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'y': "06", 'B': "January", 'b': "Jan",
	'A': "Monday", 'a': "Mon", 'p': "PM", 'I': "03", 'Z': "MST", 'z': "-0700", 'j': "002",
}

// formatNow is strftime_now(format).
func formatNow(now time.Time) func(callArgs, callKwargs) (jinja.Value, error) {
	return func(args callArgs, _ callKwargs) (jinja.Value, error) {
		if len(args) != 1 || !args[0].IsString() {
			return jinja.Undefined(), errors.New("strftime_now: expected one format")
		}
		var b strings.Builder
		format := args[0].AsString()
		for i := 0; i < len(format); i++ {
			if format[i] != '%' {
				b.WriteByte(format[i])
				continue
			}
			i++
			if i < len(format) && format[i] == '%' {
				b.WriteByte('%')
				continue
			}
			layout := ""
			if i < len(format) {
				layout = dateFormats[format[i]]
			}
			if layout == "" {
				return jinja.Undefined(), fmt.Errorf("strftime_now: format %q is not supported", format)
			}
			b.WriteString(now.Format(layout))
		}
		return jinja.NewString(b.String()), nil
	}
}

// jsonWriter writes values as Python's json.dumps does with ensure_ascii off.
type jsonWriter struct {
	bytes.Buffer
	comma, colon string
	indent       string
	indented     bool
}

// toJSON is the tojson filter: value, then indent; also separators.
func toJSON(args callArgs, kwargs callKwargs) (jinja.Value, error) {
	w := &jsonWriter{comma: ", ", colon: ": "}
	indent, ok := kwargs["indent"]
	if !ok && len(args) > 1 {
		indent, ok = args[1], true
	}
	if ok && indent.IsInt() {
		w.indent, w.indented, w.comma = strings.Repeat(" ", int(max(0, min(indent.AsInt(), 64)))), true, ","
	}
	if s, ok := kwargs["separators"]; ok && s.IsList() && s.AsList().Len() == 2 && s.AsList().Get(0).IsString() && s.AsList().Get(1).IsString() {
		w.comma, w.colon = s.AsList().Get(0).AsString(), s.AsList().Get(1).AsString()
	}
	for name := range kwargs {
		if name != "indent" && name != "separators" && name != "ensure_ascii" {
			return jinja.Undefined(), fmt.Errorf("tojson: %s is not supported", name)
		}
	}
	if err := w.value(args[0], 0); err != nil {
		return jinja.Undefined(), err
	}
	return jinja.NewString(w.String()), nil
}

func (w *jsonWriter) value(v jinja.Value, depth int) error {
	switch {
	case depth > maxDepth:
		return errors.New("tojson: nested too deeply")
	case v.IsNone():
		w.WriteString("null")
	case v.IsBool():
		w.WriteString(strconv.FormatBool(v.AsBool()))
	case v.IsInt():
		w.WriteString(strconv.FormatInt(v.AsInt(), 10))
	case v.IsFloat():
		w.WriteString(formatFloat(v.AsFloat()))
	case v.IsString():
		return w.quoted(v.AsString())
	case v.IsList():
		return w.list('[', ']', v.AsList().Len(), depth, func(i int) error { return w.value(v.AsList().Get(i), depth+1) })
	case v.IsDict():
		d := v.AsDict()
		return w.list('{', '}', d.Len(), depth, func(i int) error {
			if err := w.quoted(d.Keys[i]); err != nil {
				return err
			}
			w.WriteString(w.colon)
			return w.value(d.Data[d.Keys[i]], depth+1)
		})
	default:
		return errors.New("tojson: the value is undefined or no data")
	}
	return nil
}

func (w *jsonWriter) list(open, close byte, n, depth int, item func(int) error) error {
	w.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.WriteString(w.comma)
		}
		w.line(depth + 1)
		if err := item(i); err != nil {
			return err
		}
	}
	if n > 0 {
		w.line(depth)
	}
	return w.WriteByte(close)
}

func (w *jsonWriter) line(depth int) {
	if w.indented {
		w.WriteByte('\n')
		w.WriteString(strings.Repeat(w.indent, depth))
	}
}

func (w *jsonWriter) quoted(s string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return err
	}
	// Go escapes these two on top of what JSON asks for.
	text := strings.TrimSuffix(b.String(), "\n")
	text = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(text)
	_, err := w.WriteString(text)
	return err
}

// formatFloat writes a float as Python does: the shortest digits, with a point
// where there is no exponent.
func formatFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
