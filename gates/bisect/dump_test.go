package bisect

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/engine/checkpoint"
	"assay/oracle"
)

// dumpOf writes what we compute ourselves as a dump of nodes: the prompt and one
// more id, the last layer from attention on for the last id only, as llama.cpp does.
func dumpOf(t *testing.T, path string, ids []int32, change func(node string, x []float32)) (dir string) {
	t.Helper()
	r, err := open(t.Context(), path, &Setup{KV: "f32"})
	require.NoError(t, err)
	defer r.model.Close()
	trace, err := r.follow(t.Context(), ids)
	require.NoError(t, err)
	next := int32(oracle.ArgMax(trace.row(Tensor{Logits, afterLayers}, len(ids)-1)))
	trace, err = r.follow(t.Context(), append(ids[:len(ids):len(ids)], next))
	require.NoError(t, err)

	w := &dumpWriter{header: map[string]any{}}
	last := r.model.Config().Layers - 1
	for step := range 2 {
		from, to := 0, len(ids)
		if step == 1 {
			from, to = to, to+1
		}
		for node, ours := range dumped {
			if node == "Vcur.ADD" || node == "ffn_out.ADD" {
				continue
			}
			for l := range last + 1 {
				of, first := Tensor{ours, l}, from
				name, op, _ := bytes.Cut([]byte(node), []byte("."))
				key := fmt.Sprintf("%s-%d", name, l)
				switch ours {
				case Embed, Logits:
					of.Layer, key = noLayer, string(name)
					if ours == Logits {
						of.Layer, first = afterLayers, to-1
					}
					if l > 0 {
						continue
					}
				case "ffn_inp", "ffn_norm", "ffn_gate_par", "ffn_out", Hidden:
					if l == last {
						first = to - 1
					}
				}
				var x []float32
				for p := first; p < to; p++ {
					x = append(x, trace.row(of, p)...)
				}
				full := fmt.Sprintf("%d.%s.%s", step, key, op)
				change(full, x)
				w.node(step, full, key, string(op), x)
			}
		}
	}
	dir = t.TempDir()
	w.write(t, dir, ids)
	return dir
}

type dumpWriter struct {
	header map[string]any
	data   bytes.Buffer
	nodes  []map[string]any
}

func (w *dumpWriter) node(step int, key, name, op string, x []float32) {
	at := w.data.Len()
	_ = binary.Write(&w.data, binary.LittleEndian, x)
	w.header[key] = map[string]any{"dtype": "F32", "shape": []int{len(x)}, "data_offsets": []int{at, w.data.Len()}}
	w.nodes = append(w.nodes, map[string]any{"key": key, "step": step, "name": name, "op": op, "shape": []int{len(x)}})
}

func (w *dumpWriter) write(t *testing.T, dir string, ids []int32) {
	b, err := json.Marshal(map[string]any{"engine": "test", "ids": ids, "nodes": w.nodes})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, DumpIndex), b, 0o644))
	b, err = json.Marshal(w.header)
	require.NoError(t, err)
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(b)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, DumpTensors), append(append(file, b...), w.data.Bytes()...), 0o644))
}

func TestDumpsOfNodesAreHeldToEveryNode(t *testing.T) {
	path := model(fixture(t), "llama-Q8_0.gguf")
	c, err := checkpoint.Open(path)
	require.NoError(t, err)
	defer c.Close()
	ask := func(dir string) *Answer {
		r, err := FromDump(dir, c.Config())
		require.NoError(t, err)
		require.Len(t, r.IDs, 6, "the second step's id is the best one after the prompt")
		return find(t, &Question{Model: path, IDs: r.IDs, A: setup(t, "kv="+r.KV), Kept: r})
	}
	a := ask(dumpOf(t, path, story[:5], func(string, []float32) {}))
	assert.Nil(t, a.First)
	assert.Greater(t, a.Counts.Rows, 250)

	a = ask(dumpOf(t, path, story[:5], func(node string, x []float32) {
		if node == "0.ffn_swiglu-2.SWIGLU" {
			x[3*c.Config().FFN+7] += 1
		}
	}))
	require.NotNil(t, a.First)
	assert.Equal(t, "ffn_gate_par.L2", a.First.Tensor)
	assert.Equal(t, 3, a.First.Position)
	assert.Equal(t, 7, a.First.Index)
	assert.Equal(t, 1, a.First.Differ)
}

func TestDumpsThatMakeNoSenseAreRefused(t *testing.T) {
	path := model(fixture(t), "llama-Q8_0.gguf")
	c, err := checkpoint.Open(path)
	require.NoError(t, err)
	defer c.Close()
	for text, says := range map[string]string{
		"":   "unexpected end",
		"{}": "it has no ids",
		`{"ids":[1],"nodes":[{"key":"0.embd.GET_ROWS","name":"embd","op":"GET_ROWS"}]}`:                                  "64 each",
		`{"ids":[1],"nodes":[{"key":"none","name":"embd","op":"GET_ROWS"}]}`:                                             "none of its nodes",
		`{"ids":[1],"nodes":[{"key":"ok","step":1,"name":"embd","op":"GET_ROWS"}]}`:                                      "not the logits",
		`{"ids":[1],"nodes":[{"key":"ok","step":7,"name":"embd","op":"GET_ROWS"},{"key":"ok","name":"l_out","op":"x"}]}`: "none of its nodes",
	} {
		dir := t.TempDir()
		w := &dumpWriter{header: map[string]any{}}
		w.node(0, "0.embd.GET_ROWS", "embd", "GET_ROWS", make([]float32, 3))
		w.node(0, "ok", "embd", "GET_ROWS", make([]float32, 64))
		w.write(t, dir, nil)
		require.NoError(t, os.WriteFile(filepath.Join(dir, DumpIndex), []byte(text), 0o644))
		_, err := FromDump(dir, c.Config())
		assert.ErrorContains(t, err, says, text)
	}
	_, err = FromDump(t.TempDir(), c.Config())
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestTheDumpOfLlamaCppAgreesWithinItsRounding(t *testing.T) {
	shared := os.Getenv("ASSAY_SHARED")
	if shared == "" {
		t.Skip("ASSAY_SHARED is not set")
	}
	path := model(fixture(t), "llama-Q4_0.gguf")
	c, err := checkpoint.Open(path)
	require.NoError(t, err)
	defer c.Close()
	r, err := FromDump(filepath.Join(shared, "formats/gguf/llama/nodes/Q4_0"), c.Config())
	require.NoError(t, err)
	a := find(t, &Question{Model: path, IDs: r.IDs, A: setup(t, "kv=f32"), Kept: r, Tolerance: 0.03})
	assert.Nil(t, a.First)
	assert.Greater(t, a.Counts.Rows, 300)
}
