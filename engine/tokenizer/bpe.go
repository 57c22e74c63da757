package tokenizer

import (
	"fmt"
	"unicode/utf8"
)

// model turns one word into ids.
type model interface {
	encode(dst []int32, word string) ([]int32, error)
}

// bpe merges neighbouring symbols, the pair of the lowest rank first and the
// leftmost of equals, until no pair is left to merge.
type bpe struct {
	vocabulary   *vocabulary
	merges       map[uint64]merge
	ignoreMerges bool // a word that is a token is that token
	byteFallback bool
	fuseUnknown  bool
	unknown      string // text of the unknown token
	hasUnknown   bool
	byteIDs      [256]int32 // ids of <0xNN>, -1 where absent
}

type merge struct{ rank, id int32 }

func pair(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

func newBPE(v *vocabulary, merges int) *bpe {
	m := &bpe{vocabulary: v, merges: make(map[uint64]merge, merges)}
	for b := range 256 {
		m.byteIDs[b] = -1
		if id, ok := v.id(fmt.Sprintf("<0x%02X>", b)); ok {
			m.byteIDs[b] = id
		}
	}
	return m
}

// addMerge registers the pair of the next rank.
func (m *bpe) addMerge(rank int, a, b string, scratch *[]byte) error {
	left, ok := m.vocabulary.index[a]
	if !ok {
		return fmt.Errorf("merge %d %.40q: %.40q is not in the vocabulary", rank, a+" "+b, a)
	}
	right, ok := m.vocabulary.index[b]
	if !ok {
		return fmt.Errorf("merge %d %.40q: %.40q is not in the vocabulary", rank, a+" "+b, b)
	}
	*scratch = append(append((*scratch)[:0], a...), b...)
	both, ok := m.vocabulary.index[string(*scratch)]
	if !ok {
		return fmt.Errorf("merge %d %.40q: %.40q is not in the vocabulary", rank, a+" "+b, a+b)
	}
	m.merges[pair(left, right)] = merge{int32(rank), both}
	return nil
}

func (m *bpe) encode(dst []int32, word string) ([]int32, error) {
	if m.ignoreMerges {
		if id, ok := m.vocabulary.index[word]; ok {
			return append(dst, id), nil
		}
	}
	w := mergers.Get().(*merger)
	defer w.release()
	if err := m.symbols(w, word); err != nil {
		return nil, err
	}
	w.merge(m.merges)
	return w.append(dst), nil
}

// symbols fills w with the characters of the word.
func (m *bpe) symbols(w *merger, word string) error {
	w.reset()
	pending, unknown := false, int32(0)
	for i := 0; i < len(word); {
		_, n := utf8.DecodeRuneInString(word[i:])
		char := word[i : i+n]
		i += n
		if id, ok := m.vocabulary.index[char]; ok {
			if pending {
				w.add(unknown)
				pending = false
			}
			w.add(id)
			continue
		}
		if m.byteFallback && m.addBytes(w, char) {
			continue
		}
		if !m.hasUnknown {
			continue // the file gives nothing to write it with
		}
		id, ok := m.vocabulary.index[m.unknown]
		if !ok {
			return fmt.Errorf("model.unk_token %q is not in the vocabulary, and %q needs it", m.unknown, char)
		}
		if pending && !m.fuseUnknown {
			w.add(unknown)
		}
		pending, unknown = true, id
	}
	if pending {
		w.add(unknown)
	}
	return nil
}

// addBytes adds the byte tokens of a character, all of them or none.
func (m *bpe) addBytes(w *merger, char string) bool {
	for i := range len(char) {
		if m.byteIDs[char[i]] < 0 {
			return false
		}
	}
	for i := range len(char) {
		w.add(m.byteIDs[char[i]])
	}
	return true
}
