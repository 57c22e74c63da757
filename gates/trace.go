package gates

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"assay/engine"
	"assay/engine/kv"
	"assay/oracle"
)

// trace is everything that a session computes for some ids: the logits of every
// row, and keys and values of every layer after the last.
type trace struct {
	vocab        int
	logits       []float32   // [rows][vocab]
	keys, values [][]float32 // per layer, [kv heads][positions][head dim]
	heads, width int
}

// oneByOne feeds each id with Decode; another chunk feeds pieces with Prefill.
const oneByOne = 1

// follow feeds ids to a new session and keeps everything.
func follow(ctx context.Context, m *engine.Model, ids []int32, format kv.Type, chunk int) (*trace, error) {
	t := &trace{}
	s, err := m.NewSession(engine.SessionOptions{Context: len(ids), KV: format, Chunk: chunk, Observer: t.observer()})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := feed(ctx, s, ids, chunk); err != nil {
		return nil, err
	}
	t.state(m, s)
	return t, nil
}

func feed(ctx context.Context, s *engine.Session, ids []int32, chunk int) error {
	if chunk != oneByOne {
		return s.Prefill(ctx, ids)
	}
	for _, id := range ids {
		if err := s.Decode(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (t *trace) observer() *engine.Observer {
	return &engine.Observer{Logits: func(_ int, row []float32) {
		t.vocab = len(row)
		t.logits = append(t.logits, row...)
	}}
}

func (t *trace) state(m *engine.Model, s *engine.Session) {
	c := m.Config()
	t.heads, t.width = c.KVHeads, c.HeadDim
	t.keys, t.values = nil, nil
	for l := range c.Layers {
		k, v, _ := s.KeyValue(l)
		t.keys, t.values = append(t.keys, k), append(t.values, v)
	}
}

// logitsSHA256 is the hash of all rows as little-endian float32.
func (t *trace) logitsSHA256() string { return hashFloats(t.logits) }

// layerSHA256 is the hash of the keys and then the values of a layer.
func (t *trace) layerSHA256(l int) string { return hashFloats(t.keys[l], t.values[l]) }

func hashFloats(lists ...[]float32) string {
	h := sha256.New()
	var b [4096]byte
	for _, x := range lists {
		for len(x) > 0 {
			n := min(len(x), len(b)/4)
			for i, v := range x[:n] {
				binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
			}
			h.Write(b[:4*n])
			x = x[n:]
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// equal compares bits and gives, in the order of computation, what differs
// first: nothing when all bits are the same.
func (t *trace) equal(want *trace) ([]string, error) {
	for l := range want.keys {
		for _, x := range []struct {
			name      string
			got, want []float32
		}{{"k", t.keys[l], want.keys[l]}, {"v", t.values[l], want.values[l]}} {
			name := fmt.Sprintf("%s.L%d", x.name, l)
			d, err := oracle.Compare(name, x.got, x.want, oracle.Layout{Layer: l, Heads: t.heads, Positions: len(x.want) / (t.heads * t.width), Width: t.width})
			if err != nil {
				return nil, err
			}
			if d.Differ > 0 {
				return []string{"first tensor with other bits: " + d.String(), "first value with other bits: " + d.First.String()}, nil
			}
		}
	}
	d, err := oracle.Compare("logits", t.logits, want.logits, oracle.Layout{Layer: -1, Positions: len(want.logits) / want.vocab, Width: want.vocab})
	if err != nil {
		return nil, err
	}
	if d.Differ > 0 {
		return []string{"keys and values of every layer are the same, logits are not: the last layer's output, the last norm or the head", d.String(), "first value with other bits: " + d.First.String()}, nil
	}
	return nil, nil
}
