package tokenizer

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
)

// Bounds that keep a hostile pattern from hanging whoever tokenises with it.
const (
	maxPattern     = 16 << 10         // bytes of one regular expression
	patternTimeout = time.Second      // for one search
	spansTimeout   = 20 * time.Second // for all searches in one text
)

// span is a piece of text and whether the pattern matched it.
type span struct {
	start, end int // bytes
	match      bool
}

// pattern finds its matches in a text.
type pattern interface {
	// spans appends matches and what lies between them, in order.
	spans(dst []span, text string) ([]span, error)
}

// literalPattern is a fixed string.
type literalPattern string

func (p literalPattern) spans(dst []span, text string) ([]span, error) {
	for pos := 0; pos < len(text); {
		i := strings.Index(text[pos:], string(p))
		if i < 0 {
			return append(dst, span{pos, len(text), false}), nil
		}
		if i > 0 {
			dst = append(dst, span{pos, pos + i, false})
		}
		pos += i
		dst = append(dst, span{pos, pos + len(p), true})
		pos += len(p)
	}
	return dst, nil
}

// regexPattern is a regular expression in the syntax of tokenizer.json files.
type regexPattern struct{ re *regexp2.Regexp }

func newRegexPattern(source string) (*regexPattern, error) {
	if len(source) > maxPattern {
		return nil, fmt.Errorf("regex of %d bytes is longer than %d", len(source), maxPattern)
	}
	// Two constructs that the usual reader of these files takes for set
	// operations and this one for plain characters.
	for _, s := range []string{"[[:", "&&"} {
		if strings.Contains(source, s) {
			return nil, fmt.Errorf("regex pattern %.60q: %q is not supported", source, s)
		}
	}
	// ^ and $ mean lines in the usual reader.
	re, err := regexp2.Compile(source, regexp2.Multiline)
	if err != nil {
		return nil, fmt.Errorf("regex pattern %.60q: %w", source, err)
	}
	re.MatchTimeout = patternTimeout
	return &regexPattern{re}, nil
}

func (p *regexPattern) spans(dst []span, text string) ([]span, error) {
	began := time.Now()
	m, err := p.re.FindStringMatch(text)
	// Matches count characters; byte and char walk along.
	prev, at, char := 0, 0, 0
	advance := func(to int) int {
		for ; char < to && at < len(text); char++ {
			at += width(text[at])
		}
		return at
	}
	for ; m != nil && err == nil; m, err = p.re.FindNextMatch(m) {
		if time.Since(began) > spansTimeout {
			return nil, fmt.Errorf("regex pattern %.60q: takes longer than %v for %d bytes", p.re.String(), spansTimeout, len(text))
		}
		start := advance(m.Index)
		end := advance(m.Index + m.Length)
		if prev < start {
			dst = append(dst, span{prev, start, false})
		}
		dst = append(dst, span{start, end, true})
		prev = end
	}
	if err != nil {
		return nil, fmt.Errorf("regex pattern %.60q: %w", p.re.String(), err)
	}
	if prev < len(text) {
		dst = append(dst, span{prev, len(text), false})
	}
	return dst, nil
}

// width gives the bytes of the character that begins with b in valid UTF-8.
func width(b byte) int {
	switch {
	case b < 0x80:
		return 1
	case b < 0xe0:
		return 2
	case b < 0xf0:
		return 3
	}
	return 4
}

// behavior says what becomes of the matches of a splitting pattern.
type behavior string

const (
	removed            behavior = "Removed"
	isolated           behavior = "Isolated"
	mergedWithPrevious behavior = "MergedWithPrevious"
	mergedWithNext     behavior = "MergedWithNext"
	contiguous         behavior = "Contiguous"
)

func (b behavior) known() bool {
	switch b {
	case removed, isolated, mergedWithPrevious, mergedWithNext, contiguous:
		return true
	}
	return false
}

// apply appends the words that spans of text make.
func (b behavior) apply(dst []string, text string, spans []span) []string {
	switch b {
	case contiguous:
		spans = join(spans, func(last, s span) bool { return last.match == s.match })
	case mergedWithPrevious:
		spans = join(spans, func(last, s span) bool { return s.match && !last.match })
	case mergedWithNext:
		spans = join(spans, func(last, s span) bool { return last.match && !s.match })
	}
	for _, s := range spans {
		if s.start < s.end && !(b == removed && s.match) {
			dst = append(dst, text[s.start:s.end])
		}
	}
	return dst
}

// join merges each span into the one before it where glue says so. The kind of
// the last part stays in force for the next decision.
func join(spans []span, glue func(last, s span) bool) []span {
	out := spans[:0]
	for i, s := range spans {
		if i > 0 && glue(out[len(out)-1], s) {
			out[len(out)-1].end = s.end
			out[len(out)-1].match = s.match
			continue
		}
		out = append(out, s)
	}
	return out
}
