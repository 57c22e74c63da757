package oracle

import (
	"os"
	"path/filepath"
	"testing"

	"assay/engine/checkpoint/safetensors"

	"github.com/stretchr/testify/require"
)

// FuzzEvidence feeds a manifest and a tensor file. What is accepted must be comparable with any row.
func FuzzEvidence(f *testing.F) {
	for _, keep := range []Keep{KeepAll, KeepTop64, KeepNone} {
		r := NewRecorder(testManifest(), keep)
		for i, p := range testManifest().Prompts {
			for row := range p.Rows() {
				r.Logits(i, testRow(i, row))
			}
		}
		r.KeyValue(0, 0, 1, 4, wave(8, 0), wave(8, 1))
		r.Append(1, "hidden.L0", wave(3, 0))
		r.Append(1, "hidden.L0", wave(3, 1))
		r.Append(1, "node.ffn_out-0", wave(3, 2))
		e, err := r.Evidence()
		require.NoError(f, err)
		dir := f.TempDir()
		require.NoError(f, Save(dir, e))
		m, err := os.ReadFile(filepath.Join(dir, ManifestName))
		require.NoError(f, err)
		t, err := os.ReadFile(filepath.Join(dir, TensorsName))
		require.NoError(f, err)
		f.Add(m, t)
		e.Manifest.TensorSHA256, e.Manifest.Format = nil, Format
		m, err = encodeManifest(&e.Manifest)
		require.NoError(f, err)
		f.Add(m, t)
	}
	f.Add([]byte("format: assay-evidence/1\nengine: {name: x}\ncompute: {device: cpu}\nprompts: [{index: 3, name: p, ids: [0], produced: [1, 2]}]\n"), []byte("\x08\x00\x00\x00\x00\x00\x00\x00{}      "))
	f.Fuzz(func(t *testing.T, manifest, tensors []byte) {
		m, err := ParseManifest("m", manifest)
		if err != nil {
			return
		}
		_, _ = ParsePrompts("m", manifest)
		file, err := safetensors.Parse(tensors, "t")
		if err != nil {
			return
		}
		e := &Evidence{Manifest: *m}
		if e.read(file) != nil || e.Vocab() > 1<<16 {
			return
		}
		c := NewRowComparer(e)
		for i := range m.Prompts {
			for row := range min(m.Prompts[i].Rows(), 8) {
				if e.Vocab() == 0 { // any width may be wrong
					_ = c.Row(i, row, make([]float32, 8))
					continue
				}
				require.NoError(t, c.Row(i, row, make([]float32, e.Vocab())))
			}
			s := State{Hidden: map[string][]float32{}, Nodes: map[string][]float32{}, Keys: map[int][]float32{}, Values: map[int][]float32{}, KeyOrder: Halves}
			for _, part := range stateParts(e, i) {
				x := e.Tensor(i, part)
				if got, layer := make([]float32, x.Len()), -1; x.DType == F32 {
					_, layer = s.part(part)
					switch part[0] {
					case 'h':
						s.Hidden[part[len("hidden."):]] = got
					case 'n':
						s.Nodes[part[len("node."):]] = got
					case 'k':
						s.Keys[layer] = got
					case 'v':
						s.Values[layer] = got
					}
				}
			}
			d, err := CompareState(e, i, s)
			require.NoError(t, err)
			_ = Diagnose(d, c.Stats(), 1e-4).String()
		}
		_ = Tolerance{Rung: KL, MeanKL: 1, Top1: 1, NLL: 1, TopK: 3}.Judge(c.Stats())
	})
}
