package cases

import (
	"context"
	"slices"

	"assay/engine"
	"assay/engine/kv"
	"assay/engine/tokenizer"
)

// EngineHooks judge the engine and its tokenizers. Logits are computed with
// float32 activations and K/V, as the recordings were.
func EngineHooks() Hooks {
	return Hooks{OpenModel: openEngine, OpenTokenizer: openTokenizer}
}

type engineModel struct{ *engine.Model }

func openEngine(path string) (Model, error) {
	m, err := engine.Open(context.Background(), path, engine.Options{Threads: 1, Activations: engine.Float32})
	if err != nil {
		return nil, err
	}
	return engineModel{m}, nil
}

func (m engineModel) Logits(ids []int32) ([]float32, error) {
	s, err := m.NewSession(engine.SessionOptions{KV: kv.F32})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.Prefill(context.Background(), ids); err != nil {
		return nil, err
	}
	return slices.Clone(s.Logits()), nil
}

func (m engineModel) Notes() []string { return m.Config().Notes }

type engineTokenizer struct{ *tokenizer.Tokenizer }

func openTokenizer(path string) (Tokenizer, error) {
	t, err := tokenizer.FromFile(path)
	if err != nil {
		return nil, err
	}
	return engineTokenizer{t}, nil
}

func (t engineTokenizer) Encode(text string, addSpecial bool) ([]int32, error) {
	return t.Tokenizer.Encode(text, tokenizer.EncodeOptions{AddSpecial: addSpecial, ParseSpecial: true})
}

func (t engineTokenizer) Decode(ids []int32) string { return t.Tokenizer.Decode(ids, false) }
