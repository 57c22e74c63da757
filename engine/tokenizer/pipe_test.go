//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tokenizer

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPipesInAFolderAreRefusedWithoutWaiting(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "tokenizer.json"), 0o600))
	_, err := FromHuggingFace(dir)
	require.ErrorContains(t, err, "not a regular file")
}
