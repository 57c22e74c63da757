package checkpoint

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/engine/checkpoint/internal/craft"
)

// A model of one layer: 2 query heads and 1 K/V head of 4, width 8, inside 6, 10 tokens.
var tinyShapes = map[string][]int{
	"token_embd.weight":        {10, 8},
	"output_norm.weight":       {8},
	"output.weight":            {10, 8},
	"blk.0.attn_norm.weight":   {8},
	"blk.0.attn_q.weight":      {8, 8},
	"blk.0.attn_k.weight":      {4, 8},
	"blk.0.attn_v.weight":      {4, 8},
	"blk.0.attn_output.weight": {8, 8},
	"blk.0.ffn_norm.weight":    {8},
	"blk.0.ffn_gate.weight":    {6, 8},
	"blk.0.ffn_up.weight":      {6, 8},
	"blk.0.ffn_down.weight":    {8, 6},
}

// tiny is a model to be changed by a test and written as either kind of file.
type tiny struct {
	keys   map[string]any // GGUF
	config map[string]any // config.json
	shapes map[string][]int
	types  map[string]uint32  // GGUF type numbers, F32 where absent
	first  map[string]float32 // first value in folders, 1 where absent
}

func newTiny() *tiny {
	return &tiny{
		shapes: maps.Clone(tinyShapes),
		types:  map[string]uint32{},
		keys: map[string]any{
			"general.architecture":                   "llama",
			"llama.block_count":                      uint32(1),
			"llama.context_length":                   uint32(64),
			"llama.embedding_length":                 uint32(8),
			"llama.feed_forward_length":              uint32(6),
			"llama.attention.head_count":             uint32(2),
			"llama.attention.head_count_kv":          uint32(1),
			"llama.attention.layer_norm_rms_epsilon": float32(1e-5),
			"llama.vocab_size":                       uint32(10),
		},
		config: map[string]any{
			"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 8, "intermediate_size": 6,
			"num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 10, "rms_norm_eps": 1e-5,
			"max_position_embeddings": 64, "rope_theta": 10000.0,
		},
	}
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func (m *tiny) names() []string { return slices.Sorted(maps.Keys(m.shapes)) }

func (m *tiny) tensors() []craft.Tensor {
	var out []craft.Tensor
	for _, name := range m.names() {
		shape := m.shapes[name]
		dims := make([]uint64, len(shape))
		for i, d := range shape {
			dims[len(dims)-1-i] = uint64(d)
		}
		data := craft.Floats(elements(shape), 1)
		if m.types[name] == 1 { // F16
			data = data[:len(data)/2]
		}
		out = append(out, craft.Tensor{Name: name, Type: m.types[name], Dims: dims, Data: data})
	}
	return craft.Place(32, out)
}

func (m *tiny) metadata() []craft.KV {
	var out []craft.KV
	for _, key := range slices.Sorted(maps.Keys(m.keys)) {
		out = append(out, craft.KV{Key: key, Value: m.keys[key]})
	}
	return out
}

func (m *tiny) gguf(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	require.NoError(t, os.WriteFile(path, craft.GGUF(3, 32, m.metadata(), m.tensors()), 0o600))
	return path
}

func (m *tiny) folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var entries []craft.Entry
	for _, name := range m.names() {
		first, ok := m.first[name]
		if !ok {
			first = 1
		}
		entries = append(entries, craft.Entry{Name: hfName(name), DType: "F32", Shape: m.shapes[name], Data: craft.Floats(elements(m.shapes[name]), first)})
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), craft.Safetensors(entries...), 0o600))
	writeJSON(t, filepath.Join(dir, "config.json"), m.config)
	return dir
}

func (m *tiny) bias(names ...string) {
	for _, n := range names {
		m.shapes[fmt.Sprintf("blk.0.%s.bias", n)] = m.shapes[fmt.Sprintf("blk.0.%s.weight", n)][:1]
	}
}
