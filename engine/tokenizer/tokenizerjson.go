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
	Model         json.RawMessage `json:"model"`
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
	if t.vocabulary, t.model, err = parseModel(file.Model); err != nil {
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
	v := t.vocabulary
	for i, a := range tokens {
		field := fmt.Sprintf("added_tokens[%d]", i)
		if a.Content == "" {
			continue
		}
		if a.ID < 0 || int(a.ID) > 4*(len(v.index)+len(tokens))+maxGap {
			return fieldError(field, "%.40q has id %d, far beyond the %d entries", a.Content, a.ID, len(v.index)+len(tokens))
		}
		// The model's own id for this text wins, as usual readers have it.
		id, known := v.id(a.Content)
		if !known {
			id = a.ID
			v.grow(int(id))
			if v.known != nil && !v.known[id] {
				v.known[id] = true
			}
			v.tokens[id] = a.Content
			v.index[a.Content] = id
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
			content, err := t.normalizer.normalize(a.Content)
			if err != nil {
				return &Error{Field: field, Reason: "cannot be normalised", Err: err}
			}
			token.content = content
		}
		if token.content != "" {
			late = append(late, token)
		}
	}
	v.trim()
	t.early, t.late = newMatcher(early), newMatcher(late)
	return nil
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
