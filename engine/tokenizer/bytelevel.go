package tokenizer

import "unicode/utf8"

// Byte-level vocabularies write each byte as one printable character: the
// printable bytes of Latin-1 stand for themselves, the 68 others for U+0100
// upwards in ascending order.
var (
	byteRune [256]rune   // byte -> its character
	byteText [256]string // byte -> its character as UTF-8
	runeByte [324]int16  // character -> byte, -1 where none
)

func init() {
	for i := range runeByte {
		runeByte[i] = -1
	}
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if !(b >= 0x21 && b <= 0x7e || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r = next
			next++
		}
		byteRune[b], byteText[b], runeByte[r] = r, string(r), int16(b)
	}
}

// appendByteLevel appends the byte-level spelling of text to dst.
func appendByteLevel(dst []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		dst = append(dst, byteText[text[i]]...)
	}
	return dst
}

// appendFromByteLevel appends the bytes that a byte-level token stands for. A
// token with any character outside the alphabet stands for its own UTF-8 bytes.
func appendFromByteLevel(dst []byte, token string) []byte {
	start := len(dst)
	for i := 0; i < len(token); {
		r, n := utf8.DecodeRuneInString(token[i:])
		if int(r) >= len(runeByte) || runeByte[r] < 0 || r == utf8.RuneError {
			return append(dst[:start], token...)
		}
		dst = append(dst, byte(runeByte[r]))
		i += n
	}
	return dst
}
