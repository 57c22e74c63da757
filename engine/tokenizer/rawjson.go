package tokenizer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// rawReader walks over JSON that is known to be well formed. Vocabularies hold
// hundreds of thousands of strings; as parts of one string they cost nothing.
type rawReader struct {
	text string
	pos  int
}

func (r *rawReader) space() {
	for r.pos < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.pos]) >= 0 {
		r.pos++
	}
}

// take moves over c, where it is next.
func (r *rawReader) take(c byte) bool {
	r.space()
	if r.pos < len(r.text) && r.text[r.pos] == c {
		r.pos++
		return true
	}
	return false
}

// string reads a string.
func (r *rawReader) string() (string, error) {
	r.space()
	start := r.pos
	if !r.take('"') {
		return "", fmt.Errorf("%.40q is no string", r.text[start:])
	}
	plain := true
	for ; r.pos < len(r.text); r.pos++ {
		switch r.text[r.pos] {
		case '\\':
			plain = false
			r.pos++
		case '"':
			r.pos++
			s := r.text[start+1 : r.pos-1]
			if plain && utf8.ValidString(s) {
				return s, nil
			}
			return unquote(r.text[start:r.pos])
		}
	}
	return "", fmt.Errorf("string is not closed")
}

// unquote is apart because what json.Unmarshal writes to is allocated.
func unquote(literal string) (s string, err error) {
	err = json.Unmarshal([]byte(literal), &s)
	return s, err
}

// integer reads an int32.
func (r *rawReader) integer() (int32, error) {
	r.space()
	start := r.pos
	for r.pos < len(r.text) && strings.IndexByte("+-.eE0123456789", r.text[r.pos]) >= 0 {
		r.pos++
	}
	n, err := strconv.ParseInt(r.text[start:r.pos], 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no id", r.text[start:])
	}
	return int32(n), nil
}

// items calls item for each element between open and close.
func (r *rawReader) items(open, close byte, item func(i int) error) error {
	if !r.take(open) {
		return fmt.Errorf("%.40q does not begin with %q", r.text[r.pos:], open)
	}
	if r.take(close) {
		return nil
	}
	for i := 0; ; i++ {
		if err := item(i); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if r.take(close) {
			return nil
		}
		if !r.take(',') {
			return fmt.Errorf("entry %d is followed by %.40q", i, r.text[r.pos:])
		}
	}
}

// readIDs reads {"text": id, ..}.
func readIDs(raw json.RawMessage) (map[string]int32, error) {
	r := rawReader{text: string(raw)}
	ids := make(map[string]int32, min(len(raw)/16, 1<<18))
	err := r.items('{', '}', func(int) error {
		text, err := r.string()
		if err != nil {
			return err
		}
		r.take(':')
		id, err := r.integer()
		ids[text] = id
		return err
	})
	return ids, err
}

// eachMerge reads ["a b", ..] or [["a", "b"], ..].
func eachMerge(raw json.RawMessage, merge func(i int, left, right string) error) error {
	r := rawReader{text: string(raw)}
	rank := 0
	return r.items('[', ']', func(i int) error {
		r.space()
		if r.pos < len(r.text) && r.text[r.pos] == '[' {
			left, right, err := r.pair()
			if err != nil {
				return err
			}
			rank++
			return merge(rank-1, left, right)
		}
		line, err := r.string()
		if err != nil {
			return err
		}
		if strings.HasPrefix(line, "#version") {
			return nil
		}
		left, right, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(right, " ") {
			return fmt.Errorf("merge %.60q is not two tokens", line)
		}
		rank++
		return merge(rank-1, left, right)
	})
}

// pair reads ["a", "b"].
func (r *rawReader) pair() (left, right string, err error) {
	start := r.pos
	ok := r.take('[') && !r.take(']')
	if ok {
		if left, err = r.string(); err != nil {
			return "", "", err
		}
		ok = r.take(',')
	}
	if ok {
		if right, err = r.string(); err != nil {
			return "", "", err
		}
		ok = r.take(']')
	}
	if !ok {
		return "", "", fmt.Errorf("merge %.60q is not two tokens", r.text[start:])
	}
	return left, right, nil
}
