package oracle

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	testVocab  = 6
	testHeads  = 2
	testDim    = 4
	testHidden = 5
)

// testManifest has two prompts: 3 + 2 ids (4 rows) and 2 + 1 ids (2 rows).
func testManifest() Manifest {
	return Manifest{
		Engine:       Engine{Name: "abacus", Version: "1", Build: "beads", Level: "wood"},
		Compute:      Compute{Device: "cpu", KVTypes: "f32", Threads: "1"},
		Checkpoint:   Checkpoint{Path: "m.gguf", Files: map[string]string{"m.gguf": sum('a')}, Tensors: map[string]string{"output.weight": sum('b')}},
		KeyOrderName: "halves",
		Command:      "abacus --slowly",
		Prompts:      []Prompt{{Name: "first", IDs: []int32{1, 2, 3}, Produced: []int32{4, 5}}, {Name: "second", IDs: []int32{0, 1}, Produced: []int32{2}}},
		Holds:        map[string]any{"bits": "always"},
	}
}

func sum(c byte) string {
	b := make([]byte, 64)
	for i := range b {
		b[i] = c
	}
	return string(b)
}

// wave is a sequence of distinct, harmless numbers.
func wave(n int, phase float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(3 * math.Sin(float64(i)*0.7+phase))
	}
	return x
}

func testRow(prompt, row int) []float32 { return wave(testVocab, float64(10*prompt+row)) }

// testEvidence records whole rows, the states of two layers and hidden states of the first prompt.
func testEvidence(t *testing.T, keep Keep) *Evidence {
	t.Helper()
	r := NewRecorder(testManifest(), keep)
	for i, p := range testManifest().Prompts {
		for row := range p.Rows() {
			r.Logits(i, testRow(i, row))
		}
	}
	for _, name := range []string{"embed", "L0", "L1"} {
		for row := range 4 {
			r.Append(0, "hidden."+name, wave(testHidden, float64(row)+float64(len(name))))
		}
	}
	for layer := range 2 {
		n := testHeads * 4 * testDim
		r.KeyValue(0, layer, testHeads, 4, wave(n, float64(layer)), wave(n, 5+float64(layer)))
	}
	e, err := r.Evidence()
	require.NoError(t, err)
	return e
}

// saved writes the synthetic recording into a new folder.
func saved(t *testing.T, keep Keep) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recording")
	require.NoError(t, Save(dir, testEvidence(t, keep)))
	return dir
}

func loaded(t *testing.T, dir string) *Evidence {
	t.Helper()
	e, err := Load(dir)
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, change(b), 0o600))
}
