package tokenizer

import (
	"strings"
	"unicode"
)

// splitter cuts normalised text into words; no merge crosses their borders.
type splitter interface {
	// split appends the words of text. atStart tells whether text begins the
	// whole input.
	split(dst []string, text string, atStart bool) ([]string, error)
}

// scanSplit is a well-known pattern with every match a word.
type scanSplit struct{ scanner }

func (s scanSplit) split(dst []string, text string, _ bool) ([]string, error) {
	return s.scanner.split(dst, text), nil
}

// patternSplit cuts at the matches of a pattern.
type patternSplit struct {
	pattern  pattern
	invert   bool
	behavior behavior
}

func (s patternSplit) split(dst []string, text string, _ bool) ([]string, error) {
	spans, err := s.pattern.spans(nil, text)
	if err != nil {
		return nil, err
	}
	if s.invert {
		for i := range spans {
			spans[i].match = !spans[i].match
		}
	}
	return s.behavior.apply(dst, text, spans), nil
}

// funcPattern matches single characters.
type funcPattern func(r rune) bool

func (p funcPattern) spans(dst []span, text string) ([]span, error) {
	prev := 0
	for i, r := range text {
		if !p(r) {
			continue
		}
		if prev < i {
			dst = append(dst, span{prev, i, false})
		}
		prev = i + width(text[i])
		dst = append(dst, span{i, prev, true})
	}
	if prev < len(text) {
		dst = append(dst, span{prev, len(text), false})
	}
	return dst, nil
}

func isPunctuation(r rune) bool {
	return r < 128 && (r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~') ||
		unicode.Is(unicode.P, r)
}

// isWord is \w: what words are made of.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.Is(unicode.M, r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Nl, r) ||
		unicode.Is(unicode.Pc, r) || unicode.Is(unicode.Other_Alphabetic, r) || r == '\u200c' || r == '\u200d'
}

// wordSplit is \w+|[^\w\s]+ with the spaces between dropped.
type wordSplit struct{}

func (wordSplit) split(dst []string, text string, _ bool) ([]string, error) {
	const space, word, other = 0, 1, 2
	kind, start := space, 0
	for i, r := range text {
		k := other
		if unicode.IsSpace(r) {
			k = space
		} else if isWord(r) {
			k = word
		}
		if k != kind {
			if kind != space {
				dst = append(dst, text[start:i])
			}
			kind, start = k, i
		}
	}
	if kind != space && start < len(text) {
		dst = append(dst, text[start:])
	}
	return dst, nil
}

// prefixSpace puts a space before text that has none, then splits.
type prefixSpace struct{ inner splitter }

func (s prefixSpace) split(dst []string, text string, atStart bool) ([]string, error) {
	if !strings.HasPrefix(text, " ") {
		text = " " + text
	}
	if s.inner == nil {
		return append(dst, text), nil
	}
	return s.inner.split(dst, text, atStart)
}

// metaspaceSplit writes spaces as another character and cuts before each.
type metaspaceSplit struct {
	replacement string
	prepend     string // "always", "first", "never"
	cut         bool   // else the text stays one word
}

func (s metaspaceSplit) split(dst []string, text string, atStart bool) ([]string, error) {
	text = strings.ReplaceAll(text, " ", s.replacement)
	if (s.prepend == "always" || s.prepend == "first" && atStart) && !strings.HasPrefix(text, s.replacement) {
		text = s.replacement + text
	}
	if !s.cut {
		return append(dst, text), nil
	}
	spans, _ := literalPattern(s.replacement).spans(nil, text)
	return mergedWithNext.apply(dst, text, spans), nil
}

// sequenceSplit splits what the one before has split.
type sequenceSplit []splitter

func (s sequenceSplit) split(dst []string, text string, atStart bool) ([]string, error) {
	if len(s) == 1 {
		return s[0].split(dst, text, atStart)
	}
	words := []string{text}
	for _, step := range s {
		var next []string
		for i, w := range words {
			var err error
			if next, err = step.split(next, w, atStart && i == 0); err != nil {
				return nil, err
			}
		}
		words = next
	}
	return append(dst, words...), nil
}
