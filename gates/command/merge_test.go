package command

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/snapshots"
)

// shards runs a selection in n parts and gives the paths of their reports.
func shards(t *testing.T, n int, selection string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("shard-%d.json", i+1))
		status, _, errs := typed(t, "gates", selection, "--threads", "1", "--shard", fmt.Sprintf("%d/%d", i+1, n), "--json", path)
		require.Zero(t, status, errs)
		paths = append(paths, path)
	}
	return paths
}

func TestShardsMergedAreTheReportOfOneRun(t *testing.T) {
	const selection = "structure/llama$|parity/llama-transformers"
	paths := shards(t, 3, selection)
	status, whole, _ := typed(t, "gates", selection, "--threads", "1")
	require.Zero(t, status)
	status, merged, errs := typed(t, append([]string{"merge"}, paths...)...)
	assert.Zero(t, status, errs)
	assert.Equal(t, masked(whole), masked(merged))
}

func TestMergeWritesEveryForm(t *testing.T) {
	paths := shards(t, 2, "structure/llama$")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	t.Setenv("GITHUB_STEP_SUMMARY", at("summary"))
	status, out, errs := typed(t, "merge", paths[1], paths[0], "--json", at("json"), "--junit", at("junit"), "--markdown", at("md"))
	require.Zero(t, status, errs)
	assert.Contains(t, out, "structure/llama")
	var r snapshots.Report
	b, err := os.ReadFile(at("json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &r))
	assert.Zero(t, r.Shards, "it is the report of the whole")
	assert.NotEmpty(t, r.Revision)
	assert.Equal(t, r.Cases, r.Done)
	b, err = os.ReadFile(at("junit"))
	require.NoError(t, err)
	assert.NoError(t, xml.Unmarshal(b, new(any)))
	md, err := os.ReadFile(at("md"))
	require.NoError(t, err)
	summary, err := os.ReadFile(at("summary"))
	require.NoError(t, err)
	assert.Equal(t, string(md), string(summary))
}

func TestMergeTellsWhatIsMissingOrForeign(t *testing.T) {
	paths := shards(t, 2, "structure/llama$|structure/qwen2$")
	status, out, errs := typed(t, "merge", paths[0])
	assert.Equal(t, statusUnanswered, status)
	assert.Empty(t, errs)
	assert.Contains(t, out, "VOID: shards 2/2")
	golden(t, "merge-missing.txt", out)

	other := shards(t, 2, "structure/llama$|structure/qwen2-")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{paths[0], paths[0]}, "shard 1/2 twice"},
		{[]string{paths[0], other[1]}, "another list of cases"},
		{[]string{filepath.Join(t.TempDir(), "none.json")}, "none.json"},
		{nil, "requires at least 1 arg"},
	} {
		status, out, errs := typed(t, append([]string{"merge"}, c.args...)...)
		assert.Equal(t, statusUnanswered, status)
		assert.Empty(t, out)
		assert.Contains(t, errs, c.says)
	}
	status, _, errs = typed(t, "gates", "--shard", "3/2")
	assert.Equal(t, statusUnanswered, status)
	assert.Contains(t, errs, `shard "3/2"`)
}

func TestAFailureInOneShardFailsTheMerge(t *testing.T) {
	paths := shards(t, 2, "structure/llama$|structure/qwen2$")
	b, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(paths[0], []byte(strings.Replace(string(b), `"verdict": "held"`, `"verdict": "failed"`, 1)), 0o644))
	status, _, _ := typed(t, append([]string{"merge"}, paths...)...)
	assert.Equal(t, statusFailed, status)
	status, _, _ = typed(t, "merge", paths[0])
	assert.Equal(t, statusFailed, status, "also when another one is missing")
}

func TestAShardWithoutCasesHolds(t *testing.T) {
	paths := shards(t, 3, "structure/llama$")
	status, _, errs := typed(t, append([]string{"merge"}, paths...)...)
	assert.Zero(t, status, errs)
}
