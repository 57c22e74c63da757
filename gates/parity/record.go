package parity

import (
	"context"
	"fmt"
	"runtime"
	"strconv"

	"assay/engine"
	"assay/engine/kv"
	"assay/engine/tokenizer"
	"assay/kernels/arith"
	"assay/oracle"
)

// RecordOptions say what is recorded of this engine.
type RecordOptions struct {
	Tokens int // ids chosen greedily for prompts without produced ids
	Chunk  int // prompt in pieces; 0: as the engine likes
	KV     kv.Type
	Keep   oracle.Keep
	// State keeps K/V of every layer after the last id, Nodes the residual stream
	// after every layer and the named intermediates of each.
	State, Nodes bool
	Version      string // of this tree
	Command      string // for the manifest
	Progress     func(done, total int)
}

// EngineName signs recordings of this engine.
const EngineName = "assay"

// Record feeds every prompt and keeps what is asked for. Prompts must have ids:
// see Resolve.
func Record(ctx context.Context, m *engine.Model, prompts []oracle.Prompt, o RecordOptions) (*oracle.Evidence, error) {
	manifest, err := manifestOf(m, prompts, o)
	if err != nil {
		return nil, err
	}
	r := &recording{m: m, o: o, rec: oracle.NewRecorder(*manifest, o.Keep)}
	if err := fits(m, prompts, o.Tokens); err != nil {
		return nil, err
	}
	for i := range prompts {
		p := &prompts[i]
		if len(p.Produced) > 0 {
			r.progress.total += p.Rows()
		} else {
			r.progress.total += len(p.IDs) + max(o.Tokens-1, 0)
		}
	}
	r.progress.report = o.Progress
	for i := range prompts {
		if err := r.prompt(ctx, i, &prompts[i]); err != nil {
			return nil, fmt.Errorf("record: prompt %q: %w", prompts[i].Name, err)
		}
	}
	return r.rec.Evidence()
}

// fits refuses prompts that the model cannot be fed, before the first is.
func fits(m *engine.Model, prompts []oracle.Prompt, tokens int) error {
	c := m.Config()
	for i := range prompts {
		p := &prompts[i]
		steps := tokens
		if len(p.Produced) > 0 {
			steps = len(p.Produced)
		}
		if c.Context > 0 && (len(p.IDs) > c.Context || steps > c.Context-len(p.IDs)) {
			return fmt.Errorf("record: prompt %q: %d ids and %d more are more than the %d positions that the model was made for", p.Name, len(p.IDs), steps, c.Context)
		}
		for _, ids := range [][]int32{p.IDs, p.Produced} {
			for at, id := range ids {
				if id < 0 || int(id) >= c.Vocab {
					return fmt.Errorf("record: prompt %q: %w", p.Name, &engine.TokenError{ID: id, Index: at, Vocab: c.Vocab})
				}
			}
		}
	}
	return nil
}

func manifestOf(m *engine.Model, prompts []oracle.Prompt, o RecordOptions) (*oracle.Manifest, error) {
	files, err := m.Checkpoint().Digest()
	if err != nil {
		return nil, err
	}
	list := make([]oracle.Prompt, len(prompts))
	for i := range prompts {
		p := &prompts[i]
		if len(p.IDs) == 0 {
			return nil, fmt.Errorf("record: prompt %q has no ids", p.Name)
		}
		list[i] = oracle.Prompt{Name: p.Name, Text: p.Text, Messages: p.Messages, IDs: p.IDs, Produced: p.Produced, Forced: len(p.Produced) > 0}
	}
	batching := "the prompt at once, then one id per call"
	if o.Chunk > 0 {
		batching = fmt.Sprintf("the prompt in calls of %d ids, then one id per call", o.Chunk)
	}
	return &oracle.Manifest{
		Format: oracle.Format,
		Engine: oracle.Engine{Name: EngineName, Version: o.Version, Build: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH, Level: m.Level().String(),
			Extra: map[string]any{"arithmetic_contract": arith.ContractVersion}},
		Compute: oracle.Compute{Device: "cpu", DType: oracle.Text(dtypeOf(m)), Activations: oracle.Text(m.Activations().String()), Threads: oracle.Text(strconv.Itoa(m.Threads())),
			KVTypes: oracle.Text(o.KV.String()), FlashAttention: "false", Batch: oracle.Text(batching)},
		Checkpoint:   oracle.Checkpoint{Path: m.Checkpoint().Path(), Files: files, Vocab: m.Config().Vocab},
		Tokenizer:    "inside the checkpoint",
		Command:      o.Command,
		KeyOrderName: KeyOrder(m).String(),
		Prompts:      list,
		Holds:        map[string]any{"bits": fmt.Sprintf("the same ids, activations and K/V format give the same bits in every build of contract %d: any CPU level, threads and chunks", arith.ContractVersion)},
	}, nil
}

func dtypeOf(m *engine.Model) string {
	if m.Activations() == engine.Float32 {
		return "float32 activations, weights decoded exactly"
	}
	return "activations rounded to int8 blocks before products with quantised weights, float32 elsewhere"
}

type recording struct {
	m        *engine.Model
	o        RecordOptions
	rec      *oracle.Recorder
	progress progress
}

func (r *recording) prompt(ctx context.Context, i int, p *oracle.Prompt) error {
	steps := len(p.Produced)
	if steps == 0 {
		steps = r.o.Tokens
	}
	s, err := r.m.NewSession(engine.SessionOptions{Context: len(p.IDs) + steps, KV: r.o.KV, Chunk: r.o.Chunk, Observer: r.observer(i)})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Prefill(ctx, p.IDs); err != nil {
		return err
	}
	produced := p.Produced
	for n := range steps {
		if len(p.Produced) == 0 {
			produced = append(produced, s.Choose(greedy))
		}
		if n == steps-1 {
			break // the last id is chosen, not fed
		}
		if err := s.Decode(ctx, produced[n]); err != nil {
			return err
		}
	}
	r.rec.Produced(i, produced)
	if !r.o.State {
		return nil
	}
	c := r.m.Config()
	for l := range c.Layers {
		k, v, n := s.KeyValue(l)
		r.rec.KeyValue(i, l, c.KVHeads, n, k, v)
	}
	return nil
}

func greedy(logits []float32) int32 { return int32(oracle.ArgMax(logits)) }

func (r *recording) observer(i int) *engine.Observer {
	o := &engine.Observer{Logits: func(_ int, row []float32) {
		r.rec.Logits(i, row)
		r.progress.row()
	}}
	if r.o.Nodes {
		o.Hidden = func(layer, _ int, row []float32) { r.rec.Append(i, "hidden."+layerName(layer), row) }
		o.Node = func(name string, layer, _ int, row []float32) {
			r.rec.Append(i, fmt.Sprintf("node.%s-%d", name, layer), row)
		}
	}
	return o
}

// layerName is "embed" for what enters layer 0 and "L3" for what leaves layer 3.
func layerName(layer int) string {
	if layer < 0 {
		return "embed"
	}
	return "L" + strconv.Itoa(layer)
}

// Resolve gives every prompt its ids: text is encoded with what the model wants
// around it, messages are rendered by the model's template.
func Resolve(t *tokenizer.Tokenizer, prompts []oracle.Prompt) error {
	for i := range prompts {
		p := &prompts[i]
		if len(p.IDs) > 0 {
			continue
		}
		text, special := p.Text, true
		if len(p.Messages) > 0 {
			rendered, err := t.RenderChat(messages(p.Messages), tokenizer.ChatOptions{AddGenerationPrompt: true})
			if err != nil {
				return fmt.Errorf("record: prompt %q: %w", p.Name, err)
			}
			text, special = rendered, false // templates write special tokens themselves
		}
		ids, err := t.Encode(text, tokenizer.EncodeOptions{AddSpecial: special, ParseSpecial: true})
		if err != nil {
			return fmt.Errorf("record: prompt %q: %w", p.Name, err)
		}
		if len(ids) == 0 {
			return fmt.Errorf("record: prompt %q is empty", p.Name)
		}
		p.IDs = ids
	}
	return nil
}

func messages(in []oracle.Message) []tokenizer.Message {
	out := make([]tokenizer.Message, len(in))
	for i, m := range in {
		out[i] = tokenizer.Message{Role: m.Role, Content: m.Content}
	}
	return out
}
