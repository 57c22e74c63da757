package llamacpp

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// BenchRequest says what to time: load, the prompt in one call, then one call per decode id behind it. The ids are given, so
// that another engine can be timed on the same ones.
type BenchRequest struct {
	Model   string         `json:"model"`
	Prompt  []int32        `json:"prompt"`
	Decode  []int32        `json:"decode"`
	Samples int            `json:"samples"`
	Warmup  int            `json:"warmup,omitempty"` // ids fed, untimed, before the first sample
	Context ContextOptions `json:"context"`          // a user gets Flash auto, KV f16
}

// Phase is the wall time of one complete phase, one figure per sample.
type Phase struct {
	Name    string    `json:"phase"` // load, prompt, decode
	Tokens  int       `json:"tokens"`
	Samples []float64 `json:"samples_s"`
}

// BenchResult is what was timed, and of which build.
type BenchResult struct {
	Info    Info    `json:"info"`
	Model   string  `json:"model"` // as the library describes it
	Phases  []Phase `json:"phases"`
	PeakRSS int64   `json:"peak_rss_bytes"` // of the process that ran it
}

// Bench times complete phases. Loading is timed once, until a context is ready; the prompt ends when its last logits are ready.
func Bench(ctx context.Context, l *Library, q BenchRequest) (*BenchResult, error) {
	if len(q.Prompt) == 0 || q.Samples <= 0 {
		return nil, &CallError{Call: "Bench", Detail: fmt.Sprintf("%d prompt ids, %d samples", len(q.Prompt), q.Samples)}
	}
	if q.Context.Context == 0 {
		q.Context.Context = (len(q.Prompt) + len(q.Decode) + 256) / 256 * 256
	}
	start := time.Now()
	m, err := l.Load(q.Model, ModelOptions{})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	c, err := m.NewContext(q.Context)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	load := time.Since(start).Seconds()
	if n := min(q.Warmup, len(q.Prompt)); n > 0 {
		if err := c.Decode(q.Prompt[:n], 0, false); err != nil {
			return nil, err
		}
		c.Wait()
	}
	prompt, decode := Phase{Name: "prompt", Tokens: len(q.Prompt)}, Phase{Name: "decode", Tokens: len(q.Decode)}
	for range q.Samples {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.Clear()
		a, b, err := c.sample(q.Prompt, q.Decode)
		if err != nil {
			return nil, err
		}
		prompt.Samples, decode.Samples = append(prompt.Samples, a), append(decode.Samples, b)
	}
	res := &BenchResult{Info: l.Info(), Model: m.Describe(), PeakRSS: peakRSS(), Phases: []Phase{{Name: "load", Samples: []float64{load}}, prompt}}
	if len(q.Decode) > 0 {
		res.Phases = append(res.Phases, decode)
	}
	return res, nil
}

func (c *Context) sample(prompt, decode []int32) (promptSeconds, decodeSeconds float64, err error) {
	start := time.Now()
	if err := c.Decode(prompt, 0, false); err != nil {
		return 0, 0, err
	}
	c.Wait()
	promptSeconds = time.Since(start).Seconds()
	start = time.Now()
	for i, id := range decode {
		if err := c.Decode([]int32{id}, len(prompt)+i, false); err != nil {
			return 0, 0, err
		}
		c.Wait()
	}
	return promptSeconds, time.Since(start).Seconds(), nil
}

// peakRSS is the largest resident size of this process so far, 0 where the system does not tell.
func peakRSS() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "VmHWM:" {
			kb, _ := strconv.ParseInt(f[1], 10, 64)
			return kb << 10
		}
	}
	return 0
}
