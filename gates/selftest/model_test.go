package selftest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	timing "assay/gates/bench"
)

func TestModelOfSelfTestsRuns(t *testing.T) {
	dir := t.TempDir()
	_, err := writeModel(dir)
	require.NoError(t, err)
	s, err := timing.Once(t.Context(), timing.Job{Model: filepath.Join(dir, modelName), Threads: 1, Prompt: timing.IDs(8, modelVocab), Decode: []int32{1}, Rows: true})
	require.NoError(t, err)
	assert.True(t, s.Work.Int8)
	for _, x := range s.Rows[0] {
		assert.Less(t, x*x, float32(1e6), "logits are sensible")
	}
	t.Log(s.Timings, s.Rows[0][:8])
}
