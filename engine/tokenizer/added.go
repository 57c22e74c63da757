package tokenizer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is looked for in the text itself, before words are
// made of it.
type addedToken struct {
	id         int32
	content    string
	special    bool // hidden by skipSpecial, read as text without ParseSpecial
	lstrip     bool // takes the spaces before it along
	rstrip     bool // takes the spaces after it along
	singleWord bool // only where no word character touches it
}

// segment is a piece of text: an added token, or text to be tokenised when id
// is negative.
type segment struct {
	start, end int
	id         int32
}

// matcher finds added tokens: leftmost first, the longest of those that begin
// at one place. It is an automaton over the reversed tokens, run from the end
// of the text, so that one pass tells for every place the longest token that
// begins there, whatever the tokens look like.
type matcher struct {
	tokens []addedToken
	root   [256]int32       // transitions of the root, 0 where none
	next   map[uint64]int32 // node<<8 | byte -> node
	fail   []int32
	best   []int32 // longest token that ends at the node (in reverse), -1 where none
}

// maxAdded bounds the text of all added tokens, in bytes: every byte is a node.
// Published vocabularies have some hundred KB.
const maxAdded = 4 << 20

func newMatcher(tokens []addedToken) (*matcher, error) {
	if len(tokens) == 0 {
		return nil, nil
	}
	total := 0
	for _, t := range tokens {
		if total += len(t.content); total > maxAdded {
			return nil, fmt.Errorf("the added tokens have more than %d bytes together", maxAdded)
		}
	}
	m := &matcher{tokens: tokens, next: map[uint64]int32{}, fail: []int32{0}, best: []int32{-1}}
	for i, t := range tokens {
		node := int32(0)
		for j := len(t.content) - 1; j >= 0; j-- {
			key := uint64(node)<<8 | uint64(t.content[j])
			child, ok := m.next[key]
			if !ok {
				child = int32(len(m.fail))
				m.fail, m.best = append(m.fail, 0), append(m.best, -1)
				m.next[key] = child
			}
			node = child
		}
		if node != 0 {
			m.best[node] = int32(i)
		}
	}
	m.link()
	return m, nil
}

// link sets, breadth first, where each node goes on when no child fits.
func (m *matcher) link() {
	// The children of a node as a list: the first one, and the next of each.
	first, sibling, label := make([]int32, len(m.fail)), make([]int32, len(m.fail)), make([]byte, len(m.fail))
	for key, child := range m.next {
		node := key >> 8
		sibling[child], first[node], label[child] = first[node], child, byte(key)
	}
	queue := make([]int32, 1, len(m.fail))
	for at := 0; at < len(queue); at++ {
		node := queue[at]
		for child := first[node]; child != 0; child = sibling[child] {
			b := label[child]
			queue = append(queue, child)
			if node == 0 {
				m.root[b] = child
				continue
			}
			m.fail[child] = m.step(m.fail[node], b)
			if m.best[child] < 0 {
				m.best[child] = m.best[m.fail[child]]
			}
		}
	}
}

func (m *matcher) step(node int32, b byte) int32 {
	for node != 0 {
		if child, ok := m.next[uint64(node)<<8|uint64(b)]; ok {
			return child
		}
		node = m.fail[node]
	}
	return m.root[b]
}

// hit is a token that may begin at a place.
type hit struct{ at, token int32 }

// split appends the segments of text. Without special, special tokens stay text.
func (m *matcher) split(dst []segment, text string, special bool) []segment {
	if m == nil {
		return appendText(dst, 0, len(text))
	}
	var hits []hit // in descending order of place
	node := int32(0)
	for i := len(text) - 1; i >= 0; i-- {
		node = m.step(node, text[i])
		if b := m.best[node]; b >= 0 {
			hits = append(hits, hit{int32(i), b})
		}
	}
	free, done := 0, 0 // matches begin at free or later; text before done is given out
	for n := len(hits) - 1; n >= 0; n-- {
		t := &m.tokens[hits[n].token]
		start := int(hits[n].at)
		if start < free {
			continue
		}
		end := start + len(t.content)
		free = end
		if t.special && !special || t.singleWord && !alone(text, start, end) {
			continue
		}
		if t.lstrip {
			start = max(len(strings.TrimRightFunc(text[:start], unicode.IsSpace)), done)
		}
		if t.rstrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		dst = appendText(dst, done, start)
		dst = append(dst, segment{start, end, t.id})
		done = end
	}
	return appendText(dst, done, len(text))
}

func appendText(dst []segment, start, end int) []segment {
	if start >= end {
		return dst
	}
	return append(dst, segment{start, end, -1})
}

// alone tells whether no word character touches text[start:end].
func alone(text string, start, end int) bool {
	before, n := utf8.DecodeLastRuneInString(text[:start])
	if n > 0 && isWord(before) {
		return false
	}
	after, n := utf8.DecodeRuneInString(text[end:])
	return n == 0 || !isWord(after)
}
