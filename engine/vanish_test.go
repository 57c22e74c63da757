//go:build linux

package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/engine"
	"assay/engine/checkpoint"
)

// The embedding of a model with a head of its own is read from the mapping for
// every id that is fed.
func TestAFileThatIsCutShortIsAnErrorOfWhatReadsItNext(t *testing.T) {
	if os.Getenv("ASSAY_EMULATED") != "" {
		t.Skip("an emulator does not tell the address of a bus error")
	}
	whole, err := os.ReadFile("../fixtures/models/llama-F32.gguf")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "m.gguf")
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	m, err := engine.Open(context.Background(), path, engine.Options{Threads: 2})
	require.NoError(t, err)
	defer m.Close()
	s, err := m.NewSession(engine.SessionOptions{Context: 64})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Prefill(context.Background(), []int32{1, 2}))

	require.NoError(t, os.Truncate(path, 4096))
	var gone *checkpoint.VanishedError
	require.ErrorAs(t, s.Decode(context.Background(), 500), &gone)
	_, err = m.Checkpoint().Digest()
	require.ErrorAs(t, err, &gone)
}
