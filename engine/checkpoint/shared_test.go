package checkpoint

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// shared is the folder of recordings that ASSAY_SHARED names.
func shared(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ASSAY_SHARED")
	if dir == "" {
		t.Skip("ASSAY_SHARED is unset: no recordings to hold this against")
	}
	return dir
}

func glob(t *testing.T, parts ...string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(parts...))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

func TestRealFoldersOpenOrAreRefusedByName(t *testing.T) {
	for _, config := range glob(t, shared(t), "decoders", "*", "config.json") {
		dir := filepath.Dir(config)
		t.Run(filepath.Base(dir), func(t *testing.T) { openOrRefusedByName(t, dir) })
	}
}

func TestRealGGUFsOpenOrAreRefusedByName(t *testing.T) {
	for _, path := range glob(t, shared(t), "formats", "gguf", "*", "*.gguf") {
		t.Run(filepath.Base(path), func(t *testing.T) { openOrRefusedByName(t, path) })
	}
}

func TestModelsOfThisMachineOpenOrAreRefusedByName(t *testing.T) {
	dir := os.Getenv("ASSAY_MODELS")
	if dir == "" {
		t.Skip("ASSAY_MODELS is unset: no folder of large models")
	}
	for _, path := range glob(t, dir, "*.gguf") {
		t.Run(filepath.Base(path), func(t *testing.T) { openOrRefusedByName(t, path) })
	}
}

// openOrRefusedByName opens a file that is known to be good. What the engine
// does not know yet is refused naming the family or the format.
func openOrRefusedByName(t *testing.T, path string) {
	c, err := Open(path)
	if err != nil {
		require.Regexp(t, `unsupported architecture "(gemma|qwen3)|has type Q[2345]_[K01]`, err.Error())
		return
	}
	defer c.Close()
	config := c.Config()
	assert.Contains(t, families, config.Family)
	for _, r := range layerTensors(config) {
		tensor, ok := c.Tensor(fmt.Sprintf("blk.%d.%s", config.Layers-1, r.name))
		require.True(t, ok, r.name)
		assert.Equal(t, r.shape, tensor.Shape)
	}
}

func TestBothConfigSpellingsSayTheSame(t *testing.T) {
	for _, name := range []string{"llama", "llama-256", "qwen2"} {
		t.Run(name, func(t *testing.T) {
			from := filepath.Join(shared(t), "decoders", name)
			dir := t.TempDir()
			for _, path := range glob(t, from, "*.safetensors*") {
				require.NoError(t, os.Symlink(absolute(t, path), filepath.Join(dir, filepath.Base(path))))
			}
			older := filepath.Join(from, "evidence", "config-older-spelling.json")
			require.NoError(t, os.Symlink(absolute(t, older), filepath.Join(dir, "config.json")))
			generation := filepath.Join(from, "generation_config.json")
			require.NoError(t, os.Symlink(absolute(t, generation), filepath.Join(dir, "generation_config.json")))
			assert.Equal(t, open(t, from).Config(), open(t, dir).Config())
		})
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	return path
}

func TestDigestsAreThoseOfTheRecordings(t *testing.T) {
	compared := 0
	for _, path := range glob(t, shared(t), "formats", "gguf", "*", "evidence", "*", "manifest.yaml") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var manifest struct {
			Checkpoint struct {
				Path  string
				Files map[string]string
			}
		}
		require.NoError(t, yaml.Unmarshal(text, &manifest))
		c, err := Open(filepath.Join(shared(t), "formats", manifest.Checkpoint.Path))
		if err != nil {
			continue // a family or format for later, or a file that is not kept
		}
		digest, err := c.Digest()
		require.NoError(t, err)
		assert.Equal(t, manifest.Checkpoint.Files, digest, path)
		require.NoError(t, c.Close())
		compared++
	}
	assert.GreaterOrEqual(t, compared, 10)
}

// The BF16 GGUF was converted from the folder: the same bytes under other
// names, but for the rows of Q and K, which the pairing of the family moves.
func TestBF16GGUFHoldsTheBytesOfItsFolder(t *testing.T) {
	folder := open(t, filepath.Join(shared(t), "decoders", "llama"))
	file := open(t, filepath.Join(shared(t), "formats", "gguf", "llama", "llama-BF16.gguf"))
	config := file.Config()
	compared := 0
	for _, name := range slices.Sorted(maps.Keys(file.canonical)) {
		a, _ := file.Tensor(name)
		b, ok := folder.Tensor(name)
		require.True(t, ok, name)
		assert.Equal(t, b.Shape, a.Shape, name)
		if a.Type != b.Type {
			continue // vectors are F32 in the file
		}
		want := b.Data
		if strings.Contains(name, "attn_q") || strings.Contains(name, "attn_k") {
			want = interleaved(b.Data, b.Shape[0], config.HeadDim)
		}
		assert.Equal(t, want, a.Data, name)
		compared++
	}
	assert.Greater(t, compared, 7*config.Layers)
}

// interleaved moves row h*(d/2)+i of each head to row 2i+h.
func interleaved(data []byte, rows, d int) []byte {
	row := len(data) / rows
	out := make([]byte, 0, len(data))
	for head := range rows / d {
		for i := range d / 2 {
			for h := range 2 {
				from := (head*d + h*(d/2) + i) * row
				out = append(out, data[from:from+row]...)
			}
		}
	}
	return out
}
