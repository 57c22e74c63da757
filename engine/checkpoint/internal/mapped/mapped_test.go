package mapped

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestMapAndCopyGiveTheSameBytes(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789"), 5000)
	path := write(t, want)
	m, err := Open(path)
	require.NoError(t, err)
	defer m.Close()
	assert.Equal(t, want, m.Bytes())

	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	data, end, err := loadCopy(f, len(want))
	require.NoError(t, err)
	assert.Equal(t, want, data)
	require.NoError(t, end())
	_, _, err = loadCopy(f, len(want)+1)
	require.Error(t, err, "a file that shrank is an error, not zeros")
}

func TestReleasedBytesStayReadable(t *testing.T) {
	want := bytes.Repeat([]byte{1, 2, 3}, 20000)
	m, err := Open(write(t, want))
	require.NoError(t, err)
	defer m.Close()
	all := m.Bytes()
	for _, part := range [][]byte{all, all[1:], all[5000:50000], all[:10], all[:0], nil} {
		require.NoError(t, m.Release(part))
		assert.Equal(t, want, all)
	}
}

func TestEmptyFilesHaveNoBytes(t *testing.T) {
	m, err := Open(write(t, nil))
	require.NoError(t, err)
	assert.Empty(t, m.Bytes())
	require.NoError(t, m.Release(nil))
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	_, err := Open(t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
	_, err = Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
