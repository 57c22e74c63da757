package oracle

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sharedDir is a folder of recordings outside of the project, for checks that are too large to carry along.
func sharedDir(t *testing.T) string {
	dir := os.Getenv("ASSAY_SHARED")
	if dir == "" {
		t.Skip("ASSAY_SHARED names no folder of recordings")
	}
	return dir
}

func TestEveryRecordingOfEveryRecorderLoads(t *testing.T) {
	root := sharedDir(t)
	loaded, without := 0, 0
	for _, part := range []string{"decoders", "formats", "real", "choose", "extract"} {
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() != ManifestName || filepath.Dir(path) == filepath.Join(root, "real") {
				return err
			}
			dir := filepath.Dir(path)
			e, err := Load(dir)
			if _, none := os.Stat(filepath.Join(dir, TensorsName)); none != nil {
				// the manifest alone: its ids can be read, but it is no recording that can be replayed
				assert.True(t, errors.Is(err, fs.ErrNotExist), "%s: %v", dir, err)
				_, err = LoadManifest(dir)
				without++
			} else if loaded++; err == nil {
				err = e.Close()
			}
			assert.NoError(t, err)
			return nil
		})
		require.NoError(t, err)
	}
	t.Logf("%d recordings loaded, %d manifests without tensors refused", loaded, without)
	assert.Greater(t, loaded, 60)
}
