package cross

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"assay/kernels/cpu"
	"assay/snapshots"
)

// Options say what to check.
type Options struct {
	Root    string   // of the module
	Only    []string // targets by name, e.g. linux/arm64; nil: all
	Compile bool     // compile only, run nothing
	// Progress is told of each result as it comes.
	Progress func(*snapshots.Result)
}

// Run checks every chosen target. An error is a question that makes no sense;
// what fails is in the results.
func Run(ctx context.Context, o Options) ([]snapshots.Result, error) {
	r := &runner{o: o, ctx: ctx}
	chosen := 0
	for i := range Targets {
		t := &Targets[i]
		if !o.wants(t) {
			continue
		}
		chosen++
		r.target(t)
	}
	if chosen == 0 {
		return nil, fmt.Errorf("cross: no such target: %s (want %s)", strings.Join(o.Only, ", "), names())
	}
	return r.results, ctx.Err()
}

func names() string {
	var n []string
	for i := range Targets {
		n = append(n, Targets[i].String())
	}
	return strings.Join(n, ", ")
}

func (o *Options) wants(t *Target) bool {
	for _, name := range o.Only {
		if name == t.String() {
			return true
		}
	}
	return len(o.Only) == 0
}

type runner struct {
	o       Options
	ctx     context.Context
	results []snapshots.Result
}

// step runs one go command for a target and notes what came of it.
func (r *runner) step(t *Target, check, value, why string, env []string, args ...string) bool {
	if r.ctx.Err() != nil {
		return false
	}
	start := time.Now()
	c := exec.CommandContext(r.ctx, "go", args...)
	c.Dir = r.o.Root
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.OS, "GOARCH="+t.Arch)
	c.Env = append(c.Env, env...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	c.WaitDelay = 5 * time.Second
	err := c.Run()
	if r.ctx.Err() != nil {
		return false
	}
	result := snapshots.Result{
		Gate: "cross/" + t.OS + "-" + t.Arch, Check: check, Value: value, Why: why,
		Verdict: snapshots.Held, Seconds: time.Since(start).Seconds(),
	}
	if err != nil {
		result.Verdict, result.Value = snapshots.Failed, "failed"
		result.Detail = fmt.Sprintf("go %s: %v\n%s", strings.Join(args, " "), err, tail(out.String(), 40))
	}
	r.add(result)
	return err == nil
}

func (r *runner) add(result snapshots.Result) {
	r.results = append(r.results, result)
	if r.o.Progress != nil {
		r.o.Progress(&r.results[len(r.results)-1])
	}
}

func (r *runner) target(t *Target) {
	native := t.OS == runtime.GOOS && t.Arch == runtime.GOARCH
	if !r.step(t, "build", "compiled", "", nil, "build", "./...") {
		return
	}
	if !r.step(t, "vet", "compiled", "assembly is checked against its declarations", nil, "vet", "./...") || r.o.Compile {
		return
	}
	if native {
		for _, l := range cpu.Supported() {
			r.tests(t, "level "+l.String(), "natively, at a forced level", []string{"ASSAY_CPU=" + l.String(), "ASSAY_EXPECT_LEVEL=" + l.String()}, "")
		}
	}
	if t.Emulator == "" {
		return
	}
	if _, err := exec.LookPath(t.Emulator); err != nil {
		r.add(snapshots.Result{Gate: "cross/" + t.OS + "-" + t.Arch, Check: "run", Value: "compiled", Verdict: snapshots.Missing, Detail: t.Emulator + " is not installed"})
		return
	}
	for _, m := range t.Models {
		r.tests(t, m.Name, m.Why, []string{"ASSAY_CPU="}, t.Emulator+" -cpu "+m.Name)
	}
}

// tests runs the kernels' tests, and where that is not this machine's own
// processor under emulation also the engine's and the golden bits.
func (r *runner) tests(t *Target, name, why string, env []string, emulator string) {
	env = append(env, "ASSAY_SHARED=", "ASSAY_MODELS=")
	if emulator != "" {
		env = append(env, "ASSAY_EMULATED=1")
	}
	with := func(args ...string) []string {
		a := []string{"test", "-count=1"}
		if emulator != "" {
			a = append(a, "-exec", emulator)
		}
		return append(a, args...)
	}
	r.step(t, "kernels on "+name, "ran", why, env, with(kernelPackages...)...)
	if emulator != "" && t.Arch == runtime.GOARCH {
		return // the engine's tests run natively at the same level
	}
	if emulator == "" || name == t.Models[len(t.Models)-1].Name {
		r.step(t, "engine on "+name, "ran", why, env, with(append([]string{"-short"}, enginePackages...)...)...)
	}
	r.step(t, "golden bits on "+name, "ran", "the same SHA-256s on every processor", env, with("-short", "-run", goldenTest, goldenPackage)...)
}

// tail is the last n lines of a text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}
