package command

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/gates/bench"
	"assay/gates/sampling"
	"assay/gates/selftest"
)

func TestSeededFaultsAreCaught(t *testing.T) {
	timed := map[string]bool{}
	for _, f := range selftest.Faults() {
		timed[f.Name] = f.Where == "experiment"
	}
	rows, err := selftest.Run(t.Context(), selftest.Options{Only: func(name string) bool { return !timed[name] }})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(rows), 7)
	for _, r := range rows {
		require.NoError(t, r.Err, r.Name)
		assert.True(t, r.Caught, "%s: %s, exit %d: %s", r.Name, r.Answer, r.Finding.Status, r.Detail)
	}
}

func TestMissedFaultsFailTheSelfTest(t *testing.T) {
	var out bytes.Buffer
	s := &shell{out: &out, err: &bytes.Buffer{}}
	var f selftestFlags
	rows := []selftest.Row{{Fault: selftest.Fault{Name: "found", Expect: "void", Status: 2}, Finding: selftest.Finding{Answer: "void", Status: 2}, Caught: true}}
	require.NoError(t, f.write(s, rows))
	assert.Equal(t, statusHeld, s.status)
	rows = append(rows, selftest.Row{Fault: selftest.Fault{Name: "not seeded"}, Err: os.ErrNotExist})
	require.NoError(t, f.write(s, rows))
	assert.Equal(t, statusUnanswered, s.status)
	rows = append(rows, selftest.Row{Fault: selftest.Fault{Name: "missed", Expect: "rejected", Status: 1}, Finding: selftest.Finding{Answer: "level"}})
	require.NoError(t, f.write(s, rows))
	assert.Equal(t, statusFailed, s.status)
	assert.Contains(t, out.String(), "1 of 3 faults caught")
}

func TestTrustIsMeasuredIntoItsDocument(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.md")
	require.NoError(t, os.WriteFile(path, []byte("before\n"+selftest.BeginMark+"old"+selftest.EndMark+"\nafter\n"), 0o644))
	var out bytes.Buffer
	s := &shell{out: &out, err: &bytes.Buffer{}}
	f := selftestFlags{trust: path, trials: 5, slowPairs: 60, simulated: 20, share: 1}
	f.options.Adapt = noisyButFair
	require.NoError(t, f.run(t.Context(), s))
	assert.Equal(t, statusHeld, s.status, out.String())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(b), "before\n"+selftest.BeginMark)
	assert.Contains(t, string(b), selftest.EndMark+"\nafter\n")
	assert.NotContains(t, string(b), "old")
	assert.Regexp(t, `\| real \| 5 \| \d \| \d \| 0 \| 0 \| 0 \| 0.00 % \|`, string(b))
	assert.Contains(t, string(b), "| simulated, drawn from the real pairs | 20 |")
	assert.Regexp(t, `\| 5 % \| 5\.\d % \| (\d+) of \d+ \(100.00 %\) \| 20 of 20`, string(b))
}

// noisyButFair invents samples with a little noise, slower by the part that the
// knob says.
func noisyButFair(s *sampling.Sampler) {
	random := rand.New(rand.NewPCG(1, 2))
	s.Idle = func(context.Context) (time.Duration, bool) { return 0, true }
	s.Watch = func() func() (float64, float64, bool) { return func() (float64, float64, bool) { return 0, 1, true } }
	s.Take = func(_ context.Context, _ string, a *sampling.Arm) (*bench.Sample, error) {
		part, err := strconv.ParseFloat(strings.TrimPrefix(a.Job.Tuning, "slow="), 64)
		if err != nil {
			return nil, err
		}
		x := (1 + part) * (1 + 0.01*random.NormFloat64())
		return &bench.Sample{Logits: "l", Counters: map[string]int64{"slow": 1}, Timings: []bench.Timing{{Phase: "prompt", Tokens: 1, Seconds: x}, {Phase: "decode", Tokens: 1, Seconds: x}}}, nil
	}
}
