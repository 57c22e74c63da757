//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package regular

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPipesAndDevicesAreRefusedWithoutWaiting(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, "/dev/zero", "/dev/null"} {
		_, err := Read(path, 1<<20)
		assert.ErrorContains(t, err, "not a regular file", path)
	}
}

func TestWhatHasNoEndIsReadToTheLimit(t *testing.T) {
	_, err := ReadAny("/dev/zero", 1<<16)
	assert.ErrorContains(t, err, "65536")
}
