package tokenizer

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shared gives the folder of recordings that are too large for testdata.
func shared(t testing.TB, path ...string) string {
	t.Helper()
	root := os.Getenv("ASSAY_SHARED")
	if root == "" {
		t.Skip("ASSAY_SHARED is not set: the larger recordings are not checked")
	}
	return filepath.Join(append([]string{root}, path...)...)
}

// readLines decodes a .jsonl file.
func readLines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var rows []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var row T
		require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
		rows = append(rows, row)
	}
	require.NoError(t, lines.Err())
	return rows
}

type tokenizerRow struct {
	Text               string
	IDs                []int32
	IDsWithSpecial     []int32 `json:"ids_with_special"`
	Decoded            string
	DecodedSkipSpecial string `json:"decoded_skip_special"`
}

type chatRow struct {
	Name                string
	Messages            []Message
	Tools               json.RawMessage
	AddGenerationPrompt bool `json:"add_generation_prompt"`
	Kwargs              json.RawMessage
	Text                string
	IDs                 []int32
	Error               string
}

func (r chatRow) options(t testing.TB) ChatOptions {
	o := ChatOptions{AddGenerationPrompt: r.AddGenerationPrompt, Tools: r.Tools}
	var extra map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(r.Kwargs, &extra))
	for name, value := range extra {
		o.Extra = append(o.Extra, Variable{name, value})
	}
	return o
}

// nonNil makes an empty list of ids comparable.
func nonNil(ids []int32) []int32 {
	if ids == nil {
		return []int32{}
	}
	return ids
}

func checkTokenizerRows(t *testing.T, tok *Tokenizer, rows []tokenizerRow) {
	equal := 0
	for _, r := range rows {
		ids, err := tok.Encode(r.Text, EncodeOptions{ParseSpecial: true})
		require.NoError(t, err)
		ok := assert.Equal(t, nonNil(r.IDs), nonNil(ids), "%q", r.Text)
		ids, err = tok.Encode(r.Text, EncodeOptions{ParseSpecial: true, AddSpecial: true})
		require.NoError(t, err)
		ok = assert.Equal(t, nonNil(r.IDsWithSpecial), nonNil(ids), "%q with special", r.Text) && ok
		ok = assert.Equal(t, r.Decoded, tok.Decode(r.IDs, false), "%q", r.Text) && ok
		ok = assert.Equal(t, r.DecodedSkipSpecial, tok.Decode(r.IDs, true), "%q", r.Text) && ok
		ok = assert.Equal(t, r.Decoded, streamed(tok, r.IDs, false), "%q streamed", r.Text) && ok
		if ok {
			equal++
		}
	}
	t.Logf("%d of %d lines equal", equal, len(rows))
}

func streamed(tok *Tokenizer, ids []int32, skipSpecial bool) string {
	s := tok.NewStream(skipSpecial)
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(s.Push(id))
	}
	b.WriteString(s.Flush())
	return b.String()
}

func checkChatRows(t *testing.T, tok *Tokenizer, rows []chatRow) {
	equal := 0
	for i, r := range rows {
		text, err := tok.RenderChat(r.Messages, r.options(t))
		if r.Error != "" {
			if assert.ErrorContains(t, err, r.Error, "row %d", i) {
				equal++
			}
			continue
		}
		if !assert.NoError(t, err, "row %d", i) || !assert.Equal(t, r.Text, text, "row %d", i) {
			continue
		}
		ids, err := tok.Encode(text, EncodeOptions{ParseSpecial: true})
		if assert.NoError(t, err) && assert.Equal(t, r.IDs, ids, "row %d", i) {
			equal++
		}
	}
	t.Logf("%d of %d conversations equal", equal, len(rows))
}

func TestTinyTokenizersGiveTheRecordedIDsAndText(t *testing.T) {
	for _, name := range []string{"llama", "qwen2"} {
		t.Run(name, func(t *testing.T) {
			tok, err := FromHuggingFace(filepath.Join("testdata", name))
			require.NoError(t, err)
			checkTokenizerRows(t, tok, readLines[tokenizerRow](t, filepath.Join("testdata", name, "tokenizer.jsonl")))
			checkChatRows(t, tok, readLines[chatRow](t, filepath.Join("testdata", name, "chat.jsonl")))
		})
	}
}

func TestAllSharedTokenizersGiveTheRecordedIDsAndText(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(shared(t, "decoders"), "*", "tokenizer.json"))
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, f := range folders {
		folder := filepath.Dir(f)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			tok, err := FromHuggingFace(folder)
			require.NoError(t, err)
			checkTokenizerRows(t, tok, readLines[tokenizerRow](t, filepath.Join(folder, "evidence", "tokenizer.jsonl")))
			checkChatRows(t, tok, readLines[chatRow](t, filepath.Join(folder, "evidence", "chat.jsonl")))
		})
	}
}
