package llamacpp

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACrashOfTheLibraryEndsOnlyItsProcess(t *testing.T) {
	c := Client{Command: []string{os.Args[0]}, Env: []string{"LLAMACPP_TEST_CHILD=abort"}}
	_, err := c.Do(context.Background(), Request{Op: "record"})
	var crash *CrashError
	require.ErrorAs(t, err, &crash)
	assert.Equal(t, "record", crash.Op)
	assert.ErrorContains(t, err, "GGML_ASSERT(no mercy) failed")
}

func TestAMissingLibraryIsNotAvailable(t *testing.T) {
	empty := t.TempDir()
	t.Setenv(Environment, empty)
	var none *NotAvailableError
	_, err := Find()
	require.ErrorAs(t, err, &none)
	assert.ErrorContains(t, err, empty)
	c := Client{Command: []string{os.Args[0]}, Env: []string{"LLAMACPP_TEST_CHILD=serve"}}
	_, err = c.Do(context.Background(), Request{Op: "info"})
	require.ErrorAs(t, err, &none)
	assert.ErrorContains(t, err, "not available")
	t.Setenv(Environment, "")
	t.Setenv("XDG_CACHE_HOME", empty)
	t.Setenv("HOME", empty)
	t.Chdir(empty)
	_, err = Find()
	require.ErrorAs(t, err, &none)
	assert.ErrorContains(t, err, "scripts/llamacpp.sh")
}

func TestTheLibraryIsFoundWhereItIsInstalled(t *testing.T) {
	root := t.TempDir()
	bins := filepath.Join(root, inside)
	require.NoError(t, os.MkdirAll(bins, 0o755))
	for _, f := range []string{"libllama.v0.4.0.so", "libggml-cpu-haswell.so", "libggml-cpu-x64.so"} {
		require.NoError(t, os.WriteFile(filepath.Join(bins, f), nil, 0o600))
	}
	for _, dir := range []string{root, bins} {
		t.Setenv(Environment, dir)
		found, err := Find()
		require.NoError(t, err)
		assert.Equal(t, bins, found)
	}
	assert.Equal(t, []string{"haswell", "x64"}, Variants(bins))
}
