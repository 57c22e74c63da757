package checkpoint

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/engine/checkpoint/internal/craft"
)

func TestFolderGivesTheSameConfigAsGGUF(t *testing.T) {
	m := newTiny()
	c := open(t, m.folder(t))
	want := *open(t, m.gguf(t)).Config()
	want.Rope.Pairing = Halves
	assert.Equal(t, &want, c.Config())
	assert.Equal(t, HuggingFace, c.Kind())
	assert.Nil(t, c.Metadata())
	q, ok := c.Tensor("blk.0.attn_q.weight")
	require.True(t, ok)
	assert.Equal(t, "model.layers.0.self_attn.q_proj.weight", q.Name)
	assert.Equal(t, craft.Floats(64, 1), q.Data)
	digest, err := c.Digest()
	require.NoError(t, err)
	assert.Len(t, digest["config.json"], 64)
	assert.Len(t, digest["model.safetensors"], 64)
}

type object = map[string]any

func TestConfigOptions(t *testing.T) {
	set := func(pairs ...any) func(*tiny) {
		return func(m *tiny) {
			for i := 0; i < len(pairs); i += 2 {
				m.config[pairs[i].(string)] = pairs[i+1]
			}
		}
	}
	llama3 := object{"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4.0, "original_max_position_embeddings": 32.0, "rope_theta": 2000}
	for name, c := range map[string]struct {
		change func(m *tiny)
		check  func(t *testing.T, c *Config)
	}{
		"newer rope": {func(m *tiny) {
			delete(m.config, "rope_theta")
			m.config["rope_parameters"] = llama3
		}, func(t *testing.T, c *Config) {
			assert.Equal(t, Rope{Base: 2000, Dim: 4, Pairing: Halves, Scaling: ScaleLlama3, Factor: 8, LowFreq: 1, HighFreq: 4, OriginalContext: 32}, c.Rope)
		}},
		"older rope":        {set("rope_scaling", object{"type": "linear", "factor": 4}), func(t *testing.T, c *Config) { assert.Equal(t, ScaleLinear, c.Rope.Scaling) }},
		"both alias names":  {set("rope_scaling", object{"type": "linear", "rope_type": "linear", "factor": 4}), func(t *testing.T, c *Config) { assert.Equal(t, 4.0, c.Rope.Factor) }},
		"both rope objects": {set("rope_theta", 2000, "rope_scaling", llama3, "rope_parameters", llama3), func(t *testing.T, c *Config) { assert.Equal(t, 2000.0, c.Rope.Base) }},
		"no scaling":        {set("rope_scaling", nil), func(t *testing.T, c *Config) { assert.Equal(t, 10000.0, c.Rope.Base) }},
		"base of the class": {func(m *tiny) { delete(m.config, "rope_theta") }, func(t *testing.T, c *Config) { assert.Equal(t, 10000.0, c.Rope.Base) }},
		"many ends":         {set("eos_token_id", []int{3, 2, 3}, "bos_token_id", 1), func(t *testing.T, c *Config) { assert.Equal(t, []int32{3, 2}, c.EOS) }},
		"no ends":           {set("eos_token_id", nil, "bos_token_id", -1), func(t *testing.T, c *Config) { assert.Empty(t, c.EOS); assert.Empty(t, c.BOS) }},
		"gelu":              {set("hidden_act", "gelu_pytorch_tanh"), func(t *testing.T, c *Config) { assert.Equal(t, "gelu_tanh", c.Activation) }},
		"llama biases": {func(m *tiny) {
			set("attention_bias", true, "mlp_bias", true)(m)
			m.bias("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
		}, func(t *testing.T, c *Config) { assert.True(t, c.AttentionBias && c.OutputBias && c.MLPBias) }},
		"tied head": {func(m *tiny) { set("tie_word_embeddings", true)(m); delete(m.shapes, "output.weight") }, func(t *testing.T, c *Config) { assert.True(t, c.TiedHead); assert.Empty(t, c.Notes) }},
		"tied with a copy of the embedding": {set("tie_word_embeddings", true), func(t *testing.T, c *Config) {
			assert.True(t, c.TiedHead)
			assert.Contains(t, c.Notes[0], "is a copy")
		}},
		"head dimension of its own": {func(m *tiny) {
			set("head_dim", 6)(m)
			m.shapes["blk.0.attn_q.weight"], m.shapes["blk.0.attn_output.weight"] = []int{12, 8}, []int{8, 12}
			m.shapes["blk.0.attn_k.weight"], m.shapes["blk.0.attn_v.weight"] = []int{6, 8}, []int{6, 8}
		}, func(t *testing.T, c *Config) { assert.Equal(t, 6, c.HeadDim) }},
		"whole number as float": {set("num_hidden_layers", json.RawMessage("1.0")), func(t *testing.T, c *Config) { assert.Equal(t, 1, c.Layers) }},
		"keys that change nothing": {set("attention_dropout", 0.5, "use_cache", true, "pretraining_tp", 1, "rope_interleaved", false, "logit_scale", 1, "num_experts", 0, "layer_types", []string{"full_attention"}, "comment", "x"),
			func(*testing.T, *Config) {}},
		"qwen2 window off": {func(m *tiny) {
			set("model_type", "qwen2", "use_sliding_window", false, "sliding_window", 4096, "max_window_layers", 0)(m)
			m.bias("attn_q", "attn_k", "attn_v")
		}, func(t *testing.T, c *Config) { assert.True(t, c.AttentionBias); assert.False(t, c.OutputBias) }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTiny()
			c.change(m)
			c.check(t, open(t, m.folder(t)).Config())
		})
	}
}

func TestAnotherStoredHeadIsUsedThoughTheConfigTiesIt(t *testing.T) {
	m := newTiny()
	m.config["tie_word_embeddings"] = true
	m.first = map[string]float32{"output.weight": 5}
	c := open(t, m.folder(t))
	assert.False(t, c.Config().TiedHead)
	assert.Contains(t, c.Config().Notes[0], "differs from the embedding")
	head, ok := c.Tensor("output.weight")
	require.True(t, ok)
	assert.Equal(t, craft.Floats(80, 5), head.Data)
}

func TestConfigRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		key   string
		value any
		says  []string
	}{
		"window":            {"sliding_window", 4096, []string{`"sliding_window"`, "unsupported"}},
		"qk norm":           {"use_qk_norm", true, []string{`"use_qk_norm"`, "unsupported"}},
		"softcap":           {"final_logit_softcapping", 30.0, []string{`"final_logit_softcapping"`}},
		"multiplier":        {"embedding_multiplier", 12, []string{`"embedding_multiplier"`}},
		"experts":           {"num_local_experts", 8, []string{`"num_local_experts"`}},
		"sliding layers":    {"layer_types", []string{"sliding_attention"}, []string{`"layer_types"`, "sliding_attention"}},
		"layers listed":     {"layer_types", []string{"full_attention", "full_attention"}, []string{`"layer_types"`, "2 layers"}},
		"partial rotation":  {"partial_rotary_factor", 0.5, []string{`"partial_rotary_factor"`}},
		"dynamic rope":      {"rope_scaling", object{"type": "dynamic", "factor": 2}, []string{"rope_scaling", "dynamic"}},
		"alias conflict":    {"rope_scaling", object{"type": "linear", "rope_type": "llama3", "factor": 2}, []string{"rope_scaling.type"}},
		"rope text":         {"rope_scaling", "linear", []string{`"rope_scaling"`, "a string"}},
		"unknown rope key":  {"rope_scaling", object{"type": "linear", "factor": 2, "beta_fast": 32}, []string{"rope_scaling.beta_fast"}},
		"factor unused":     {"rope_parameters", object{"rope_type": "default", "factor": 2}, []string{"rope_parameters.factor"}},
		"factor negative":   {"rope_scaling", object{"type": "linear", "factor": -2}, []string{"rope_scaling.factor", "positive"}},
		"theta conflict":    {"rope_parameters", object{"rope_type": "default", "rope_theta": 5}, []string{"rope_theta", "5"}},
		"llama3 incomplete": {"rope_scaling", object{"rope_type": "llama3", "factor": 8, "low_freq_factor": 1}, []string{"high_freq_factor", "missing"}},
		"llama3 order":      {"rope_scaling", object{"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4, "original_max_position_embeddings": 32}, []string{"high_freq_factor", "exceed"}},
		"theta zero":        {"rope_theta", 0, []string{"rope_theta", "positive"}},
		"theta text":        {"rope_theta", "10000", []string{"rope_theta", "a string"}},
		"huge number":       {"rope_theta", json.RawMessage("1e999"), []string{"rope_theta", "out of range"}},
		"eps too large":     {"rms_norm_eps", json.RawMessage("1e300"), []string{"rms_norm_eps", "out of range"}},
		"eos beyond":        {"eos_token_id", []int{2, 10}, []string{"eos_token_id", "out of range"}},
		"eos text":          {"eos_token_id", "2", []string{"eos_token_id", "a string"}},
		"eos in a list":     {"eos_token_id", []any{[]int{2}}, []string{"eos_token_id", "a list"}},
		"tie text":          {"tie_word_embeddings", "yes", []string{"tie_word_embeddings", "true or false"}},
		"act number":        {"hidden_act", 1, []string{"hidden_act", "want a string"}},
		"huge integer":      {"hidden_size", json.RawMessage("99999999999999999999"), []string{"hidden_size", "out of range"}},
		"mlx quantisation":  {"quantization", object{"group_size": 64, "bits": 4}, []string{`"quantization"`, "unsupported"}},
		"bias that is not":  {"mlp_bias", true, []string{"mlp.gate_proj.bias", "missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTiny()
			m.config[c.key] = c.value
			_, err := Open(m.folder(t))
			var e *Error
			require.True(t, errors.As(err, &e), "%v", err)
			for _, s := range c.says {
				assert.Contains(t, err.Error(), s)
			}
		})
	}
}

func TestConfigTextIsJSONToTheLastByte(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "list": "[]", "null": "null", "text": `"x"`, "cut": `{"a":`, "after": `{} {}`, "twice": `{"a":1,"a":1}`, "not UTF-8": "{\"\xff\":1}",
	} {
		t.Run(name, func(t *testing.T) {
			dir := newTiny().folder(t)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600))
			_, err := Open(dir)
			require.ErrorContains(t, err, "config.json: cannot parse as a JSON object")
		})
	}
}

func TestGenerationConfigAddsEnds(t *testing.T) {
	m := newTiny()
	m.config["eos_token_id"] = 2
	dir := m.folder(t)
	writeJSON(t, filepath.Join(dir, "generation_config.json"), object{"eos_token_id": []int{4, 2}})
	c := open(t, dir)
	assert.Equal(t, []int32{2, 4}, c.Config().EOS)
	writeJSON(t, filepath.Join(dir, "generation_config.json"), object{"eos_token_id": 99})
	_, err := Open(dir)
	require.ErrorContains(t, err, "generation_config.json")
}

func TestOpenRefusesWhatIsNoModel(t *testing.T) {
	dir := newTiny().folder(t)
	_, err := Open(filepath.Join(dir, "model.safetensors"))
	require.ErrorContains(t, err, "opened by its folder")
	require.NoError(t, os.Remove(filepath.Join(dir, "model.safetensors")))
	_, err = Open(dir)
	require.ErrorContains(t, err, "neither model.safetensors nor")
	_, err = Open(t.TempDir())
	require.ErrorContains(t, err, "config.json")
	_, err = Open(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestShardedFolderIsOneModel(t *testing.T) {
	m := newTiny()
	dir := m.folder(t)
	require.NoError(t, os.Rename(filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "model-1.safetensors")))
	index := object{}
	for name := range m.shapes {
		index[hfName(name)] = "model-1.safetensors"
	}
	writeJSON(t, filepath.Join(dir, "model.safetensors.index.json"), object{"weight_map": index})
	c := open(t, dir)
	digest, err := c.Digest()
	require.NoError(t, err)
	assert.Len(t, digest, 3)
}

func TestNamesTranslateBothWays(t *testing.T) {
	for name := range tinyShapes {
		back, ok := canonicalName(hfName(name))
		assert.True(t, ok, name)
		assert.Equal(t, name, back)
	}
	for _, name := range []string{"", "model.layers.", "model.layers.01.input_layernorm.weight", "model.layers.-1.input_layernorm.weight", "model.layers.0.input_layernorm", "model.layers.0.x.weight"} {
		_, ok := canonicalName(name)
		assert.False(t, ok, name)
	}
	assert.Equal(t, "blk.x", hfName("blk.x"))
}
