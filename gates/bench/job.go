package bench

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"assay/engine"
	"assay/engine/sample"
	"assay/kernels/quant"
)

// Job is what one sample does.
type Job struct {
	Model       string  `json:"model"`
	Threads     int     `json:"threads"`
	CPU         string  `json:"cpu"`
	Activations string  `json:"activations"`
	Prompt      []int32 `json:"prompt"`
	Decode      []int32 `json:"decode"` // fed one by one after the prompt
}

// Timing is one phase of one sample.
type Timing struct {
	Phase   string  `json:"phase"`
	Tokens  int     `json:"tokens"`
	Seconds float64 `json:"seconds"`
}

// Sample is what one engine did once.
type Sample struct {
	Version string   `json:"version,omitempty"`
	Timings []Timing `json:"timings"`
	PeakRSS int64    `json:"peak_rss_bytes"` // of the process
	Logits  string   `json:"logits_sha256,omitempty"`
	Work    *Work    `json:"work,omitempty"`
}

// Work is what evaluating a token costs.
type Work struct {
	Bytes int `json:"bytes"` // of weights read
	// MACs are the multiply-adds of the matrices; HeadMACs, those of the output head
	// among them, are needed for the last token of a prompt only.
	MACs     int  `json:"macs"`
	HeadMACs int  `json:"head_macs"`
	Int8     bool `json:"int8"` // every product is one of int8
}

// PromptMACs are the multiply-adds of a prompt: the head is evaluated once.
func (w *Work) PromptMACs(tokens int) float64 {
	return float64(tokens)*float64(w.MACs-w.HeadMACs) + float64(w.HeadMACs)
}

// Once takes one sample of the engine in this process.
func Once(ctx context.Context, j Job) (_ *Sample, err error) {
	a, err := engine.ParseActivations(j.Activations)
	if err != nil {
		return nil, err
	}
	m, err := engine.Open(ctx, j.Model, engine.Options{Threads: j.Threads, Activations: a, CPU: j.CPU})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := warm(ctx, m, j); err != nil {
		return nil, err
	}
	phases, sum, err := feed(ctx, m, j)
	if err != nil {
		return nil, err
	}
	s := &Sample{Logits: sum, PeakRSS: peakRSS(), Work: workOf(m)}
	for _, p := range append(m.LoadPhases(), phases...) {
		s.Timings = append(s.Timings, Timing{Phase: p.Name, Tokens: p.Tokens, Seconds: p.Duration.Seconds()})
	}
	return s, nil
}

func warm(ctx context.Context, m *engine.Model, j Job) error {
	s, err := m.NewSession(engine.SessionOptions{Context: len(j.Prompt)})
	if err != nil {
		return err
	}
	return errors.Join(s.Prefill(ctx, j.Prompt), s.Close())
}

// feed runs the timed phases in a fresh session and gives the checksum of the
// logits after the prompt and after the last id.
func feed(ctx context.Context, m *engine.Model, j Job) (phases []engine.Phase, sum string, err error) {
	s, err := m.NewSession(engine.SessionOptions{Context: len(j.Prompt) + len(j.Decode)})
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Prefill(ctx, j.Prompt); err != nil {
		return nil, "", err
	}
	s.Choose(greedy)
	h := sha256.New()
	prompted := slices.Clone(s.Logits())
	_ = binary.Write(h, binary.LittleEndian, prompted)
	snapshot := s.Checkpoint()
	var first []float32
	for i, id := range j.Decode {
		if err := s.Decode(ctx, id); err != nil {
			return nil, "", err
		}
		if i == 0 {
			first = slices.Clone(s.Logits())
		}
	}
	_ = binary.Write(h, binary.LittleEndian, s.Logits())
	if err := s.Restore(snapshot); err != nil {
		return nil, "", err
	}
	phases = s.Phases()
	if err := sameBits("after restoring", s.Logits(), prompted); err != nil {
		return nil, "", err
	}
	if first != nil {
		if err := s.Decode(ctx, j.Decode[0]); err != nil {
			return nil, "", err
		}
		if err := sameBits("one id after restoring", s.Logits(), first); err != nil {
			return nil, "", err
		}
	}
	return phases, hex.EncodeToString(h.Sum(nil)), nil
}

func greedy(logits []float32) int32 {
	id, _ := sample.Greedy(logits) // what is fed is given; logits that are no numbers show in the checksum
	return id
}

// ParityError says that the engine gave other bits while it was timed, which makes
// the timing void.
type ParityError struct {
	Where string
	What  string
}

func (e *ParityError) Error() string {
	return fmt.Sprintf("bench: the timing is void: %s, %s", e.Where, e.What)
}

func sameBits(where string, got, want []float32) error {
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return &ParityError{Where: where, What: fmt.Sprintf("logit %d is %v and was %v", i, got[i], want[i])}
		}
	}
	return nil
}

func workOf(m *engine.Model) *Work {
	c := m.Config()
	w := &Work{HeadMACs: c.Vocab * c.Hidden, Int8: m.Activations() == engine.Int8}
	w.Bytes, w.MACs = m.Work()
	for _, float := range []quant.Type{quant.F32, quant.F16, quant.BF16} {
		if _, used := m.Kernels()[float.String()]; used {
			w.Int8 = false
		}
	}
	return w
}
