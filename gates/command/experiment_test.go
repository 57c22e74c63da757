package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/gates/bench"
	"assay/gates/experiment"
	"assay/gates/sampling"
	"assay/gates/verdict"
)

const decodeFaster = `name: decode-faster
hypothesis: the candidate decodes faster
mechanism: {about: it skips a loop, counter: fuse}
baseline: {}
candidate: {tuning: fuse=off}
fixture: {embedded: llama-Q4_0.gguf}
workload: {prompt: 8, decode: 2, threads: 1}
preserve: {rung: bits}
target: decode
guard: [prompt]
effect: 0.01
pairs: [12, 24]
seed: 5
`

// stagedExperiments run on invented times: the candidate takes that part of the
// baseline's seconds.
func stagedExperiments(t *testing.T, store string, candidate float64) *experimentFlags {
	t.Helper()
	var all []*experiment.Definition
	for _, text := range []string{decodeFaster, strings.NewReplacer("decode-faster", "not-here", "embedded: llama-Q4_0.gguf", "model: none.gguf, sha256: "+strings.Repeat("a", 64)).Replace(decodeFaster)} {
		d, err := experiment.Parse("staged.yaml", []byte(text))
		require.NoError(t, err)
		all = append(all, d)
	}
	return &experimentFlags{definitions: all, store: store, published: filepath.Join(store, "published"), noise: 12, adapt: func(r *experiment.Runner) {
		r.Machine = experiment.Identity{CPU: "test", Cores: 2}
		r.Identify = nil
		r.Adapt = func(s *sampling.Sampler) {
			n := 0.0
			s.Idle = func(context.Context) (time.Duration, bool) { return 0, true }
			s.Watch = func() func() (float64, float64, bool) { return func() (float64, float64, bool) { return 0, 1, true } }
			s.Take = func(_ context.Context, _ string, a *sampling.Arm) (*bench.Sample, error) {
				n++
				x := 1 + n/1e5
				if a.Job.Tuning != "" {
					x *= candidate
				}
				out := &bench.Sample{Logits: "l", Counters: map[string]int64{"fuse": 1}}
				for _, p := range []string{"load", "prepare", "prompt", "decode", "restore"} {
					out.Timings = append(out.Timings, bench.Timing{Phase: p, Tokens: 2, Seconds: x})
				}
				return out, nil
			}
		}
	}}
}

func experimentRun(t *testing.T, f *experimentFlags, args ...string) (status int, out string) {
	t.Helper()
	var o bytes.Buffer
	s := &shell{out: &o, err: &bytes.Buffer{}}
	require.NoError(t, f.run(t.Context(), s, args))
	return s.status, regexp.MustCompile(`run \d+T\d+-`).ReplaceAllString(o.String(), "run TIME-")
}

func TestExperimentRunsThenStands(t *testing.T) {
	dir := t.TempDir()
	f := stagedExperiments(t, dir, 0.9)
	f.publish, f.goBench = true, filepath.Join(dir, "samples.txt")
	status, out := experimentRun(t, f, "decode-faster")
	assert.Equal(t, statusHeld, status)
	assert.Equal(t, `decode-faster: retained
the candidate decodes faster
┌────────┬────────┬──────────────────┬─────────────┬─────────────────────┐
│ PHASE  │ RATIO  │     INTERVAL     │ NOISE FLOOR │                     │
├────────┼────────┼──────────────────┼─────────────┼─────────────────────┤
│ decode │ 1.1111 │ 1.1111 to 1.1111 │ 0.50 %      │ must improve by 1 % │
│ prompt │ 1.1111 │ 1.1111 to 1.1111 │ 0.50 %      │ must not get worse  │
└────────┴────────┴──────────────────┴─────────────┴─────────────────────┘
retained (decode faster, no phase slower): The decode phase is faster by 11.1 % (at least 11.1 %), beyond the noise floor of 0.5 %, and no other phase is slower.
12 pairs (12 taken, 0 disturbed), all intervals together at a confidence of 97.50 %; run TIME-0, 1 of this registration.

`, out)
	samples, err := os.ReadFile(f.goBench)
	require.NoError(t, err)
	assert.Equal(t, 12, strings.Count(string(samples), "BenchmarkDecode/tokens=2/arm=candidate-1"))
	published, err := (&experiment.Store{Dir: f.published}).Read("decode-faster")
	require.NoError(t, err)
	assert.Len(t, experiment.Records(published), 1)

	again := stagedExperiments(t, dir, 1.2)
	status, out = experimentRun(t, again, "decode-faster")
	assert.Equal(t, statusHeld, status)
	assert.Contains(t, out, "retained", "a verdict that stands is shown, not taken again")

	again = stagedExperiments(t, dir, 1.2)
	again.again = true
	status, out = experimentRun(t, again, "decode-faster")
	assert.Equal(t, statusFailed, status)
	assert.Contains(t, out, "run TIME-1, 2 of this registration", "taking it again is on the record")

	list := stagedExperiments(t, dir, 1)
	status, out = experimentRun(t, list)
	assert.Equal(t, statusHeld, status)
	assert.Equal(t, `┌───────────────┬───────────┬────────┬───────┬────────────────┬───────┬──────┐
│  EXPERIMENT   │   STATE   │ TARGET │ RATIO │    INTERVAL    │ PAIRS │ RUNS │
├───────────────┼───────────┼────────┼───────┼────────────────┼───────┼──────┤
│ decode-faster │ rejected  │ decode │ 0.833 │ 0.833 to 0.833 │ 12    │ 2    │
│ not-here      │ never run │ decode │       │                │       │ 0    │
└───────────────┴───────────┴────────┴───────┴────────────────┴───────┴──────┘
`, out)
}

func TestExperimentsThatCannotRunAreUnanswered(t *testing.T) {
	status, out := experimentRun(t, stagedExperiments(t, t.TempDir(), 0.9), "not-here")
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, out, "void (missing fixture): Not available: none.gguf")

	f := stagedExperiments(t, t.TempDir(), 0.9)
	f.recorded, f.json = true, "-"
	status, out = experimentRun(t, f, "decode-faster")
	assert.Equal(t, statusUnanswered, status)
	var answers []experimentAnswer
	require.NoError(t, json.Unmarshal([]byte(out), &answers))
	assert.Equal(t, "never run", answers[0].State)
	assert.Equal(t, verdict.Void, answers[0].Verdict)

	f = stagedExperiments(t, t.TempDir(), 0.9)
	f.noFloor = true
	status, out = experimentRun(t, f, "decode-faster")
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, out, "no noise floor")

	status, _, errs := typed(t, "experiment", "abacus", "--store", t.TempDir())
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, errs, `no experiment "abacus": there are batch-32`)
}

func TestAllExperimentsRunInOneGo(t *testing.T) {
	f := stagedExperiments(t, t.TempDir(), 1.3)
	f.all = true
	status, out := experimentRun(t, f)
	assert.Equal(t, statusFailed, status, "a rejection weighs more than what is not available")
	assert.Contains(t, out, "decode-faster: rejected")
	assert.Contains(t, out, "not-here: void")
}

func TestInterruptedExperimentsSaySo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := stagedExperiments(t, t.TempDir(), 0.9)
	plain := f.adapt
	f.adapt = func(r *experiment.Runner) {
		plain(r)
		r.Progress = func(p experiment.Progress) {
			if p.Pairs == 3 {
				cancel()
			}
		}
	}
	var errs bytes.Buffer
	s := &shell{out: &bytes.Buffer{}, err: &errs}
	require.NoError(t, f.run(ctx, s, []string{"decode-faster"}))
	assert.Equal(t, statusUnanswered, s.status)
	assert.Contains(t, errs.String(), "what was measured is kept")
}
