package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/engine/checkpoint/internal/craft"
)

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o600))
}

func open(t *testing.T, path string) *Checkpoint {
	t.Helper()
	c, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestGGUFGivesTheConfig(t *testing.T) {
	m := newTiny()
	m.keys["tokenizer.ggml.bos_token_id"] = uint32(1)
	m.keys["tokenizer.ggml.eos_token_id"] = uint32(2)
	m.keys["tokenizer.ggml.eot_token_id"] = uint32(3)
	c := open(t, m.gguf(t))
	assert.Equal(t, &Config{
		Family: "llama", Layers: 1, Hidden: 8, Heads: 2, KVHeads: 1, HeadDim: 4, FFN: 6, Vocab: 10, Context: 64,
		NormEps: 1e-5, Rope: Rope{Base: 10000, Dim: 4, Pairing: Adjacent}, Activation: "silu",
		BOS: []int32{1}, EOS: []int32{2, 3},
	}, c.Config())
	assert.Equal(t, GGUF, c.Kind())
	assert.Len(t, c.Metadata(), len(m.keys))
	q, ok := c.Tensor("blk.0.attn_k.weight")
	require.True(t, ok)
	assert.Equal(t, []int{4, 8}, q.Shape)
	assert.Equal(t, craft.Floats(32, 1), q.Data)
	assert.Equal(t, 32, q.Elements())
	c.Release(q)
	assert.Equal(t, craft.Floats(32, 1), q.Data)
}

func TestGGUFOptions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *tiny)
		check  func(t *testing.T, c *Config)
	}{
		"tied head": {func(m *tiny) { delete(m.shapes, "output.weight") },
			func(t *testing.T, c *Config) { assert.True(t, c.TiedHead); assert.NotEmpty(t, c.Notes) }},
		"own head dimension": {func(m *tiny) {
			m.keys["llama.attention.key_length"], m.keys["llama.attention.value_length"] = uint32(6), uint32(6)
			m.shapes["blk.0.attn_q.weight"], m.shapes["blk.0.attn_output.weight"] = []int{12, 8}, []int{8, 12}
			m.shapes["blk.0.attn_k.weight"], m.shapes["blk.0.attn_v.weight"] = []int{6, 8}, []int{6, 8}
		}, func(t *testing.T, c *Config) { assert.Equal(t, 6, c.HeadDim); assert.Equal(t, 6, c.Rope.Dim) }},
		"heads listed by layer": {func(m *tiny) { m.keys["llama.attention.head_count_kv"] = craft.Array[int32](5, 1, 1) },
			func(t *testing.T, c *Config) { assert.Equal(t, 1, c.KVHeads) }},
		"linear scaling": {func(m *tiny) {
			m.keys["llama.rope.scaling.type"], m.keys["llama.rope.scaling.factor"] = "linear", float32(4)
		}, func(t *testing.T, c *Config) {
			assert.Equal(t, ScaleLinear, c.Rope.Scaling)
			assert.Equal(t, 4.0, c.Rope.Factor)
		}},
		"linear scaling, old key": {func(m *tiny) { m.keys["llama.rope.scale_linear"] = float32(2) },
			func(t *testing.T, c *Config) { assert.Equal(t, 2.0, c.Rope.Factor) }},
		"scaling of none": {func(m *tiny) {
			m.keys["llama.rope.scaling.type"], m.keys["llama.rope.scaling.factor"] = "none", float32(4)
		}, func(t *testing.T, c *Config) { assert.Equal(t, ScaleNone, c.Rope.Scaling) }},
		"divisors": {func(m *tiny) { m.shapes["rope_freqs.weight"] = []int{2} },
			func(t *testing.T, c *Config) { assert.Equal(t, []float32{1, 1 + 1.0/64}, c.Rope.Divisors) }},
		"partial rotation": {func(m *tiny) { m.keys["llama.rope.dimension_count"] = uint16(2) },
			func(t *testing.T, c *Config) { assert.Equal(t, 2, c.Rope.Dim) }},
		"biases": {func(m *tiny) {
			m.bias("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
		}, func(t *testing.T, c *Config) { assert.True(t, c.AttentionBias && c.OutputBias && c.MLPBias) }},
		"base as an integer": {func(m *tiny) { m.keys["llama.rope.freq_base"] = uint32(500000) },
			func(t *testing.T, c *Config) { assert.Equal(t, 5e5, c.Rope.Base) }},
		"switched-off options": {func(m *tiny) {
			m.keys["llama.expert_count"], m.keys["llama.logit_scale"] = uint32(0), float32(0)
			m.keys["llama.attention.causal"] = true
		}, func(*testing.T, *Config) {}},
		"marks for no token": {func(m *tiny) {
			m.keys["tokenizer.ggml.bos_token_id"], m.keys["tokenizer.ggml.eos_token_id"] = uint32(math.MaxUint32), int32(-1)
		}, func(t *testing.T, c *Config) { assert.Empty(t, c.BOS); assert.Empty(t, c.EOS) }},
		"vocabulary from the tokens": {func(m *tiny) {
			delete(m.keys, "llama.vocab_size")
			m.keys["tokenizer.ggml.tokens"] = craft.Array(8, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
		}, func(t *testing.T, c *Config) { assert.Equal(t, 10, c.Vocab) }},
		"vocabulary from the embedding": {func(m *tiny) { delete(m.keys, "llama.vocab_size") },
			func(t *testing.T, c *Config) { assert.Equal(t, 10, c.Vocab) }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTiny()
			c.change(m)
			c.check(t, open(t, m.gguf(t)).Config())
		})
	}
}

func TestGGUFQwen2PairsHalvesAndHasBiases(t *testing.T) {
	m := newTiny()
	keys := map[string]any{"general.architecture": "qwen2"}
	for k, v := range m.keys {
		if k != "general.architecture" {
			keys["qwen2"+k[len("llama"):]] = v
		}
	}
	m.keys = keys
	_, err := Open(m.gguf(t))
	require.ErrorContains(t, err, `"blk.0.attn_q.bias": is missing`)
	m.bias("attn_q", "attn_k", "attn_v")
	c := open(t, m.gguf(t)).Config()
	assert.Equal(t, Halves, c.Rope.Pairing)
	assert.True(t, c.AttentionBias)
	assert.False(t, c.OutputBias)
}

func TestGGUFRefusals(t *testing.T) {
	set := func(key string, v any) func(*tiny) { return func(m *tiny) { m.keys[key] = v } }
	for name, c := range map[string]struct {
		change func(m *tiny)
		says   []string
	}{
		"experts":            {set("llama.expert_count", uint32(8)), []string{"llama.expert_count", "unsupported"}},
		"scale":              {set("llama.attention.scale", float32(0.5)), []string{"llama.attention.scale", "unsupported"}},
		"unknown list":       {set("llama.odd", craft.Array[uint8](0, 1)), []string{"llama.odd", "unsupported"}},
		"yarn":               {set("llama.rope.scaling.type", "yarn"), []string{"llama.rope.scaling.type", "yarn"}},
		"not causal":         {set("llama.attention.causal", false), []string{"llama.attention.causal"}},
		"mixed heads":        {set("llama.attention.head_count_kv", craft.Array[int32](5, 1, 2)), []string{"head_count_kv", "differs between layers"}},
		"value width":        {set("llama.attention.value_length", uint32(8)), []string{"value_length", "different sizes"}},
		"odd head":           {set("llama.attention.key_length", uint32(3)), []string{"key_length"}},
		"rope too wide":      {set("llama.rope.dimension_count", uint32(6)), []string{"dimension_count", "out of range"}},
		"rope odd":           {set("llama.rope.dimension_count", uint32(3)), []string{"dimension_count", "even"}},
		"base zero":          {set("llama.rope.freq_base", float32(0)), []string{"freq_base", "positive"}},
		"base NaN":           {set("llama.rope.freq_base", float32(math.NaN())), []string{"freq_base", "out of range"}},
		"eps negative":       {set("llama.attention.layer_norm_rms_epsilon", float32(-1)), []string{"layer_norm_rms_epsilon", "negative"}},
		"eps beyond float32": {set("llama.attention.layer_norm_rms_epsilon", 1e300), []string{"layer_norm_rms_epsilon", "out of range"}},
		"too many layers":    {set("llama.block_count", uint32(1000)), []string{"llama.block_count", "1000 layers", "12 tensors"}},
		"second layer":       {set("llama.block_count", uint32(2)), []string{`"blk.1.attn_norm.weight"`, "missing"}},
		"huge heads":         {set("llama.attention.head_count", uint32(math.MaxInt32)), []string{"head_count"}},
		"eos beyond":         {set("tokenizer.ggml.eos_token_id", uint32(10)), []string{"eos_token_id", "out of range"}},
		"architecture type":  {set("general.architecture", uint32(1)), []string{"general.architecture", "type u32"}},
		"split count":        {set("split.count", int32(-2)), []string{"split.count", "out of range"}},
		"split count type":   {set("split.count", "two"), []string{"split.count", "type string"}},
		"half the biases":    {func(m *tiny) { m.bias("attn_q") }, []string{`"blk.0.attn_k.bias"`, "missing"}},
		"stray bias":         {func(m *tiny) { m.bias("attn_k") }, []string{`"blk.0.attn_k.bias"`, "could change results"}},
		"query norm":         {func(m *tiny) { m.shapes["blk.0.attn_q_norm.weight"] = []int{4} }, []string{`"blk.0.attn_q_norm.weight"`, "not part of a llama"}},
		"divisors too many":  {func(m *tiny) { m.shapes["rope_freqs.weight"] = []int{4} }, []string{"rope_freqs.weight", "expected [2], found [4]"}},
		"norm as matrix":     {func(m *tiny) { m.shapes["output_norm.weight"] = []int{1, 8} }, []string{"output_norm.weight", "expected [8], found [8, 1]"}},
		"matrix of integers": {func(m *tiny) { m.types["blk.0.attn_q.weight"] = 26 }, []string{"blk.0.attn_q.weight", "type I32", "cannot compute"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTiny()
			c.change(m)
			_, err := Open(m.gguf(t))
			var e *Error
			require.True(t, errors.As(err, &e), "%v", err)
			for _, s := range c.says {
				assert.Contains(t, err.Error(), s)
			}
		})
	}
}

// split writes the model in two files and gives the path of the first.
func split(t *testing.T, m *tiny, edit func(no int, keys map[string]any)) string {
	t.Helper()
	dir := t.TempDir()
	all := m.tensors()
	parts := [][]craft.Tensor{craft.Place(32, all[:5]), craft.Place(32, all[5:])}
	for no, part := range parts {
		keys := map[string]any{"split.no": uint16(no), "split.count": uint16(2), "split.tensors.count": int32(len(all))}
		if no == 0 {
			for k, v := range m.keys {
				keys[k] = v
			}
		}
		if edit != nil {
			edit(no, keys)
		}
		one := &tiny{keys: keys}
		name := fmt.Sprintf("t-%05d-of-00002.gguf", no+1)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), craft.GGUF(3, 32, one.metadata(), part), 0o600))
	}
	return filepath.Join(dir, "t-00001-of-00002.gguf")
}

func TestSplitFilesAreOneModel(t *testing.T) {
	c := open(t, split(t, newTiny(), nil))
	assert.Len(t, c.Tensors(), 12)
	digest, err := c.Digest()
	require.NoError(t, err)
	assert.Len(t, digest, 2)
}

func TestSplitRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(no int, keys map[string]any)
		says string
	}{
		"wrong number": {func(no int, k map[string]any) { k["split.no"] = uint16(0) }, "split.no"},
		"wrong count":  {func(no int, k map[string]any) { k["split.count"] = uint16(2 + no) }, "number 1 of 3"},
		"wrong total":  {func(no int, k map[string]any) { k["split.tensors.count"] = int32(13) }, "split.tensors.count"},
		"first is two": {func(no int, k map[string]any) { k["split.no"] = uint16(1 - no) }, "open the first"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(split(t, newTiny(), c.edit))
			require.ErrorContains(t, err, c.says)
		})
	}
	path := split(t, newTiny(), nil)
	other := filepath.Join(filepath.Dir(path), "t-00002-of-00002.gguf")
	_, err := Open(other)
	require.ErrorContains(t, err, "open the first")
	require.NoError(t, os.Remove(other))
	_, err = Open(path)
	require.ErrorContains(t, err, "t-00002-of-00002.gguf")
}
