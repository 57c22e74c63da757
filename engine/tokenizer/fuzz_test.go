package tokenizer

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzTokenizerJSON feeds any bytes as a tokenizer.json; what opens must also
// encode and decode without a panic.
func FuzzTokenizerJSON(f *testing.F) {
	for _, c := range refusedJSON {
		f.Add([]byte(c.json), "a b")
	}
	for _, c := range acceptedJSON {
		f.Add([]byte(c.json), "the a<x> é")
	}
	data, err := os.ReadFile("testdata/llama/tokenizer.json")
	require.NoError(f, err)
	f.Add(data, "Hello, world")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := parseTokenizerJSON(data)
		if err != nil {
			assert.NotEmpty(t, err.Error())
			return
		}
		exercise(t, tok, text)
	})
}

// exercise encodes, and holds the stream to Decode as far as it must agree.
func exercise(t *testing.T, tok *Tokenizer, text string) {
	if len(text) > 1<<12 {
		text = text[:1<<12]
	}
	tok.addEndOfTurn()
	for _, o := range []EncodeOptions{{}, {AddSpecial: true, ParseSpecial: true}} {
		ids, err := tok.Encode(text, o)
		if err != nil {
			continue
		}
		for _, skip := range []bool{false, true} {
			whole := tok.Decode(ids, skip)
			stream := streamed(tok, ids, skip)
			if tok.decoder.byteLevel {
				assert.Equal(t, whole, stream)
				assert.True(t, utf8.ValidString(whole))
			}
		}
	}
	tok.Decode([]int32{-1, 0, 1 << 30, int32(tok.VocabSize())}, false)
}

func FuzzByteLevelTextComesBack(f *testing.F) {
	for _, s := range []string{"", " ", "it's 12345\r\n\n  Zoë 😀", "<|eot_id|> a<|begin_of_text|>", "e\u0301\u0301", "\xff\xc3(", "a\u0000b", strings.Repeat("ab", 200)} {
		f.Add(s)
	}
	llama, qwen := tiny(f, "llama"), tiny(f, "qwen2")
	f.Fuzz(func(t *testing.T, text string) {
		valid := validText(text)
		for _, special := range []bool{false, true} {
			ids, err := llama.Encode(text, EncodeOptions{ParseSpecial: special})
			require.NoError(t, err)
			require.Equal(t, valid, llama.Decode(ids, false))
			require.Equal(t, valid, streamed(llama, ids, false))
			ids, err = qwen.Encode(text, EncodeOptions{ParseSpecial: special})
			require.NoError(t, err)
			again, err := qwen.Encode(qwen.Decode(ids, false), EncodeOptions{ParseSpecial: special})
			require.NoError(t, err)
			require.Equal(t, qwen.Decode(ids, false), qwen.Decode(again, false))
		}
	})
}

// FuzzGGUFVocabulary builds vocabularies from lines of text.
func FuzzGGUFVocabulary(f *testing.F) {
	f.Add("llama-bpe", "a\nb\nab\n<s>", "a b", []byte{1, 1, 1, 3}, int32(3), "ab<s>a")
	f.Add("smollm", "Ġ\na\nĠa\n<x>", "Ġ a", []byte{1, 1, 1, 4}, int32(0), " a1 <x>")
	f.Add("gpt-2", "a", " ", []byte{}, int32(-1), "a")
	f.Add("qwen2", "\n\n", "a", []byte{3, 3, 3}, int32(7), "")
	f.Fuzz(func(t *testing.T, pre, tokens, merges string, types []byte, bos int32, text string) {
		g := NewGGUFVocabulary("gpt2", pre, strings.Split(tokens, "\n"), nil)
		if merges != "" {
			g.Merges = strings.Split(merges, "\n")
		}
		for _, b := range types {
			g.Types = append(g.Types, int32(b))
		}
		g.BOS = bos
		tok, err := FromGGUFVocabulary(g)
		if err != nil {
			assert.ErrorContains(t, err, "tokenizer.ggml.")
			return
		}
		exercise(t, tok, text)
	})
}
