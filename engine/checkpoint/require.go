package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"assay/engine/checkpoint/fault"
	"assay/kernels/quant"
)

// Formats that kernels multiply with; vectors (norms, biases) are always plain.
var (
	matrixTypes = []quant.Type{quant.F32, quant.F16, quant.BF16, quant.Q4_0, quant.Q4_1, quant.Q8_0, quant.Q6_K}
	vectorTypes = []quant.Type{quant.F32, quant.F16, quant.BF16}
)

// requirement is a tensor that a Config asks for.
type requirement struct {
	name  string // canonical
	shape []int  // slowest first
}

// layerTensors lists what one layer holds; its names are completed by layer.
func layerTensors(c *Config) []requirement {
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	r := []requirement{
		{name: "attn_norm.weight", shape: []int{c.Hidden}},
		{name: "attn_q.weight", shape: []int{q, c.Hidden}},
		{name: "attn_k.weight", shape: []int{kv, c.Hidden}},
		{name: "attn_v.weight", shape: []int{kv, c.Hidden}},
		{name: "attn_output.weight", shape: []int{c.Hidden, q}},
		{name: "ffn_norm.weight", shape: []int{c.Hidden}},
		{name: "ffn_gate.weight", shape: []int{c.FFN, c.Hidden}},
		{name: "ffn_up.weight", shape: []int{c.FFN, c.Hidden}},
		{name: "ffn_down.weight", shape: []int{c.Hidden, c.FFN}},
	}
	if c.AttentionBias {
		r = append(r, requirement{name: "attn_q.bias", shape: []int{q}},
			requirement{name: "attn_k.bias", shape: []int{kv}}, requirement{name: "attn_v.bias", shape: []int{kv}})
	}
	if c.OutputBias {
		r = append(r, requirement{name: "attn_output.bias", shape: []int{c.Hidden}})
	}
	if c.MLPBias {
		r = append(r, requirement{name: "ffn_gate.bias", shape: []int{c.FFN}},
			requirement{name: "ffn_up.bias", shape: []int{c.FFN}}, requirement{name: "ffn_down.bias", shape: []int{c.Hidden}})
	}
	return r
}

func modelTensors(c *Config) []requirement {
	r := []requirement{
		{name: "token_embd.weight", shape: []int{c.Vocab, c.Hidden}},
		{name: "output_norm.weight", shape: []int{c.Hidden}},
	}
	if !c.TiedHead {
		r = append(r, requirement{name: "output.weight", shape: []int{c.Vocab, c.Hidden}})
	}
	return r
}

// naming translates between canonical names and those of one kind of file.
type naming struct {
	format    string
	fileOrder bool // messages show shapes fastest first, as the file does
	own       func(canonical string) string
}

// checkTensors holds the tensors against the config: all present, all of the
// right shape, all of a type that can be computed with, none left over that the
// forward pass would ignore.
func (c *Checkpoint) checkTensors(n naming) error {
	used := make(map[*Tensor]bool, len(c.tensors))
	need := func(r requirement) error {
		t, ok := c.canonical[r.name]
		if !ok {
			return refuse(n.format, c.path, fmt.Sprintf("tensor %q", n.own(r.name)), "is missing from the file, expected shape %s", n.list(r.shape))
		}
		used[t] = true
		return checkTensor(t, r, n)
	}
	for _, r := range modelTensors(c.config) {
		if err := need(r); err != nil {
			return err
		}
	}
	for _, r := range layerTensors(c.config) {
		for l := range c.config.Layers {
			r := r
			r.name = fmt.Sprintf("blk.%d.%s", l, r.name)
			if err := need(r); err != nil {
				return err
			}
		}
	}
	for _, t := range c.tensors {
		if !used[t] && !ignorable(t.Name) {
			return refuse(n.format, t.File, fmt.Sprintf("tensor %q", t.Name), "is not part of a %s of %d layers as the config describes it; ignoring it could change results", c.config.Family, c.config.Layers)
		}
	}
	return nil
}

func checkTensor(t *Tensor, r requirement, n naming) error {
	item := fmt.Sprintf("tensor %q", t.Name)
	if !slices.Equal(t.Shape, r.shape) {
		return refuse(n.format, t.File, item, "wrong shape: expected %s, found %s", n.list(r.shape), n.list(t.Shape))
	}
	types := matrixTypes
	if len(r.shape) == 1 {
		types = vectorTypes
	}
	if !slices.Contains(types, t.Type) {
		return refuse(n.format, t.File, item, "has type %s, which the engine cannot compute with here (it can with %v)", t.Format, types)
	}
	return nil
}

func (n naming) list(shape []int) string {
	if n.fileOrder {
		shape = slices.Clone(shape)
		slices.Reverse(shape)
	}
	return fault.List(shape)
}

// ignorable names tensors that carry nothing: tables that the config gives
// anyway, and, where the config ties it to the embedding, a stored head.
func ignorable(name string) bool {
	switch name {
	case "lm_head.weight", "rope_freqs.weight":
		return true
	}
	return strings.HasSuffix(name, ".rotary_emb.inv_freq") || strings.HasSuffix(name, ".attn_rot_embd") ||
		strings.HasSuffix(name, ".attn_rot_embd.weight")
}
