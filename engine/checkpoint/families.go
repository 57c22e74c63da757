package checkpoint

import (
	"maps"
	"slices"
	"strings"
)

// family is what differs between the model families beside their numbers.
type family struct {
	pairing  Pairing // in GGUF; folders always pair halves
	qkvBias  bool    // always has biases on q, k and v
	biasKeys bool    // its Hugging Face config knows attention_bias and mlp_bias
	sliding  bool    // its Hugging Face config knows use_sliding_window
}

var families = map[string]family{
	"llama": {pairing: Adjacent, biasKeys: true},
	"qwen2": {pairing: Halves, qkvBias: true, sliding: true},
}

func familyOf(name string) (family, string) {
	if f, ok := families[name]; ok {
		return f, ""
	}
	return family{}, "unsupported architecture " + quoted(name) + ", the engine knows " + strings.Join(slices.Sorted(maps.Keys(families)), ", ")
}

func quoted(s string) string {
	if len(s) > 80 {
		s = s[:80] + "..."
	}
	return `"` + s + `"`
}
