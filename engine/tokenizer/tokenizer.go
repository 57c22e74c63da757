package tokenizer

import (
	"fmt"
	"slices"
)

// Tokenizer is immutable once opened and may be shared.
type Tokenizer struct {
	source     string // what errors call it
	vocabulary *vocabulary
	model      model
	byteLevel  bool // words reach the model in the byte-level alphabet
	normalizer normalizer
	splitter   splitter
	decoder    decoder

	early   *matcher // added tokens looked for in the text as it came
	late    *matcher // added tokens looked for in the normalised text
	special map[int32]bool
	raw     map[int32]bool // tokens whose text is not in the byte-level alphabet

	bos    int32 // -1: none
	eos    []int32
	prefix []int32 // ids that AddSpecial puts before and after, from the template
	suffix []int32

	chat  chatTemplate
	cache wordCache
}

// EncodeOptions says what Encode does beside the plain text.
type EncodeOptions struct {
	AddSpecial   bool // add what the model wants around a text, mostly its BOS
	ParseSpecial bool // read the text of special tokens as these tokens
}

// maxText bounds one text, so that places in it fit 32 bits.
const maxText = 1 << 28

// Encode turns text into ids. Bytes that are no UTF-8 count as U+FFFD each.
func (t *Tokenizer) Encode(text string, o EncodeOptions) ([]int32, error) {
	if len(text) > maxText {
		return nil, &Error{File: t.source, Reason: fmt.Sprintf("text of %d bytes is longer than %d", len(text), maxText)}
	}
	text = validText(text)
	var ids []int32
	if o.AddSpecial {
		ids = append(ids, t.prefix...)
	}
	var err error
	for _, s := range t.early.split(nil, text, o.ParseSpecial) {
		if s.id >= 0 {
			ids = append(ids, s.id)
			continue
		}
		if ids, err = t.encodeText(ids, text[s.start:s.end], s.start == 0, o); err != nil {
			return nil, inFile(err, t.source)
		}
	}
	if o.AddSpecial {
		ids = append(ids, t.suffix...)
	}
	return ids, nil
}

// encodeText handles text between the added tokens that were found first.
func (t *Tokenizer) encodeText(ids []int32, text string, atStart bool, o EncodeOptions) ([]int32, error) {
	if t.normalizer != nil {
		var err error
		if text, err = t.normalizer.normalize(text, normalizedLimit(text)); err != nil {
			return nil, &Error{Field: "normalizer", Reason: "cannot be applied", Err: err}
		}
	}
	var words []string
	for _, s := range t.late.split(nil, text, o.ParseSpecial) {
		if s.id >= 0 {
			ids = append(ids, s.id)
			continue
		}
		piece := text[s.start:s.end]
		words = words[:0]
		if t.splitter == nil {
			words = append(words, piece)
		} else {
			var err error
			if words, err = t.splitter.split(words, piece, atStart && s.start == 0); err != nil {
				return nil, &Error{Field: "pre_tokenizer", Reason: "cannot be applied", Err: err}
			}
		}
		for _, w := range words {
			var err error
			if ids, err = t.encodeWord(ids, w); err != nil {
				return nil, &Error{Field: "model", Reason: "cannot encode", Err: err}
			}
		}
	}
	return ids, nil
}

func (t *Tokenizer) encodeWord(ids []int32, word string) ([]int32, error) {
	if cached, ok := t.cache.get(word); ok {
		return append(ids, cached...), nil
	}
	spelled := word
	if t.byteLevel {
		spelled = string(appendByteLevel(make([]byte, 0, 2*len(word)), word))
	}
	start := len(ids)
	ids, err := t.model.encode(ids, spelled)
	if err == nil {
		t.cache.put(word, ids[start:])
	}
	return ids, err
}

// BOS gives the token that begins a text, where the tokenizer names one.
// Whether Encode adds it is another question.
func (t *Tokenizer) BOS() (id int32, ok bool) { return t.bos, t.bos >= 0 }

// EOS gives all ids that end a turn or a text, ascending.
func (t *Tokenizer) EOS() []int32 { return slices.Clone(t.eos) }

// IsEOS tells whether an id ends a turn or a text.
func (t *Tokenizer) IsEOS(id int32) bool { return slices.Contains(t.eos, id) }

// IsSpecial tells whether an id is a control token, which skipSpecial hides.
func (t *Tokenizer) IsSpecial(id int32) bool { return t.special[id] }

// VocabSize gives one more than the highest id.
func (t *Tokenizer) VocabSize() int { return len(t.vocabulary.tokens) }

// ID gives the id of a token as the vocabulary spells it.
func (t *Tokenizer) ID(token string) (int32, bool) { return t.vocabulary.id(token) }
