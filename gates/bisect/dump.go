package bisect

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"assay/engine/checkpoint"
	"assay/engine/checkpoint/regular"
	"assay/engine/checkpoint/safetensors"
	"assay/oracle"
)

// The two files of a dump of nodes: every node of a graph of llama.cpp, in the
// order in which it was executed.
const (
	DumpIndex   = "nodes.json"
	DumpTensors = "nodes.safetensors"
	maxIndex    = 64 << 20 // bytes
)

// dump is nodes.json.
type dump struct {
	Engine string  `json:"engine"`
	IDs    []int32 `json:"ids"` // the prompt; step 1 is one greedy id after it
	Nodes  []struct {
		Key   string `json:"key"`
		Step  int    `json:"step"`
		Name  string `json:"name"`
		Op    string `json:"op"`
		Shape []int  `json:"shape"`
	} `json:"nodes"`
}

// dumped are our tensors by node and operation. A later one replaces an earlier
// one: a product with a bias is the sum.
var dumped = map[string]string{
	"embd.GET_ROWS": Embed, "attn_norm.MUL": "attn_norm", "Vcur.MUL_MAT": "Vcur", "Vcur.ADD": "Vcur", "Qcur.ROPE": "Qcur", "Kcur.ROPE": "Kcur",
	"kqv_out.CONT": "kqv_out", "ffn_inp.ADD": "ffn_inp", "ffn_norm.MUL": "ffn_norm", "ffn_swiglu.SWIGLU": "ffn_gate_par", "ffn_out.MUL_MAT": "ffn_out",
	"ffn_out.ADD": "ffn_out", "l_out.ADD": Hidden, "result_output.MUL_MAT": Logits,
}

// FromDump reads a dump of nodes of a model.
func FromDump(dir string, model *checkpoint.Config) (*Recorded, error) {
	path := filepath.Join(dir, DumpIndex)
	b, err := regular.ReadAny(path, maxIndex)
	if err != nil {
		return nil, err
	}
	var d dump
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, &EvidenceError{path, err.Error()}
	}
	if len(d.IDs) == 0 {
		return nil, &EvidenceError{path, "it has no ids"}
	}
	f, err := safetensors.Open(filepath.Join(dir, DumpTensors))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &Recorded{From: dir, By: d.Engine, IDs: d.IDs, Trace: newTrace(), KV: "f32"}
	r.Trace.HeadDim = model.HeadDim
	steps := 0
	for _, n := range d.Nodes {
		of, ok := nodeTensor(n.Name, n.Op)
		t, there := f.Tensor(n.Key)
		if !ok || !there || n.Step < 0 || n.Step > 1 {
			continue
		}
		if t.DType != "F32" {
			return nil, &EvidenceError{dir, fmt.Sprintf("%s: want F32 values, not %s", n.Key, t.DType)}
		}
		steps = max(steps, n.Step)
		end := len(d.IDs) + n.Step // the rows are the last ones before it
		values, width := len(t.Data)/4, widthOf(of.Name, model)
		count := values / width
		if values%width != 0 || count < 1 || count > end {
			return nil, &EvidenceError{dir, fmt.Sprintf("%s: %d values of %d ids, %d each", n.Key, values, end, width)}
		}
		for i := range count {
			r.Trace.put(of, end-count+i, floats(t.Data[4*i*width:][:4*width]))
		}
	}
	if steps == 1 {
		last := r.Trace.row(Tensor{Logits, afterLayers}, len(d.IDs)-1)
		if last == nil {
			return nil, &EvidenceError{dir, "it has a second step and not the logits that chose its id"}
		}
		r.IDs = append(r.IDs, int32(oracle.ArgMax(last)))
	}
	if len(r.Trace.Rows) == 0 {
		return nil, &EvidenceError{dir, "none of its nodes is known"}
	}
	return r, nil
}

func nodeTensor(name, op string) (Tensor, bool) {
	base, number, layered := strings.Cut(name, "-")
	ours, ok := dumped[base+"."+op]
	switch {
	case !ok:
		return Tensor{}, false
	case ours == Embed:
		return Tensor{Embed, noLayer}, !layered
	case ours == Logits:
		return Tensor{Logits, afterLayers}, !layered
	}
	t, err := ParseTensor(ours + ".L" + number)
	return t, err == nil
}

func floats(b []byte) []float32 {
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}
