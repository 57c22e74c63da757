package checkpoint

import (
	"encoding/json"
	"strings"
)

// Keys of a config.json that change nothing in the forward pass of the weights
// as they are stored.
var inertKeys = map[string]bool{
	"_name_or_path": true, "architectures": true, "transformers_version": true, "auto_map": true,
	"torch_dtype": true, "dtype": true, "use_cache": true, "initializer_range": true, "pretraining_tp": true,
	"attention_dropout": true, "attention_probs_dropout_prob": true, "attn_implementation": true,
	"_attn_implementation": true, "_attn_implementation_autoset": true, "is_llama_config": true,
	"max_window_layers": true, "pad_token_id": true, "task_specific_params": true, "tokenizer_class": true,
}

// Parts of names under which other models' configs keep what changes numbers.
// A key that nothing has read and whose name holds one of them is refused.
var numericParts = []string{
	"activation", "act_fn", "alibi", "attention", "attn", "bias", "chunk", "clip", "conv", "expert", "gate", "head",
	"kv", "latent", "layer", "logit", "lora", "mamba", "moe", "mrope", "multiplier", "mup", "norm", "parallel", "position",
	"quant", "residual", "rope", "rotary", "router", "scal", "shared", "sliding", "softcap", "sparse", "ssm", "tie", "window",
}

// rest refuses keys that nothing has read and that sound as if they changed
// what the model computes, unless their value switches nothing on.
func (k *jsonKeys) rest() {
	for _, key := range k.order {
		if k.used[key] || inertKeys[key] || !soundsNumeric(key) || inert(key, k.values[key]) {
			continue
		}
		k.fail(key, "is unknown to the engine and may change what the model computes: unsupported")
	}
}

func soundsNumeric(key string) bool {
	key = strings.ToLower(key)
	for _, part := range numericParts {
		if strings.Contains(key, part) {
			return true
		}
	}
	return false
}

func inert(key string, v json.RawMessage) bool {
	switch string(v) {
	case "null", "false", "0", "0.0", `""`, "[]", "{}":
		return true
	case "1", "1.0":
		return strings.Contains(key, "scal") || strings.Contains(key, "multiplier") || strings.Contains(key, "_tp")
	}
	return false
}
