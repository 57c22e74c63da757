package llamacpp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"assay/oracle"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// variant is the CPU backend that the recordings in the shared folder were made with.
const variant = "haswell"

// TestMain lets this test binary be its own child process.
func TestMain(m *testing.M) {
	switch os.Getenv("LLAMACPP_TEST_CHILD") {
	case "serve":
		if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "abort":
		os.Stderr.WriteString("GGML_ASSERT(no mercy) failed\n")
		os.Exit(134)
	}
	os.Exit(m.Run())
}

func library(t *testing.T) *Library {
	t.Helper()
	l, err := Open("", variant)
	var none *NotAvailableError
	if errors.As(err, &none) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return l
}

func shared(t *testing.T, path string) string {
	t.Helper()
	dir := os.Getenv("ASSAY_SHARED")
	if dir == "" {
		t.Skip("ASSAY_SHARED names no folder of recordings")
	}
	return filepath.Join(dir, path)
}

func exact() ContextOptions { return ContextOptions{Threads: 1, Flash: FlashOff, KV: "f32"} }

func TestALiveRecordingHasTheBitsOfTheFrozenOne(t *testing.T) {
	l := library(t)
	for _, kind := range []string{"Q4_0", "F32", "Q8_0", "F16"} {
		t.Run(kind, func(t *testing.T) {
			frozen, err := oracle.Load(shared(t, "formats/gguf/llama/evidence/"+kind))
			require.NoError(t, err)
			defer frozen.Close()
			model := shared(t, "formats/gguf/llama/llama-"+kind+".gguf")
			o := exact()
			o.Threads = 2
			live, err := Record(context.Background(), l, RecordRequest{Model: model, Prompts: frozen.Manifest.Prompts, Context: o, KV: true, Command: "test"})
			require.NoError(t, err)
			require.NoError(t, frozen.VerifyCheckpoint(live.Manifest.Checkpoint.Files))
			dir := t.TempDir()
			require.NoError(t, oracle.Save(dir, live))
			live, err = oracle.Load(dir)
			require.NoError(t, err)
			defer live.Close()
			rows := oracle.NewRowComparer(frozen)
			for i, p := range frozen.Manifest.Prompts {
				all, err := live.Tensor(i, "logits").Float32s()
				require.NoError(t, err)
				w := live.Vocab()
				require.Len(t, all, p.Rows()*w)
				for r := range p.Rows() {
					require.NoError(t, rows.Row(i, r, all[r*w:(r+1)*w]))
				}
			}
			assert.Empty(t, oracle.Tolerance{Rung: oracle.Bits}.Judge(rows.Stats()))
			assert.Empty(t, oracle.Tolerance{Rung: oracle.IDs}.Judge(rows.Stats()))
			assert.Positive(t, rows.Stats().Values)
			order, err := live.Manifest.KeyOrder()
			require.NoError(t, err)
			assert.Equal(t, oracle.Adjacent, order)
			s := oracle.State{Keys: map[int][]float32{}, Values: map[int][]float32{}, KeyOrder: order}
			for layer := range 5 {
				for kind, to := range map[string]map[int][]float32{"k": s.Keys, "v": s.Values} {
					to[layer], err = live.Tensor(0, kind+".L"+string(rune('0'+layer))).Float32s()
					require.NoError(t, err)
				}
			}
			diffs, err := oracle.CompareState(frozen, 0, s)
			require.NoError(t, err)
			require.Len(t, diffs, 10)
			for _, d := range diffs {
				assert.Empty(t, oracle.Tolerance{Rung: oracle.Bits}.JudgeTensor(&d))
			}
			t.Log(rows.Stats())
		})
	}
}

func TestHiddenStatesAndNodesAreRecordedOncePerFedID(t *testing.T) {
	l := library(t)
	prompt := oracle.Prompt{Name: "a", IDs: []int32{504, 411, 298, 266, 259}}
	q := RecordRequest{Model: shared(t, "formats/gguf/llama/llama-F32.gguf"), Prompts: []oracle.Prompt{prompt}, Tokens: 3, Context: exact(), Hidden: true, Nodes: DefaultNodes + `|^norm-[01]$`, Keep: oracle.KeepTop64}
	whole, err := Record(context.Background(), l, q)
	require.NoError(t, err)
	q.Context.MicroBatch, q.Chunk = 32, 2
	chunks, err := Record(context.Background(), l, q)
	require.NoError(t, err)
	assert.Equal(t, whole.Names(), chunks.Names())
	for _, name := range []string{"p0.hidden.embed", "p0.hidden.L0", "p0.hidden.L4", "p0.hidden.final_norm", "p0.node.Kcur-0.rope", "p0.node.norm-1.rms_norm", "p0.node.norm-1.rms_norm.2", "p0.node.kqv_out-0.cont"} {
		require.Contains(t, whole.Tensors, name)
		assert.Equal(t, 7, whole.Tensors[name].Shape[0], name)
		assert.Equal(t, whole.Tensors[name].Shape, chunks.Tensors[name].Shape, name)
	}
	assert.Equal(t, []int{7, 64}, whole.Tensors["p0.top_idx"].Shape)
	assert.Len(t, whole.Manifest.Prompts[0].Produced, 3)
	dir := t.TempDir()
	require.NoError(t, oracle.Save(dir, whole))
	loaded, err := oracle.Load(dir)
	require.NoError(t, err)
	require.NoError(t, loaded.Close())
}

// TestRealWeightsAreRecordedWithTheFrozenBits needs the file that scripts/weights.sh brings, in the folder ASSAY_MODELS names.
func TestRealWeightsAreRecordedWithTheFrozenBits(t *testing.T) {
	dir := os.Getenv("ASSAY_MODELS")
	if dir == "" {
		t.Skip("ASSAY_MODELS names no folder of real weights")
	}
	l := library(t)
	frozen, err := oracle.Load(shared(t, "real/smollm2"))
	require.NoError(t, err)
	defer frozen.Close()
	o := exact()
	o.Threads, o.Context = 2, 2560
	q := RecordRequest{Model: filepath.Join(dir, "smollm2-135m-instruct-q4_1.gguf"), Prompts: frozen.Manifest.Prompts[:1], Context: o, KV: true, KVLayers: []int{0, -1}, Hidden: true}
	live, err := Record(context.Background(), l, q)
	require.NoError(t, err)
	require.NoError(t, frozen.VerifyCheckpoint(live.Manifest.Checkpoint.Files))
	rows := oracle.NewRowComparer(frozen)
	all, err := live.Tensor(0, "logits").Float32s()
	require.NoError(t, err)
	for r, w := 0, live.Vocab(); r < len(all)/w; r++ {
		require.NoError(t, rows.Row(0, r, all[r*w:(r+1)*w]))
	}
	assert.Empty(t, oracle.Tolerance{Rung: oracle.Bits}.Judge(rows.Stats()))
	s := oracle.State{Hidden: map[string][]float32{}, Keys: map[int][]float32{}, Values: map[int][]float32{}, KeyOrder: oracle.Adjacent}
	read := func(name string) []float32 {
		x, err := live.Tensor(0, name).Float32s()
		require.NoError(t, err)
		return x
	}
	for _, h := range []string{"L0", "L29", "final_norm"} {
		s.Hidden[h] = read("hidden." + h)
	}
	for _, n := range []int{0, 29} {
		s.Keys[n], s.Values[n] = read(fmt.Sprintf("k.L%d", n)), read(fmt.Sprintf("v.L%d", n))
	}
	diffs, err := oracle.CompareState(frozen, 0, s)
	require.NoError(t, err)
	require.Len(t, diffs, 7)
	for _, d := range diffs {
		assert.Zero(t, d.Differ, d.String())
	}
	t.Log(rows.Stats())
}

func TestPhasesAreTimedOnGivenIDs(t *testing.T) {
	l := library(t)
	r, err := Bench(context.Background(), l, BenchRequest{Model: shared(t, "formats/gguf/llama/llama-Q4_0.gguf"), Prompt: []int32{504, 1, 2, 3}, Decode: []int32{5, 6},
		Samples: 3, Warmup: 2, Context: ContextOptions{Threads: 1, Flash: FlashAuto, KV: "f16"}})
	require.NoError(t, err)
	require.Len(t, r.Phases, 3)
	for i, want := range []Phase{{Name: "load", Samples: []float64{0}}, {Name: "prompt", Tokens: 4, Samples: []float64{0, 0, 0}}, {Name: "decode", Tokens: 2, Samples: []float64{0, 0, 0}}} {
		assert.Equal(t, want.Name, r.Phases[i].Name)
		assert.Equal(t, want.Tokens, r.Phases[i].Tokens)
		assert.Len(t, r.Phases[i].Samples, len(want.Samples))
	}
	assert.Positive(t, r.PeakRSS)
	assert.Equal(t, "libggml-cpu-haswell.so", r.Info.Backend)
}

func TestBadInputIsAnErrorThatNamesIt(t *testing.T) {
	l := library(t)
	ctx := context.Background()
	model := shared(t, "formats/gguf/llama/llama-Q4_0.gguf")
	one := []oracle.Prompt{{Name: "a", IDs: []int32{1}}}
	garbage := filepath.Join(t.TempDir(), "x.gguf")
	require.NoError(t, os.WriteFile(garbage, []byte("GGUF and no more"), 0o600))
	for name, f := range map[string]func() error{
		"no such file": func() error { _, err := l.Load("/nowhere.gguf", ModelOptions{}); return err },
		"x.gguf":       func() error { _, err := l.Load(garbage, ModelOptions{}); return err },
		"id 512 is not in the vocabulary of 512": func() error {
			_, err := Record(ctx, l, RecordRequest{Model: model, Prompts: []oracle.Prompt{{Name: "a", IDs: []int32{512}}}, Context: exact()})
			return err
		},
		"all three are needed": func() error { _, err := Record(ctx, l, RecordRequest{Model: model, Prompts: one}); return err },
		"neither ids nor text": func() error {
			_, err := Record(ctx, l, RecordRequest{Model: model, Prompts: []oracle.Prompt{{Name: "m"}}})
			return err
		},
		"opened libggml-cpu-haswell": func() error { _, err := Open("", "x64"); return err },
		"type \"Q9\", there are":     func() error { return l.Quantize(QuantizeRequest{In: model, Out: garbage, Type: "Q9"}) },
	} {
		assert.ErrorContains(t, f(), name)
	}
}

func TestAChildProcessAnswersForTheLibrary(t *testing.T) {
	library(t)
	c := Client{Command: []string{os.Args[0]}, Env: []string{"LLAMACPP_TEST_CHILD=serve"}}
	ctx := context.Background()
	model := shared(t, "formats/gguf/llama/llama-Q4_0.gguf")
	r, err := c.Do(ctx, Request{Op: "tokenize", Variant: variant, Tokenize: &TokenizeRequest{Model: model, Texts: []string{"Mara went to the old mill", ""}, AddSpecial: true}})
	require.NoError(t, err)
	require.Len(t, r.IDs, 2)
	assert.Equal(t, []int32{504, 411, 298, 266, 259, 445, 447}, r.IDs[0])
	out := filepath.Join(t.TempDir(), "recording")
	_, err = c.Do(ctx, Request{Op: "record", Variant: "x64", Out: out, Record: &RecordRequest{Model: model, Prompts: []oracle.Prompt{{Name: "a", Text: "Mara"}}, Tokens: 4, Context: exact(), KV: true}})
	require.NoError(t, err)
	e, err := oracle.Load(out)
	require.NoError(t, err)
	defer e.Close()
	assert.Equal(t, "x64", e.Manifest.Engine.Level)
	assert.Equal(t, []int{2, e.Manifest.Prompts[0].Rows(), 16}, e.Tensor(0, "k.L4").Shape)
	_, err = c.Do(ctx, Request{Op: "dance", Variant: variant})
	assert.ErrorContains(t, err, "dance")
	q := Request{Op: "quantize", Variant: variant, Quantize: &QuantizeRequest{In: shared(t, "formats/gguf/llama/llama-F32.gguf"), Out: filepath.Join(t.TempDir(), "q.gguf"), Type: "Q4_0"}}
	_, err = c.Do(ctx, q)
	require.NoError(t, err)
	made, err := os.ReadFile(q.Quantize.Out)
	require.NoError(t, err)
	frozen, err := os.ReadFile(model)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(made, frozen), "the library quantises to the recorded file")
}
