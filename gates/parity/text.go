package parity

import (
	"context"
	"encoding/json"
	"fmt"

	"assay/engine"
	"assay/engine/checkpoint/regular"
	"assay/engine/kv"
	"assay/oracle"
)

// Text is a text as ids with the mean negative log-likelihood, in nats, that
// another engine gives it: id i+1 is scored given ids 0..i.
type Text struct {
	Engine  string  `json:"engine"`
	IDs     []int32 `json:"ids"`
	MeanNLL float64 `json:"mean_nll"`
}

// maxText bounds the size of a text file.
const maxText = 64 << 20

// LoadText reads a JSON file with the keys engine, ids and mean_nll.
func LoadText(path string) (*Text, error) {
	b, err := regular.ReadAny(path, maxText)
	if err != nil {
		return nil, fmt.Errorf("parity: %w", err)
	}
	t := new(Text)
	if err := json.Unmarshal(b, t); err != nil {
		return nil, fmt.Errorf("parity: %s: %w", path, err)
	}
	if len(t.IDs) < 2 || !(t.MeanNLL > 0) {
		return nil, fmt.Errorf("parity: %s: ids (two at least) and mean_nll (above 0) are needed", path)
	}
	return t, nil
}

// Score is the mean negative log-likelihood that a model gives the text.
func (t *Text) Score(ctx context.Context, m *engine.Model, format kv.Type) (float64, error) {
	sum := 0.0
	observer := &engine.Observer{Logits: func(position int, row []float32) {
		if position+1 < len(t.IDs) {
			sum += oracle.NLL(row, t.IDs[position+1])
		}
	}}
	for i, id := range t.IDs {
		if int(id) >= m.Config().Vocab || id < 0 {
			return 0, fmt.Errorf("parity: id %d at %d of the text is outside the vocabulary of %d", id, i, m.Config().Vocab)
		}
	}
	s, err := m.NewSession(engine.SessionOptions{Context: len(t.IDs), KV: format, Observer: observer})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if err := s.Prefill(ctx, t.IDs); err != nil {
		return 0, err
	}
	return sum / float64(len(t.IDs)-1), nil
}
