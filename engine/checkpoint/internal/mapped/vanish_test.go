//go:build linux

package mapped

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sum(b []byte) (n int, err error) {
	defer Catch(&err, Watch())
	for _, x := range b {
		n += int(x)
	}
	return n, nil
}

func TestBytesOfAFileThatWasCutShortAreAnError(t *testing.T) {
	if os.Getenv("ASSAY_EMULATED") != "" {
		t.Skip("an emulator does not tell the address of a bus error")
	}
	path := write(t, bytes.Repeat([]byte{1}, 300_000))
	m, err := Open(path)
	require.NoError(t, err)
	defer m.Close()
	n, err := sum(m.Bytes())
	require.NoError(t, err)
	assert.Equal(t, 300_000, n)

	require.NoError(t, os.Truncate(path, 100))
	_, err = sum(m.Bytes())
	var gone *VanishedError
	require.ErrorAs(t, err, &gone)
	assert.Equal(t, path, gone.Path)
	assert.Positive(t, gone.Offset)
	assert.Less(t, gone.Offset, int64(300_000))
}

func TestOtherPanicsPassThroughTheGuard(t *testing.T) {
	assert.PanicsWithValue(t, "other", func() {
		var err error
		defer Catch(&err, Watch())
		panic("other")
	})
	assert.Panics(t, func() {
		var err error
		defer Catch(&err, Watch())
		var none []int
		_ = none[len(os.Args)]
	})
}
