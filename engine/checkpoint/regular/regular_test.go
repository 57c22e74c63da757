package regular

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesAreReadWholeUpToTheLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("12345"), 0o600))
	for _, read := range []func(string, int64) ([]byte, error){Read, ReadAny} {
		b, err := read(path, 5)
		require.NoError(t, err)
		assert.Equal(t, "12345", string(b))
		_, err = read(path, 4)
		assert.ErrorContains(t, err, "allowed")
		_, err = read(filepath.Join(t.TempDir(), "none"), 5)
		assert.ErrorIs(t, err, fs.ErrNotExist)
	}
}

func TestFoldersAreNoFiles(t *testing.T) {
	_, err := Open(t.TempDir())
	require.Error(t, err)
	_, err = ReadAny(t.TempDir(), 5)
	require.Error(t, err)
}
