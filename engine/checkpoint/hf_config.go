package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
)

// hfConfig reads the model description from a config.json, in the spelling of
// transformers 5 or the older one.
func (c *Checkpoint) hfConfig(path string, text []byte) (*Config, error) {
	k, err := parseKeys(path, text)
	if err != nil {
		return nil, err
	}
	name := k.text("model_type", true, "")
	if *k.err != nil {
		return nil, *k.err
	}
	fam, reason := familyOf(name)
	if reason != "" {
		k.fail("model_type", "%s", reason)
		return nil, *k.err
	}
	k.quantization()
	cfg := &Config{Family: name}
	d := dims{
		layers: k.size("num_hidden_layers", true, 0),
		hidden: k.size("hidden_size", true, 0),
		heads:  k.size("num_attention_heads", true, 0),
		ffn:    k.size("intermediate_size", true, 0),
		vocab:  k.size("vocab_size", true, 0),
	}
	d.kvHeads = k.size("num_key_value_heads", false, d.heads.value)
	d.headDim = k.headDim(d)
	if *k.err != nil {
		return nil, *k.err
	}
	if name, reason := d.check(len(c.tensors)); reason != "" {
		k.fail(name, "%s", reason)
		return nil, *k.err
	}
	cfg.Layers, cfg.Hidden, cfg.Heads, cfg.KVHeads = d.layers.value, d.hidden.value, d.heads.value, d.kvHeads.value
	cfg.HeadDim, cfg.FFN, cfg.Vocab = d.headDim.value, d.ffn.value, d.vocab.value
	c.hfDetails(k, cfg, fam)
	k.rest()
	return cfg, *k.err
}

// hfDetails reads everything but the sizes.
func (c *Checkpoint) hfDetails(k *jsonKeys, cfg *Config, fam family) {
	cfg.Context = k.size("max_position_embeddings", false, 2048).value
	eps, reason := normEps(k.float("rms_norm_eps", true, 0))
	if reason != "" {
		k.fail("rms_norm_eps", "%s", reason)
	}
	cfg.NormEps = eps
	cfg.Rope = k.rope(cfg.HeadDim)
	cfg.Activation = k.activation()
	cfg.AttentionBias = fam.qkvBias
	if fam.biasKeys {
		cfg.AttentionBias = k.flag("attention_bias", false)
		cfg.OutputBias = cfg.AttentionBias
		cfg.MLPBias = k.flag("mlp_bias", false)
	}
	k.layerTypes(cfg.Layers, fam)
	cfg.BOS = k.ids("bos_token_id", cfg.Vocab)
	cfg.EOS = k.ids("eos_token_id", cfg.Vocab)
	cfg.TiedHead = k.flag("tie_word_embeddings", false)
	if cfg.TiedHead {
		c.untie(cfg)
	}
}

// untie settles what a head is that is stored although the config ties it to
// the embedding: a copy is left aside, another matrix is used, as transformers
// does.
func (c *Checkpoint) untie(cfg *Config) {
	head, stored := c.canonical["output.weight"]
	embedding, ok := c.canonical["token_embd.weight"]
	if !stored || !ok {
		return
	}
	if head.Type == embedding.Type && bytes.Equal(head.Data, embedding.Data) {
		delete(c.canonical, "output.weight")
		cfg.Notes = append(cfg.Notes, "tie_word_embeddings is true: the embedding is the output matrix, the stored "+head.Name+" is a copy of it")
		return
	}
	cfg.TiedHead = false
	cfg.Notes = append(cfg.Notes, "tie_word_embeddings is true, but the stored "+head.Name+" differs from the embedding: it is used as the output matrix")
}

// headDim is head_dim, or hidden_size / num_attention_heads when that is absent.
func (k *jsonKeys) headDim(d dims) field {
	if h := k.size("head_dim", false, 0); h.value > 0 {
		return h
	}
	if d.heads.value > 0 && d.hidden.value%d.heads.value != 0 {
		k.fail("num_attention_heads", "is %d, which does not divide hidden_size = %d, and head_dim is absent", d.heads.value, d.hidden.value)
		return field{"head_dim", 0}
	}
	return field{"num_attention_heads", d.hidden.value / max(d.heads.value, 1)}
}

// quantization refuses weights that are not plain numbers.
func (k *jsonKeys) quantization() {
	for _, key := range []string{"quantization_config", "quantization"} {
		q := k.object(key)
		if q == nil {
			continue
		}
		if method := q.text("quant_method", false, ""); method != "" {
			k.fail(key, "quant_method %s is unsupported: the engine reads F32, F16 and BF16 folders", quoted(method))
		}
		k.fail(key, "is unsupported: the engine reads F32, F16 and BF16 folders")
	}
}

func (k *jsonKeys) activation() string {
	switch act := k.text("hidden_act", false, "silu"); act {
	case "silu", "swish":
		return "silu"
	case "gelu_pytorch_tanh", "gelu_new":
		return "gelu_tanh"
	default:
		k.fail("hidden_act", "is %s: unsupported activation, the engine knows silu and gelu_pytorch_tanh", quoted(act))
		return ""
	}
}

// layerTypes accepts layers of full attention only.
func (k *jsonKeys) layerTypes(layers int, fam family) {
	if v, ok := k.value("layer_types", false); ok {
		var types []string
		if err := json.Unmarshal(v, &types); err != nil {
			k.fail("layer_types", "is no list of strings")
		}
		if len(types) != layers && *k.err == nil {
			k.fail("layer_types", "lists %d layers, num_hidden_layers is %d", len(types), layers)
		}
		for i, t := range types {
			if t != "full_attention" {
				k.fail("layer_types", "layer %d is %s: unsupported, only full_attention is", i, quoted(t))
			}
		}
	}
	if !fam.sliding {
		return
	}
	k.value("sliding_window", false) // means nothing unless use_sliding_window
	from := k.size("max_window_layers", false, layers).value
	if k.flag("use_sliding_window", false) && from < layers {
		k.fail("use_sliding_window", "is true: sliding windows are unsupported")
	}
}

// generationEnds adds the ends that generation_config.json, if there, names.
func (c *Checkpoint) generationEnds(dir string) error {
	const name = "generation_config.json"
	text, err := c.readText(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	k, err := parseKeys(filepath.Join(dir, name), text)
	if err != nil {
		return err
	}
	c.config.EOS = appendNew(c.config.EOS, k.ids("eos_token_id", c.config.Vocab)...)
	return *k.err
}
