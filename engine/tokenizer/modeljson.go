package tokenizer

import "encoding/json"

// modelJSON is the "model" part of tokenizer.json.
type modelJSON struct {
	Type         string          `json:"type"`
	Dropout      *float64        `json:"dropout"`
	UnkToken     *string         `json:"unk_token"`
	UnkID        *int32          `json:"unk_id"`
	Prefix       *string         `json:"continuing_subword_prefix"`
	Suffix       *string         `json:"end_of_word_suffix"`
	FuseUnk      bool            `json:"fuse_unk"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
	Vocab        json.RawMessage `json:"vocab"`
	Merges       json.RawMessage `json:"merges"`
}

func (m *modelJSON) build() (*vocabulary, model, error) {
	if m == nil {
		return nil, nil, fieldError("model", "is missing")
	}
	switch {
	case m.Type == "BPE" || m.Type == "" && len(m.Merges) > 0:
		return m.bpe()
	case m.Type == "Unigram":
		return m.unigram()
	}
	return nil, nil, fieldError("model", "type %q is not supported", m.Type)
}

func (m *modelJSON) bpe() (*vocabulary, model, error) {
	switch {
	case m.Dropout != nil && *m.Dropout != 0:
		return nil, nil, fieldError("model.dropout", "%v is not supported", *m.Dropout)
	case m.Prefix != nil && *m.Prefix != "":
		return nil, nil, fieldError("model.continuing_subword_prefix", "%q is not supported", *m.Prefix)
	case m.Suffix != nil && *m.Suffix != "":
		return nil, nil, fieldError("model.end_of_word_suffix", "%q is not supported", *m.Suffix)
	}
	ids, err := readIDs(m.Vocab)
	if err != nil {
		return nil, nil, &Error{Field: "model.vocab", Reason: "cannot be parsed", Err: err}
	}
	if len(ids) == 0 {
		return nil, nil, fieldError("model.vocab", "is empty")
	}
	v, err := vocabularyFromIDs(ids)
	if err != nil {
		return nil, nil, &Error{Field: "model.vocab", Reason: "cannot be used", Err: err}
	}
	b := newBPE(v, len(ids))
	b.ignoreMerges, b.byteFallback, b.fuseUnknown = m.IgnoreMerges, m.ByteFallback, m.FuseUnk
	if m.UnkToken != nil {
		b.unknown, b.hasUnknown = *m.UnkToken, true
	}
	if err := b.addMergesJSON(m.Merges); err != nil {
		return nil, nil, err
	}
	return v, b, nil
}

// addMergesJSON reads the "merges" field.
func (b *bpe) addMergesJSON(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return fieldError("model.merges", "is missing")
	}
	var scratch []byte
	err := eachMerge(raw, func(rank int, left, right string) error {
		return b.addMerge(rank, left, right, &scratch)
	})
	if err != nil {
		return &Error{Field: "model.merges", Reason: "cannot be used", Err: err}
	}
	return nil
}
