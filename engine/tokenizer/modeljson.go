package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

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

func parseModel(raw json.RawMessage) (*vocabulary, model, error) {
	if len(raw) == 0 {
		return nil, nil, fieldError("model", "is missing")
	}
	var m modelJSON
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, nil, &Error{Field: "model", Reason: "cannot be parsed", Err: err}
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
	var ids map[string]int32
	if err := json.Unmarshal(m.Vocab, &ids); err != nil {
		return nil, nil, &Error{Field: "model.vocab", Reason: "cannot be parsed", Err: err}
	}
	if len(ids) == 0 {
		return nil, nil, fieldError("model.vocab", "is empty")
	}
	v, err := vocabularyFromIDs(ids)
	if err != nil {
		return nil, nil, &Error{Field: "model.vocab", Reason: "cannot be used", Err: err}
	}
	b := newBPE(v, 0)
	b.ignoreMerges, b.byteFallback, b.fuseUnknown = m.IgnoreMerges, m.ByteFallback, m.FuseUnk
	if m.UnkToken != nil {
		b.unknown, b.hasUnknown = *m.UnkToken, true
	}
	if err := b.addMergesJSON(m.Merges); err != nil {
		return nil, nil, err
	}
	return v, b, nil
}

// addMergesJSON reads ["a b", ..] or [["a", "b"], ..].
func (b *bpe) addMergesJSON(raw json.RawMessage) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return fieldError("model.merges", "is missing")
	}
	broken := func(err error) error {
		return &Error{Field: "model.merges", Reason: "cannot be used", Err: err}
	}
	var scratch []byte
	first := bytes.TrimLeft(raw[1:], " \t\r\n")
	if len(first) > 0 && first[0] == '[' {
		var pairs [][]string
		if err := json.Unmarshal(raw, &pairs); err != nil {
			return broken(err)
		}
		for i, p := range pairs {
			if len(p) != 2 {
				return broken(fmt.Errorf("merge %d %.60q is not two tokens", i, p))
			}
			if err := b.addMerge(i, p[0], p[1], &scratch); err != nil {
				return broken(err)
			}
		}
		return nil
	}
	var lines []string
	if err := json.Unmarshal(raw, &lines); err != nil {
		return broken(err)
	}
	rank := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "#version") {
			continue
		}
		left, right, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(right, " ") {
			return broken(fmt.Errorf("merge %d %.60q is not two tokens", i, line))
		}
		if err := b.addMerge(rank, left, right, &scratch); err != nil {
			return broken(err)
		}
		rank++
	}
	return nil
}
