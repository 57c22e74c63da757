package oracle

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
)

// TopK is how many logits a row keeps where whole rows would be too large.
const TopK = 64

// Keep says which rows of logits a Recorder keeps.
type Keep int

// What a Recorder keeps of the logits.
const (
	KeepAll   Keep = iota // whole rows
	KeepTop64             // the 64 largest logits and the log-sum-exp
	KeepNone              // ids only
)

// ParseKeep reads the value of --logits.
func ParseKeep(s string) (Keep, error) {
	switch s {
	case "all":
		return KeepAll, nil
	case "top64":
		return KeepTop64, nil
	case "none":
		return KeepNone, nil
	}
	return 0, fmt.Errorf("oracle: logits %.40q: want all, top64 or none", s)
}

// Recorder collects the tensors of a new recording row by row.
type Recorder struct {
	manifest Manifest
	keep     Keep
	rows     map[int]*recordedRows
	streams  map[string]*stream // whole tensors and those that grow by rows, by full name
	err      error
}

// recordedRows and stream keep little-endian bytes, as they will be written: whole logits are large enough not to be held twice.
type recordedRows struct {
	logits, topVal, lse, topIdx []byte
	n, vocab, k                 int
}

type stream struct {
	shape []int
	data  []byte
}

func appendFloats(b []byte, x ...float32) []byte {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func appendInts(b []byte, x ...int32) []byte {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// NewRecorder starts a recording. The prompts of m must be complete when Evidence is called; produced ids may be set until then
// through Produced.
func NewRecorder(m Manifest, keep Keep) *Recorder {
	return &Recorder{manifest: m, keep: keep, rows: map[int]*recordedRows{}, streams: map[string]*stream{}}
}

// Manifest gives the manifest to fill in what is known only after the run.
func (r *Recorder) Manifest() *Manifest { return &r.manifest }

// Produced sets the produced ids of a prompt.
func (r *Recorder) Produced(prompt int, ids []int32) { r.manifest.Prompts[prompt].Produced = ids }

// Logits adds the next row of a prompt; the slice may be reused afterwards.
func (r *Recorder) Logits(prompt int, logits []float32) {
	p := r.rows[prompt]
	if p == nil {
		p = &recordedRows{vocab: len(logits)}
		r.rows[prompt] = p
	}
	if len(logits) != p.vocab {
		r.fail("p%d.logits: row %d has %d logits, the rows before have %d", prompt, p.n, len(logits), p.vocab)
		return
	}
	p.n++
	switch r.keep {
	case KeepAll:
		p.logits = appendFloats(p.logits, logits...)
	case KeepTop64:
		idx, val := Top(logits, TopK)
		p.k = len(idx)
		p.topIdx, p.topVal = appendInts(p.topIdx, idx...), appendFloats(p.topVal, val...)
		p.lse = appendFloats(p.lse, float32(LogSumExp(logits)))
	}
}

// Append adds one row to the tensor name of a prompt, e.g. "hidden.L3" or "node.ffn_out-3".
func (r *Recorder) Append(prompt int, name string, row []float32) {
	full := r.manifest.prefix(prompt) + name
	s := r.streams[full]
	if s == nil {
		s = &stream{shape: []int{0, len(row)}}
		r.streams[full] = s
	}
	if len(s.shape) != 2 || s.shape[1] != len(row) {
		r.fail("%s: a row of %d after shape %v", full, len(row), s.shape)
		return
	}
	s.shape[0]++
	s.data = appendFloats(s.data, row...)
}

// KeyValue sets the state of a layer: k and v as [kv heads][positions][head dim]. The data is copied.
func (r *Recorder) KeyValue(prompt, layer, heads, positions int, k, v []float32) {
	for name, x := range map[string][]float32{"k": k, "v": v} {
		full := fmt.Sprintf("%s%s.L%d", r.manifest.prefix(prompt), name, layer)
		if heads <= 0 || positions <= 0 || len(x) == 0 || len(x)%(heads*positions) != 0 {
			r.fail("%s: %d values for %d heads and %d positions", full, len(x), heads, positions)
			return
		}
		r.streams[full] = &stream{shape: []int{heads, positions, len(x) / heads / positions}, data: appendFloats(nil, x...)}
	}
}

func (r *Recorder) fail(format string, a ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("oracle: recording "+format, a...)
	}
}

// Evidence ends the recording.
func (r *Recorder) Evidence() (*Evidence, error) {
	if r.err != nil {
		return nil, r.err
	}
	e := &Evidence{Manifest: r.manifest, Tensors: map[string]*Tensor{}}
	add := func(t *Tensor) { e.Tensors[t.Name] = t }
	for i, p := range r.rows {
		pre := r.manifest.prefix(i)
		switch r.keep {
		case KeepAll:
			add(newTensor(pre+"logits", F32, []int{p.n, p.vocab}, p.logits))
		case KeepTop64:
			add(newTensor(pre+"top_idx", I32, []int{p.n, p.k}, p.topIdx))
			add(newTensor(pre+"top_val", F32, []int{p.n, p.k}, p.topVal))
			add(newTensor(pre+"lse", F32, []int{p.n}, p.lse))
		}
		e.Manifest.Checkpoint.Vocab = max(e.Manifest.Checkpoint.Vocab, p.vocab)
	}
	names := make([]string, 0, len(r.streams))
	for n := range r.streams {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		add(newTensor(n, F32, r.streams[n].shape, r.streams[n].data))
	}
	e.vocab = e.Manifest.Checkpoint.Vocab
	return e, nil
}
