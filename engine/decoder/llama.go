package decoder

import "assay/engine/checkpoint"

// llama: RMSNorm before attention and feed-forward, grouped-query attention
// with scale headDim^-0.5, rotary embedding (llama-3 scaling where the config
// has it), SiLU-gated feed-forward, tied or untied head, optional biases.
func llama(c *checkpoint.Config) *Spec { return plain(c) }
