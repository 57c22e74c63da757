package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStatCountsBusyTime(t *testing.T) {
	busy, cpus, ok := parseStat([]byte("cpu  100 200 300 9999 9999 10 20 30 5 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 8 0 0\nintr 1 2 3 4 5 6 7 8 9 10\n"))
	assert.True(t, ok)
	assert.Equal(t, 2, cpus)
	assert.InDelta(t, 6.6, busy, 1e-9)
	for _, bad := range []string{"", "cpu 1 2\n", "cpu a b c d e f g h i j\ncpu0 1 2 3 4 5 6 7 8 9 10\n"} {
		_, _, ok := parseStat([]byte(bad))
		assert.False(t, ok, bad)
	}
}

func TestLastLevelCacheAddsUpInstances(t *testing.T) {
	root := t.TempDir()
	put := func(cpu, index, level, size, shared string) {
		dir := filepath.Join(root, cpu, "cache", index)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for name, s := range map[string]string{"level": level, "size": size, "shared_cpu_list": shared, "type": "Unified"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(s+"\n"), 0o644))
		}
	}
	put("cpu0", "index2", "2", "1024K", "0")
	put("cpu0", "index3", "3", "32768K", "0-1")
	put("cpu1", "index3", "3", "32768K", "0-1")
	put("cpu2", "index3", "3", "16384K", "2")
	assert.Equal(t, 48<<20, lastLevelCacheBelow(root))
	assert.Zero(t, lastLevelCacheBelow(t.TempDir()))
}

func TestThisProcessHasAPeakAndATime(t *testing.T) {
	assert.Positive(t, peakRSS())
	assert.Positive(t, ownTime())
	_, cpus, ok := busyTime()
	assert.True(t, ok)
	assert.Positive(t, cpus)
}
