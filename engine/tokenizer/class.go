package tokenizer

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// Character classes that the pre-tokenizer patterns ask for.
const (
	classLetter  = 1 << iota // \p{L}
	classNumber              // \p{N}
	classMark                // \p{M}
	classSpace               // \s: White_Space
	classNewline             // \r \n
)

// classTable holds the classes of the first planes, where nearly all text is;
// looking a character up in the range tables costs a binary search for each
// class.
var classTable = sync.OnceValue(func() *[0x20000]uint8 {
	t := new([0x20000]uint8)
	mark := func(table *unicode.RangeTable, class uint8) {
		for _, r := range table.R16 {
			for c := uint32(r.Lo); c <= uint32(r.Hi); c += uint32(r.Stride) {
				t[c] |= class
			}
		}
		for _, r := range table.R32 {
			for c := r.Lo; c <= r.Hi && c < uint32(len(t)); c += r.Stride {
				t[c] |= class
			}
		}
	}
	mark(unicode.L, classLetter)
	mark(unicode.N, classNumber)
	mark(unicode.M, classMark)
	mark(unicode.White_Space, classSpace)
	t['\r'] |= classNewline
	t['\n'] |= classNewline
	return t
})

func classOf(t *[0x20000]uint8, r rune) uint8 {
	if uint32(r) < uint32(len(t)) {
		return t[r]
	}
	switch {
	case unicode.Is(unicode.L, r):
		return classLetter
	case unicode.Is(unicode.N, r):
		return classNumber
	case unicode.Is(unicode.M, r):
		return classMark
	}
	return 0
}

// classAt gives the classes and the width of the character at text[i]; width 0
// at the end.
func classAt(t *[0x20000]uint8, text string, i int) (class uint8, width int) {
	if i >= len(text) {
		return 0, 0
	}
	if c := text[i]; c < utf8.RuneSelf {
		return t[c], 1
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	return classOf(t, r), n
}
