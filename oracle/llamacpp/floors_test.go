package llamacpp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"assay/oracle"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLegalConfigurationsLieWhereTheRecordedFloorsSay feeds prompts id by id, which the floors were measured for over the whole
// vocabulary, and compares with the largest 64 logits: the bucket for the rest must not change the divergence much.
func TestLegalConfigurationsLieWhereTheRecordedFloorsSay(t *testing.T) {
	dir := os.Getenv("ASSAY_MODELS")
	if dir == "" {
		t.Skip("ASSAY_MODELS names no folder of real weights")
	}
	l := library(t)
	type floor struct {
		Rows, Top1Same int
		KLMean         float64
	}
	var floors struct {
		Models map[string]map[string]struct{ Prompts map[string]floor }
	}
	b, err := os.ReadFile(shared(t, "real/floors.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &floors))
	frozen, err := oracle.Load(shared(t, "real/smollm2"))
	require.NoError(t, err)
	defer frozen.Close()
	float, err := oracle.LoadReference(shared(t, "real/float/smollm2.safetensors"), "transformers", frozen)
	require.NoError(t, err)
	defer float.Close()
	require.Len(t, float.Manifest.Prompts, 6)

	prompts := frozen.Manifest.Prompts[:2]
	o := exact()
	o.Context = 2560
	q := RecordRequest{Model: filepath.Join(dir, "smollm2-135m-instruct-q4_1.gguf"), Prompts: prompts, Context: o}
	whole, err := Record(context.Background(), l, q)
	require.NoError(t, err)
	q.Chunk = 1
	single, err := Record(context.Background(), l, q)
	require.NoError(t, err)
	chunks, against := oracle.NewRowComparer(frozen), oracle.NewRowComparer(float)
	for i, p := range prompts {
		for name, x := range map[string]*oracle.Tensor{"chunk1": single.Tensor(i, "logits"), "float": whole.Tensor(i, "logits")} {
			c := map[string]*oracle.RowComparer{"chunk1": chunks, "float": against}[name]
			row := make([]float32, whole.Vocab())
			for r := range p.Rows() {
				require.NoError(t, x.ReadFloat32(row, r*len(row)))
				require.NoError(t, c.Row(i, r, row))
			}
			want, got := floors.Models["smollm2"][name].Prompts[p.Name], c.Prompt(i)
			assert.Equal(t, want.Rows, got.Rows)
			assert.Equal(t, want.Top1Same, got.Same, "%s %s", name, p.Name)
			// one bucket for the rest of the vocabulary can only hide divergence: 8 to 19 % of it here
			assert.LessOrEqual(t, got.MeanKL(), 1.05*want.KLMean+2e-7, "%s %s", name, p.Name)
			assert.GreaterOrEqual(t, got.MeanKL(), 0.75*want.KLMean-2e-7, "%s %s", name, p.Name)
			t.Log(name, p.Name, "recorded KL", want.KLMean, "measured", got)
		}
	}
}
