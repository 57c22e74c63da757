package decoder

import "assay/engine/checkpoint"

// qwen2 is llama with biases on the q, k and v projections, which the
// checkpoint brings as tensors.
func qwen2(c *checkpoint.Config) *Spec { return plain(c) }
