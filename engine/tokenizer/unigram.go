package tokenizer

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
)

// unigram cuts a word into the tokens whose scores have the largest sum.
type unigram struct {
	vocabulary   *vocabulary
	scores       []float64
	trie         map[uint64]int32 // node<<8 | byte -> node
	ends         []int32          // node -> id of the token that ends there, -1
	unknown      int32            // -1: none
	unknownScore float64
	byteFallback bool
	byteIDs      [256]int32
}

const (
	unknownPenalty  = 10      // below the lowest score
	maxUnigramToken = 1 << 10 // bytes; each costs one step per byte of text
)

// unigramEntry is [text, score].
type unigramEntry struct {
	text  string
	score float64
}

func (e *unigramEntry) UnmarshalJSON(data []byte) error {
	var fields []json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if len(fields) != 2 {
		return fmt.Errorf("entry %.60q is not a text and a score", data)
	}
	if err := json.Unmarshal(fields[0], &e.text); err != nil {
		return err
	}
	return json.Unmarshal(fields[1], &e.score)
}

func (m *modelJSON) unigram() (*vocabulary, model, error) {
	var entries []unigramEntry
	if err := json.Unmarshal(m.Vocab, &entries); err != nil {
		return nil, nil, &Error{Field: "model.vocab", Reason: "cannot be parsed", Err: err}
	}
	if len(entries) == 0 {
		return nil, nil, fieldError("model.vocab", "is empty")
	}
	u := &unigram{trie: map[uint64]int32{}, ends: []int32{-1}, unknown: -1, byteFallback: m.ByteFallback}
	tokens := make([]string, len(entries))
	lowest := math.Inf(1)
	for i, e := range entries {
		if len(e.text) > maxUnigramToken {
			return nil, nil, fieldError("model.vocab", "token %d has %d bytes, more than %d", i, len(e.text), maxUnigramToken)
		}
		tokens[i] = e.text
		u.scores = append(u.scores, e.score)
		lowest = min(lowest, e.score)
		u.insert(e.text, int32(i))
	}
	u.unknownScore = lowest - unknownPenalty
	u.vocabulary = newVocabulary(tokens)
	if m.UnkID != nil {
		if !u.vocabulary.has(*m.UnkID) {
			return nil, nil, fieldError("model.unk_id", "%d is outside the %d tokens", *m.UnkID, len(tokens))
		}
		u.unknown = *m.UnkID
	}
	u.byteIDs = newBPE(u.vocabulary, 0).byteIDs
	return u.vocabulary, u, nil
}

func (u *unigram) insert(text string, id int32) {
	node := int32(0)
	for i := range len(text) {
		key := uint64(node)<<8 | uint64(text[i])
		child, ok := u.trie[key]
		if !ok {
			child = int32(len(u.ends))
			u.ends = append(u.ends, -1)
			u.trie[key] = child
		}
		node = child
	}
	if node != 0 {
		u.ends[node] = id
	}
}

// best is the best way to reach a byte of the word.
type best struct {
	score float64
	from  int32 // where its last token begins, -1: not reached
	id    int32
}

// encode is a Viterbi search: scores are summed from the left, and of equal
// sums the one found first stays, shorter tokens first.
func (u *unigram) encode(dst []int32, word string) ([]int32, error) {
	at := make([]best, len(word)+1)
	for i := 1; i < len(at); i++ {
		at[i].from = -1
	}
	for i := 0; i < len(word); {
		_, char := utf8.DecodeRuneInString(word[i:])
		single := false
		node := int32(0)
		for j := i; j < len(word); j++ {
			child, ok := u.trie[uint64(node)<<8|uint64(word[j])]
			if !ok {
				break
			}
			node = child
			if id := u.ends[node]; id >= 0 {
				at[j+1].offer(at[i].score+u.scores[id], i, id)
				single = single || j+1 == i+char
			}
		}
		if !single {
			at[i+char].offer(at[i].score+u.unknownScore, i, -1)
		}
		i += char
	}
	return u.trace(dst, word, at)
}

func (b *best) offer(score float64, from int, id int32) {
	if b.from < 0 || score > b.score {
		*b = best{score, int32(from), id}
	}
}

// trace reads the path backwards; neighbouring unknown characters are one.
func (u *unigram) trace(dst []int32, word string, at []best) ([]int32, error) {
	type piece struct {
		start, end int
		id         int32
	}
	var pieces []piece
	for end := len(word); end > 0; {
		b := at[end]
		start := int(b.from)
		if n := len(pieces); n > 0 && b.id < 0 && pieces[n-1].id < 0 {
			pieces[n-1].start = start
		} else {
			pieces = append(pieces, piece{start, end, b.id})
		}
		end = start
	}
	for n := len(pieces) - 1; n >= 0; n-- {
		p := pieces[n]
		if p.id >= 0 {
			dst = append(dst, p.id)
			continue
		}
		var err error
		if dst, err = u.appendUnknown(dst, word[p.start:p.end]); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func (u *unigram) appendUnknown(dst []int32, text string) ([]int32, error) {
	start := len(dst)
	for i := 0; u.byteFallback && i < len(text); i++ {
		id := u.byteIDs[text[i]]
		if id < 0 {
			dst = dst[:start]
			break
		}
		dst = append(dst, id)
	}
	if len(dst) > start {
		return dst, nil
	}
	if u.unknown < 0 {
		return nil, fmt.Errorf("%.40q is not in the vocabulary, and model.unk_id names no token for it", text)
	}
	return append(dst, u.unknown), nil
}
