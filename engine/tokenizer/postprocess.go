package tokenizer

import (
	"encoding/json"
	"fmt"
)

// templateJSON is a TemplateProcessing part, of which only the form for single
// texts matters here.
type templateJSON struct {
	Single []struct {
		SpecialToken *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
		Sequence *struct {
			ID string `json:"id"`
		} `json:"Sequence"`
	} `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int32 `json:"ids"`
	} `json:"special_tokens"`
}

// classifierJSON is a BertProcessing or RobertaProcessing part: cls text sep,
// each [text, id].
type classifierJSON struct {
	Sep [2]any `json:"sep"`
	CLS [2]any `json:"cls"`
}

// maxTemplateIDs bounds what a template may add to a text.
const maxTemplateIDs = 1 << 10

// parsePostProcessor reads what AddSpecial puts around a text.
func (t *Tokenizer) parsePostProcessor(raw json.RawMessage, field string, depth int) error {
	p, err := parsePart(raw, field)
	if p == nil || err != nil {
		return err
	}
	switch p.Type {
	case "ByteLevel": // moves offsets only
		return nil
	case "TemplateProcessing":
		return t.addTemplate(raw, field)
	case "BertProcessing", "RobertaProcessing":
		return t.addClassifier(raw, field)
	case "Sequence":
		if depth >= maxNesting {
			return fieldError(field, "sequences are nested deeper than %d", maxNesting)
		}
		for i, raw := range p.Processors {
			if err := t.parsePostProcessor(raw, fmt.Sprintf("%s.processors[%d]", field, i), depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return unsupported(field, p.Type)
}

func (t *Tokenizer) addTemplate(raw json.RawMessage, field string) error {
	var template templateJSON
	if err := json.Unmarshal(raw, &template); err != nil {
		return &Error{Field: field, Reason: "cannot be parsed", Err: err}
	}
	var prefix, suffix []int32
	seen := false
	for i, piece := range template.Single {
		at := fmt.Sprintf("%s.single[%d]", field, i)
		switch {
		case piece.Sequence != nil && piece.Sequence.ID == "A" && !seen:
			seen = true
		case piece.SpecialToken != nil:
			token, ok := template.SpecialTokens[piece.SpecialToken.ID]
			if !ok {
				return fieldError(at, "special token %q has no ids", piece.SpecialToken.ID)
			}
			if len(prefix)+len(suffix)+len(token.IDs) > maxTemplateIDs {
				return fieldError(at, "adds more than %d ids", maxTemplateIDs)
			}
			if seen {
				suffix = append(suffix, token.IDs...)
			} else {
				prefix = append(prefix, token.IDs...)
			}
		default:
			return fieldError(at, "is not supported")
		}
	}
	if !seen {
		return fieldError(field+".single", "leaves the text out")
	}
	if len(prefix)+len(suffix)+len(t.prefix)+len(t.suffix) > maxTemplateIDs {
		return fieldError(field+".single", "adds more than %d ids", maxTemplateIDs)
	}
	t.prefix = append(prefix, t.prefix...)
	t.suffix = append(t.suffix, suffix...)
	return nil
}

func (t *Tokenizer) addClassifier(raw json.RawMessage, field string) error {
	var c classifierJSON
	if err := json.Unmarshal(raw, &c); err != nil {
		return &Error{Field: field, Reason: "cannot be parsed", Err: err}
	}
	cls, ok := c.CLS[1].(float64)
	sep, ok2 := c.Sep[1].(float64)
	if !ok || !ok2 || !t.vocabulary.has(int32(cls)) || !t.vocabulary.has(int32(sep)) {
		return fieldError(field, "cls or sep names no token")
	}
	t.prefix = append([]int32{int32(cls)}, t.prefix...)
	t.suffix = append(t.suffix, int32(sep))
	return nil
}
