package tokenizer

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func qwenVocabulary(t testing.TB) GGUFVocabulary {
	data, err := os.ReadFile("/tmp/toktest/models/qwen3.tokenizer.json")
	require.NoError(t, err)
	var f struct {
		AddedTokens []addedJSON `json:"added_tokens"`
		Model       struct {
			Vocab  map[string]int32
			Merges json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(data, &f))
	var merges []string
	if json.Unmarshal(f.Model.Merges, &merges) != nil {
		var pairs [][]string
		require.NoError(t, json.Unmarshal(f.Model.Merges, &pairs))
		merges = nil
		for _, p := range pairs {
			merges = append(merges, p[0]+" "+p[1])
		}
	}
	n := len(f.Model.Vocab) + len(f.AddedTokens)
	g := NewGGUFVocabulary("gpt2", "qwen2", make([]string, n), merges)
	g.Types = make([]int32, n)
	for s, id := range f.Model.Vocab {
		g.Tokens[id] = s
		g.Types[id] = 1
	}
	for _, a := range f.AddedTokens {
		g.Tokens[a.ID] = a.Content
		g.Types[a.ID] = 4
		if a.Special {
			g.Types[a.ID] = 3
		}
	}
	return g
}

func TestAdhocQwen(t *testing.T) {
	tok, err := FromGGUFVocabulary(qwenVocabulary(t))
	require.NoError(t, err)
	checkLlamaRows(t, tok, readLines[llamaRow](t, "/work/shared/real/tokenizers/llama_qwen25.jsonl"))
}

func BenchmarkAdhocGGUF(b *testing.B) {
	g := qwenVocabulary(b)
	b.ReportAllocs()
	for b.Loop() {
		FromGGUFVocabulary(g)
	}
}

func BenchmarkAdhocHF(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		FromFile("/tmp/toktest/models/qwen3.tokenizer.json")
	}
}

func BenchmarkAdhocEncode(b *testing.B) {
	tok, err := FromFile("/tmp/toktest/models/qwen3.tokenizer.json")
	require.NoError(b, err)
	text, _ := os.ReadFile("/work/shared/design.md")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		tok.Encode(string(text), EncodeOptions{ParseSpecial: true})
	}
}
