package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCalibrationComesBackAsItWasSaved(t *testing.T) {
	c, err := Calibrate(t.Context(), Options{Model: tiny(t), Prompt: 8, Decode: 2, Samples: 2, Threads: 1, Inside: true, Peer: inside{}, Ceilings: roomy})
	require.NoError(t, err)
	assert.Equal(t, "llama-Q4_0.gguf", c.Model)
	require.Len(t, c.Noise, 3)
	for _, n := range c.Noise {
		assert.GreaterOrEqual(t, n.Floor, 0.0)
		assert.LessOrEqual(t, n.Low, n.High)
	}
	path := filepath.Join(t.TempDir(), "below", "calibration.json")
	require.NoError(t, c.Save(path))
	back, err := LoadCalibration(path)
	require.NoError(t, err)
	assert.Equal(t, c, back)
}

func TestForeignCalibrationsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	for content, want := range map[string]string{"{": "unexpected end", `{"format": "other/2"}`: "other/2"} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		_, err := LoadCalibration(path)
		assert.ErrorContains(t, err, want)
	}
}
