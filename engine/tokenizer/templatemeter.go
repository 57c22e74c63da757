package tokenizer

import (
	"errors"
	"fmt"
	"regexp"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"
)

// Bounds that keep a template from hanging or ending whoever renders it. The
// library has none, so prepareTemplate writes calls of meterName into loops,
// macros and assignments.
const (
	maxTemplate      = 1 << 20 // bytes of a template; published ones have some 30 KB
	maxTag           = 1 << 16 // bytes inside one tag
	maxTemplateSteps = 500_000
	maxMacroDepth    = 200
	maxTemplateValue = 64 << 20 // bytes and members of one value, written out
	maxTemplateHeap  = 1 << 30  // bytes by which the heap may grow
	templateTimeout  = 20 * time.Second
)

// meterName is the function that templates are made to call.
const meterName = "assay_meter"

// meter counts what one rendering does.
type meter struct {
	steps, depth int
	end          time.Time
	heap         uint64
	sample       [1]metrics.Sample
}

func newMeter() *meter {
	m := &meter{end: time.Now().Add(templateTimeout)}
	m.sample[0].Name = "/gc/heap/live:bytes"
	m.heap = m.live()
	return m
}

func (m *meter) live() uint64 {
	metrics.Read(m.sample[:])
	if m.sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return m.sample[0].Value.Uint64()
}

// call is meterName(), meterName(value) after an assignment or a change of it,
// and meterName(1, none) and meterName(-1, none) at the ends of a macro.
func (m *meter) call(args callArgs, _ callKwargs) (jinja.Value, error) {
	nothing := jinja.NewString("")
	m.steps++
	switch {
	case m.steps > maxTemplateSteps:
		return nothing, fmt.Errorf("it takes more than %d steps", maxTemplateSteps)
	case time.Now().After(m.end):
		return nothing, fmt.Errorf("it takes longer than %v", templateTimeout)
	case m.live() > m.heap+maxTemplateHeap:
		return nothing, fmt.Errorf("it takes more than %d bytes of memory", maxTemplateHeap)
	}
	switch len(args) {
	case 1:
		room := maxTemplateValue
		return nothing, measure(args[0], &room, 0)
	case 2:
		if m.depth += int(args[0].AsInt()); m.depth > maxMacroDepth {
			return nothing, fmt.Errorf("macros are nested deeper than %d", maxMacroDepth)
		}
	}
	return nothing, nil
}

// measure takes the size of a value, as if it were written out, off the room.
func measure(v jinja.Value, room *int, depth int) error {
	size := 1
	if v.IsString() {
		size = len(v.AsString())
	}
	switch *room -= size; {
	case *room < 0:
		return fmt.Errorf("a value grows to more than %d bytes", maxTemplateValue)
	case depth > maxDepth:
		return errors.New("a value is nested too deeply, or in itself")
	case v.IsList():
		for i := range v.AsList().Len() {
			if err := measure(v.AsList().Get(i), room, depth+1); err != nil {
				return err
			}
		}
	case v.IsDict():
		d := v.AsDict()
		for _, key := range d.Keys {
			*room -= len(key)
			if err := measure(d.Data[key], room, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	assignment = regexp.MustCompile(`^\s*set\s+([A-Za-z_]\w*)[\w\s.]*=`)
	mutation   = regexp.MustCompile(`([A-Za-z_]\w*)(?:\.\w+)*\.(?:append|insert|extend|update|setdefault)\s*\(`)
)

// metered gives the calls to write before and behind a tag.
func metered(content string, kind byte) (before, behind string) {
	call := func(args string) string { return "{{ " + meterName + "(" + args + ") }}" }
	var b strings.Builder
	for _, m := range mutation.FindAllStringSubmatch(content, -1) {
		b.WriteString(call(m[1]))
	}
	if kind == '%' {
		word, _, _ := strings.Cut(strings.TrimSpace(content)+" ", " ")
		switch word {
		case "for":
			return "", call("")
		case "macro":
			return "", call("1, none")
		case "endmacro":
			return call("-1, none"), ""
		case "set":
			if m := assignment.FindStringSubmatch(content); m != nil {
				b.WriteString(call(m[1]))
			}
		}
	}
	return "", b.String()
}
