package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/gates/bisect"
)

func TestEqualRunsEndWith0(t *testing.T) {
	model := tinyModel(t)
	status, out, errs := typed(t, "bisect-tensor", "--model", model, "--a", "threads=1", "--b", "chunk=1", "--ids", "504,411,298")
	assert.Zero(t, status, errs)
	assert.Equal(t, "a: threads=1\nb: chunk=1\n\nno difference: 186 rows of 3 ids compared (same bits)\n", out)
}

func TestDifferencesEndWith1AndCanBeSeenAgain(t *testing.T) {
	model := tinyModel(t)
	file := filepath.Join(t.TempDir(), "difference.json")
	status, out, errs := typed(t, "bisect-tensor", "--model", model, "--b", "activations=float32", "--text", "Mara went", "--out", file)
	assert.Equal(t, statusFailed, status, errs)
	golden(t, "bisect.txt", strings.ReplaceAll(out, file, "FILE"))

	status, out, errs = typed(t, "bisect-tensor", "--replay", file)
	assert.Equal(t, statusFailed, status, errs)
	assert.Contains(t, out, "the same difference:\nfirst difference: Vcur.L0, position 0")

	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(b), `"activations": "float32"`, `"threads": 1`, 1)), 0o644))
	status, out, _ = typed(t, "bisect-tensor", "--replay", file)
	assert.Zero(t, status)
	assert.Contains(t, out, "no difference any more: Vcur.L0 at position 0")
}

func TestRecordingsWithIntermediatesAreBisected(t *testing.T) {
	dir := materialised(t)
	model := filepath.Join(dir, "models", "llama-Q4_0.gguf")
	prompts := filepath.Join(dir, "prompts.yaml")
	require.NoError(t, os.WriteFile(prompts, []byte("- {name: one, ids: [504, 411]}\n- {name: two, ids: [298, 266, 259]}\n"), 0o644))
	status, _, errs := typed(t, "record", "--model", model, "--prompts", prompts, "--out", filepath.Join(dir, "r"), "--tokens", "2", "--nodes", "--kv")
	require.Zero(t, status, errs)

	var a bisect.Answer
	ask := func(more ...string) int {
		status, out, errs := typed(t, append([]string{"bisect-tensor", "--model", model, "--evidence", filepath.Join(dir, "r"), "--prompt", "two", "--json", "-"}, more...)...)
		require.Empty(t, errs)
		a = bisect.Answer{}
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		return status
	}
	assert.Zero(t, ask(), "its K/V format and activations are taken over, and it must have our bits")
	assert.Equal(t, 4*62, a.Counts.Rows)
	assert.Equal(t, statusFailed, ask("--a", "kv=f16"))
	assert.Equal(t, "k.L0", a.First.Tensor)
	assert.Len(t, a.IDs, 1)

	status, out, errs := typed(t, "bisect-tensor", "--model", model, "--evidence", filepath.Join(dir, "evidence", "llama-Q4_0"))
	assert.Zero(t, status, errs+out)
	assert.Contains(t, out, "relative RMS at most 0.1")
}

func TestBisectionsThatMakeNoSenseEndWith2(t *testing.T) {
	model := tinyModel(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nodes.json"), []byte("{}"), 0o644))
	for _, c := range []struct{ args, says string }{
		{"", "--model is needed, or --replay"},
		{"--model " + model, "either --b or --evidence"},
		{"--model " + model + " --b threads=1 --evidence x", "either --b or --evidence"},
		{"--model " + model + " --b speed=1", "besides knobs there are"},
		{"--model " + model + " --a cpu=mmx --b threads=1", "mmx"},
		{"--model " + model + " --b threads=1 --ids 1 --text a", "the ids come from one place"},
		{"--model " + model + " --b threads=1 --prompt a", "--prompt names one of --evidence"},
		{"--model " + model + " --b threads=1 --tolerance -1", "want a number from 0"},
		{"--model " + model + " --b threads=1 --ids 99999", "99999"},
		{"--model " + model + " --evidence " + dir, "it has no ids"},
		{"--model " + dir + "/none --b threads=1", "none"},
		{"--replay " + dir + "/none --b threads=1", "--b has no place"},
		{"--replay " + dir + "/none", "none"},
		{"--replay " + dir + "/nodes.json", "its format is"},
	} {
		status, out, errs := typed(t, append([]string{"bisect-tensor"}, strings.Fields(c.args)...)...)
		assert.Equal(t, statusUnanswered, status, c.args)
		assert.Contains(t, errs+out, c.says, c.args)
	}
}
