package decoder

import (
	"fmt"

	"assay/engine/checkpoint"
)

// Gate is the activation function of the gated feed-forward.
type Gate uint8

const (
	// SiLU is x / (1 + e^-x).
	SiLU Gate = iota
	// GELUTanh is GELU in its tanh form.
	GELUTanh
)

// Spec is what one architecture computes:
//
//	x = embedding[id]
//	per layer: x += Wo attention(rope(Wq n), rope(Wk n), Wv n), n = rms(x)*w1
//	           x += Wdown (gate(Wgate n) * (Wup n)),            n = rms(x)*w2
//	logits = Whead (rms(x)*w)
//
// with biases where the checkpoint has them.
type Spec struct {
	Family                         string
	Layers, Hidden, Heads, KVHeads int
	HeadDim, FFN, Vocab            int
	NormEps                        float32
	AttentionScale                 float32
	Window                         int // positions that a token sees, its own included; 0: all
	Gate                           Gate
	TiedHead                       bool
	Rotary                         Rotary
}

// families maps the name in a checkpoint to the function that describes it.
var families = map[string]func(*checkpoint.Config) *Spec{
	"llama": llama,
	"qwen2": qwen2,
}

// Describe fills the Spec of a checkpoint's architecture.
func Describe(c *checkpoint.Config) (*Spec, error) {
	f := families[c.Family]
	if f == nil {
		return nil, fmt.Errorf("decoder: unsupported architecture %q", c.Family)
	}
	s := f(c)
	switch c.Activation {
	case "silu":
		s.Gate = SiLU
	case "gelu_tanh":
		s.Gate = GELUTanh
	default:
		return nil, fmt.Errorf("decoder: unsupported activation %q", c.Activation)
	}
	return s, nil
}

// plain fills what every family of the llama kind shares.
func plain(c *checkpoint.Config) *Spec {
	return &Spec{
		Family: c.Family,
		Layers: c.Layers, Hidden: c.Hidden, Heads: c.Heads, KVHeads: c.KVHeads,
		HeadDim: c.HeadDim, FFN: c.FFN, Vocab: c.Vocab,
		NormEps:        c.NormEps,
		AttentionScale: inverseSqrt(c.HeadDim),
		TiedHead:       c.TiedHead,
		Rotary:         newRotary(&c.Rope),
	}
}
