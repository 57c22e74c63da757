package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"assay/engine"
)

// Format is the value of the field "format" of what --json writes.
const Format = "assay-generation/1"

// result is what --json writes.
type result struct {
	Format       string  `json:"format"`
	Model        string  `json:"model"`
	Family       string  `json:"family"`
	Level        string  `json:"level"`
	Threads      int     `json:"threads"`
	Activations  string  `json:"activations"`
	Temperature  float32 `json:"temperature"`
	Seed         *uint64 `json:"seed,omitempty"` // where ids were drawn
	Chat         bool    `json:"chat"`           // the prompt was written in the model's template
	PromptIDs    []int32 `json:"prompt_ids"`     // as fed
	IDs          []int32 `json:"ids"`            // as chosen, the one that ended the turn included
	Text         string  `json:"text"`           // without special tokens
	FinishReason string  `json:"finish_reason"`  // "stop", "length" or "interrupted"
	Phases       []phase `json:"phases"`
}

type phase struct {
	Phase           string  `json:"phase"`
	Tokens          int     `json:"tokens"`
	Seconds         float64 `json:"seconds"`
	TokensPerSecond float64 `json:"tokens_per_s,omitempty"`
}

// describe notes how the model runs.
func (r *result) describe(m *engine.Model, o *options) {
	r.Model, r.Family = o.model, m.Config().Family
	r.Level, r.Threads, r.Activations = m.Level().String(), m.Threads(), m.Activations().String()
	r.Temperature = o.temperature
	if o.temperature > 0 {
		r.Seed = &o.seed
	}
	r.Phases = phases(m.LoadPhases())
}

func phases(timed []engine.Phase) []phase {
	list := []phase{}
	for _, p := range timed {
		s := p.Duration.Seconds()
		entry := phase{Phase: p.Name, Tokens: p.Tokens, Seconds: s}
		if p.Tokens > 0 && s > 0 && p.Name != engine.PhaseBoundary {
			entry.TokensPerSecond = float64(p.Tokens) / s
		}
		list = append(list, entry)
	}
	return list
}

// report writes the speeds for people and, where asked, the JSON.
func (r *result) report(o *options, stdout, stderr io.Writer) error {
	for _, note := range o.notes {
		fmt.Fprintf(stderr, "llmgen: %s\n", note)
	}
	fmt.Fprintln(stderr, r.summary())
	if o.json == "" {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	var err error
	if o.json == "-" {
		_, err = stdout.Write(b.Bytes())
	} else {
		err = os.WriteFile(o.json, b.Bytes(), 0o666)
	}
	if err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	return nil
}

// summary is one line: phases, why it ended, how it ran.
func (r *result) summary() string {
	var parts []string
	for _, p := range r.Phases {
		switch {
		case p.TokensPerSecond > 0:
			parts = append(parts, fmt.Sprintf("%s %d tokens, %.1f/s", p.Phase, p.Tokens, p.TokensPerSecond))
		default:
			d := time.Duration(p.Seconds * float64(time.Second))
			parts = append(parts, fmt.Sprintf("%s %.1f ms", p.Phase, float64(d.Microseconds())/1e3))
		}
	}
	parts = append(parts, r.FinishReason)
	if r.Level != "" {
		parts = append(parts, fmt.Sprintf("%s, %s, %d threads", r.Level, r.Activations, r.Threads))
	}
	if r.Seed != nil {
		parts = append(parts, fmt.Sprintf("seed %d", *r.Seed))
	}
	return "[" + strings.Join(parts, " | ") + "]"
}
