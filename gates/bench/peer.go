package bench

import (
	"context"
	"fmt"

	"assay/oracle/llamacpp"
)

// An Engine takes samples.
type Engine interface {
	Name() string
	Sample(ctx context.Context, j Job) (*Sample, error)
}

// LlamaCpp is the name of the one peer there is.
const LlamaCpp = "llamacpp"

// NewPeer gives a peer by name.
func NewPeer(name string, c *llamacpp.Client) (Engine, error) {
	if name != LlamaCpp {
		return nil, fmt.Errorf("bench: unknown peer %q (%s)", name, LlamaCpp)
	}
	if c == nil {
		c = &llamacpp.Client{}
	}
	return &llama{c}, nil
}

// llama takes samples of llama.cpp as its users run it: flash attention where the
// library finds it good, K/V in F16. Its load includes preparing the weights.
type llama struct{ client *llamacpp.Client }

func (l *llama) Name() string { return LlamaCpp }

func (l *llama) Sample(ctx context.Context, j Job) (*Sample, error) {
	r, err := l.client.Do(ctx, llamacpp.Request{Op: "bench", Bench: &llamacpp.BenchRequest{
		Model: j.Model, Prompt: j.Prompt, Decode: j.Decode, Samples: 1, Warmup: len(j.Prompt),
		Context: llamacpp.ContextOptions{Threads: j.Threads, Flash: llamacpp.FlashAuto, KV: "f16"},
	}})
	if err != nil {
		return nil, err
	}
	if r.Bench == nil {
		return nil, fmt.Errorf("bench: %s answered without times", LlamaCpp)
	}
	s := &Sample{PeakRSS: r.Bench.PeakRSS, Version: fmt.Sprintf("%s, ggml %s, %s", r.Bench.Info.Version, r.Bench.Info.GGML, r.Bench.Info.Backend)}
	for _, p := range r.Bench.Phases {
		if len(p.Samples) != 1 {
			return nil, fmt.Errorf("bench: %s answered %d times of %s, asked was one", LlamaCpp, len(p.Samples), p.Name)
		}
		s.Timings = append(s.Timings, Timing{Phase: p.Name, Tokens: p.Tokens, Seconds: p.Samples[0]})
	}
	return s, nil
}
