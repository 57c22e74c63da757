package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// tokenizerJSON is the outer layout of tokenizer.json. Truncation and padding,
// which some files carry from training, are not applied: a prompt is fed whole.
type tokenizerJSON struct {
	AddedTokens   []addedJSON     `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         *modelJSON      `json:"model"`
}

type addedJSON struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// parseTokenizerJSON builds a tokenizer. Errors name the field.
func parseTokenizerJSON(data []byte) (*Tokenizer, error) {
	var file tokenizerJSON
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, &Error{Reason: "cannot be parsed", Err: err}
	}
	t := &Tokenizer{bos: -1, special: map[int32]bool{}}
	var err error
	if t.vocabulary, t.model, err = file.Model.build(); err != nil {
		return nil, err
	}
	if t.normalizer, err = parseNormalizer(file.Normalizer, "normalizer"); err != nil {
		return nil, err
	}
	if t.splitter, t.byteLevel, err = parsePreTokenizer(file.PreTokenizer); err != nil {
		return nil, err
	}
	if t.decoder, err = parseDecoder(file.Decoder, "decoder"); err != nil {
		return nil, err
	}
	if err = t.addTokens(file.AddedTokens); err != nil {
		return nil, err
	}
	return t, t.parsePostProcessor(file.PostProcessor, "post_processor", 0)
}

// addTokens enters the added tokens into the vocabulary and the matchers.
func (t *Tokenizer) addTokens(tokens []addedJSON) error {
	var early, late []addedToken
	ids := addedIDs{size: int32(len(t.vocabulary.index)), last: -1}
	for i, a := range tokens {
		field := fmt.Sprintf("added_tokens[%d]", i)
		if a.Content == "" {
			continue
		}
		id, err := ids.enter(t.vocabulary, a)
		if err != nil {
			return &Error{Field: field, Reason: "cannot be used", Err: err}
		}
		if a.Special {
			t.special[id] = true
		}
		token := addedToken{id: id, content: a.Content, special: a.Special, lstrip: a.LStrip, rstrip: a.RStrip, singleWord: a.SingleWord}
		if !a.Normalized {
			early = append(early, token)
			continue
		}
		if t.normalizer != nil {
			if token.content, err = t.normalizer.normalize(a.Content, normalizedLimit(a.Content)); err != nil {
				return &Error{Field: field, Reason: "cannot be normalised", Err: err}
			}
		}
		if token.content != "" {
			late = append(late, token)
		}
	}
	var err error
	if t.early, err = newMatcher(early); err == nil {
		t.late, err = newMatcher(late)
	}
	if err != nil {
		return &Error{Field: "added_tokens", Reason: "cannot be used", Err: err}
	}
	return nil
}

// addedIDs gives added tokens their ids as the usual reader does, which models
// were trained with: the model's own id where it knows the text, else the next
// one after the model's entries. What the file states counts only where that id
// is taken.
type addedIDs struct {
	size int32 // entries of the model
	last int32 // largest id of an added token so far
}

func (n *addedIDs) enter(v *vocabulary, a addedJSON) (int32, error) {
	id, known := v.id(a.Content)
	if !known {
		id = max(n.size, n.last+1)
		if v.has(id) {
			id = a.ID
		}
		if id < 0 || int(id) > 4*len(v.index)+maxGap || v.has(id) {
			return 0, fmt.Errorf("no place for token %.40q with id %d", a.Content, a.ID)
		}
		v.enter(a.Content, id)
	}
	n.last = max(n.last, id)
	return id, nil
}

// part is one typed component: the fields of all kinds together.
type part struct {
	Type string `json:"type"`

	// Sequences.
	Normalizers   []json.RawMessage `json:"normalizers"`
	PreTokenizers []json.RawMessage `json:"pretokenizers"`
	Processors    []json.RawMessage `json:"processors"`
	Decoders      []json.RawMessage `json:"decoders"`

	Pattern          patternJSON `json:"pattern"`
	Content          string      `json:"content"`
	Behavior         behavior    `json:"behavior"`
	Invert           bool        `json:"invert"`
	Prepend          string      `json:"prepend"`
	StripLeft        bool        `json:"strip_left"`
	StripRight       bool        `json:"strip_right"`
	AddPrefixSpace   *bool       `json:"add_prefix_space"`
	UseRegex         *bool       `json:"use_regex"`
	IndividualDigits bool        `json:"individual_digits"`
	Delimiter        string      `json:"delimiter"`
	Replacement      string      `json:"replacement"`
	PrependScheme    string      `json:"prepend_scheme"`
	Split            *bool       `json:"split"`
	Start            int         `json:"start"`
	Stop             int         `json:"stop"`
}

// patternJSON is {"String": ".."} or {"Regex": ".."}.
type patternJSON struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// maxNesting bounds sequences within sequences.
const maxNesting = 16

// parsePart reads the kind of a component; nil where the file has none.
func parsePart(raw json.RawMessage, field string) (*part, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	var p part
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, &Error{Field: field, Reason: "cannot be parsed", Err: err}
	}
	return &p, nil
}

func (p *patternJSON) build(field string) (pattern, error) {
	switch {
	case p.String != nil && *p.String != "":
		return literalPattern(*p.String), nil
	case p.Regex != nil:
		re, err := newRegexPattern(*p.Regex)
		if err != nil {
			return nil, &Error{Field: field + ".pattern", Reason: "cannot be used", Err: err}
		}
		return re, nil
	}
	return nil, fieldError(field+".pattern", "has neither a String nor a Regex")
}

func unsupported(field, kind string) error {
	return fieldError(field, "type %q is not supported", kind)
}
