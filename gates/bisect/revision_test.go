package bisect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// itself is a build that gives this program.
func itself(context.Context, string) (binary, sha string, remove func() error, err error) {
	binary, err = os.Executable()
	return binary, "0123456789abcdef", func() error { return nil }, err
}

func TestRevisionsComputeInTheirOwnProgram(t *testing.T) {
	q := &Question{Model: model(fixture(t), "llama-Q4_0.gguf"), IDs: story, A: setup(t, "threads=1"), B: setup(t, "revision=HEAD,chunk=2,threads=1"), Build: itself}
	a := find(t, q)
	assert.Nil(t, a.First)
	assert.Equal(t, len(story)*62, a.Counts.Rows, "every tensor")

	q.A.KV, q.B.KV = "f16", "f32"
	a = find(t, q)
	require.NotNil(t, a.First)
	assert.Equal(t, "k.L0", a.First.Tensor)
	r, err := q.Reproducer(a, "test")
	require.NoError(t, err)
	assert.Equal(t, "revision HEAD", r.Recorded)
	replayed, err := r.Replay(t.Context(), "", nil)
	require.NoError(t, err, "the row is in the file: nothing is built")
	assert.True(t, replayed.Same)
}

func TestRevisionsThatCannotRecordAreNamed(t *testing.T) {
	path := model(fixture(t), "llama-Q4_0.gguf")
	q := &Question{Model: path, IDs: story, A: &Setup{}, B: setup(t, "revision=old")}
	_, err := q.Find(t.Context())
	var wrong *RevisionError
	require.ErrorAs(t, err, &wrong)
	assert.Contains(t, wrong.Reason, "no source tree")

	removed := false
	q.Build = func(context.Context, string) (string, string, func() error, error) {
		return filepath.Join(t.TempDir(), "none"), "abc", func() error { removed = true; return nil }, nil
	}
	_, err = q.Find(t.Context())
	require.ErrorAs(t, err, &wrong)
	assert.Contains(t, wrong.Reason, "cannot record this")
	assert.True(t, removed)
	q.Build = func(context.Context, string) (string, string, func() error, error) {
		return "", "", nil, errors.New("does not build")
	}
	_, err = q.Find(t.Context())
	assert.ErrorContains(t, err, "does not build")
}
