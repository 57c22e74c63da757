package bench

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
)

// Job is what one sample does.
type Job struct {
	Model       string  `json:"model"`
	Threads     int     `json:"threads"`
	CPU         string  `json:"cpu"`
	Activations string  `json:"activations"`
	Prompt      []int32 `json:"prompt"`
	Decode      []int32 `json:"decode"` // fed one by one after the prompt

	KV     string `json:"kv,omitempty"`     // f16 (when empty) or f32
	Tuning string `json:"tuning,omitempty"` // knobs of the engine, "key=value,..."
	// Repeat runs the phases after loading this many times, each in a session of its
	// own, and times the median; 0: once.
	Repeat int `json:"repeat,omitempty"`
	// Rows asks for the logits themselves besides their checksum.
	Rows bool `json:"rows,omitempty"`
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
	// Counters prove what ran: tuned mechanisms by knob, and "level.avx2", "kv.f16",
	// "threads.2", "activations.int8" for what the engine was opened with.
	Counters map[string]int64 `json:"counters,omitempty"`
	Rows     []Row            `json:"rows,omitempty"` // after the prompt and after the last id
}

// Row is one row of logits, [vocab]; in JSON little-endian float32 in base64.
type Row []float32

// MarshalText writes what UnmarshalText reads.
func (r Row) MarshalText() ([]byte, error) {
	b := make([]byte, 4*len(r))
	for i, x := range r {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText reads a row back.
func (r *Row) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(b)%4 != 0 {
		return fmt.Errorf("bench: a row of logits is not base64 of float32 values")
	}
	*r = make(Row, len(b)/4)
	for i := range *r {
		(*r)[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
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
