package tokenizer

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func tiny(t testing.TB, name string) *Tokenizer {
	tok, err := FromHuggingFace(filepath.Join("testdata", name))
	require.NoError(t, err)
	return tok
}

func TestStreamGivesWholeCharactersAndInTheEndTheSameText(t *testing.T) {
	tok := tiny(t, "llama")
	r := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		ids := make([]int32, r.IntN(12))
		for i := range ids {
			ids[i] = int32(r.IntN(tok.VocabSize()+2)) - 1
		}
		for _, skip := range []bool{false, true} {
			s := tok.NewStream(skip)
			var b strings.Builder
			for _, id := range ids {
				piece := s.Push(id)
				require.True(t, utf8.ValidString(piece))
				b.WriteString(piece)
			}
			b.WriteString(s.Flush())
			require.Equal(t, tok.Decode(ids, skip), b.String(), "%v", ids)
		}
	}
}

func TestStreamHoldsAnUnfinishedCharacterBack(t *testing.T) {
	tok := tiny(t, "llama")
	ids, err := tok.Encode("😀", EncodeOptions{})
	require.NoError(t, err)
	require.Greater(t, len(ids), 1)
	s := tok.NewStream(false)
	for _, id := range ids[:len(ids)-1] {
		assert.Empty(t, s.Push(id))
	}
	assert.Equal(t, "😀", s.Push(ids[len(ids)-1]))
	assert.Empty(t, s.Push(ids[0]))
	assert.Equal(t, "\ufffd", s.Flush())
	assert.Equal(t, "", s.Flush(), "nothing is left")
}

func TestInvalidBytesBecomeOneReplacementPerPart(t *testing.T) {
	for data, want := range map[string]string{
		"\xff":             "\ufffd",
		"\xe2\x82":         "\ufffd",
		"a\x80b":           "a\ufffdb",
		"\xc0\xaf":         "\ufffd\ufffd",
		"\xed\xa0\x80":     "\ufffd\ufffd\ufffd",
		"\xf0\x9f\x98":     "\ufffd",
		"\xf0\x9fx":        "\ufffdx",
		"\xf4\x90\x80\x80": "\ufffd\ufffd\ufffd\ufffd",
		"\xe2\x82\xac":     "€",
	} {
		text, rest := appendLossy(nil, []byte(data), true)
		assert.Equal(t, want, string(text), "%x", data)
		assert.Empty(t, rest)
	}
}

const byteFallbackJSON = `{"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},
"model":{"type":"BPE","byte_fallback":true,"vocab":{"▁a":0,"<0xC3>":1,"<0xA9>":2,"▁":3,"b":4},"merges":[]}}`

func TestByteFallbackDecodesRunsOfBytes(t *testing.T) {
	tok, err := parseTokenizerJSON([]byte(byteFallbackJSON))
	require.NoError(t, err)
	for _, c := range []struct {
		ids            []int32
		text, streamed string
	}{
		{[]int32{0, 1, 2, 4}, "aéb", "aéb"},
		{[]int32{3, 3, 0}, "  a", "  a"},
		{[]int32{1, 4}, "\ufffdb", "\ufffdb"},
		{[]int32{1, 2, 1}, "\ufffd\ufffd\ufffd", "é\ufffd"}, // a stream cannot take é back
		{[]int32{2, 2}, "\ufffd\ufffd", "\ufffd\ufffd"},
	} {
		assert.Equal(t, c.text, tok.Decode(c.ids, false), "%v", c.ids)
		assert.Equal(t, c.streamed, streamed(tok, c.ids, false), "%v", c.ids)
	}
}
