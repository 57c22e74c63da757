package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/gates/bench"
	"assay/gates/compare"
	"assay/gates/experiment"
	"assay/gates/sampling"
	"assay/gates/verdict"
)

// stub is a program that speaks the protocol of validate: it reports one check and
// names itself in its logits.
const stub = `package main

import (
	"fmt"
	"os"
)

func main() {
	if os.Args[1] == "gates" {
		os.WriteFile(os.Args[4], []byte(` + "`" + `{"format":"assay-report/1","results":[{"gate":"parity/x","check":"ids","value":"1","verdict":"VERDICT"}]}` + "`" + `), 0o644)
		return
	}
	fmt.Println(` + "`" + `{"sample":{"logits_sha256":"l","counters":{"level.scalar":1},"timings":[{"phase":"prompt","tokens":1,"seconds":SECONDS}]}}` + "`" + `)
}
`

// hashes are those of commits, short.
var hashes = regexp.MustCompile(`\b[0-9a-f]{12}\b`)

// repository is a tree of stubs under git.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	r := &repository{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	r.file("go.mod", "module assay\n\ngo 1.26\n")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=test", "-c", "user.email=test@localhost"}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

func (r *repository) file(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o644))
}

// program writes the stub, which says a verdict and a time.
func (r *repository) program(verdict, seconds string) {
	r.file("cmd/validate/main.go", strings.NewReplacer("VERDICT", verdict, "SECONDS", seconds).Replace(stub))
}

func (r *repository) commit(tag string) {
	r.git("add", "-A")
	r.git("commit", "-q", "-m", tag)
	r.git("tag", tag)
}

func (r *repository) golden(contract, hash string) {
	r.file("fixtures/golden.yaml", "contract: "+contract+"\nprompts: {p: [1]}\nentries:\n- {model: m, activations: int8, kv: f16, prompt: p, logits: "+hash+", layers: []}\n")
}

// compared runs the command in the repository on a machine that is always quiet.
func (r *repository) compared(change func(*compareFlags), args ...string) (status int, out, errs string) {
	r.t.Helper()
	var o, e bytes.Buffer
	s := &shell{out: &o, err: &e}
	f := &compareFlags{
		where: r.dir, looks: []int{6}, phases: []string{"prompt"}, noise: 6, store: filepath.Join(r.dir, "..", "floors"), maxKL: 0.01,
		work: compare.Work{Prompt: 4, Decode: 1, Threads: 1},
		adapt: func(o *compare.Options) {
			o.Identify = func() experiment.Identity { return experiment.Identity{CPU: "test"} }
			o.Adapt = func(s *sampling.Sampler) {
				s.Idle = func(context.Context) (time.Duration, bool) { return 0, true }
				s.Watch = func() func() (float64, float64, bool) { return func() (float64, float64, bool) { return 0, 1, true } }
			}
		},
	}
	if change != nil {
		change(f)
	}
	if err := f.run(r.t.Context(), s, args); err != nil {
		s.status = statusUnanswered
		e.WriteString(err.Error())
	}
	assert.NotContains(r.t, r.git("worktree", "list"), "assay-revision-", "worktrees are removed")
	return s.status, o.String(), e.String()
}

func TestRevisionsAreHeldAgainstEachOther(t *testing.T) {
	r := newRepository(t)
	r.program("held", "1.0")
	r.golden("1", "aa")
	r.commit("base")
	r.program("held", "1.2")
	r.commit("slower")
	r.program("failed", "1.0001")
	r.commit("wrong")
	r.program("held", "1.0001")
	r.golden("1", "bb")
	r.commit("golden")
	r.golden("2", "bb")
	r.commit("contract")
	r.file("cmd/validate/main.go", "package main\n\nfunc main() { x }\n")
	r.commit("broken")
	r.file("cmd/validate/main.go", "package main\n\nfunc main() {}\n")
	r.commit("mute")
	r.git("checkout", "-q", "base")

	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"base slower", 1, "REJECTED (prompt: prompt slower)"},
		{"slower base", 0, "RETAINED (prompt: prompt faster"},
		{"base wrong", 1, "REJECTED (gates changed for the worse)"},
		{"wrong base", 0, "LEVEL (all within the noise floor)"},
		{"base golden", 1, "golden bits: 1 of 1 DIFFER (contract 1)"},
		{"base contract", 0, "golden bits: contract 1 and 2: 0 the same, 1 differ"},
		{"base base", 0, "LEVEL (same program)"},
		{"base broken", 125, "revision broken: build"},
		{"broken base", 125, "revision broken: build"},
		{"base mute", 125, "its program cannot run gates"},
		{"base nowhere", 2, "revision nowhere: resolve"},
		{"--output=x base", 2, "revision --output=x: resolve"},
	} {
		status, out, errs := r.compared(nil, strings.Fields(c.args)...)
		assert.Equal(t, c.status, status, "%s: %s%s", c.args, out, errs)
		assert.Contains(t, out+errs, c.says, c.args)
	}
	status, _, errs := r.compared(func(f *compareFlags) { f.noGates = true }, "base", "mute")
	assert.Equal(t, 125, status)
	assert.Contains(t, errs, "its program cannot be timed")
	status, out, _ := r.compared(func(f *compareFlags) { f.noTiming = true }, "base", "slower")
	assert.Zero(t, status)
	assert.Contains(t, out, "LEVEL (parity alone)")
	_, out, _ = r.compared(nil, "base", "slower")
	golden(t, "compare.txt", hashes.ReplaceAllString(out, "HASH"))
}

func TestTheWorkingTreeIsTheCandidateByDefault(t *testing.T) {
	r := newRepository(t)
	r.program("held", "1.0")
	r.commit("base")
	status, out, errs := r.compared(nil, "base")
	assert.Zero(t, status, errs)
	assert.Contains(t, out, "same program")
	assert.NotContains(t, out, "and changes")

	r.program("held", "1.5")
	samples := filepath.Join(t.TempDir(), "samples.txt")
	status, out, errs = r.compared(func(f *compareFlags) { f.json, f.goBench = "-", samples }, "base")
	assert.Equal(t, 1, status, errs)
	b, err := os.ReadFile(samples)
	require.NoError(t, err)
	assert.Equal(t, 6, strings.Count(string(b), "BenchmarkPrompt/tokens=1/arm=baseline"))
	assert.Equal(t, 6, strings.Count(string(b), "BenchmarkPrompt/tokens=1/arm=candidate"))
	var report compare.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	assert.Equal(t, compare.Format, report.Format)
	assert.True(t, report.Candidate.Changed)
	assert.Equal(t, report.Base.Revision, report.Candidate.Revision)
	assert.Equal(t, verdict.Rejected, report.Verdict)
	require.Len(t, report.Timing.Phases, 1)
	assert.InDelta(t, 1/1.5, report.Timing.Phases[0].Ratio, 1e-9)

	r.file("cmd/validate/main.go", "no go\n")
	status, _, errs = r.compared(nil, "base")
	assert.Equal(t, 125, status)
	assert.Contains(t, errs, "revision working tree: build")
}

func TestShallowClonesAreToldHowToGetMore(t *testing.T) {
	r := newRepository(t)
	r.program("held", "1.0")
	r.commit("old")
	r.program("held", "1.1")
	r.commit("new")
	old := r.git("rev-parse", "old")
	clone := &repository{t, filepath.Join(t.TempDir(), "clone")}
	out, err := exec.Command("git", "clone", "-q", "--depth", "1", "file://"+r.dir, clone.dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	status, _, errs := clone.compared(nil, old)
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, errs, "git fetch --unshallow")
}

func TestArmsThatComputeSomethingElseAreRejected(t *testing.T) {
	r := newRepository(t)
	r.program("held", "1.0")
	r.golden("1", "aa")
	r.commit("base")
	r.file("cmd/validate/main.go", strings.NewReplacer("VERDICT", "held", "SECONDS", "0.5", `"l"`, `"m"`).Replace(stub))
	r.commit("other")
	status, out, _ := r.compared(nil, "base", "other")
	assert.Equal(t, 1, status)
	assert.Contains(t, out, "REJECTED (parity broken)")
}

func TestBusyMachinesDecideNothing(t *testing.T) {
	r := newRepository(t)
	r.program("held", "1.0")
	r.commit("base")
	r.program("held", "2.0")
	r.commit("slower")
	status, out, errs := r.compared(func(f *compareFlags) {
		quiet := f.adapt
		f.adapt = func(o *compare.Options) {
			quiet(o)
			o.Rules.Attempts = 1
			calm := o.Adapt
			o.Adapt = func(s *sampling.Sampler) {
				calm(s)
				s.Idle = func(context.Context) (time.Duration, bool) { return 0, false }
			}
		}
	}, "base", "slower")
	assert.Equal(t, 125, status, errs)
	assert.Contains(t, out, "VOID (machine busy)")
}

func TestAnInterruptRemovesTheWorktrees(t *testing.T) {
	r := newRepository(t)
	r.program("held", "1.0")
	r.commit("base")
	r.program("held", "2.0")
	r.commit("slower")
	ctx, cancel := context.WithCancel(t.Context())
	var o, e bytes.Buffer
	s := &shell{out: &o, err: &e}
	f := &compareFlags{where: r.dir, looks: []int{6}, phases: []string{"prompt"}, noise: 6, store: t.TempDir(), work: compare.Work{Prompt: 4, Threads: 1}, noGates: true}
	f.adapt = func(o *compare.Options) {
		o.Adapt = func(s *sampling.Sampler) {
			s.Take = func(context.Context, string, *sampling.Arm) (*bench.Sample, error) { cancel(); return nil, ctx.Err() }
		}
	}
	require.NoError(t, f.run(ctx, s, []string{"base", "slower"}))
	assert.Equal(t, 130, s.status)
	assert.Contains(t, e.String(), "interrupted")
	assert.NotContains(t, r.git("worktree", "list"), "assay-revision-")
}

func TestComparisonsThatMakeNoSenseEndWith2(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"", "accepts between 1 and 2 arg"},
		{"a b c", "accepts between 1 and 2 arg"},
		{"HEAD --select (", "missing closing )"},
		{"HEAD --no-gates --no-timing", "nothing to compare"},
		{"HEAD --threads 0", "--threads 0"},
		{"HEAD --pairs 3,2", "--pairs: looks"},
		{"HEAD --pairs 2", "--pairs: a look at 2 pairs can show nothing"},
		{"HEAD --noise-pairs 2", "want 6 at least"},
		{"HEAD --phase lunch", "--phase lunch"},
		{"HEAD --cpu mmx", "mmx"},
		{"HEAD --activations int4", "int4"},
		{"HEAD --max-kl -1", "numbers from 0"},
	} {
		status, out, errs := typed(t, append([]string{"compare"}, strings.Fields(c.args)...)...)
		assert.Equal(t, statusUnanswered, status, c.args)
		assert.Contains(t, errs+out, c.says, c.args)
	}
	r := newRepository(t)
	r.program("held", "1.0")
	r.commit("base")
	status, _, errs := r.compared(func(f *compareFlags) { f.model = filepath.Join(r.dir, "none.gguf") }, "base")
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, errs, "none.gguf")
	status, _, errs = r.compared(func(f *compareFlags) { f.work.Prompt = 4000 }, "base")
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, errs, "do not fit")
	status, _, errs = (&repository{r.t, r.dir}).compared(func(f *compareFlags) { f.where = t.TempDir() }, "base")
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, errs, "find the checkout")
}
