package parity

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/engine"
	"assay/engine/kv"
	"assay/oracle"
)

func TestFirstLight(t *testing.T) {
	shared := os.Getenv("ASSAY_SHARED")
	if shared == "" {
		t.Skip("ASSAY_SHARED is not set")
	}
	for _, c := range [][3]string{
		{"decoders/llama", "decoders/llama/evidence/transformers-f32", "float32"},
		{"decoders/llama-256", "decoders/llama-256/evidence/transformers-f32", "float32"},
		{"decoders/qwen2", "decoders/qwen2/evidence/transformers-f32", "float32"},
		{"formats/gguf/llama/llama-F32.gguf", "formats/gguf/llama/evidence/F32", "float32"},
		{"formats/gguf/llama/llama-Q4_0.gguf", "formats/gguf/llama/evidence/Q4_0", "int8"},
		{"formats/gguf/llama/llama-Q4_0.gguf", "formats/gguf/llama/evidence/Q4_0", "float32"},
		{"formats/gguf/llama/llama-Q4_1.gguf", "formats/gguf/llama/evidence/Q4_1", "int8"},
		{"formats/gguf/llama/llama-Q8_0.gguf", "formats/gguf/llama/evidence/Q8_0", "int8"},
		{"formats/gguf/llama-256/llama-256-Q6_K.gguf", "formats/gguf/llama-256/evidence/Q6_K", "int8"},
		{"formats/gguf/llama-256/llama-256-Q4_0.gguf", "formats/gguf/llama-256/evidence/Q4_0", "int8"},
		{"formats/gguf/qwen2/qwen2-Q4_0.gguf", "formats/gguf/qwen2/evidence/Q4_0", "int8"},
		{"formats/gguf/qwen2/qwen2-Q8_0.gguf", "formats/gguf/qwen2/evidence/Q8_0", "int8"},
		{"formats/gguf/llama/llama-F16.gguf", "formats/gguf/llama/evidence/F16", "int8"},
		{"formats/gguf/llama/llama-BF16.gguf", "formats/gguf/llama/evidence/BF16", "int8"},
	} {
		a, _ := engine.ParseActivations(c[2])
		m, err := engine.Open(context.Background(), filepath.Join(shared, c[0]), engine.Options{Activations: a})
		require.NoError(t, err)
		e, err := oracle.Load(filepath.Join(shared, c[1]))
		require.NoError(t, err)
		r, err := Replay(context.Background(), m, e, Options{KV: kv.F32, State: true})
		require.NoError(t, err)
		w := r.Worst()
		t.Logf("%-44s %-8s %v\n\tstate %s %.3g", c[0], c[2], r.Rows, w.Name, w.MaxAbs)
		e.Close()
		m.Close()
	}
}
