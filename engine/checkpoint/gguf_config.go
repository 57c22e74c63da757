package checkpoint

import (
	"assay/engine/checkpoint/gguf"
)

// ggufConfig reads the model description from a GGUF file's metadata.
func (c *Checkpoint) ggufConfig(f *gguf.File) (*Config, error) {
	arch, fam, err := architecture(f)
	if err != nil {
		return nil, err
	}
	k := &ggufKeys{file: f, arch: arch, used: map[string]bool{}}
	cfg := &Config{Family: arch, Activation: "silu"}
	d := dims{
		layers: k.size("block_count", true, 0),
		hidden: k.size("embedding_length", true, 0),
		heads:  k.size("attention.head_count", true, 0),
		ffn:    k.size("feed_forward_length", true, 0),
		vocab:  k.vocabulary(c),
	}
	d.kvHeads = k.size("attention.head_count_kv", false, d.heads.value)
	cfg.Context = k.size("context_length", true, 0).value
	d.headDim = k.headDim(d)
	if k.err != nil {
		return nil, k.err
	}
	if name, reason := d.check(len(c.tensors)); reason != "" {
		k.fail(name, "%s", reason)
		return nil, k.err
	}
	cfg.Layers, cfg.Hidden, cfg.Heads, cfg.KVHeads = d.layers.value, d.hidden.value, d.heads.value, d.kvHeads.value
	cfg.HeadDim, cfg.FFN, cfg.Vocab = d.headDim.value, d.ffn.value, d.vocab.value
	const epsilon = "attention.layer_norm_rms_epsilon"
	eps, reason := normEps(k.float(epsilon, true, 0))
	if reason != "" {
		k.fail(k.name(epsilon), "%s", reason)
	}
	cfg.NormEps = eps
	cfg.Rope = k.rope(fam, cfg.HeadDim)
	if v, ok := k.value("attention.causal", false); ok {
		if causal, err := v.Bool(); err != nil || !causal {
			k.fail(k.name("attention.causal"), "must be true: the engine is a causal decoder")
		}
	}
	cfg.BOS = k.id("tokenizer.ggml.bos_token_id", cfg.Vocab)
	cfg.EOS = k.ends(cfg.Vocab)
	k.rest()
	c.deriveGGUF(cfg, fam)
	return cfg, k.err
}

func architecture(f *gguf.File) (string, family, error) {
	const key = "general.architecture"
	item := `key "` + key + `"`
	v, ok := f.Value(key)
	if !ok {
		return "", family{}, refuse("gguf", f.Path, item, "is missing, but required")
	}
	arch, err := v.Text()
	if err != nil {
		return "", family{}, refuse("gguf", f.Path, item, "%s", err)
	}
	fam, reason := familyOf(arch)
	if reason != "" {
		return "", family{}, refuse("gguf", f.Path, item, "%s", reason)
	}
	return arch, fam, nil
}

// vocabulary is the number of embedding rows: as the key says, else as many as
// the tokenizer has tokens, else as many as are stored.
func (k *ggufKeys) vocabulary(c *Checkpoint) field {
	const tokens = "tokenizer.ggml.tokens"
	v, listed := k.file.Value(tokens)
	listed = listed && v.Type == gguf.Array
	if n := k.size("vocab_size", false, 0); n.value > 0 {
		if listed && v.Len > n.value {
			k.fail(tokens, "has %d tokens, more than %s = %d", v.Len, n.name, n.value)
		}
		return n
	}
	if listed {
		return field{tokens, v.Len}
	}
	if t, ok := c.canonical["token_embd.weight"]; ok && len(t.Shape) == 2 {
		return field{"token_embd.weight", t.Shape[0]}
	}
	k.fail(k.name("vocab_size"), "is missing, and neither %s nor token_embd.weight tell the size", tokens)
	return field{k.name("vocab_size"), 0}
}

// headDim is attention.key_length, which value_length must equal, or else
// embedding_length / head_count.
func (k *ggufKeys) headDim(d dims) field {
	key := k.size("attention.key_length", false, 0)
	value := k.size("attention.value_length", false, key.value)
	switch {
	case key.value != value.value && key.value > 0:
		k.fail(value.name, "is %d, but %s is %d: different sizes are unsupported", value.value, key.name, key.value)
	case key.value > 0:
		return key
	case d.heads.value == 0:
		k.fail(d.heads.name, "is 0: out of range, it must not be zero")
	case d.hidden.value%d.heads.value != 0:
		k.fail(d.heads.name, "is %d, which does not divide %s = %d", d.heads.value, d.hidden.name, d.hidden.value)
	case value.value != 0 && value.value != d.hidden.value/d.heads.value:
		k.fail(value.name, "is %d, but keys have %d: different sizes are unsupported", value.value, d.hidden.value/d.heads.value)
	default:
		return field{d.heads.name, d.hidden.value / d.heads.value}
	}
	return field{key.name, 0}
}

func (k *ggufKeys) rope(fam family, headDim int) Rope {
	r := Rope{Base: k.float("rope.freq_base", false, 10000), Pairing: fam.pairing}
	if r.Base <= 0 {
		k.fail(k.name("rope.freq_base"), "is %v: out of range, it must be positive", r.Base)
	}
	dim := k.size("rope.dimension_count", false, headDim)
	if dim.value <= 0 || dim.value > headDim || dim.value%2 != 0 {
		k.fail(dim.name, "is %d: out of range, want an even number up to the head dimension %d", dim.value, headDim)
	}
	r.Dim = dim.value
	// Only used by scaling rules that are refused below.
	k.value("rope.scaling.original_context_length", false)
	k.value("rope.scaling.finetuned", false)
	factor := k.float("rope.scaling.factor", false, k.float("rope.scale_linear", false, 0))
	switch kind := k.text("rope.scaling.type", "linear"); kind {
	case "none":
	case "linear":
		// A factor without a type means linear; no factor, or 0, means 1.
		if factor < 0 {
			k.fail(k.name("rope.scaling.factor"), "is %v: negative, out of range", factor)
		}
		if factor != 0 && factor != 1 {
			r.Scaling, r.Factor = ScaleLinear, factor
		}
	default:
		k.fail(k.name("rope.scaling.type"), "is %s: unknown or unsupported scaling, the engine knows none and linear", quoted(kind))
	}
	return r
}

// ends collects the ids that end a turn or the text.
func (k *ggufKeys) ends(vocab int) []int32 {
	var out []int32
	for _, key := range []string{"eos_token_id", "eot_token_id", "eom_token_id"} {
		out = appendNew(out, k.id("tokenizer.ggml."+key, vocab)...)
	}
	return out
}

// deriveGGUF fills what only the tensors tell.
func (c *Checkpoint) deriveGGUF(cfg *Config, fam family) {
	has := func(name string) bool { _, ok := c.canonical[name]; return ok }
	cfg.TiedHead = !has("output.weight")
	cfg.AttentionBias = fam.qkvBias || has("blk.0.attn_q.bias")
	cfg.OutputBias = has("blk.0.attn_output.bias")
	cfg.MLPBias = has("blk.0.ffn_gate.bias")
	if cfg.TiedHead {
		cfg.Notes = append(cfg.Notes, "no output.weight: the embedding is the output matrix")
	}
}

func appendNew(list []int32, ids ...int32) []int32 {
	for _, id := range ids {
		known := false
		for _, l := range list {
			known = known || l == id
		}
		if !known {
			list = append(list, id)
		}
	}
	return list
}
