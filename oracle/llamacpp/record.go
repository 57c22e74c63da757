package llamacpp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"assay/oracle"
)

// RecordRequest says what to record. Exact evidence wants Flash off and KV f32; a user gets Flash auto and f16.
type RecordRequest struct {
	Model   string          `json:"model"`
	Prompts []oracle.Prompt `json:"prompts"`
	// Tokens is how many ids are chosen greedily for prompts without produced ids; produced ids are fed as they are.
	Tokens    int            `json:"tokens,omitempty"`
	StopAtEnd bool           `json:"stop_at_end,omitempty"` // end at an id that ends generation
	Context   ContextOptions `json:"context"`               // Context zero: as long as the longest prompt needs
	Chunk     int            `json:"chunk,omitempty"`       // prompt ids per call; zero: all at once
	NoRepack  bool           `json:"no_repack,omitempty"`
	Keep      oracle.Keep    `json:"keep,omitempty"`
	// KV keeps the state after the last fed id: of all layers, or of KVLayers (negative: from the end).
	KV       bool  `json:"kv,omitempty"`
	KVLayers []int `json:"kv_layers,omitempty"`
	// Hidden keeps the residual stream: embed, after each layer, after the last norm. Nodes is a regular expression of
	// further graph nodes to keep.
	Hidden  bool   `json:"hidden,omitempty"`
	Nodes   string `json:"nodes,omitempty"`
	Command string `json:"command,omitempty"` // for the manifest
}

// Record feeds every prompt in one call (or in chunks), then one id per call, and keeps what is asked for.
func Record(ctx context.Context, l *Library, q RecordRequest) (*oracle.Evidence, error) {
	var nodes *regexp.Regexp
	if q.Nodes != "" {
		re, err := regexp.Compile(q.Nodes)
		if err != nil {
			return nil, &CallError{Call: "Record", Detail: "nodes: " + err.Error()}
		}
		nodes = re
	}
	sum, err := fileHash(ctx, q.Model)
	if err != nil {
		return nil, err
	}
	m, err := l.Load(q.Model, ModelOptions{NoRepack: q.NoRepack})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	prompts, err := m.ids(q.Prompts)
	if err != nil {
		return nil, err
	}
	if q.Context.Context == 0 {
		for _, p := range prompts {
			q.Context.Context = max(q.Context.Context, (len(p.IDs)+max(len(p.Produced), q.Tokens)+256)/256*256)
		}
	}
	run := &recording{request: q, model: m, nodes: nodes, scaled: strings.HasPrefix(m.Describe(), "gemma"), rec: oracle.NewRecorder(manifest(l, m, q, prompts, sum), q.Keep)}
	for i := range prompts {
		if err := run.prompt(ctx, i); err != nil {
			return nil, fmt.Errorf("prompt %q: %w", prompts[i].Name, err)
		}
	}
	return run.rec.Evidence()
}

func fileHash(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return f.Read(p)
	})); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// ids tokenises the prompts that came as text.
func (m *Model) ids(in []oracle.Prompt) ([]oracle.Prompt, error) {
	out := append([]oracle.Prompt(nil), in...)
	for i := range out {
		p := &out[i]
		p.Index, p.Extra, p.Forced = nil, nil, len(p.Produced) > 0
		if len(p.IDs) > 0 {
			continue
		}
		if p.Text == "" {
			return nil, &CallError{Call: "Record", Detail: fmt.Sprintf("prompt %q has neither ids nor text; messages are rendered before", p.Name)}
		}
		ids, err := m.Tokenize(p.Text, true, true)
		if err != nil {
			return nil, err
		}
		p.IDs = ids
	}
	if len(out) == 0 {
		return nil, &CallError{Call: "Record", Detail: "no prompts"}
	}
	return out, nil
}

// keyOrder is how the rotary embedding of the model pairs the elements of a key.
func (m *Model) keyOrder() oracle.KeyOrder {
	if m.lib.api.ropeType(m.handle) == 0 {
		return oracle.Adjacent
	}
	return oracle.Halves
}

func manifest(l *Library, m *Model, q RecordRequest, prompts []oracle.Prompt, sum string) oracle.Manifest {
	name := filepath.Base(q.Model)
	batching := "the prompt in one call, then one id per call"
	if q.Chunk > 0 {
		batching = fmt.Sprintf("the prompt in calls of %d ids, then one id per call", q.Chunk)
	}
	i := l.Info()
	return oracle.Manifest{
		Engine: oracle.Engine{Name: "llama.cpp", Version: "v" + strings.TrimPrefix(i.Version, "v") + ", ggml " + i.GGML, Build: "npm " + Package + ", " + i.Backend, Level: variantOf(i.Backend)},
		Compute: oracle.Compute{Device: "cpu", DType: "as the types of the file require (quantised matrices: activations rounded to int8 blocks)", Threads: oracle.Text(strconv.Itoa(q.Context.Threads)),
			KVTypes: oracle.Text(q.Context.KV), FlashAttention: oracle.Text(map[FlashAttention]string{FlashAuto: "auto", FlashOff: "false", FlashOn: "true"}[q.Context.Flash]),
			Batch: oracle.Text(batching), Backend: oracle.Text(i.Backend),
			Extra: map[string]any{"micro_batch": q.Context.microBatch(), "weight_repacking": !q.NoRepack}},
		Checkpoint:   oracle.Checkpoint{Path: name, Files: map[string]string{name: sum}, Vocab: m.Vocab()},
		Tokenizer:    "inside the checkpoint",
		Command:      q.Command,
		KeyOrderName: m.keyOrder().String(),
		Prompts:      prompts,
		Holds:        map[string]any{"bits": "the same build, CPU backend, settings and ids give the same bits, with any number of threads"},
	}
}

func variantOf(backend string) string {
	return strings.TrimSuffix(strings.TrimPrefix(backend, "libggml-cpu-"), ".so")
}

// recording is one run over all prompts.
type recording struct {
	request RecordRequest
	model   *Model
	nodes   *regexp.Regexp
	scaled  bool // the embedding is scaled before layer 0
	rec     *oracle.Recorder
}

func (r *recording) prompt(ctx context.Context, i int) error {
	p := &r.rec.Manifest().Prompts[i]
	c, err := r.context(i)
	if err != nil {
		return err
	}
	defer c.Close()
	chunk := r.request.Chunk
	if chunk <= 0 {
		chunk = len(p.IDs)
	}
	var next int32
	for at := 0; at < len(p.IDs); at += chunk {
		if next, err = r.feed(ctx, c, i, p.IDs[at:min(at+chunk, len(p.IDs))], at); err != nil {
			return err
		}
	}
	given := p.Produced
	steps := r.request.Tokens
	if given != nil {
		steps = len(given)
	}
	produced := make([]int32, 0, steps)
	for g := range steps {
		if given != nil {
			next = given[g]
		}
		produced = append(produced, next)
		if g == steps-1 || given == nil && r.request.StopAtEnd && r.model.IsEnd(next) {
			break
		}
		if next, err = r.feed(ctx, c, i, produced[g:], len(p.IDs)+g); err != nil {
			return err
		}
	}
	r.rec.Produced(i, produced)
	if r.request.KV {
		return r.state(c, i)
	}
	return nil
}

// feed evaluates ids and keeps the row after each of them; it gives the greedy choice after the last one.
func (r *recording) feed(ctx context.Context, c *Context, prompt int, ids []int32, at int) (next int32, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := c.Decode(ids, at, true); err != nil {
		return 0, err
	}
	for j := range ids {
		row, err := c.Logits(j)
		if err != nil {
			return 0, err
		}
		r.rec.Logits(prompt, row)
		if j == len(ids)-1 {
			next = int32(oracle.ArgMax(row))
		}
	}
	return next, nil
}

// DefaultNodes matches the graph nodes that lead from one layer to the next; they repeat for every layer.
const DefaultNodes = `^(attn_norm|Qcur|Kcur|Vcur|kqv_out|attn_out|ffn_inp|ffn_norm|ffn_gate|ffn_up|ffn_swiglu|ffn_out)-\d+$`

func (r *recording) context(prompt int) (*Context, error) {
	if !r.request.Hidden && r.nodes == nil {
		return r.model.NewContext(r.request.Context)
	}
	first, seen := "embd", map[string]int{} // every graph begins with the embedding; names repeat inside of one
	wanted := func(name string) bool {
		return name == first || r.request.Hidden && r.hiddenName(name) != "" || r.nodes != nil && r.nodes.MatchString(name)
	}
	return r.model.newContext(r.request.Context, wanted, func(name, op string, rows, width int, data []float32) {
		if name == first {
			clear(seen)
		}
		to := r.nodeName(name, op, seen)
		for i := 0; i < rows && to != ""; i++ {
			r.rec.Append(prompt, to, data[i*width:(i+1)*width])
		}
	})
}

// nodeName is the tensor that a graph node is kept in, empty when it is not kept: a hidden state, or node.NAME.OP, with a number
// behind it for the second and later ones of the same graph.
func (r *recording) nodeName(name, op string, seen map[string]int) string {
	if to := r.hiddenName(name); to != "" && r.request.Hidden {
		return to
	}
	if r.nodes == nil || !r.nodes.MatchString(name) {
		return ""
	}
	switch op {
	case "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE", "CPY": // the same values once more
		return ""
	}
	to := "node." + name + "." + strings.ToLower(op)
	if seen[to]++; seen[to] > 1 {
		to += "." + strconv.Itoa(seen[to])
	}
	return to
}

var layerOut = regexp.MustCompile(`^l_out-(\d+)$`)

// hiddenName translates the library's node names: "l_out-3" is hidden.L3. The gemma family scales its embedding before layer 0.
func (r *recording) hiddenName(node string) string {
	switch node {
	case "embd", "inp_scaled":
		if (node == "inp_scaled") == r.scaled {
			return "hidden.embed"
		}
		return ""
	case "result_norm":
		return "hidden.final_norm"
	}
	if m := layerOut.FindStringSubmatch(node); m != nil {
		return "hidden.L" + m[1]
	}
	return ""
}

func (r *recording) state(c *Context, prompt int) error {
	caches, err := c.State()
	if err != nil {
		return err
	}
	layers := r.model.Layers()
	if len(caches) != 1 || len(caches[0].K) != layers {
		return &CallError{Call: "Record", Detail: fmt.Sprintf("the state has %d caches: which layer owns which is known only for models with one", len(caches))}
	}
	keep := map[int]bool{}
	for _, n := range r.request.KVLayers {
		if n < 0 {
			n += layers
		}
		keep[n] = true
	}
	heads, n := r.model.KVHeads(), len(caches[0].Positions)
	for layer := range layers {
		if len(keep) > 0 && !keep[layer] {
			continue
		}
		k, v := byHeads(caches[0].K[layer], heads, n), byHeads(caches[0].V[layer], heads, n)
		r.rec.KeyValue(prompt, layer, heads, n, k, v)
	}
	return nil
}
