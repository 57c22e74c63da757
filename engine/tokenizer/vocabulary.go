package tokenizer

import "fmt"

// vocabulary maps token text to id and back. Ids may have gaps.
type vocabulary struct {
	tokens []string // id -> text; "" where the id is a gap, see known
	known  []bool   // nil when every id is known
	index  map[string]int32
}

func newVocabulary(tokens []string) *vocabulary {
	v := &vocabulary{tokens: tokens, index: make(map[string]int32, len(tokens))}
	for i, t := range tokens {
		if _, dup := v.index[t]; !dup {
			v.index[t] = int32(i)
		}
	}
	return v
}

// maxGap bounds how far an id may lie beyond the number of entries, so that a
// claimed id cannot make a table of its size.
const maxGap = 1 << 16

// vocabularyFromIDs builds a vocabulary from text -> id.
func vocabularyFromIDs(ids map[string]int32) (*vocabulary, error) {
	v := &vocabulary{index: ids}
	last := int32(-1)
	for text, id := range ids {
		last = max(last, id)
		if id < 0 {
			return nil, fmt.Errorf("token %.40q has the negative id %d", text, id)
		}
		if int(id) > 4*len(ids)+maxGap {
			return nil, fmt.Errorf("token %.40q has id %d, far beyond the %d entries", text, id, len(ids))
		}
	}
	v.grow(int(last))
	for text, id := range ids {
		if v.has(id) {
			return nil, fmt.Errorf("tokens %.40q and %.40q have the same id %d", min(text, v.tokens[id]), max(text, v.tokens[id]), id)
		}
		v.tokens[id], v.known[id] = text, true
	}
	return v, nil
}

// enter gives a text its id, which must be free.
func (v *vocabulary) enter(text string, id int32) {
	v.grow(int(id))
	v.tokens[id] = text
	if v.known != nil {
		v.known[id] = true
	}
	v.index[text] = id
}

// grow makes room for an id. A vocabulary without gaps becomes one with gaps.
func (v *vocabulary) grow(id int) {
	n := id + 1 - len(v.tokens)
	if n <= 0 {
		return
	}
	if v.known == nil {
		v.known = make([]bool, len(v.tokens))
		for i := range v.known {
			v.known[i] = true
		}
	}
	v.tokens = append(v.tokens, make([]string, n)...)
	v.known = append(v.known, make([]bool, n)...)
}

func (v *vocabulary) id(text string) (int32, bool) {
	id, ok := v.index[text]
	return id, ok
}

func (v *vocabulary) has(id int32) bool {
	return id >= 0 && int(id) < len(v.tokens) && (v.known == nil || v.known[id])
}
