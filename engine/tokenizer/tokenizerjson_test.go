package tokenizer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const emptyBPE = `"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"Ġ":3,"▁":4},"merges":["a b"]}`

// with makes a file of a small model and one more part.
func with(part string) string { return "{" + part + "," + emptyBPE + "}" }

var refusedJSON = []struct{ name, json, names string }{
	{"no JSON", `{"model":`, "cannot be parsed"},
	{"something behind", `{` + emptyBPE + `} x`, "cannot be parsed"},
	{"no model", `{}`, "model"},
	{"unknown model", `{"model":{"type":"WordPiece","vocab":{}}}`, `model: type "WordPiece"`},
	{"empty vocabulary", `{"model":{"type":"BPE","vocab":{},"merges":[]}}`, "model.vocab"},
	{"vocabulary of the wrong kind", `{"model":{"type":"BPE","vocab":[1],"merges":[]}}`, "model.vocab"},
	{"negative id", `{"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}}`, `model.vocab: cannot be used: token "a"`},
	{"enormous id", `{"model":{"type":"BPE","vocab":{"a":2147483647},"merges":[]}}`, `"a"`},
	{"id too large for 32 bits", `{"model":{"type":"BPE","vocab":{"a":4294967296},"merges":[]}}`, "model.vocab"},
	{"one id twice", `{"model":{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}}`, "same id 0"},
	{"no merges", `{"model":{"type":"BPE","vocab":{"a":0}}}`, "model.merges"},
	{"merge of one", `{"model":{"type":"BPE","vocab":{"a":0},"merges":[["a"]]}}`, "entry 0: merge"},
	{"merge of a missing token", `{"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b"]}}`, `"ab" is not in the vocabulary`},
	{"dropout", `{"model":{"type":"BPE","dropout":0.1,"vocab":{"a":0},"merges":[]}}`, "model.dropout"},
	{"subword prefix", `{"model":{"type":"BPE","continuing_subword_prefix":"##","vocab":{"a":0},"merges":[]}}`, "continuing_subword_prefix"},
	{"word suffix", `{"model":{"type":"BPE","end_of_word_suffix":"</w>","vocab":{"a":0},"merges":[]}}`, "end_of_word_suffix"},
	{"unknown normaliser", with(`"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Precompiled"}]}`), `normalizer.normalizers[1]: type "Precompiled"`},
	{"unknown splitter", with(`"pre_tokenizer":{"type":"UnicodeScripts"}`), `"UnicodeScripts"`},
	{"unknown behavior", with(`"pre_tokenizer":{"type":"Split","pattern":{"String":"x"},"behavior":"Odd"}`), "behavior"},
	{"split after bytes", with(`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits"}]}`), `type "Digits" after ByteLevel`},
	{"no pattern", with(`"pre_tokenizer":{"type":"Split","behavior":"Isolated"}`), "pattern"},
	{"set operation in a pattern", with(`"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[a-z&&[^b]]"},"behavior":"Isolated"}`), `"&&" is not supported`},
	{"enormous pattern", with(`"pre_tokenizer":{"type":"Split","pattern":{"Regex":"` + strings.Repeat("(", 20000) + `"},"behavior":"Isolated"}`), "longer than"},
	{"unknown post-processor", with(`"post_processor":{"type":"Odd"}`), `post_processor: type "Odd"`},
	{"template without ids", with(`"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}}],"special_tokens":{}}`), `"<s>"`},
	{"template without text", with(`"post_processor":{"type":"TemplateProcessing","single":[],"special_tokens":{}}`), "leaves the text out"},
	{"unknown decoder", with(`"decoder":{"type":"WordPiece"}`), `decoder: type "WordPiece"`},
	{"deep nesting", with(`"normalizer":` + strings.Repeat(`{"type":"Sequence","normalizers":[`, 100) + strings.Repeat(`]}`, 100)), "nested deeper"},
	{"added token far away", `{"added_tokens":[{"id":2147483647,"content":"x"}],"model":{"type":"BPE","vocab":{"a":1},"merges":[]}}`, "added_tokens[0]"},
	{"decoder that blows tokens up", with(`"decoder":{"type":"Replace","pattern":{"String":"a"},"content":"` + strings.Repeat("a", 300) + `"}`), "times longer"},
	{"template of very many ids", with(`"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}},{"SpecialToken":{"id":"x"}}],"special_tokens":{"x":{"ids":[` + strings.Repeat("0,", 2000) + `0]}}}`), "more than 1024 ids"},
	{"unigram without entries", `{"model":{"type":"Unigram","vocab":[]}}`, "model.vocab"},
	{"unigram entry of three", `{"model":{"type":"Unigram","vocab":[["a",1,2]]}}`, "model.vocab"},
	{"unigram unknown id", `{"model":{"type":"Unigram","unk_id":5,"vocab":[["a",1]]}}`, "model.unk_id"},
}

func TestUnusableTokenizerFilesAreRefusedByName(t *testing.T) {
	for _, c := range refusedJSON {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseTokenizerJSON([]byte(c.json))
			require.ErrorContains(t, err, c.names)
			var typed *Error
			assert.ErrorAs(t, err, &typed)
		})
	}
}

// acceptedJSON holds small files, a text and its ids. The vocabulary is
// a 0, b 1, ab 2, Ġ 3, ▁ 4.
var acceptedJSON = []struct {
	name, json, text string
	ids              []int32
}{
	{"nothing but a model", with(`"normalizer":null`), "ab", []int32{2}},
	{"merges missing on purpose", `{"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[]}}`, "ab", []int32{0, 1}},
	{"lower case", with(`"normalizer":{"type":"Lowercase"}`), "AB", []int32{2}},
	{"strip", with(`"normalizer":{"type":"Strip","strip_left":true,"strip_right":false}`), " \tab", []int32{2}},
	{"prepend", with(`"normalizer":{"type":"Prepend","prepend":"▁"}`), "a", []int32{4, 0}},
	{"replace a string", with(`"normalizer":{"type":"Replace","pattern":{"String":"x"},"content":"ab"}`), "xa", []int32{2, 0}},
	{"replace a pattern", with(`"normalizer":{"type":"Replace","pattern":{"Regex":"é+"},"content":"b"}`), "aééab", []int32{2, 2}},
	{"compose", `{"normalizer":{"type":"NFC"},"model":{"type":"BPE","vocab":{"é":0},"merges":[]}}`, "e\u0301", []int32{0}},
	{"decompose", `{"normalizer":{"type":"NFD"},"model":{"type":"BPE","vocab":{"e":0,"\u0301":1},"merges":[]}}`, "é", []int32{0, 1}},
	{"compatibility", with(`"normalizer":{"type":"NFKC"}`), "ａｂ", []int32{2}},
	{"bytes without pattern", with(`"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}`), "a b", []int32{0, 3, 1}},
	{"bytes with a space before", with(`"pre_tokenizer":{"type":"ByteLevel"}`), "ab", []int32{3, 2}},
	{"spaces split and go", with(`"pre_tokenizer":{"type":"WhitespaceSplit"}`), "a b ab", []int32{0, 1, 2}},
	{"words and the rest", `{"pre_tokenizer":{"type":"Whitespace"},"model":{"type":"BPE","vocab":{"a":0,".":1,"a.":2},"merges":["a ."]}}`, "a. a", []int32{0, 1, 0}},
	{"punctuation", `{"pre_tokenizer":{"type":"Punctuation","behavior":"MergedWithPrevious"},"model":{"type":"BPE","vocab":{"a":0,".":1,"a.":2,".a":3},"merges":[". a","a ."]}}`, "a.a", []int32{2, 0}},
	{"digits alone", `{"pre_tokenizer":{"type":"Digits","individual_digits":true},"model":{"type":"BPE","vocab":{"1":0,"11":1},"merges":["1 1"]}}`, "11", []int32{0, 0}},
	{"digits together", `{"pre_tokenizer":{"type":"Digits"},"model":{"type":"BPE","vocab":{"1":0,"11":1,"a":2,"a1":3},"merges":["a 1","1 1"]}}`, "a11", []int32{2, 1}},
	{"delimiter", with(`"pre_tokenizer":{"type":"CharDelimiterSplit","delimiter":"x"}`), "axb", []int32{0, 1}},
	{"metaspace", with(`"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"}`), "a b", []int32{4, 0, 4, 1}},
	{"inverted split", with(`"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[ab]"},"behavior":"Removed","invert":true}`), "a..b", []int32{0, 1}},
	{"look-ahead only", with(`"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(?=b)"},"behavior":"Isolated"}`), "ab", []int32{0, 1}},
	{"added token of normalised text", `{"added_tokens":[{"id":5,"content":"<X>","normalized":true}],"normalizer":{"type":"Lowercase"},` + emptyBPE + `}`, "a<X>b<x>", []int32{0, 5, 1, 5}},
	{"cls and sep", with(`"post_processor":{"type":"RobertaProcessing","sep":["b",1],"cls":["a",0]}`), "ab", []int32{0, 2, 1}},
}

func TestPartsOfTokenizerFilesDoWhatTheyAreCalled(t *testing.T) {
	for _, c := range acceptedJSON {
		t.Run(c.name, func(t *testing.T) {
			tok, err := parseTokenizerJSON([]byte(c.json))
			require.NoError(t, err)
			ids, err := tok.Encode(c.text, EncodeOptions{AddSpecial: true, ParseSpecial: true})
			require.NoError(t, err)
			assert.Equal(t, c.ids, ids)
		})
	}
}

func TestNormalisersThatBlowTextUpAreStopped(t *testing.T) {
	step := `{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaaaaaaaa"},`
	tok, err := parseTokenizerJSON([]byte(with(`"normalizer":{"type":"Sequence","normalizers":[` + strings.Repeat(step, 40) + `{"type":"NFC"}]}`)))
	require.NoError(t, err)
	_, err = tok.Encode("a", EncodeOptions{})
	assert.ErrorContains(t, err, "normalizer")
	_, err = tok.Encode("b", EncodeOptions{})
	assert.NoError(t, err)
}

func TestFolderGivesNamedTokensAndTemplate(t *testing.T) {
	tok := tiny(t, "llama")
	bos, ok := tok.BOS()
	assert.True(t, ok)
	assert.EqualValues(t, 504, bos)
	assert.Equal(t, []int32{505, 509}, tok.EOS())
	assert.True(t, tok.IsEOS(509))
	assert.True(t, tok.IsSpecial(504))
	assert.False(t, tok.IsSpecial(0))
	assert.Equal(t, 512, tok.VocabSize())
	assert.Equal(t, "<|eot_id|>", tok.Token(509))
	assert.Empty(t, tok.Token(512))
	_, ok = tok.ChatTemplate()
	assert.True(t, ok)
	_, ok = tiny(t, "qwen2").BOS()
	assert.False(t, ok)
}

func TestTemplateFileWinsOverTheField(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"tokenizer.json":        with(`"decoder":null`),
		"tokenizer_config.json": `{"bos_token":{"content":"a"},"eos_token":null,"chat_template":[{"name":"tool_use","template":"T"},{"name":"default","template":"D{{ bos_token }}"}]}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	render := func() string {
		tok, err := FromHuggingFace(folder)
		require.NoError(t, err)
		text, err := tok.RenderChat(nil, ChatOptions{})
		require.NoError(t, err)
		return text
	}
	assert.Equal(t, "Da", render())
	require.NoError(t, os.WriteFile(filepath.Join(folder, "chat_template.jinja"), []byte("F"), 0o600))
	assert.Equal(t, "F", render())
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tokenizer_config.json"), []byte(`{`), 0o600))
	_, err := FromHuggingFace(folder)
	assert.ErrorContains(t, err, "tokenizer_config.json")
}

func TestVocabularyOfAGGUFIsRefusedByKey(t *testing.T) {
	good := func() GGUFVocabulary {
		return NewGGUFVocabulary("gpt2", "qwen2", []string{"a", "b", "ab"}, []string{"a b"})
	}
	for _, c := range []struct {
		change func(*GGUFVocabulary)
		names  string
	}{
		{func(g *GGUFVocabulary) { g.Model = "rwkv" }, `tokenizer.ggml.model: "rwkv"`},
		{func(g *GGUFVocabulary) { g.Pre = "odd" }, `tokenizer.ggml.pre: pre-tokenizer "odd"`},
		{func(g *GGUFVocabulary) { g.Pre = "" }, "tokenizer.ggml.pre"},
		{func(g *GGUFVocabulary) { g.Tokens = nil }, "tokenizer.ggml.tokens"},
		{func(g *GGUFVocabulary) { g.Types = []int32{1} }, "tokenizer.ggml.token_type"},
		{func(g *GGUFVocabulary) { g.Merges = []string{"ab"} }, `merge 0 "ab"`},
		{func(g *GGUFVocabulary) { g.Merges = []string{"b a"} }, `"ba" is not in the vocabulary`},
		{func(g *GGUFVocabulary) { g.BOS = 3 }, "tokenizer.ggml.bos_token_id: 3"},
		{func(g *GGUFVocabulary) { g.EOT = -2 }, "tokenizer.ggml.eot_token_id: -2"},
	} {
		g := good()
		c.change(&g)
		_, err := FromGGUFVocabulary(g)
		assert.ErrorContains(t, err, c.names)
	}
	_, err := FromGGUFVocabulary(good())
	assert.NoError(t, err)
}

func TestGGUFAddsBOSWhereTheFileOrTheKindSaysSo(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		pre  string
		add  *bool
		want []int32
	}{
		{"llama-bpe", nil, []int32{2, 0}},
		{"llama-bpe", &no, []int32{0}},
		{"qwen2", nil, []int32{0}},
		{"smollm", &yes, []int32{2, 0}},
	} {
		g := NewGGUFVocabulary("gpt2", c.pre, []string{"a", "b", "<s>"}, nil)
		g.Types, g.BOS, g.AddBOS = []int32{1, 1, 3}, 2, c.add
		tok, err := FromGGUFVocabulary(g)
		require.NoError(t, err)
		ids, err := tok.Encode("a", EncodeOptions{AddSpecial: true})
		require.NoError(t, err)
		assert.Equal(t, c.want, ids, fmt.Sprint(c.pre))
		ids, err = tok.Encode("a<s>", EncodeOptions{ParseSpecial: true})
		require.NoError(t, err)
		assert.Equal(t, []int32{0, 2}, ids)
	}
}
