package compare

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/fixtures"
	"assay/gates/bench"
	"assay/gates/experiment"
	"assay/gates/sampling"
	"assay/gates/verdict"
	"assay/snapshots"
)

func results(list ...snapshots.Result) *snapshots.Report { return &snapshots.Report{Results: list} }

func result(gate string, v snapshots.Verdict, value string) snapshots.Result {
	return snapshots.Result{Gate: gate, Check: "x", Fixture: "f", Verdict: v, Value: value}
}

func TestVerdictsOfChecksAreHeldAgainstEachOther(t *testing.T) {
	const none = snapshots.Verdict("")
	for _, c := range []struct {
		before, now snapshots.Verdict
		worse       bool
		changed     bool
	}{
		{snapshots.Held, snapshots.Held, false, false},
		{snapshots.Held, snapshots.Failed, true, true},
		{snapshots.Held, snapshots.Void, true, true},
		{snapshots.Held, snapshots.Skipped, true, true},
		{snapshots.Held, snapshots.Missing, true, true},
		{snapshots.Held, none, false, true},
		{snapshots.Failed, snapshots.Held, false, true},
		{snapshots.Failed, snapshots.Failed, false, false},
		{snapshots.Void, snapshots.Failed, true, true},
		{snapshots.Skipped, snapshots.Void, false, true},
		{none, snapshots.Held, false, true},
		{none, snapshots.Failed, true, true},
		{none, snapshots.Void, true, true},
		{none, snapshots.Skipped, false, true},
	} {
		var a, b []snapshots.Result
		if c.before != none {
			a = append(a, result("g", c.before, "1"))
		}
		if c.now != none {
			b = append(b, result("g", c.now, "1"))
		}
		g := diff(results(a...), results(b...))
		assert.Equal(t, c.changed, len(g.Changes) == 1, "%q -> %q", c.before, c.now)
		assert.Equal(t, c.worse, g.Worse == 1, "%q -> %q", c.before, c.now)
	}
}

func TestChecksOfOneNameAreComparedInTheirOrder(t *testing.T) {
	a := results(result("g", snapshots.Held, "1"), result("g", snapshots.Held, "2"))
	b := results(result("g", snapshots.Held, "1"), result("g", snapshots.Failed, "2"))
	g := diff(a, b)
	assert.Equal(t, 2, g.Both)
	assert.Equal(t, 1, g.Worse)
	b.Results[1] = result("g", snapshots.Held, "3")
	g = diff(a, b)
	assert.Zero(t, g.Worse)
	assert.Equal(t, 1, g.Values)
	timing := results(snapshots.Result{Gate: "g", Check: "phases", Value: "9 ms", Verdict: snapshots.Held})
	assert.Zero(t, diff(timing, results()).Both, "times are compared by pairs")
}

func TestGoldenBitsMayChangeWithTheContractOnly(t *testing.T) {
	now := string(fixtures.Golden)
	g, err := compareGolden([]byte(now), []byte(now))
	require.NoError(t, err)
	assert.Positive(t, g.Same)
	assert.True(t, g.SameContract())
	assert.False(t, g.Broken())

	file := func(contract, logits, prompt string) []byte {
		return []byte("contract: " + contract + "\nnews: 1\nprompts: {p: [" + prompt + "]}\nentries:\n- {model: m, activations: int8, kv: f16, prompt: p, logits: " + logits + "}\n")
	}
	for _, c := range []struct {
		name                   string
		a, b                   []byte
		same, differ, oneSided int
		broken                 bool
	}{
		{"bits", file("1", "aa", "1"), file("1", "bb", "1"), 0, 1, 0, true},
		{"contract", file("1", "aa", "1"), file("2", "bb", "1"), 0, 1, 0, false},
		{"ids", file("1", "aa", "1"), file("1", "bb", "2"), 0, 0, 2, false},
		{"none before", nil, file("1", "bb", "2"), 0, 0, 1, false},
		{"none", nil, nil, 0, 0, 0, false},
	} {
		g, err := compareGolden(c.a, c.b)
		require.NoError(t, err)
		assert.Equal(t, []int{c.same, c.differ, c.oneSided}, []int{g.Same, g.Differ, g.OneSided}, c.name)
		assert.Equal(t, c.broken, g.Broken(), c.name)
	}
	_, err = compareGolden([]byte("entries: 1"), nil)
	assert.Error(t, err)
}

// staged are options on invented times by program: phase seconds of each sample.
func staged(t *testing.T, seconds func(arm string, n int) float64, sample func(*bench.Sample)) Options {
	dir := t.TempDir()
	n := 0
	return Options{
		Base: &Program{Name: "base", SHA256: "a", Binary: filepath.Join(dir, "a")}, Candidate: &Program{Name: "candidate", SHA256: "b", Binary: filepath.Join(dir, "b")},
		NoGates: true, Phases: []string{"prompt", "decode"}, Looks: []int{12, 24, 48}, NoisePairs: 12, Rules: sampling.DefaultRules,
		Store: &experiment.Store{Dir: dir}, Work: Work{Vocab: 9, Prompt: 3, Decode: 2, Threads: 1, Repeat: 4},
		Identify: func() experiment.Identity { return experiment.Identity{CPU: "test"} },
		Adapt: func(s *sampling.Sampler) {
			s.Idle = func(context.Context) (time.Duration, bool) { return 0, true }
			s.Watch = func() func() (float64, float64, bool) { return func() (float64, float64, bool) { return 0, 1, true } }
			s.Take = func(_ context.Context, _ string, a *sampling.Arm) (*bench.Sample, error) {
				n++
				x := seconds(filepath.Base(a.Process.Command[0]), n)
				out := &bench.Sample{Logits: "l", Counters: map[string]int64{"level.scalar": 1}, Timings: []bench.Timing{{Phase: "prompt", Tokens: 3, Seconds: x}, {Phase: "decode", Tokens: 2, Seconds: 1}}}
				if sample != nil {
					sample(out)
				}
				return out, nil
			}
		},
	}
}

func TestPairsAreTakenUntilTheyDecide(t *testing.T) {
	jitter := func(n int) float64 { return 1 + float64(n%7)/300 }
	for _, c := range []struct {
		slower  float64
		verdict verdict.Verdict
		pairs   int
	}{{1.2, verdict.Rejected, 12}, {0.8, verdict.Retained, 12}, {1, verdict.Level, 24}} {
		o := staged(t, func(arm string, n int) float64 {
			if arm == "b" {
				return c.slower * jitter(n)
			}
			return jitter(n)
		}, nil)
		r, err := Run(t.Context(), o)
		require.NoError(t, err)
		assert.Equal(t, c.verdict, r.Verdict, r.Sentence)
		assert.Equal(t, c.pairs, r.Timing.Pairs)
		assert.Equal(t, 12, r.Timing.FloorPairs)
		require.Len(t, r.Timing.Phases, 2)
		assert.Equal(t, verdict.Level, r.Timing.Phases[1].Verdict, "each phase has a verdict of its own")
	}
	calls := 0
	swings := func(arm string, _ int) float64 {
		if arm == "b" {
			calls++
			return 0.9 + 0.2*float64(calls%2)
		}
		return 1
	}
	r, err := Run(t.Context(), staged(t, swings, nil))
	require.NoError(t, err)
	assert.Equal(t, verdict.Ambiguous, r.Verdict, r.Sentence)
	assert.Equal(t, 48, r.Timing.Pairs, "what does not decide takes all pairs")
}

func TestTheNoiseFloorIsKeptAndWideOnesAreTold(t *testing.T) {
	o := staged(t, func(_ string, n int) float64 { return 1 + float64(n%3)/5 }, nil)
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.NotEmpty(t, r.Warnings)
	assert.Contains(t, r.Warnings[0], "wide noise floors (prompt ")
	before := linesOf(t, o.Store)
	_, err = Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, before, linesOf(t, o.Store))
	o.NewFloor = true
	_, err = Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, before+1, linesOf(t, o.Store))
}

func linesOf(t *testing.T, s *experiment.Store) int {
	lines, err := s.Read("noise-floors")
	require.NoError(t, err)
	return len(lines)
}

func TestOldProgramsAreTimedWithoutRepetitions(t *testing.T) {
	r, err := Run(t.Context(), staged(t, func(string, int) float64 { return 1 }, func(s *bench.Sample) { s.Counters = nil }))
	require.NoError(t, err)
	assert.Equal(t, 1, r.Timing.Work.Repeat)
	assert.Contains(t, r.Warnings[0], "knows nothing of repetitions")
}

func TestAContradictingBaseIsNobodysFault(t *testing.T) {
	o := staged(t, func(string, int) float64 { return 1 }, nil)
	quiet := o.Adapt
	o.Adapt = func(s *sampling.Sampler) {
		quiet(s)
		take := s.Take
		s.Take = func(ctx context.Context, arm string, a *sampling.Arm) (*bench.Sample, error) {
			if filepath.Base(s.B.Process.Command[0]) == "b" && arm == "A" && s.A.Process.Command[0] != s.B.Process.Command[0] {
				return nil, &bench.ParityError{Where: "there", What: "other bits"}
			}
			return take(ctx, arm, a)
		}
	}
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, verdict.Void, r.Verdict)
	assert.Equal(t, "base contradicts itself", r.Rule)
}

func TestProgramsOfTheSameBytesNeedNoRun(t *testing.T) {
	o := staged(t, func(string, int) float64 { panic("not run") }, nil)
	o.Candidate.SHA256 = o.Base.SHA256
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	assert.True(t, r.Same)
	assert.Equal(t, verdict.Level, r.Verdict)
}

func TestProgramsThatCannotRunGatesAreNamed(t *testing.T) {
	o := staged(t, func(string, int) float64 { return 1 }, nil)
	o.NoGates = false
	require.NoError(t, os.WriteFile(o.Base.Binary, []byte("no program"), 0o755))
	_, err := Run(t.Context(), o)
	var protocol *ProtocolError
	require.ErrorAs(t, err, &protocol)
	assert.Equal(t, "base", protocol.Program.Name)
}
