package experiment

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/gates/bench"
	"assay/gates/experiments"
	"assay/gates/sampling"
	"assay/gates/verdict"
	"assay/kernels/cpu"
)

// writerVariable makes the test binary run an experiment without end, to be killed.
const writerVariable = "ASSAY_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerVariable); dir != "" {
		r := runner(dir)
		r.Adapt = func(s *sampling.Sampler) { scripted(s, 0.9) }
		d, err := Parse("endless.yaml", []byte(strings.Replace(small, "[6]", "[100000]", 1)))
		if err == nil {
			_, err = r.Run(context.Background(), d)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if len(os.Args) == 2 && os.Args[1] == bench.ChildArgument {
		if err := bench.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const small = `name: small
hypothesis: a test
mechanism: {about: a knob, counter: fuse}
baseline: {}
candidate: {tuning: fuse=off}
fixture: {embedded: llama-Q4_0.gguf}
workload: {prompt: 8, decode: 2, threads: 1}
preserve: {rung: bits}
target: decode
guard: []
effect: 0.01
pairs: [6]
seed: 5
`

func parsed(t *testing.T, changes ...string) *Definition {
	t.Helper()
	d, err := Parse("small.yaml", []byte(strings.NewReplacer(changes...).Replace(small)))
	require.NoError(t, err)
	return d
}

// runner runs experiments in a folder, with a floor that never needs samples.
func runner(dir string) *Runner {
	r := &Runner{Store: &Store{dir}, Machine: Identity{CPU: "test", Cores: 2}, Version: "v", Rules: sampling.Rules{Share: 1e9, Attempts: 1}}
	w, err := r.Store.Append(floorsName)
	if err != nil {
		panic(err)
	}
	defer w.Close()
	for _, f := range []string{"db3c9543ad10/prompt=8/decode=2/threads=1/repeat=1"} {
		if err := w.Write(&Line{Floor: &Floor{Machine: r.Machine.ID(), Workload: f, Phases: map[string]float64{"decode": 0.02, "prompt": 0.02, "restore": 0.02, "load+prepare": 0.02}}}); err != nil {
			panic(err)
		}
	}
	return r
}

// scripted makes a sampler invent times: the candidate takes so many times the
// seconds of the baseline.
func scripted(s *sampling.Sampler, candidate float64) {
	n := 0.0
	s.Idle = func(context.Context) (time.Duration, bool) { return 0, true }
	s.Take = func(_ context.Context, arm string, _ *sampling.Arm) (*bench.Sample, error) {
		n++
		x := 1 + n/1e6
		if arm == "B" {
			x *= candidate
		}
		out := &bench.Sample{Logits: "l", Counters: map[string]int64{"fuse": 1}}
		for _, p := range []string{"load", "prepare", "prompt", "decode", "restore"} {
			out.Timings = append(out.Timings, bench.Timing{Phase: p, Tokens: 2, Seconds: x})
		}
		return out, nil
	}
}

func TestExperimentsRunToTheVerdictOfTheirNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		candidate float64
		change    func(*bench.Sample, string)
		verdict   verdict.Verdict
		rule      string
		pairs     int
	}{
		"faster":                {0.9, nil, verdict.Retained, "decode faster", 6},
		"slower":                {1.1, nil, verdict.Rejected, "decode slower", 6},
		"equal":                 {1.001, nil, verdict.Level, "within the noise floor", 6},
		"mechanism did not run": {0.9, func(s *bench.Sample, _ string) { s.Counters = nil }, verdict.Void, "mechanism did not run", 6},
		"other bits": {0.9, func(s *bench.Sample, arm string) {
			if arm == "B" {
				s.Logits = "x"
			}
		}, verdict.Rejected, "parity broken", 1},
		"other work": {0.9, func(s *bench.Sample, arm string) {
			if arm == "B" {
				s.Timings[3].Tokens = 1
			}
		}, verdict.Void, "token counts differ", 6},
		"no time": {0, nil, verdict.Void, "finite and positive", 6},
	} {
		t.Run(name, func(t *testing.T) {
			r := runner(t.TempDir())
			r.Adapt = func(s *sampling.Sampler) {
				scripted(s, c.candidate)
				plain := s.Take
				s.Take = func(ctx context.Context, arm string, a *sampling.Arm) (*bench.Sample, error) {
					x, err := plain(ctx, arm, a)
					if c.change != nil {
						c.change(x, arm)
					}
					return x, err
				}
			}
			rec, err := r.Run(t.Context(), parsed(t))
			require.NoError(t, err)
			assert.Equal(t, c.verdict, rec.Outcome.Verdict, rec.Outcome.Sentence)
			assert.Contains(t, rec.Outcome.Rule, c.rule)
			assert.Equal(t, c.pairs, rec.Outcome.Pairs)
			lines, err := r.Store.Read("small")
			require.NoError(t, err)
			all := Records(lines)
			require.Len(t, all, 1)
			assert.Equal(t, rec.Outcome.Verdict, all[0].Outcome.Verdict)
			assert.Len(t, all[0].Pairs, c.pairs)
			assert.Len(t, all[0].Looks, 1)
			assert.Equal(t, small, all[0].Registration.Text)
		})
	}
}

func TestRegisteredEffectMustBeReached(t *testing.T) {
	for effect, want := range map[string]verdict.Verdict{"0.05": verdict.Retained, "0.3": verdict.Level, "0.11112": verdict.Ambiguous} {
		r := runner(t.TempDir())
		r.Adapt = func(s *sampling.Sampler) { scripted(s, 0.9) }
		rec, err := r.Run(t.Context(), parsed(t, "effect: 0.01", "effect: "+effect))
		require.NoError(t, err)
		if want == verdict.Ambiguous {
			assert.NotEqual(t, verdict.Retained, rec.Outcome.Verdict)
			continue
		}
		assert.Equal(t, want, rec.Outcome.Verdict, "%s: %s", effect, rec.Outcome.Sentence)
	}
}

func TestBusyMachinesAndMissingThingsAreVoid(t *testing.T) {
	r := runner(t.TempDir())
	r.Adapt = func(s *sampling.Sampler) {
		scripted(s, 0.9)
		s.Idle = func(context.Context) (time.Duration, bool) { return 0, false }
	}
	rec, err := r.Run(t.Context(), parsed(t, "[6]", "[48]"))
	require.NoError(t, err)
	assert.Equal(t, "machine busy", rec.Outcome.Rule)
	assert.Less(t, rec.Outcome.Pairs, 20, "it does not wait for the last pair")

	rec, err = runner(t.TempDir()).Run(t.Context(), parsed(t, "embedded: llama-Q4_0.gguf", "model: none.gguf, sha256: "+strings.Repeat("a", 64)))
	require.NoError(t, err)
	assert.Equal(t, verdict.Void, rec.Outcome.Verdict)
	assert.Contains(t, rec.Outcome.Sentence, "ASSAY_MODELS")
	assert.Empty(t, rec.Run, "nothing ran, nothing is recorded")

	r = runner(t.TempDir())
	r.NoisePairs = -1
	rec, err = r.Run(t.Context(), parsed(t, "decode: 2", "decode: 3"))
	require.NoError(t, err)
	assert.Equal(t, "no noise floor", rec.Outcome.Rule)

	r.Identify = func() Identity { return Identity{CPU: "another"} }
	r.Adapt = func(s *sampling.Sampler) { scripted(s, 0.9) }
	rec, err = r.Run(t.Context(), parsed(t))
	require.NoError(t, err)
	assert.Equal(t, "machine changed", rec.Outcome.Rule)
}

func TestFloorsAreMeasuredOnceForAWorkload(t *testing.T) {
	r := runner(t.TempDir())
	taken := 0
	r.NoisePairs = 12
	r.Adapt = func(s *sampling.Sampler) {
		scripted(s, 0.9)
		plain := s.Take
		s.Take = func(ctx context.Context, arm string, a *sampling.Arm) (*bench.Sample, error) {
			taken++
			return plain(ctx, arm, a)
		}
	}
	d := parsed(t, "decode: 2", "decode: 3")
	_, err := r.Run(t.Context(), d)
	require.NoError(t, err)
	assert.Equal(t, 2*(1+12)+2*(1+6), taken, "the floor, then the experiment, each with a pair to warm up")
	f, err := r.Store.floor(r.Machine.ID(), d.workloadKey("db3c9543ad10"))
	require.NoError(t, err)
	assert.InDelta(t, 0.11, f.Phases["decode"], 0.01)
	taken = 0
	_, err = r.Run(t.Context(), d)
	require.NoError(t, err)
	assert.Equal(t, 2*(1+6), taken)
}

func TestStatesOfRecords(t *testing.T) {
	r := runner(t.TempDir())
	r.Adapt = func(s *sampling.Sampler) { scripted(s, 0.9) }
	d := parsed(t)
	state := func(d *Definition) *State {
		lines, err := r.Store.Read(d.Name)
		require.NoError(t, err)
		return r.State(d, Records(lines))
	}
	assert.Equal(t, NeverRun, state(d).Word)
	_, err := r.Run(t.Context(), d)
	require.NoError(t, err)
	s := state(d)
	assert.Equal(t, "retained", s.Word)
	assert.True(t, s.Current())
	assert.Equal(t, 1, s.Runs)

	edited := state(parsed(t, "effect: 0.01", "effect: 0.02"))
	assert.Equal(t, Edited, edited.Word)
	assert.Equal(t, verdict.Stale, edited.Verdict)
	assert.Contains(t, edited.Why, "then was retained")
	assert.False(t, edited.Current())

	self := r.self
	r.self = "another"
	assert.Equal(t, "stale", state(d).Word)
	assert.Contains(t, state(d).Why, "binary")
	r.self = self
	r.Machine.CPU = "another"
	elsewhere := state(d)
	assert.Equal(t, NeverRun, elsewhere.Word, "a record of another machine decides nothing here")
	assert.Equal(t, []string{"retained on test"}, elsewhere.Others)
}

func TestRevisionsAreBuiltRunAndRemoved(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	r := runner(t.TempDir())
	built, removed := []string{}, 0
	r.Build = func(_ context.Context, name string) (string, string, func() error, error) {
		built = append(built, name)
		return self, "sha of " + name, func() error { removed++; return nil }, nil
	}
	d := parsed(t, "{about: a knob, counter: fuse}", "{about: a commit}", "baseline: {}", "baseline: {revision: old}", "{tuning: fuse=off}", "{revision: new}")
	rec, err := r.Run(t.Context(), d)
	require.NoError(t, err)
	assert.Equal(t, []string{"old", "new"}, built)
	assert.Equal(t, 2, removed)
	assert.Equal(t, "sha of new", rec.Registration.Binaries.CandidateRevision)
	assert.Len(t, rec.Pairs, 6, "real samples, in processes of their own")
	assert.NotEqual(t, verdict.Void, rec.Outcome.Verdict, rec.Outcome.Sentence)

	r.Build = nil
	rec, err = r.Run(t.Context(), d)
	require.NoError(t, err)
	assert.Contains(t, rec.Outcome.Sentence, "no source tree")
}

func TestInterruptedRunsGoOn(t *testing.T) {
	r := runner(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	r.Adapt = func(s *sampling.Sampler) {
		scripted(s, 0.9)
		plain := s.Take
		s.Take = func(ctx context.Context, arm string, a *sampling.Arm) (*bench.Sample, error) {
			if n++; n == 9 { // the warm-up, three pairs, and half of one
				cancel()
				return nil, ctx.Err()
			}
			return plain(ctx, arm, a)
		}
	}
	d := parsed(t)
	_, err := r.Run(ctx, d)
	require.ErrorIs(t, err, context.Canceled)
	lines, err := r.Store.Read(d.Name)
	require.NoError(t, err)
	assert.Equal(t, Interrupted, r.State(d, Records(lines)).Word)
	rec, err := r.Run(t.Context(), d)
	require.NoError(t, err)
	assert.Len(t, rec.Pairs, 6)
	assert.Equal(t, 8+1+2*(1+3), n, "three pairs were kept, three were taken")

	lines, err = r.Store.Read(d.Name)
	require.NoError(t, err)
	assert.Len(t, Records(lines), 1, "it is one run")
}

func TestStoresSurviveBeingKilledAnywhere(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	dir, temp := t.TempDir(), t.TempDir()
	store := &Store{dir}
	before := 0
	for i := range 20 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), writerVariable+"="+dir, "TMPDIR="+temp) // a killed process leaves its files behind
		require.NoError(t, cmd.Start())
		// Wait until it has written some more, a different number each time, then kill it.
		want := before + 1 + (i*7)%13
		deadline := time.Now().Add(30 * time.Second)
		for pairsOf(t, store) < want {
			require.True(t, time.Now().Before(deadline), "the writer does not write")
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		after := pairsOf(t, store)
		require.GreaterOrEqual(t, after, want, "what was there stays there")
		before = after
	}
	lines, err := store.Read("small")
	require.NoError(t, err)
	all := Records(lines)
	require.Len(t, all, 1, "each process went on with the run of the one before")
	for i, p := range all[0].Pairs {
		require.Equal(t, i, p.Index, "no pair is lost or doubled")
	}
}

func pairsOf(t *testing.T, s *Store) int {
	lines, err := s.Read("small")
	require.NoError(t, err, "the store is readable at any moment")
	n := 0
	for i := range lines {
		if lines[i].Pair != nil {
			n++
		}
	}
	return n
}

func TestTornLinesAreCutOff(t *testing.T) {
	s := &Store{t.TempDir()}
	w, err := s.Append("x")
	require.NoError(t, err)
	require.NoError(t, w.Write(&Line{Run: "1", Registration: &Registration{}}))
	_, err = s.Append("x")
	var busy *BusyError
	require.ErrorAs(t, err, &busy, "only one may write")
	require.NoError(t, w.Close())
	path := filepath.Join(s.Dir, "x.jsonl")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for cut := range len(b) {
		require.NoError(t, os.WriteFile(path, append(b[:len(b):len(b)], b[:cut]...), 0o644))
		lines, err := s.Read("x")
		require.NoError(t, err, "cut at %d", cut)
		assert.Len(t, lines, 1)
		w, err := s.Append("x")
		require.NoError(t, err)
		require.NoError(t, w.Write(&Line{Run: "2"}))
		require.NoError(t, w.Close())
		lines, err = s.Read("x")
		require.NoError(t, err)
		assert.Len(t, lines, 2)
	}
	require.NoError(t, os.WriteFile(path, []byte("not JSON\n"+string(b)), 0o644))
	_, err = s.Read("x")
	assert.ErrorContains(t, err, "line 1", "damage that no kill can do is named")
}

func TestDefinitionsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"name: small", "name: Small One", "lower-case"},
		{"hypothesis: a test", "hypothesis: ''", "hypothesis"},
		{", counter: fuse", "", "nothing proves"},
		{"{tuning: fuse=off}", "{}", "the same"},
		{"{tuning: fuse=off}", "{tuning: fuse=on}", "fuse=off"},
		{"{embedded: llama-Q4_0.gguf}", "{}", "embedded or model"},
		{"{embedded: llama-Q4_0.gguf}", "{model: x.gguf}", "sha256"},
		{"prompt: 8", "prompt: 0", "workload"},
		{"rung: bits", "rung: kl", "preserve"},
		{"rung: bits", "rung: bits, tolerance: 1", "preserve"},
		{"target: decode", "target: lunch", "lunch"},
		{"guard: []", "guard: [decode]", "twice"},
		{"effect: 0.01", "effect: 2", "effect"},
		{"pairs: [6]", "pairs: [5]", "5 pairs"},
		{"seed: 5", "seeds: 5", "seeds"},
		{"seed: 5\n", "seed: 5\n---\nname: x\n", "document"},
	} {
		_, err := Parse("x.yaml", []byte(strings.Replace(small, c.old, c.new, 1)))
		assert.ErrorContains(t, err, c.want, c.new)
	}
}

func TestEveryExperimentsMechanismRunsAndPreserves(t *testing.T) {
	all, err := Load(experiments.Files)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 10)
	level, err := cpu.Default()
	require.NoError(t, err)
	for _, d := range all {
		t.Run(d.Name, func(t *testing.T) {
			if d.Mechanism.Counter == "prefetch" && level == cpu.Scalar {
				t.Skip("plain Go has no prefetch to leave out")
			}
			// The embedded model stands in for real ones: the knobs are the same.
			d.Fixture = Fixture{Embedded: "llama-Q4_0.gguf"}
			d.Workload.Decode, d.Workload.Repeat = 2, 0
			r := runner(t.TempDir())
			a, err := r.arms(t.Context(), d)
			if err != nil {
				t.Skip(err) // a level that this machine lacks
			}
			defer a.Close()
			s := &sampling.Sampler{A: a.a, B: a.b, Rules: r.rules(d)}
			s.Rules.Distance *= 10 // tolerances are those of the real model
			s.Idle = func(context.Context) (time.Duration, bool) { return 0, true }
			s.Take = func(ctx context.Context, _ string, arm *sampling.Arm) (*bench.Sample, error) {
				return bench.Once(ctx, arm.Job)
			}
			require.NoError(t, s.Pair(t.Context(), 0, func(p sampling.Pair) error {
				require.Empty(t, p.Broken)
				assert.Positive(t, p.B.Counters[d.Mechanism.Counter], strconv.Quote(d.Mechanism.Counter))
				assert.Zero(t, p.A.Counters[d.Mechanism.Counter], "the baseline does not have it")
				return nil
			}))
		})
	}
}
