package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// decoder says how tokens become text again.
type decoder struct {
	byteLevel    bool // tokens are written in the byte-level alphabet
	spaced       bool // no decoder named: tokens are joined by spaces
	byteFallback bool // <0xNN> stands for a byte
	steps        []tokenStep
	growth       int    // how many times longer than itself steps can make a token
	stripLeft    string // taken off the beginning of the whole text, if there
	stripCount   int    // at most so often
}

// tokenStep rewrites the text of one token. first tells whether it is the first
// of the text.
type tokenStep func(token string, first bool) string

func replaceStep(from, to string) tokenStep {
	return func(token string, _ bool) string { return strings.ReplaceAll(token, from, to) }
}

// metaspaceStep writes the replacement as spaces again; the one that was put
// before the first word is dropped.
func metaspaceStep(replacement string, prepended bool) tokenStep {
	return func(token string, first bool) string {
		if first && prepended {
			token = strings.TrimPrefix(token, replacement)
		}
		return strings.ReplaceAll(token, replacement, " ")
	}
}

// byteToken reads <0xNN>.
func byteToken(token string) (byte, bool) {
	if len(token) != 6 || token[:3] != "<0x" || token[5] != '>' {
		return 0, false
	}
	hi, lo := hexDigit(token[3]), hexDigit(token[4])
	return byte(hi<<4 | lo), hi >= 0 && lo >= 0
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

// Decode turns ids into text. With skipSpecial, special tokens are left out.
// Bytes that make no character become U+FFFD; ids that no token has, nothing.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	var s Stream
	t.start(&s, skipSpecial)
	s.whole = true
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(s.Push(id))
	}
	b.WriteString(s.Flush())
	return b.String()
}

// Stream decodes ids one by one. It is not for concurrent use.
type Stream struct {
	t           *Tokenizer
	skipSpecial bool
	whole       bool // called by Decode: a run of byte tokens is judged as one
	pending     []byte
	started     bool // a token has been seen
	strip       int  // how often stripLeft may still be taken off
	out         []byte
}

// NewStream begins a text. What Push and Flush give, joined, is what Decode
// gives for all ids at once; only in a malformed run of <0xNN> tokens does
// Decode replace the whole run, which a stream has partly given out already.
func (t *Tokenizer) NewStream(skipSpecial bool) *Stream {
	s := new(Stream)
	t.start(s, skipSpecial)
	return s
}

func (t *Tokenizer) start(s *Stream, skipSpecial bool) {
	*s = Stream{t: t, skipSpecial: skipSpecial, strip: t.decoder.stripCount}
}

// Push adds one id and gives the text that is certain now: whole characters
// only. The beginning of a character waits for the ids that finish it.
func (s *Stream) Push(id int32) string {
	t := s.t
	if !t.vocabulary.has(id) || s.skipSpecial && t.IsSpecial(id) {
		return ""
	}
	token := t.vocabulary.tokens[id]
	first := !s.started
	s.started = true
	s.out = s.out[:0]
	switch {
	case t.decoder.byteLevel:
		if t.raw[id] {
			s.pending = append(s.pending, token...)
		} else {
			s.pending = appendFromByteLevel(s.pending, token)
		}
		s.drain(false)
	case t.decoder.byteFallback:
		if b, ok := byteToken(token); ok {
			s.pending = append(s.pending, b)
			if !s.whole {
				s.drainBytes(false)
			}
			break
		}
		s.drainBytes(true)
		fallthrough
	default:
		for _, step := range t.decoder.steps {
			token = step(token, first)
		}
		if t.decoder.spaced && !first {
			s.out = append(s.out, ' ')
		}
		s.out = append(s.out, token...)
	}
	return s.take()
}

// Flush ends the text: a character that was begun and not finished is U+FFFD.
// The stream can be used for another text afterwards.
func (s *Stream) Flush() string {
	s.out = s.out[:0]
	if s.t.decoder.byteLevel {
		s.drain(true)
	} else {
		s.drainBytes(true)
	}
	text := s.take()
	s.t.start(s, s.skipSpecial)
	return text
}

func (s *Stream) drain(final bool) {
	var rest []byte
	s.out, rest = appendLossy(s.out, s.pending, final)
	s.pending = append(s.pending[:0], rest...)
}

// drainBytes gives out a run of byte tokens: as text when it is UTF-8,
// otherwise one U+FFFD for each byte.
func (s *Stream) drainBytes(final bool) {
	if s.whole {
		if utf8.Valid(s.pending) {
			s.out = append(s.out, s.pending...)
		} else {
			for range s.pending {
				s.out = append(s.out, "\ufffd"...)
			}
		}
		s.pending = s.pending[:0]
		return
	}
	for len(s.pending) > 0 {
		if !final && !utf8.FullRune(s.pending) {
			return
		}
		_, n := utf8.DecodeRune(s.pending)
		if n == 1 && s.pending[0] >= utf8.RuneSelf {
			s.out = append(s.out, "\ufffd"...)
		} else {
			s.out = append(s.out, s.pending[:n]...)
		}
		s.pending = append(s.pending[:0], s.pending[n:]...)
	}
}

// take gives the collected text, without what is to be stripped off its
// beginning.
func (s *Stream) take() string {
	text := string(s.out)
	for s.strip > 0 && text != "" {
		rest, ok := strings.CutPrefix(text, s.t.decoder.stripLeft)
		if !ok {
			s.strip = 0
			break
		}
		text = rest
		s.strip--
	}
	return text
}

// Token gives the text of an id as the vocabulary spells it, "" where there is
// none.
func (t *Tokenizer) Token(id int32) string {
	if !t.vocabulary.has(id) {
		return ""
	}
	return t.vocabulary.tokens[id]
}
