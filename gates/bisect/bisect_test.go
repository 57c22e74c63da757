package bisect

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/engine/checkpoint"
	"assay/engine/decoder"
	"assay/fixtures"
)

var story = []int32{504, 411, 298, 266, 259, 445, 67, 68, 69, 261, 66, 301}

func fixture(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, fixtures.Materialise(dir))
	return dir
}

func model(dir, name string) string { return filepath.Join(dir, "models", name) }

func setup(t *testing.T, text string) *Setup {
	t.Helper()
	s, err := ParseSetup(text)
	require.NoError(t, err)
	return s
}

func find(t *testing.T, q *Question) *Answer {
	t.Helper()
	a, err := q.Find(t.Context())
	require.NoError(t, err)
	return a
}

func TestSetupsAreReadAndWritten(t *testing.T) {
	s := setup(t, "cpu=scalar,threads=2,chunk=3,activations=float32,kv=f32,batch=8,fuse=off")
	assert.Equal(t, &Setup{CPU: "scalar", Threads: 2, Chunk: 3, Activations: "float32", KV: "f32", Tuning: "batch=8,fuse=off"}, s)
	assert.Equal(t, s, setup(t, s.String()))
	assert.Equal(t, "defaults", setup(t, "").String())
	assert.Equal(t, "revision=HEAD~1,threads=1", setup(t, "threads=1,revision=HEAD~1").String())
	for text, says := range map[string]string{
		"cpu=mmx": "mmx", "threads=0": "from 1", "threads=x": "from 1", "chunk=-1": "from 1", "kv=q8": "f16, f32", "activations=int4": "int4",
		"speed=9": "besides knobs there are cpu", ",": "no key=value", "revision=": "names none", "revision=x,batch=2": "knobs are for this program",
	} {
		_, err := ParseSetup(text)
		var wrong *SetupError
		assert.ErrorAs(t, err, &wrong, text)
		assert.ErrorContains(t, err, says, text)
	}
}

func TestTensorsAreNamedAndOrdered(t *testing.T) {
	list := []Tensor{{Embed, noLayer}, {"attn_norm", 0}, {"Kcur", 0}, {Keys, 0}, {"kqv_out", 0}, {Hidden, 0}, {"attn_norm", 1}, {Hidden, 12}, {Logits, afterLayers}}
	assert.True(t, slices.IsSortedFunc(list, Tensor.compare))
	for _, x := range list {
		back, err := ParseTensor(x.String())
		assert.NoError(t, err)
		assert.Equal(t, x, back)
	}
	for _, text := range []string{"", "Kcur", "Kcur.L", "Kcur.L-1", "Kcur.L1x", "other.L1", "embed.L0x"} {
		_, err := ParseTensor(text)
		assert.Error(t, err, text)
	}
}

func TestLegalSetupsShowNoDifference(t *testing.T) {
	dir := fixture(t)
	for _, b := range []string{"cpu=scalar", "chunk=1", "chunk=5", "threads=1", "batch=3,pool=goroutines,fuse=off,columns=2,grain=1"} {
		a := find(t, &Question{Model: model(dir, "llama-Q4_0.gguf"), IDs: story, A: setup(t, "threads=2"), B: setup(t, b)})
		assert.Nil(t, a.First, b)
		assert.Equal(t, len(story)*(5*12+2), a.Counts.Rows, "every tensor of every layer at every position")
		assert.Zero(t, a.Counts.Differ)
	}
}

func TestSeededFaultsAreFoundWhereTheyAre(t *testing.T) {
	dir := fixture(t)
	for _, c := range []struct {
		name     string
		alter    func(*decoder.Spec)
		tensor   string
		position int
		before   string
		ids      int
	}{
		{"norm", func(s *decoder.Spec) { s.NormEps *= 1.5 }, "attn_norm.L0", 0, "embed at position 0", 1},
		// Nothing is turned at position 0, and softmax over one score is 1 whatever its scale.
		{"rotary pairing", func(s *decoder.Spec) { s.Rotary.Adjacent = !s.Rotary.Adjacent }, "Qcur.L0", 1, "Vcur.L0 at position 1", 2},
		{"one frequency", func(s *decoder.Spec) { s.Rotary.Freq = slices.Clone(s.Rotary.Freq); s.Rotary.Freq[3] *= 1.01 }, "Qcur.L0", 1, "Vcur.L0 at position 1", 2},
		{"attention scale", func(s *decoder.Spec) { s.AttentionScale *= 1.01 }, "kqv_out.L0", 1, "v.L0 at position 1", 2},
		{"window", func(s *decoder.Spec) { s.Window = 4 }, "kqv_out.L0", 4, "v.L0 at position 4", 5},
		{"activation", func(s *decoder.Spec) { s.Gate = decoder.GELUTanh }, "ffn_gate_par.L0", 0, "ffn_norm.L0 at position 0", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &Question{Model: model(dir, "llama-F32.gguf"), IDs: story, A: &Setup{}, B: &Setup{Alter: c.alter}}
			a := find(t, q)
			require.NotNil(t, a.First)
			assert.Equal(t, c.tensor, a.First.Tensor)
			assert.Equal(t, c.before, a.First.Before)
			assert.Len(t, a.IDs, c.ids, "as few ids as show it")
			assert.Equal(t, c.position, a.First.Position)
			assert.Positive(t, a.First.Values[0].ULP)
			assert.Equal(t, a.First.Values[0].Index, a.First.Index)
			assert.Greater(t, a.Counts.Differ, 1)
		})
	}
}

func TestAToleranceAllowsSmallDifferences(t *testing.T) {
	q := &Question{Model: model(fixture(t), "llama-Q8_0.gguf"), IDs: story, A: setup(t, "kv=f16"), B: setup(t, "kv=f32")}
	assert.Equal(t, "k.L0", find(t, q).First.Tensor, "the format rounds keys")
	q.Tolerance = 0.05
	assert.Nil(t, find(t, q).First)
}

func TestRowsAreComparedByTheirBits(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		a, b   float32
		differ int
		ulp    uint32
	}{
		{1, 1, 0, 0}, {1, math.Nextafter32(1, 2), 1, 1}, {0, float32(math.Copysign(0, -1)), 1, 0},
		{math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 1, 2}, {nan, nan, 0, 0}, {nan, 1, 1, math.MaxUint32},
		{float32(math.Inf(1)), math.MaxFloat32, 1, 1},
	} {
		d := compareRows([]float32{7, c.a}, []float32{7, c.b})
		assert.Equal(t, c.differ, d.Differ, "%v %v", c.a, c.b)
		if c.differ > 0 {
			assert.Equal(t, 1, d.Index)
			assert.Equal(t, c.ulp, d.Values[0].ULP, "%v %v", c.a, c.b)
			assert.False(t, math.IsNaN(d.RelRMS) || math.IsInf(d.RelRMS, 0), "figures can be written")
		}
	}
	x, y := newTrace(), newTrace()
	_, _, err := First(x, y, 0)
	var nothing *NothingError
	assert.ErrorAs(t, err, &nothing)
	x.put(Tensor{Keys, 0}, 0, []float32{1, 2})
	y.put(Tensor{Keys, 0}, 0, []float32{1})
	_, _, err = First(x, y, 0)
	var shape *ShapeError
	assert.ErrorAs(t, err, &shape)
	assert.ErrorContains(t, err, "k.L0: rows of 2 and 1 values")
}

func TestRecordingsOfOtherEnginesAreHeldToTheirTolerance(t *testing.T) {
	dir := fixture(t)
	path := model(dir, "llama-F32.gguf")
	c, err := checkpoint.Open(path)
	require.NoError(t, err)
	defer c.Close()
	r, err := FromEvidence(filepath.Join(dir, "evidence", "llama-F32"), "", c)
	require.NoError(t, err)
	assert.False(t, r.Exact)
	q := &Question{Model: path, IDs: r.IDs, A: setup(t, "kv=f32"), Kept: r, Tolerance: 1e-3}
	a := find(t, q)
	assert.Nil(t, a.First)
	assert.Greater(t, a.Counts.Rows, len(r.IDs)*5)

	q.A.Alter = func(s *decoder.Spec) { s.AttentionScale *= 1.2 }
	a = find(t, q)
	require.NotNil(t, a.First)
	assert.Equal(t, "k.L1", a.First.Tensor, "the first recorded tensor that sees attention")
	assert.Less(t, len(a.IDs), len(r.IDs))

	_, err = FromEvidence(filepath.Join(dir, "evidence", "llama-F32"), "nobody", c)
	assert.ErrorContains(t, err, `no prompt "nobody"`)
	_, err = FromEvidence(filepath.Join(dir, "evidence", "llama-Q4_0"), "", c)
	assert.ErrorContains(t, err, "llama-Q4_0.gguf", "a recording of another file")
}

func TestTooManyIDsAreRefused(t *testing.T) {
	q := &Question{Model: model(fixture(t), "llama-Q4_0.gguf"), IDs: make([]int32, 1<<20), A: &Setup{}, B: &Setup{}}
	_, err := q.Find(t.Context())
	var limit *LimitError
	assert.ErrorAs(t, err, &limit)
}

func TestReproducersShowTheDifferenceAgain(t *testing.T) {
	dir := fixture(t)
	path := model(dir, "llama-Q4_1.gguf")
	q := &Question{Model: path, IDs: story, A: setup(t, "threads=1"), B: setup(t, "activations=float32")}
	file := written(t, q)
	r, err := ReadReproducer(file)
	require.NoError(t, err)
	assert.Len(t, r.IDs, 1)
	assert.Equal(t, "Vcur.L0", r.First.Tensor)
	replayed, err := r.Replay(t.Context(), "", nil)
	require.NoError(t, err)
	assert.True(t, replayed.Same)

	r.B = r.A // the fault is mended
	replayed, err = r.Replay(t.Context(), "", nil)
	require.NoError(t, err)
	assert.Nil(t, replayed.Answer.First)
	assert.False(t, replayed.Same)

	moved := filepath.Join(t.TempDir(), "other.gguf")
	require.NoError(t, os.Rename(path, moved))
	_, err = r.Replay(t.Context(), "", nil)
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = r.Replay(t.Context(), moved, nil)
	assert.NoError(t, err)
	_, err = r.Replay(t.Context(), model(dir, "llama-Q4_0.gguf"), nil)
	assert.ErrorContains(t, err, "another model")
}

func written(t *testing.T, q *Question) string {
	t.Helper()
	r, err := q.Reproducer(find(t, q), "test")
	require.NoError(t, err)
	b, err := r.JSON()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "difference.json")
	require.NoError(t, os.WriteFile(file, b, 0o644))
	return file
}

func TestReproducersThatMakeNoSenseAreRefused(t *testing.T) {
	q := &Question{Model: model(fixture(t), "llama-Q4_1.gguf"), IDs: story, A: &Setup{}, B: setup(t, "activations=float32")}
	file := written(t, q)
	for name, change := range map[string]func(*Reproducer){
		"format": func(r *Reproducer) { r.Format = "x" }, "ids": func(r *Reproducer) { r.IDs = nil }, "sides": func(r *Reproducer) { r.B = nil },
		"position": func(r *Reproducer) { r.First.Position = 99 }, "tensor": func(r *Reproducer) { r.First.Tensor = "x" },
		"setup": func(r *Reproducer) { r.A.CPU = "mmx" }, "tolerance": func(r *Reproducer) { r.Tolerance = -1 },
	} {
		r, err := ReadReproducer(file)
		require.NoError(t, err)
		change(r)
		assert.NotEmpty(t, r.check(), name)
	}
	bad := filepath.Join(t.TempDir(), "bad.json")
	for _, text := range []string{"", "{}", "[]", `{"format":"assay-reproducer/1","more":1}`} {
		require.NoError(t, os.WriteFile(bad, []byte(text), 0o644))
		_, err := ReadReproducer(bad)
		var wrong *ReproducerError
		assert.ErrorAs(t, err, &wrong, text)
	}
}
