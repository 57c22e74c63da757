package gates

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"assay/engine"
	"assay/engine/checkpoint"
	"assay/engine/kv"
	"assay/kernels/arith"
	"assay/kernels/cpu"
	"assay/oracle"
)

// goldenModels are the fixtures with golden bits and the prompt that each is fed.
var goldenModels = []struct{ model, prompt string }{
	{"models/llama", "story-llama"}, {"models/llama-F32.gguf", "story-llama"}, {"models/llama-F16.gguf", "story-llama"}, {"models/llama-BF16.gguf", "story-llama"}, {"models/llama-Q8_0.gguf", "story-llama"},
	{"models/llama-Q4_0.gguf", "story-llama"}, {"models/llama-Q4_1.gguf", "story-llama"}, {"models/llama-256-Q6_K.gguf", "story-llama"}, {"models/qwen2", "story-qwen2"}, {"models/qwen2-Q4_0.gguf", "story-qwen2"},
}

// goldenPrompts are recordings whose story-start is fed, with the ids that the
// other engine produced: 71 ids, more than one block of keys in attention.
var goldenPrompts = map[string]string{"story-llama": "evidence/llama-F32", "story-qwen2": "evidence/qwen2-Q4_0"}

// TestGoldenBits holds this build and machine to the frozen bits: one pass at
// the best level in pieces of 7. The gates vary chunks, threads and levels; this
// test is light enough for an emulator.
func TestGoldenBits(t *testing.T) {
	dir := materialised(t)
	if *update {
		writeGolden(t, dir)
		return
	}
	golden, err := LoadGolden()
	require.NoError(t, err)
	require.NotEmpty(t, golden.Entries)
	for i := range golden.Entries {
		e := &golden.Entries[i]
		if testing.Short() && e.KV == kv.F32.String() {
			continue
		}
		t.Run(e.Model+" "+e.Activations+" "+e.KV, func(t *testing.T) {
			c := caseOf(t, e.Model, e.Activations, e.KV)
			c.Prompt = e.Prompt
			entry, ids, err := golden.entry(c)
			require.NoError(t, err)
			assert.Empty(t, entry.differs(traceOf(t, dir, c, "", ids)))
		})
	}
}

// TestGoldenBitsOfEveryLevel is the cross product for two formats; the gates do
// it for all of them, one change at a time.
func TestGoldenBitsOfEveryLevel(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("this architecture has one level, which TestGoldenBits runs")
	}
	dir := materialised(t)
	golden, err := LoadGolden()
	require.NoError(t, err)
	for _, level := range cpu.Supported() {
		for _, model := range []string{"models/llama-Q4_0.gguf", "models/llama-256-Q6_K.gguf", "models/llama"} {
			c := caseOf(t, model, "int8", "f16")
			if model == "models/llama" {
				c = caseOf(t, model, "float32", "f16")
			}
			e, ids, err := golden.entry(c)
			require.NoError(t, err)
			assert.Empty(t, e.differs(traceOf(t, dir, c, level.String(), ids)), "%s at %s", model, level)
		}
	}
}

func caseOf(t *testing.T, model, activations, format string) *Case {
	t.Helper()
	a, err := engine.ParseActivations(activations)
	require.NoError(t, err)
	k, err := ParseKV(format)
	require.NoError(t, err)
	return &Case{Definition: &Definition{}, Model: model, Activations: a, KV: k}
}

func traceOf(t *testing.T, dir string, c *Case, level string, ids []int32) *trace {
	t.Helper()
	m, err := engine.Open(context.Background(), filepath.Join(dir, filepath.FromSlash(c.Model)), engine.Options{Activations: c.Activations, CPU: level, Threads: 2})
	require.NoError(t, err)
	defer m.Close()
	got, err := follow(context.Background(), m, ids, c.KV, 7)
	require.NoError(t, err)
	return got
}

func writeGolden(t *testing.T, dir string) {
	g := Golden{Contract: arith.ContractVersion, Command: "go test ./gates -run TestGoldenBits -update", Prompts: map[string][]int32{}}
	for name, evidence := range goldenPrompts {
		m, err := oracle.LoadManifest(filepath.Join(dir, evidence))
		require.NoError(t, err)
		i := slices.IndexFunc(m.Prompts, func(p oracle.Prompt) bool { return p.Name == "story-start" })
		g.Prompts[name] = m.Prompts[i].Fed()
	}
	g.Prompts[longPrompt] = spread(arith.AttentionSplit+70, 512)
	g.Entries = append(g.Entries, goldenEntry(t, dir, caseOf(t, "models/llama-Q4_0.gguf", "int8", "f16"), longPrompt, g.Prompts[longPrompt]))
	for _, x := range goldenModels {
		for _, mode := range modesOf(t, filepath.Join(dir, x.model)) {
			for _, format := range []string{"f16", "f32"} {
				g.Entries = append(g.Entries, goldenEntry(t, dir, caseOf(t, x.model, mode, format), x.prompt, g.Prompts[x.prompt]))
			}
		}
	}
	b, err := yaml.Marshal(g)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("../fixtures/golden.yaml", b, 0o644))
}

// longPrompt is longer than what attention treats in one part.
const longPrompt = "long"

// goldenEntry is computed at the scalar level, whose code is the contract's own.
func goldenEntry(t *testing.T, dir string, c *Case, prompt string, ids []int32) GoldenEntry {
	got := traceOf(t, dir, c, cpu.Scalar.String(), ids)
	e := GoldenEntry{Model: c.Model, Activations: c.Activations.String(), KV: c.KV.String(), Prompt: prompt, Logits: got.logitsSHA256()}
	for l := range got.keys {
		e.Layers = append(e.Layers, got.layerSHA256(l))
	}
	return e
}

// modesOf: float weights compute the same in both modes.
func modesOf(t *testing.T, path string) []string {
	c, err := checkpoint.Open(path)
	require.NoError(t, err)
	defer c.Close()
	if quantised(c.Tensors()) {
		return []string{"int8", "float32"}
	}
	return []string{"float32"}
}
