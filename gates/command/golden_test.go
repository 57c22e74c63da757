package command

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/fixtures"
	"assay/oracle"
	"assay/snapshots"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares what a user saw with a file, figures and machine masked.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = masked(got)
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run go test ./gates/command -update")
	assert.Equal(t, string(want), got)
}

var masks = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(` on [^\n]*(linux|darwin|windows|freebsd)/[a-z0-9]+, go[0-9.a-z-]+`), " on MACHINE"},
	{regexp.MustCompile(`\b(scalar|avx2|avx512)\b`), "LEVEL"},
	{regexp.MustCompile(`[0-9]+\.[0-9]+ s`), "N s"},
	{regexp.MustCompile(`[0-9]+(\.[0-9]+)?e-[0-9]+`), "N"},
	{regexp.MustCompile(`[0-9]+\.[0-9]{3,}`), "N"},
	{regexp.MustCompile(`─+`), "─"},
	{regexp.MustCompile(` +`), " "},
	{regexp.MustCompile(`(?m) +$`), ""},
}

func masked(s string) string {
	for _, m := range masks {
		s = m.pattern.ReplaceAllString(s, m.by)
	}
	return s
}

func materialised(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, fixtures.Materialise(dir))
	return dir
}

func TestHelpShowsExamples(t *testing.T) {
	for _, name := range []string{"", "gates", "parity", "record", "inspect", "bench"} {
		args := append(strings.Fields(name), "--help")
		status, out, errs := typed(t, args...)
		assert.Zero(t, status)
		assert.Empty(t, errs)
		assert.Contains(t, out, "Examples:\n  validate", "validate %s", name)
	}
}

func TestGatesAreListed(t *testing.T) {
	status, out, _ := typed(t, "gates", "--list", "parity/.*-transformers|restore")
	assert.Zero(t, status)
	golden(t, "list.txt", out)
}

func TestSelectedGatesHold(t *testing.T) {
	status, out, errs := typed(t, "gates", "structure/llama$|parity/llama-transformers", "--threads", "1", "--cpu", "scalar")
	assert.Zero(t, status)
	assert.Empty(t, errs)
	golden(t, "gates.txt", out)
}

func TestReportsAreWrittenInEveryForm(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	t.Setenv("GITHUB_STEP_SUMMARY", at("summary"))
	status, out, errs := typed(t, "gates", "restore/", "--json", at("json"), "--junit", at("junit"), "--markdown", at("md"), "--out", at("snapshot"))
	require.Zero(t, status, errs)
	assert.Contains(t, out, "restore/session")

	read := func(name string) []byte {
		b, err := os.ReadFile(at(name))
		require.NoError(t, err)
		return b
	}
	var r snapshots.Report
	require.NoError(t, json.Unmarshal(read("json"), &r))
	assert.Equal(t, snapshots.ReportFormat, r.Format)
	assert.Equal(t, len(r.Results), r.Count(snapshots.Held))
	assert.NoError(t, xml.Unmarshal(read("junit"), new(any)))
	assert.Equal(t, string(read("md")), string(read("summary")), "the summary of a CI run gets the same Markdown")
	assert.Equal(t, string(read("md")), string(read("snapshot/report.md")))
	assert.Equal(t, string(read("json")), string(read("snapshot/report.json")))
	assert.Equal(t, string(read("junit")), string(read("snapshot/report.junit.xml")))
}

func TestQuestionsThatCannotBeAnsweredEndWith2(t *testing.T) {
	dir := materialised(t)
	model, evidence := filepath.Join(dir, "models", "llama-Q4_0.gguf"), filepath.Join(dir, "evidence", "llama-Q4_0")
	prompts := filepath.Join(dir, "prompts.yaml")
	require.NoError(t, os.WriteFile(prompts, []byte("- {name: a, ids: [1, 2]}\n"), 0o644))
	for _, c := range []struct {
		args string
		says string
	}{
		{"--nonsense", "unknown flag: --nonsense"},
		{"nonsense", `unknown command "nonsense"`},
		{"gates (", "missing closing )"},
		{"gates nothing-like-it", "no gate matches: there are"},
		{"gates --phase lunch", `unknown phase "lunch"`},
		{"gates --cpu mmx", `level "mmx" is not available`},
		{"gates --evidence " + evidence, "--evidence needs --model"},
		{"gates a b", "accepts at most 1 arg"},
		{"parity", "--model and --evidence are needed"},
		{"parity --model " + model + " --evidence " + dir, "manifest.yaml"},
		{"parity --model " + dir + "/none.gguf --evidence " + evidence, "none.gguf"},
		{"parity --model " + model + " --evidence " + evidence + " --rung best", `rung "best"`},
		{"parity --model " + model + " --evidence " + evidence + " --text " + prompts, "--text is for known real models"},
		{"parity --model " + model + " --evidence " + evidence + " --rung kl --reference " + prompts, "--reference is for known real models"},
		{"record --model " + model, "--model, --prompts and --out are needed"},
		{"record --model " + model + " --prompts " + prompts + " --out " + dir, "not overwritten"},
		{"record --model " + model + " --prompts " + prompts + " --out " + dir + "/r --engine gpt", `unknown engine "gpt"`},
		{"record --model " + model + " --prompts " + prompts + " --out " + dir + "/r --logits some", `logits "some"`},
		{"record --model " + model + " --prompts " + prompts + " --out " + dir + "/r --kv-type q4", `K/V format "q4"`},
		{"record --model " + model + " --prompts " + prompts + " --out " + dir + "/r --tokens 0", "at least one token"},
		{"record --model " + model + " --prompts " + model + " --out " + dir + "/r", "llama-Q4_0.gguf"},
		{"parity --model " + model + " --evidence " + evidence + " --mean-kl 0", "--mean-kl 0: want a number above 0"},
		{"parity --model " + model + " --evidence " + evidence + " --max-abs NaN", "--max-abs NaN: want"},
		{"parity --model " + model + " --evidence " + evidence + " --margin Inf", "--margin +Inf: want"},
		{"parity --model " + model + " --evidence " + evidence + " --rung topk --top1 2", "--top1 2: want"},
		{"gates --model=", "--model is empty"},
		{"--model=", "--model is empty"},
		{"gates --json=", "--json is empty"},
		{"gates --cpu ,", "kernel level is empty"},
		{"gates --json " + dir, "is a folder"},
		{"gates --junit " + dir + "/none/x.xml", "no report can be written"},
		{"inspect " + prompts, "prompts.yaml"},
		{"inspect", "accepts 1 arg"},
	} {
		status, out, errs := typed(t, strings.Fields(c.args)...)
		assert.Equal(t, statusUnanswered, status, c.args)
		assert.Contains(t, errs+out, c.says, c.args)
		assert.NotContains(t, errs+out, "goroutine ", c.args)
	}
}

func TestMissingLibraryIsToldAndEndsWith2(t *testing.T) {
	dir := materialised(t)
	t.Setenv("ASSAY_LLAMACPP", filepath.Join(dir, "nowhere"))
	status, _, errs := typed(t, "record", "--engine", "llamacpp", "--model", filepath.Join(dir, "models", "llama-Q4_0.gguf"),
		"--prompts", filepath.Join(dir, "evidence", "llama-Q4_0", "manifest.yaml"), "--out", filepath.Join(dir, "out"))
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, errs, "not available")
}

func TestInterruptReportsWhatWasDone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupt"))
	var out, errs strings.Builder
	status := run(ctx, []string{"gates", "structure/"}, strings.NewReader(""), &out, &errs)
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, errs.String(), "interrupted: 0 of 10 cases were done")
	assert.Contains(t, out.String(), "0 held")
}

func TestParityOfARecording(t *testing.T) {
	dir := materialised(t)
	args := []string{"parity", "--model", filepath.Join(dir, "models", "llama-Q4_0.gguf"), "--evidence", filepath.Join(dir, "evidence", "llama-Q4_0")}
	status, out, errs := typed(t, append(args, "--mean-kl", "3e-4", "--margin", "0.1")...)
	assert.Zero(t, status)
	assert.Empty(t, errs)
	golden(t, "parity.txt", out)

	status, out, _ = typed(t, append(args, "--rung", "ids", "--activations", "float32", "--kv", "f16")...)
	assert.Zero(t, status, out)

	status, out, _ = typed(t, append(args, "--rung", "bits")...)
	assert.Equal(t, statusFailed, status)
	assert.Contains(t, out, "values differ in their bits, the first at prompt \"story-start\", position 0")

	status, out, _ = typed(t, "parity", "--model", filepath.Join(dir, "models", "llama-Q8_0.gguf"), "--evidence", filepath.Join(dir, "evidence", "llama-Q4_0"))
	assert.Equal(t, statusUnanswered, status, "a recording of another file")
	assert.Contains(t, out, "checkpoint file llama-Q4_0.gguf")
}

func TestRecordingsOfThisEngineHoldTheirBitsInEverySetup(t *testing.T) {
	dir := materialised(t)
	prompts := filepath.Join(dir, "prompts.yaml")
	require.NoError(t, os.WriteFile(prompts, []byte(`
- {name: text, text: "Mara went to the old mill"}
- {name: chat, messages: [{role: user, content: "What does Sam eat?"}]}
- {name: forced, ids: [504, 411, 298], produced: [266, 259, 445]}
`), 0o644))
	model := filepath.Join(dir, "models", "llama-Q4_1.gguf")
	record := func(out string, more ...string) *oracle.Evidence {
		status, said, errs := typed(t, append([]string{"record", "--model", model, "--prompts", prompts, "--out", filepath.Join(dir, out), "--tokens", "6", "--kv"}, more...)...)
		require.Zero(t, status, errs)
		assert.Contains(t, said, "3 prompts")
		e, err := oracle.Load(filepath.Join(dir, out))
		require.NoError(t, err)
		t.Cleanup(func() { e.Close() })
		return e
	}
	one := record("one", "--nodes", "--threads", "1")
	other := record("other", "--threads", "2", "--chunk", "3", "--cpu", "scalar")
	for name, sum := range other.Manifest.TensorSHA256 {
		assert.Equal(t, sum, one.Manifest.TensorSHA256[name], name)
	}
	assert.Len(t, one.Manifest.Prompts[0].Produced, 6)
	assert.NotNil(t, one.Tensor(0, "hidden.L0"))
	assert.NotNil(t, one.Tensor(2, "node.ffn_out-4"))

	status, out, _ := typed(t, "parity", "--model", model, "--evidence", filepath.Join(dir, "one"))
	assert.Zero(t, status, out)
	assert.Contains(t, out, "0 of 18944 logits differ")
	status, out, _ = typed(t, "parity", "--model", model, "--evidence", filepath.Join(dir, "one"), "--activations", "float32", "--rung", "nmse", "--max-abs", "1e-6")
	assert.Equal(t, statusFailed, status)
	assert.Contains(t, out, "first diverging intermediate, in the order of computation: p0.node.Qcur-0", "norms are the same in both modes, products are not")
	status, _, _ = typed(t, "parity", "--model", model, "--evidence", filepath.Join(dir, "one"), "--activations", "float32", "--rung", "kl")
	assert.Zero(t, status, "a weaker rung")

	top := record("top", "--logits", "top64")
	assert.Nil(t, top.Tensor(0, "logits"))
	assert.NotNil(t, top.Tensor(0, "top_val"))
}

func TestInspectJudgesTheContainer(t *testing.T) {
	dir := materialised(t)
	model := filepath.Join(dir, "models", "llama-Q4_0.gguf")
	status, out, errs := typed(t, "inspect", "--open", model)
	assert.Zero(t, status, errs)
	golden(t, "inspect.txt", strings.ReplaceAll(out, dir, "DIR"))

	b, err := os.ReadFile(model)
	require.NoError(t, err)
	cut := filepath.Join(dir, "cut.gguf")
	require.NoError(t, os.WriteFile(cut, b[:2000], 0o644))
	status, out, errs = typed(t, "inspect", cut)
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, out+errs, "not well formed")
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAnswersThatCannotBeWrittenAreNoAnswers(t *testing.T) {
	for _, args := range [][]string{{"gates", "--list"}, {"inspect", filepath.Join(materialised(t), "models", "llama-Q4_0.gguf")}, {"gates", "parity/llama-Q4_0"}} {
		var errs strings.Builder
		assert.Equal(t, statusUnanswered, run(context.Background(), args, strings.NewReader(""), fullDisk{}, &errs), args)
		assert.Contains(t, errs.String(), "no space left", args)
	}
}
