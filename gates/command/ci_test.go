package command

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counted is what a CI system reads of JUnit.
type counted struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

func TestCISeesWhatTheExitStatusSays(t *testing.T) {
	dir := materialised(t)
	model, evidence := filepath.Join(dir, "models", "llama-Q4_0.gguf"), filepath.Join(dir, "evidence", "llama-Q4_0")
	other := filepath.Join(dir, "models", "llama-Q8_0.gguf")
	junit, summary := filepath.Join(dir, "junit.xml"), filepath.Join(dir, "summary.md")
	t.Setenv("GITHUB_STEP_SUMMARY", summary)
	for _, c := range []struct {
		name   string
		args   []string
		status int
		holds  func(counted) bool
		says   string
	}{
		{"held", []string{"parity", "--model", model, "--evidence", evidence, "--rung", "kl", "--mean-kl", "3e-4"}, statusHeld, func(x counted) bool { return x.Failures+x.Errors == 0 && x.Tests > x.Skipped }, "assay: all held"},
		{"failed", []string{"parity", "--model", model, "--evidence", evidence, "--rung", "bits"}, statusFailed, func(x counted) bool { return x.Failures > 0 && x.Errors == 0 }, "failed"},
		{"void", []string{"parity", "--model", other, "--evidence", evidence}, statusUnanswered, func(x counted) bool { return x.Errors > 0 && x.Failures == 0 }, "void"},
	} {
		before, _ := os.ReadFile(summary)
		status, _, errs := typed(t, append(c.args, "--junit", junit, "--markdown", filepath.Join(dir, "report.md"))...)
		assert.Equal(t, c.status, status, "%s: %s", c.name, errs)
		b, err := os.ReadFile(junit)
		require.NoError(t, err)
		var x counted
		require.NoError(t, xml.Unmarshal(b, &x))
		assert.True(t, c.holds(x), "%s: %+v", c.name, x)

		after, err := os.ReadFile(summary)
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(after), string(before)), "%s: a job may have several steps: the summary is appended to", c.name)
		assert.Contains(t, strings.TrimPrefix(string(after), string(before)), c.says)
	}
}
