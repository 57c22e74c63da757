package tokenizer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalizer rewrites text before it is split.
type normalizer interface {
	// normalize fails where the result would be longer than limit bytes.
	normalize(text string, limit int) (string, error)
}

// normalizedLimit bounds what a normaliser may make of a text: replacements of
// replacements grow without end otherwise.
func normalizedLimit(text string) int { return 32*len(text) + 1<<20 }

func checkLimit(text string, limit int) (string, error) {
	if len(text) > limit {
		return "", fmt.Errorf("text grows to more than %d bytes", limit)
	}
	return text, nil
}

type formNormalizer norm.Form

func (f formNormalizer) normalize(text string, limit int) (string, error) {
	return checkLimit(norm.Form(f).String(text), limit)
}

type lowercase struct{}

func (lowercase) normalize(text string, _ int) (string, error) {
	if !strings.ContainsRune(text, 'İ') {
		return strings.Map(unicode.ToLower, text), nil
	}
	// The one character whose lower case is two.
	return strings.Map(unicode.ToLower, strings.ReplaceAll(text, "İ", "i\u0307")), nil
}

type stripNormalizer struct{ left, right bool }

func (s stripNormalizer) normalize(text string, _ int) (string, error) {
	if s.left {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	if s.right {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
	}
	return text, nil
}

type prependNormalizer string

func (p prependNormalizer) normalize(text string, limit int) (string, error) {
	if text == "" {
		return "", nil
	}
	return checkLimit(string(p)+text, limit)
}

type replaceNormalizer struct {
	pattern pattern
	content string
}

func (r replaceNormalizer) normalize(text string, limit int) (string, error) {
	if p, ok := r.pattern.(literalPattern); ok && len(r.content) <= 4*len(p) {
		return checkLimit(strings.ReplaceAll(text, string(p), r.content), limit)
	}
	spans, err := r.pattern.spans(nil, text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, s := range spans {
		if b.Len() > limit {
			return checkLimit(b.String(), limit)
		}
		if s.match {
			b.WriteString(r.content)
		} else {
			b.WriteString(text[s.start:s.end])
		}
	}
	return checkLimit(b.String(), limit)
}

type sequenceNormalizer []normalizer

func (s sequenceNormalizer) normalize(text string, limit int) (string, error) {
	for _, n := range s {
		var err error
		if text, err = n.normalize(text, limit); err != nil {
			return "", err
		}
	}
	return text, nil
}

// validText replaces each byte that is no UTF-8 by U+FFFD.
func validText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// appendLossy appends bytes as text: each longest run of bytes that begins a
// character without finishing it becomes one U+FFFD, as the Unicode standard
// recommends. It gives back the bytes at the end that a next byte could still
// complete; with final they are replaced as well.
func appendLossy(dst, data []byte, final bool) (text, rest []byte) {
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r != utf8.RuneError || n > 1 {
			dst = append(dst, data[:n]...)
			data = data[n:]
			continue
		}
		n = prefixLength(data)
		if n == len(data) && !final && startsCharacter(data[0]) {
			return dst, data
		}
		dst = append(dst, "\ufffd"...)
		data = data[n:]
	}
	return dst, nil
}

func startsCharacter(b byte) bool { return b >= 0xc2 && b <= 0xf4 }

// prefixLength gives the length of the longest beginning of data, at least 1,
// that some character begins with.
func prefixLength(data []byte) int {
	low, high, need := byte(0x80), byte(0xbf), 0
	switch b := data[0]; {
	case b >= 0xc2 && b <= 0xdf:
		need = 1
	case b >= 0xe0 && b <= 0xef:
		need = 2
		if b == 0xe0 {
			low = 0xa0
		} else if b == 0xed {
			high = 0x9f
		}
	case b >= 0xf0 && b <= 0xf4:
		need = 3
		if b == 0xf0 {
			low = 0x90
		} else if b == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for ; n <= need && n < len(data); n++ {
		if data[n] < low || data[n] > high {
			break
		}
		low, high = 0x80, 0xbf
	}
	return n
}
