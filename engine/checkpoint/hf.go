package checkpoint

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay/engine/checkpoint/regular"
	"assay/engine/checkpoint/safetensors"
)

var hfNaming = naming{format: "checkpoint", own: hfName}

const maxConfig = 16 << 20 // bytes; published configs have a few KB

func (c *Checkpoint) openFolder(dir string) error {
	c.kind = HuggingFace
	config, err := c.readText(dir, "config.json")
	if err != nil {
		return err
	}
	set, err := openWeights(dir)
	if err != nil {
		return err
	}
	c.addSet(set)
	if c.config, err = c.hfConfig(filepath.Join(dir, "config.json"), config); err != nil {
		return err
	}
	if err := c.generationEnds(dir); err != nil {
		return err
	}
	return c.checkTensors(hfNaming)
}

// readText reads a small text file of the folder and remembers it for Digest.
func (c *Checkpoint) readText(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, name)
	text, err := regular.Read(path, maxConfig)
	if err != nil {
		return nil, &Error{Format: "config", File: path, Item: name, Offset: -1, Reason: "cannot be read", Err: err}
	}
	c.files = append(c.files, file{name, func() ([]byte, error) { return text, nil }})
	return text, nil
}

// openWeights opens model.safetensors, or the shards behind its index.
func openWeights(dir string) (*safetensors.Set, error) {
	single := filepath.Join(dir, "model.safetensors")
	if _, err := os.Stat(single); err == nil {
		return safetensors.OpenSingle(single)
	}
	index := single + ".index.json"
	if _, err := os.Stat(index); err == nil {
		return safetensors.OpenIndex(index)
	}
	return nil, refuse("checkpoint", dir, "", "neither model.safetensors nor model.safetensors.index.json is in the folder")
}

func (c *Checkpoint) addSet(set *safetensors.Set) {
	c.closers = append(c.closers, set.Close)
	if set.Sharded {
		c.files = append(c.files, file{filepath.Base(set.Path), func() ([]byte, error) { return regular.Read(set.Path, safetensors.MaxIndex) }})
	}
	owner := map[string]*safetensors.File{}
	for _, f := range set.Files {
		owner[f.Path] = f
		c.files = append(c.files, file{filepath.Base(f.Path), func() ([]byte, error) { return f.Bytes(), nil }})
	}
	c.canonical = make(map[string]*Tensor, len(set.Tensors))
	for _, t := range set.Tensors {
		own := &Tensor{
			Name: t.Name, Type: t.Type, Format: t.DType, Shape: t.Shape,
			Data: t.Data, File: t.File, release: owner[t.File].Release,
		}
		c.tensors = append(c.tensors, own)
		if name, ok := canonicalName(t.Name); ok {
			c.canonical[name] = own
		}
	}
}

// Pairs of canonical and Hugging Face names; those of a layer without prefix.
var (
	hfModelNames = [][2]string{
		{"token_embd.weight", "model.embed_tokens.weight"},
		{"output_norm.weight", "model.norm.weight"},
		{"output.weight", "lm_head.weight"},
	}
	hfLayerNames = [][2]string{
		{"attn_norm", "input_layernorm"},
		{"attn_q", "self_attn.q_proj"},
		{"attn_k", "self_attn.k_proj"},
		{"attn_v", "self_attn.v_proj"},
		{"attn_output", "self_attn.o_proj"},
		{"ffn_norm", "post_attention_layernorm"},
		{"ffn_gate", "mlp.gate_proj"},
		{"ffn_up", "mlp.up_proj"},
		{"ffn_down", "mlp.down_proj"},
	}
)

// hfName gives the Hugging Face name of a canonical one.
func hfName(canonical string) string {
	for _, p := range hfModelNames {
		if p[0] == canonical {
			return p[1]
		}
	}
	rest, ok := strings.CutPrefix(canonical, "blk.")
	layer, part, dotted := strings.Cut(rest, ".")
	kind, suffix, dotted2 := strings.Cut(part, ".")
	if !ok || !dotted || !dotted2 {
		return canonical
	}
	for _, p := range hfLayerNames {
		if p[0] == kind {
			return "model.layers." + layer + "." + p[1] + "." + suffix
		}
	}
	return canonical
}

// canonicalName is the inverse of hfName; false for a name that has none.
func canonicalName(name string) (string, bool) {
	for _, p := range hfModelNames {
		if p[1] == name {
			return p[0], true
		}
	}
	rest, ok := strings.CutPrefix(name, "model.layers.")
	if !ok {
		return "", false
	}
	layer, part, _ := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(layer); err != nil || strconv.Itoa(n) != layer || n < 0 {
		return "", false
	}
	for _, p := range hfLayerNames {
		for _, suffix := range []string{".weight", ".bias"} {
			if part == p[1]+suffix {
				return "blk." + layer + "." + p[0] + suffix, true
			}
		}
	}
	return "", false
}
