package oracle

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatIsSavedIsLoadedWithNothingLost(t *testing.T) {
	for _, keep := range []Keep{KeepAll, KeepTop64, KeepNone} {
		e := testEvidence(t, keep)
		dir := filepath.Join(t.TempDir(), "a", "b")
		require.NoError(t, Save(dir, e))
		back := loaded(t, dir)
		assert.Equal(t, e.Names(), back.Names())
		for name, x := range e.Tensors {
			y := back.Tensors[name]
			assert.Equal(t, x.Shape, y.Shape)
			assert.Equal(t, x.Bytes(), y.Bytes(), name)
		}
		m := back.Manifest
		assert.Len(t, m.TensorSHA256, len(e.Tensors))
		assert.Len(t, m.EvidenceSHA256, 64)
		m.TensorSHA256, m.EvidenceSHA256, m.Format = nil, "", ""
		want := e.Manifest
		want.Format, want.TensorSHA256 = "", nil
		assert.Equal(t, want, m)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Len(t, left, 2, "no temporary file stays behind")
		require.NoError(t, Save(dir, back), "a loaded recording can be saved over itself")
		loaded(t, dir)
	}
}

func TestSaveRefusesWhatLoadWould(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	e := testEvidence(t, KeepAll)
	e.Manifest.Engine.Name = ""
	assert.ErrorContains(t, Save(dir, e), "engine.name: missing")
	e = testEvidence(t, KeepAll)
	e.Manifest.Prompts[0].Produced = []int32{4, 5, 0}
	assert.ErrorContains(t, Save(dir, e), `prompt "first": p0.logits: is F32 [4, 6], the prompt asks for F32 [5, 6]`)
	assert.NoDirExists(t, dir)
}

// replaceTensor saves the recording with one tensor exchanged and without the checks of Save.
func replaceTensor(t *testing.T, dir string, x *Tensor) {
	t.Helper()
	e := loaded(t, dir)
	list := []*Tensor{x}
	for _, n := range e.Names() {
		if n != x.Name {
			list = append(list, e.Tensors[n])
		}
	}
	var b bytes.Buffer
	require.NoError(t, writeContainer(&b, list, nil))
	require.NoError(t, os.WriteFile(filepath.Join(dir, TensorsName), b.Bytes(), 0o600))
	dropHashes(t, dir)
}

// dropHashes leaves the other checks to find what is wrong.
func dropHashes(t *testing.T, dir string) {
	edit(t, filepath.Join(dir, ManifestName), func(b []byte) []byte {
		b = regexp.MustCompile(`(?m)^evidence_sha256:.*\n`).ReplaceAll(b, nil)
		return regexp.MustCompile(`(?m)^tensor_sha256:\n(  .*\n)*`).ReplaceAll(b, nil)
	})
}

func TestEvidenceThatDoesNotHoldTogetherIsRefused(t *testing.T) {
	nan := func() float32 { var z float32; return z / z }
	manifest := func(old, new string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, ManifestName), func(b []byte) []byte {
				require.Contains(t, string(b), old)
				return []byte(strings.Replace(string(b), old, new, 1))
			})
		}
	}
	tensor := func(x *Tensor) func(*testing.T, string) {
		return func(t *testing.T, dir string) { replaceTensor(t, dir, x) }
	}
	kv := wave(testHeads*4*testDim, 0)
	bad := wave(4*testVocab, 0)
	bad[7] = nan()
	for name, c := range map[string]struct {
		keep   Keep
		damage func(*testing.T, string)
		want   string
	}{
		"flipped byte": {KeepAll, func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, TensorsName), func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
		}, `evidence.safetensors: SHA-256 is`},
		"flipped byte, tensor hash": {KeepAll, func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, TensorsName), func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
			edit(t, filepath.Join(dir, ManifestName), func(b []byte) []byte {
				return regexp.MustCompile(`(?m)^evidence_sha256:.*\n`).ReplaceAll(b, nil)
			})
		}, `evidence.safetensors: p1.logits: SHA-256 is`},
		"cut file": {KeepAll, func(t *testing.T, dir string) {
			dropHashes(t, dir)
			edit(t, filepath.Join(dir, TensorsName), func(b []byte) []byte { return b[:len(b)-4] })
		}, `tensor "p1.logits": data_offsets [848, 896] reach beyond`},
		"missing file": {KeepAll, func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, TensorsName))) }, "no such file"},
		"rows missing": {KeepAll, tensor(NewFloat32("p0.logits", []int{3, testVocab}, wave(3*testVocab, 0))), `prompt "first": p0.logits: is F32 [3, 6], the prompt asks for F32 [4, 6]`},
		"vocabularies": {KeepAll, tensor(NewFloat32("p1.logits", []int{2, 7}, wave(14, 0))), `prompt "second": p1.logits: is F32 [2, 7], the prompt asks for F32 [2, 6]`},
		"NaN":          {KeepAll, tensor(NewFloat32("p0.logits", []int{4, testVocab}, bad)), `p0.logits: element [1,1] is NaN, evidence is finite`},
		"kv rank":      {KeepAll, tensor(NewFloat32("p0.k.L0", []int{testHeads, 4 * testDim}, kv)), `p0.k.L0: is F32 [2, 16], the prompt asks for F32 [any, any, any]`},
		"kv positions": {KeepAll, tensor(NewFloat32("p0.k.L0", []int{testHeads, 8, 2}, kv)), `p0.k.L0: 8 positions, only 4 ids were fed`},
		"kv heads":     {KeepAll, tensor(NewFloat32("p0.k.L0", []int{1, 4, 8}, kv)), `p0.k.L0: shape [1 4 8], p0.v.L0 has [2 4 4]`},
		"kv layer":     {KeepAll, tensor(NewFloat32("p0.k.Lx", []int{testHeads, 4, testDim}, kv)), `p0.k.Lx: "x" is not a layer`},
		"k alone":      {KeepAll, tensor(NewFloat32("p0.k.L9", []int{testHeads, 4, testDim}, kv)), `p0.k.L9: without v.L9`},
		"node rank":    {KeepAll, tensor(NewFloat32("p0.node.ffn_out-0", nil, []float32{1})), `p0.node.ffn_out-0: is a single value`},
		"hidden":       {KeepAll, tensor(NewFloat32("p0.hidden.L0", []int{4, 6}, wave(24, 0))), `p0.hidden.L1: 5 wide, other hidden states are 6`},
		"stray":        {KeepAll, tensor(NewFloat32("p7.logits", []int{1}, wave(1, 0))), `p7.logits: belongs to no prompt`},
		"rows":         {KeepAll, tensor(NewInt32("p0.logits.rows", []int{4}, []int32{0, 1, 1, 3})), `p0.logits.rows: row 1 at 2`},
		"top order":    {KeepTop64, tensor(NewFloat32("p1.top_val", []int{2, testVocab}, wave(12, 0))), `p1.top_val: row 0: top_val at 1 is not in order`},
		"top index":    {KeepTop64, tensor(NewInt32("p1.top_idx", []int{2, testVocab}, []int32{0, 1, 2, 3, 4, 6, 0, 1, 2, 3, 4, 5})), `top_idx 6 at 5 is outside of the vocabulary (6)`},
		"top twice":    {KeepTop64, tensor(NewInt32("p1.top_idx", []int{2, testVocab}, []int32{0, 1, 2, 3, 4, 4, 0, 1, 2, 3, 4, 5})), `top_idx 4 twice`},
		"lse low":      {KeepTop64, tensor(NewFloat32("p1.lse", []int{2}, []float32{1, 2})), `p1.top_val: row 0: lse 1 is below`},
		"lse high":     {KeepTop64, tensor(NewFloat32("p1.lse", []int{2}, []float32{9, 9})), `lse 9 is above`},
		"format":       {KeepAll, manifest("assay-evidence/1", "assay-evidence/2"), `manifest.yaml: format: "assay-evidence/2", want "assay-evidence/1"`},
		"no engine":    {KeepAll, manifest("name: abacus", "name: ''"), `engine.name: missing`},
		"no device":    {KeepAll, manifest("device: cpu", "dtype: f32"), `compute.device: missing`},
		"GPU build":    {KeepAll, manifest("build: beads", "build: libggml-cuda.so"), `engine.build: names "cuda" while compute.device claims "cpu"`},
		"GPU backend":  {KeepAll, manifest("device: cpu", "device: cpu\n  backends: [CPU, Vulkan0]"), `compute.backends: names "vulkan"`},
		"GPU layers":   {KeepAll, manifest("device: cpu", "device: cpu\n  n_gpu_layers: 99"), `compute.n_gpu_layers: names "99"`},
		"bad hash":     {KeepAll, manifest(sum('a'), "abc"), `checkpoint.files[m.gguf]: "abc" is not a SHA-256`},
		"negative id":  {KeepAll, manifest("[1, 2, 3]", "[1, -2, 3]"), `prompts[0].ids: prompt "first": id -2 at 1`},
		"large id":     {KeepAll, manifest("[1, 2, 3]", "[1, 6, 3]"), `id 6 at 1 is outside of the vocabulary (6)`},
		"large id, no vocabulary": {KeepAll, func(t *testing.T, dir string) {
			manifest("vocab: 6", "from: x")(t, dir)
			manifest("[1, 2, 3]", "[1, 600, 3]")(t, dir)
		}, `id 600 at 1, the logits have 6 columns`},
		"id too wide": {KeepAll, manifest("[1, 2, 3]", "[1, 4294967296, 3]"), `cannot unmarshal`},
		"no ids":      {KeepAll, manifest("[1, 2, 3]", "[]"), `prompts[0].ids: prompt "first": none`},
		"key order":   {KeepAll, manifest("key_order: halves", "key_order: quarters"), `key_order: "quarters" is neither`},
		"not YAML":    {KeepAll, manifest("format:", "\tformat:"), `manifest.yaml: yaml`},
		"two documents": {KeepAll, func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, ManifestName), func(b []byte) []byte { return append(b, "\n---\nformat: x\n"...) })
		}, `more than one YAML document`},
		"hash without tensor": {KeepAll, manifest("tensor_sha256:\n", "tensor_sha256:\n  p0.gone: "+sum('c')+"\n"), `p0.gone: named in the manifest, not in the file`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := saved(t, c.keep)
			c.damage(t, dir)
			e, err := Load(dir)
			require.ErrorContains(t, err, c.want)
			assert.Nil(t, e)
			assert.Contains(t, err.Error(), dir, "the error names the file")
		})
	}
}

func TestACheckpointWithOtherBytesIsRefused(t *testing.T) {
	m := Manifest{Checkpoint: Checkpoint{SHA256: map[string]string{"m.gguf": sum('a')}}}
	require.NoError(t, m.VerifyCheckpoint(map[string]string{"m.gguf": sum('A')}))
	require.NoError(t, m.VerifyCheckpoint(map[string]string{"renamed.gguf": sum('a')}))
	var h *HashError
	require.ErrorAs(t, m.VerifyCheckpoint(map[string]string{"m.gguf": sum('b')}), &h)
	assert.Equal(t, sum('a'), h.Want)
	require.ErrorContains(t, m.VerifyCheckpoint(map[string]string{"x": sum('a'), "y": sum('a')}), "checkpoint file m.gguf: the recording names it")
	m.Checkpoint.Files = map[string]string{"tokenizer.json": sum('c'), "config.json": sum('d')}
	require.ErrorContains(t, m.VerifyCheckpoint(map[string]string{"m.gguf": sum('a')}), "config.json")
	require.NoError(t, m.VerifyCheckpoint(map[string]string{"m.gguf": sum('a'), "config.json": sum('d')}), "a tokenizer may be elsewhere")
	require.ErrorContains(t, m.VerifyCheckpoint(map[string]string{"m.gguf": sum('a'), "config.json": sum('d'), "tokenizer.json": sum('e')}), "tokenizer.json")
	require.ErrorContains(t, (&Manifest{}).VerifyCheckpoint(nil), "names no file")
}

func TestPromptsFilesAreListsOrManifests(t *testing.T) {
	list, err := ParsePrompts("p.yaml", []byte("- {name: a, ids: [1, 2], produced: [3]}\n- {text: hello}\n- {name: c, messages: [{role: user, content: hi}]}\n"))
	require.NoError(t, err)
	require.Len(t, list, 3)
	assert.Equal(t, []int32{1, 2}, list[0].IDs)
	assert.Equal(t, "prompt-1", list[1].Name)
	assert.Equal(t, "hi", list[2].Messages[0].Content)
	dir := saved(t, KeepAll)
	for _, path := range []string{dir, filepath.Join(dir, ManifestName)} {
		list, err = LoadPrompts(path)
		require.NoError(t, err)
		assert.Equal(t, testManifest().Prompts, list)
	}
	for in, want := range map[string]string{
		"[]": "no prompts", "": "empty", "- {name: a}": "one of ids, text or messages", "- {text: a, messages: [{role: user, content: b}]}": "two different prompts",
		"- {ids: [-1]}": "id -1 at 0", "- {text: a, prodcued: [1]}": `unknown key "prodcued"`, "a: b": "format", "- 7": "cannot unmarshal",
	} {
		_, err := ParsePrompts("p.yaml", []byte(in))
		assert.ErrorContains(t, err, want, in)
		assert.ErrorContains(t, err, "p.yaml", in)
	}
	_, err = LoadPrompts(filepath.Join(dir, "nowhere"))
	assert.ErrorContains(t, err, "nowhere")
}

func TestSpellingsOfOtherRecordersAreUnderstood(t *testing.T) {
	m, err := ParseManifest("m", []byte(`format: assay-evidence/1
engine: {name: x, build: 'torch 2.15.0+cu132'}
compute: {device: cpu, threads: 1, kv_types: [F32, F32], flash_attention: false, rope_type: 'NORM (pairs 2i, 2i+1)'}
checkpoint: {sha256: {a.gguf: `+sum('a')+`}}
prompts: [{index: 2, name: p, messages: null, ids: [1], produced: [2, 3], rows: 2}]
layer_types: null
holds: in words
`))
	require.NoError(t, err)
	assert.Equal(t, Text("F32, F32"), m.Compute.KVTypes)
	assert.Equal(t, Text("1"), m.Compute.Threads)
	assert.Equal(t, map[string]string{"a.gguf": sum('a')}, m.Checkpoint.Hashes())
	assert.Equal(t, "p2.", m.prefix(0))
	order, err := m.KeyOrder()
	require.NoError(t, err)
	assert.Equal(t, Adjacent, order)
	assert.Equal(t, []int32{1, 2}, m.Prompts[0].Fed())
	next, ok := m.Prompts[0].Next(1)
	assert.True(t, ok)
	assert.Equal(t, int32(3), next)
	_, ok = m.Prompts[0].Next(2)
	assert.False(t, ok)
}
