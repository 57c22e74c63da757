package gates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"assay/engine/checkpoint"
	"assay/fixtures"
	"assay/kernels/quant"
	"assay/oracle/llamacpp"
)

// quantisedFixtures are the files of which decoded.yaml speaks.
var quantisedFixtures = []string{
	"models/llama-BF16.gguf", "models/llama-F16.gguf", "models/llama-Q4_0.gguf", "models/llama-Q4_1.gguf", "models/llama-Q8_0.gguf", "models/llama-256-Q6_K.gguf", "models/qwen2-Q4_0.gguf",
}

func TestDecodedWeightsAreThoseOfTheLibrary(t *testing.T) {
	l, err := llamacpp.Open("", "")
	if err != nil {
		t.Skipf("the llama.cpp library: %v", err)
	}
	dir := materialised(t)
	d := &Decoded{
		Engine:  "llama.cpp v" + strings.TrimPrefix(l.Info().Version, "v") + ", ggml " + l.Info().GGML + " (npm " + llamacpp.Package + ", reference decoders of libggml-base)",
		Command: "go test ./gates -run TestDecodedWeights -update",
		Models:  map[string]map[string]string{},
	}
	for _, name := range quantisedFixtures {
		d.Models[name] = decodeWith(t, l, filepath.Join(dir, name))
	}
	if *update {
		b, err := yaml.Marshal(d)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("../fixtures/decoded.yaml", b, 0o644))
		return
	}
	recorded, err := LoadDecoded()
	require.NoError(t, err)
	assert.Equal(t, recorded.Models, d.Models)
}

// decodeWith gives the SHA-256 of every tensor as the library decodes it.
func decodeWith(t *testing.T, l *llamacpp.Library, path string) map[string]string {
	c, err := checkpoint.Open(path)
	require.NoError(t, err)
	defer c.Close()
	sums := map[string]string{}
	for _, x := range c.Tensors() {
		values, err := decodeRows(x)
		require.NoError(t, err)
		if x.Type != quant.F32 {
			values, err = l.Dequantise(x.Type.String(), x.Data, x.Elements())
			require.NoError(t, err)
		}
		sums[x.Name] = hashFloats(values)
	}
	return sums
}

// materialised writes the fixtures once per test that asks.
func materialised(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, fixtures.Materialise(dir))
	return dir
}
