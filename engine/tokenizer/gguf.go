package tokenizer

import (
	"fmt"
	"strings"
)

// Token types of tokenizer.ggml.token_type.
const (
	ggufUnknown     = 2
	ggufControl     = 3
	ggufUserDefined = 4
)

// GGUFVocabulary is the tokenizer.* metadata of a GGUF file. Ids that the file
// does not name are -1; NewGGUFVocabulary gives them so.
type GGUFVocabulary struct {
	Model  string   // tokenizer.ggml.model
	Pre    string   // tokenizer.ggml.pre
	Tokens []string // tokenizer.ggml.tokens
	Merges []string // tokenizer.ggml.merges
	Types  []int32  // tokenizer.ggml.token_type, may be empty

	BOS, EOS, EOT, EOM int32 // tokenizer.ggml.{bos,eos,eot,eom}_token_id

	AddBOS, AddEOS *bool // tokenizer.ggml.add_{bos,eos}_token; nil where absent

	ChatTemplate string // tokenizer.chat_template
}

// NewGGUFVocabulary gives a vocabulary that names no special ids.
func NewGGUFVocabulary(model, pre string, tokens, merges []string) GGUFVocabulary {
	return GGUFVocabulary{Model: model, Pre: pre, Tokens: tokens, Merges: merges, BOS: -1, EOS: -1, EOT: -1, EOM: -1}
}

// ggufPre is what a name in tokenizer.ggml.pre stands for.
type ggufPre struct {
	steps        []scanner
	ignoreMerges bool
	addBOS       bool // where the file says nothing
}

// Contractions fold ASCII only here: the writers of these files read them with
// llama.cpp, which does not take ſ for s.
var ggufPres = func() map[string]ggufPre {
	llama3 := ggufPre{[]scanner{{shape: shapeModern, digits: 3}}, true, true}
	return map[string]ggufPre{
		"llama-bpe": llama3,
		"llama3":    llama3,
		"llama-v3":  llama3,
		"qwen2":     {steps: []scanner{{shape: shapeModern, digits: 1}}},
		"smollm":    {steps: []scanner{{shape: shapeDigits}, {shape: shapeGPT2}}},
		"gpt-2":     {steps: []scanner{{shape: shapeGPT2}}},
	}
}()

// FromGGUFVocabulary opens the byte-level BPE tokenizer of a GGUF file. Errors
// name the metadata key. Text is not normalised, as llama.cpp does not either.
func FromGGUFVocabulary(g GGUFVocabulary) (*Tokenizer, error) {
	t, err := fromGGUF(g)
	return t, inFile(err, "gguf")
}

func fromGGUF(g GGUFVocabulary) (*Tokenizer, error) {
	if g.Model != "gpt2" {
		return nil, fieldError("tokenizer.ggml.model", "%q is not supported", g.Model)
	}
	pre, ok := ggufPres[g.Pre]
	if !ok {
		return nil, fieldError("tokenizer.ggml.pre", "pre-tokenizer %q is not supported", g.Pre)
	}
	if len(g.Tokens) == 0 {
		return nil, fieldError("tokenizer.ggml.tokens", "is missing or empty")
	}
	if len(g.Types) != 0 && len(g.Types) != len(g.Tokens) {
		return nil, fieldError("tokenizer.ggml.token_type", "has %d entries for %d tokens", len(g.Types), len(g.Tokens))
	}
	v := newVocabulary(g.Tokens)
	m := newBPE(v, len(g.Merges))
	m.ignoreMerges = pre.ignoreMerges
	var scratch []byte
	for i, s := range g.Merges {
		// Either side may hold a space itself only as its first character.
		cut := -1
		if s != "" {
			cut = strings.IndexByte(s[1:], ' ')
		}
		if cut < 0 {
			return nil, fieldError("tokenizer.ggml.merges", "merge %d %.40q is not two tokens", i, s)
		}
		if err := m.addMerge(i, s[:cut+1], s[cut+2:], &scratch); err != nil {
			return nil, &Error{Field: "tokenizer.ggml.merges", Reason: "cannot be used", Err: err}
		}
	}
	t := &Tokenizer{vocabulary: v, model: m, byteLevel: true, decoder: decoder{byteLevel: true}, bos: -1}
	for _, s := range pre.steps {
		t.splitter = appendSplitter(t.splitter, scanSplit{s})
	}
	if err := t.addGGUFSpecials(g); err != nil {
		return nil, &Error{Field: "tokenizer.ggml.tokens", Reason: "cannot be used", Err: err}
	}
	return t, t.addGGUFEnds(g, pre)
}

func appendSplitter(s splitter, next splitter) splitter {
	if s == nil {
		return next
	}
	return sequenceSplit{s, next}
}

func (t *Tokenizer) addGGUFSpecials(g GGUFVocabulary) (err error) {
	t.special, t.raw = map[int32]bool{}, map[int32]bool{}
	var added []addedToken
	for i, kind := range g.Types {
		id := int32(i)
		special := kind == ggufControl || kind == ggufUnknown
		if !special && kind != ggufUserDefined {
			continue
		}
		t.raw[id] = true
		if special {
			t.special[id] = true
		}
		if g.Tokens[i] != "" {
			added = append(added, addedToken{id: id, content: g.Tokens[i], special: special})
		}
	}
	t.early, err = newMatcher(added)
	return err
}

func (t *Tokenizer) addGGUFEnds(g GGUFVocabulary, pre ggufPre) error {
	for _, e := range []struct {
		key string
		id  int32
	}{{"bos", g.BOS}, {"eos", g.EOS}, {"eot", g.EOT}, {"eom", g.EOM}} {
		if e.id < -1 || int(e.id) >= len(g.Tokens) {
			return fieldError(fmt.Sprintf("tokenizer.ggml.%s_token_id", e.key), "%d is outside the %d tokens", e.id, len(g.Tokens))
		}
	}
	t.bos = g.BOS
	t.addEndOfTurn(g.EOS, g.EOT, g.EOM)
	addBOS := pre.addBOS
	if g.AddBOS != nil {
		addBOS = *g.AddBOS
	}
	if addBOS && g.BOS >= 0 {
		t.prefix = []int32{g.BOS}
	}
	if g.AddEOS != nil && *g.AddEOS && g.EOS >= 0 {
		t.suffix = []int32{g.EOS}
	}
	t.chat = newChatTemplate(g.ChatTemplate, "tokenizer.chat_template", t.Token(g.BOS), t.Token(g.EOS))
	return nil
}
