package tokenizer

import "unicode/utf8"

// scanner cuts text into words as one of the well-known patterns does. The
// patterns are regular expressions with look-ahead; here they are read by hand
// because a word costs ten times less that way. scan_test.go holds each scanner
// to its pattern.
type scanner struct {
	shape  shape
	digits int  // longest run of numbers in one word (shapeModern)
	marks  bool // letters and marks together (shapeModern)
	longS  bool // 'ſ counts as 's: full case folding
}

type shape uint8

const (
	// shapeGPT2 is 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
	shapeGPT2 shape = iota
	// shapeModern is (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}|
	// ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
	shapeModern
	// shapeDigits is \p{N}: each number alone, everything between them whole.
	shapeDigits
)

// Patterns as tokenizer.json files spell them, and their scanners.
const (
	patternGPT2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	patternHead = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?`
	patternTail = `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

	patternLlama3 = patternHead + `\p{L}+|\p{N}{1,3}` + patternTail
	patternQwen2  = patternHead + `\p{L}+|\p{N}` + patternTail
	patternQwen35 = patternHead + `[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

var knownPatterns = map[string]scanner{
	patternGPT2:   {shape: shapeGPT2},
	patternLlama3: {shape: shapeModern, digits: 3, longS: true},
	patternQwen2:  {shape: shapeModern, digits: 1, longS: true},
	patternQwen35: {shape: shapeModern, digits: 1, marks: true, longS: true},
}

// split appends the words of text to dst. Every byte lands in exactly one word.
func (s scanner) split(dst []string, text string) []string {
	t := classTable()
	for i := 0; i < len(text); {
		n := s.next(t, text, i)
		dst = append(dst, text[i:i+n])
		i += n
	}
	return dst
}

func (s scanner) next(t *[0x20000]uint8, text string, i int) int {
	switch s.shape {
	case shapeDigits:
		return nextDigit(t, text, i)
	case shapeModern:
		return s.nextModern(t, text, i)
	}
	return s.nextGPT2(t, text, i)
}

// nextGPT2 gives the length of the word at text[i].
func (s scanner) nextGPT2(t *[0x20000]uint8, text string, i int) int {
	if text[i] == '\'' {
		if n := contraction(text[i:], false, false); n > 0 {
			return n
		}
	}
	class, w := classAt(t, text, i)
	j := i
	if text[i] == ' ' {
		if next, _ := classAt(t, text, i+1); i+1 < len(text) && next&classSpace == 0 {
			class, j = next, i+1
		}
	}
	switch {
	case class&classLetter != 0:
		return run(t, text, j, classLetter, 0) - i
	case class&classNumber != 0:
		return run(t, text, j, classNumber, 0) - i
	case class&classSpace == 0:
		return runOther(t, text, j, classSpace|classLetter|classNumber) - i
	}
	return spaces(t, text, i, w)
}

// nextModern gives the length of the word at text[i].
func (s scanner) nextModern(t *[0x20000]uint8, text string, i int) int {
	if text[i] == '\'' {
		if n := contraction(text[i:], true, s.longS); n > 0 {
			return n
		}
	}
	word := uint8(classLetter)
	if s.marks {
		word |= classMark
	}
	class, w := classAt(t, text, i)
	if class&(classLetter|classNumber|classNewline) == 0 {
		if next, _ := classAt(t, text, i+w); next&word != 0 {
			return run(t, text, i+w, word, 0) - i
		}
	}
	switch {
	case class&word != 0:
		return run(t, text, i, word, 0) - i
	case class&classNumber != 0:
		return run(t, text, i, classNumber, s.digits) - i
	}
	other := classSpace | classNumber | word
	j := i
	if text[i] == ' ' && i+1 < len(text) {
		if next, _ := classAt(t, text, i+1); next&other == 0 {
			j = i + 1
		}
	}
	if j > i || class&classSpace == 0 {
		j = runOther(t, text, j, other)
		return run(t, text, j, classNewline, 0) - i
	}
	// \s*[\r\n]+ takes the run of spaces up to its last line end.
	last := 0
	for j = i; ; {
		class, n := classAt(t, text, j)
		if n == 0 || class&classSpace == 0 {
			break
		}
		j += n
		if class&classNewline != 0 {
			last = j
		}
	}
	if last > 0 {
		return last - i
	}
	return spaces(t, text, i, w)
}

// spaces is \s+(?!\S)|\s+: the run without its last character where a word
// follows, unless that is all of it. w is the width of the first character.
func spaces(t *[0x20000]uint8, text string, i, w int) int {
	j, last := i+w, i
	for {
		class, n := classAt(t, text, j)
		if n == 0 {
			return j - i
		}
		if class&classSpace == 0 {
			break
		}
		last = j
		j += n
	}
	if last == i {
		return j - i
	}
	return last - i
}

// run gives the end of the run of characters of a class from i on, of at most
// limit characters (0: any number).
func run(t *[0x20000]uint8, text string, i int, class uint8, limit int) int {
	for n := 0; limit == 0 || n < limit; n++ {
		c, w := classAt(t, text, i)
		if w == 0 || c&class == 0 {
			break
		}
		i += w
	}
	return i
}

// runOther gives the end of the run of characters of none of the classes.
func runOther(t *[0x20000]uint8, text string, i int, classes uint8) int {
	for {
		c, w := classAt(t, text, i)
		if w == 0 || c&classes != 0 {
			return i
		}
		i += w
	}
}

func nextDigit(t *[0x20000]uint8, text string, i int) int {
	class, w := classAt(t, text, i)
	if class&classNumber != 0 {
		return w
	}
	return runOther(t, text, i, classNumber) - i
}

// contraction gives the length of 's 't 're 've 'm 'll 'd at the beginning of
// text, which begins with an apostrophe; 0 where there is none.
func contraction(text string, fold, longS bool) int {
	at := func(i int) byte {
		if i >= len(text) {
			return 0
		}
		c := text[i]
		if fold && c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	}
	switch at(1) {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if at(2) == 'e' {
			return 3
		}
	case 'l':
		if at(2) == 'l' {
			return 3
		}
	}
	if longS && len(text) > 1 {
		if r, n := utf8.DecodeRuneInString(text[1:]); r == 'ſ' {
			return 1 + n
		}
	}
	return 0
}
