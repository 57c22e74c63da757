package inspect

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const files = "../cases/testdata/files/"

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

func TestTextShowsWhatTheFileHolds(t *testing.T) {
	for name, path := range map[string]string{
		"scalars.txt":      "gguf/scalars-extremes.gguf",
		"latin1.txt":       "gguf/text-latin1.gguf",
		"iq2.txt":          "gguf/type-iq2_xxs.gguf",
		"safetensors.txt":  "safetensors/metadata.safetensors",
		"sharded.txt":      "safetensors/shard-ok/model.safetensors.index.json",
		"folder.txt":       "base/hf-llama",
		"model.txt":        "gguf-model/plain-tied.gguf",
		"model-broken.txt": "gguf-model/shape-swapped.gguf",
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := Run(&out, files+path, Options{Open: strings.HasPrefix(name, "model")})
			if name == "model-broken.txt" {
				require.ErrorIs(t, err, ErrRefused)
			} else {
				require.NoError(t, err)
			}
			golden(t, name, out.Bytes())
		})
	}
}

func TestJSONHoldsDigestsAndEveryValue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.json")
	var text bytes.Buffer
	require.NoError(t, Run(&text, files+"gguf/scalars-extremes.gguf", Options{JSON: path}))
	out, err := os.ReadFile(path)
	require.NoError(t, err)
	golden(t, "scalars.json", out)
	assert.Contains(t, text.String(), "well formed")

	var back struct {
		KV      map[string]any
		Tensors []Tensor
	}
	require.NoError(t, json.Unmarshal(out, &back))
	assert.Len(t, back.KV, 18)
	assert.Equal(t, "32467a30eb92f04fe164eef9d6bb94845c8f66cf737e8b4334b84ba9fb08bc2b", back.Tensors[0].SHA256)
}

func TestJSONOnStandardOutputComesAlone(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Run(&out, files+"safetensors/dtypes.safetensors", Options{JSON: "-"}))
	assert.True(t, json.Valid(out.Bytes()))
}

func TestJSONSurvivesWhatIsNotUTF8(t *testing.T) {
	for _, path := range []string{"gguf/text-latin1.gguf", "gguf/text-cut-emoji-token.gguf"} {
		var out bytes.Buffer
		require.NoError(t, Run(&out, files+path, Options{JSON: "-"}))
		assert.Contains(t, out.String(), `"bytes_hex":`)
	}
}

func TestRefusalSaysWhyAndStillWritesJSON(t *testing.T) {
	for _, path := range []string{"gguf/version-4.gguf", "safetensors/gap.safetensors", "safetensors/shard-traversal/model.safetensors.index.json", "no/such/file"} {
		var out bytes.Buffer
		err := Run(&out, files+path, Options{JSON: "-", Open: true})
		require.ErrorIs(t, err, ErrRefused)
		var r Report
		require.NoError(t, json.Unmarshal(bytes.ReplaceAll(out.Bytes(), []byte(`"kv": {}`), []byte(`"kv": []`)), &r))
		assert.False(t, r.WellFormed)
		assert.NotEmpty(t, r.Reason)
	}
}

func TestContainerIsJudgedWithoutTheModel(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Run(&out, files+"gguf-model/arch-unknown.gguf", Options{}))
	err := Run(&out, files+"gguf-model/arch-unknown.gguf", Options{Open: true})
	require.ErrorIs(t, err, ErrRefused)
	assert.Contains(t, err.Error(), "zorgon")
	assert.Contains(t, out.String(), "assay cannot run it")
}

func TestControlCharactersAreNotPrinted(t *testing.T) {
	assert.Equal(t, `"a\x1b[31m"`, safe("a\x1b[31m"))
	assert.Equal(t, `""`, safe(""))
	assert.Equal(t, "blk.0.attn_q.weight", safe("blk.0.attn_q.weight"))
}
