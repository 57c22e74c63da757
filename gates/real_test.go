package gates

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/snapshots"
)

// shared is the folder of recordings that do not travel with the project.
func shared(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ASSAY_SHARED")
	if dir == "" {
		t.Skip("ASSAY_SHARED, the folder of shared recordings, is not set")
	}
	return dir
}

func TestSmolLM2IsAsNearToTheFloatReferenceAsItsPeer(t *testing.T) {
	dir := filepath.Join(shared(t), "real")
	models := os.Getenv("ASSAY_MODELS")
	if models == "" {
		t.Skip("ASSAY_MODELS, the folder that scripts/weights.sh fills, is not set")
	}
	if raceDetector {
		t.Skip("minutes under the race detector, which sees the same code in the gates on fixtures")
	}
	model := filepath.Join(models, "smollm2-135m-instruct-q4_1.gguf")
	evidence := filepath.Join(dir, "smollm2")
	definitions, err := ForRecording(model, evidence, Asked{})
	require.NoError(t, err)
	assert.Equal(t, []string{"smollm2/int8", "smollm2/float32"}, Names(definitions))

	report, err := Run(context.Background(), definitions, Options{
		Model: model, Evidence: evidence,
		Reference: filepath.Join(dir, "float", "smollm2.safetensors"),
		Text:      filepath.Join(dir, "nll", "smollm2.json"),
	})
	require.NoError(t, err)
	for _, x := range report.Results {
		t.Logf("%s %s: %s (%s)", x.Gate, x.Check, x.Value, x.Tolerance)
		assert.Equal(t, snapshots.Held, x.Verdict, "%s %s: %s\n%s", x.Gate, x.Check, x.Value, x.Detail)
	}
}

// Recordings of the same models in formats that are too large for a fixture.
func TestSharedRecordingsOfTinyModels(t *testing.T) {
	dir := shared(t)
	for _, c := range []struct {
		model, evidence, mode string
		asked                 Asked
	}{
		{"decoders/llama-256", "decoders/llama-256/evidence/transformers-f32", "float32", Asked{Rung: "nmse", MaxAbs: 1e-4}},
		{"formats/gguf/llama-256/llama-256-F16.gguf", "formats/gguf/llama-256/evidence/F16", "float32", Asked{Rung: "nmse", MaxAbs: 2e-2}},
		{"formats/gguf/qwen2/qwen2-F16.gguf", "formats/gguf/qwen2/evidence/F16", "float32", Asked{Rung: "nmse", MaxAbs: 2e-2}},
		{"formats/gguf/llama-256/llama-256-Q4_0.gguf", "formats/gguf/llama-256/evidence/Q4_0", "int8", Asked{Rung: "kl", MeanKL: 3e-4}},
		{"formats/gguf/llama-256/llama-256-Q8_0.gguf", "formats/gguf/llama-256/evidence/Q8_0", "int8", Asked{Rung: "kl", MeanKL: 3e-4}},
		{"formats/gguf/llama/llama-Q4_0-pure.gguf", "formats/gguf/llama/evidence/Q4_0-pure", "int8", Asked{Rung: "kl", MeanKL: 3e-4}},
		{"formats/gguf/qwen2/qwen2-Q8_0.gguf", "formats/gguf/qwen2/evidence/Q8_0", "int8", Asked{Rung: "kl", MeanKL: 3e-4}},
	} {
		t.Run(c.model, func(t *testing.T) {
			model, evidence := filepath.Join(dir, c.model), filepath.Join(dir, c.evidence)
			c.asked.Activations, c.asked.KV = c.mode, "f32"
			definitions, err := ForRecording(model, evidence, c.asked)
			require.NoError(t, err)
			report, err := Run(context.Background(), definitions, Options{Model: model, Evidence: evidence})
			require.NoError(t, err)
			for _, x := range report.Results {
				t.Logf("%s: %s (%s)", x.Check, x.Value, x.Tolerance)
				assert.Equal(t, snapshots.Held, x.Verdict, x.Detail)
			}
		})
	}
}
