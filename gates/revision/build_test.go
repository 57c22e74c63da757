package revision

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func tree(t *testing.T) *Tree {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	tree, err := Find(t.Context(), ".")
	if err != nil {
		t.Skipf("not in a checkout: %v", err)
	}
	return tree
}

func TestRevisionsAreBuiltAndRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program of another revision")
	}
	tree := tree(t)
	binary, sha, remove, err := tree.Build(t.Context(), "HEAD")
	require.NoError(t, err)
	assert.Len(t, sha, 40)
	out, err := exec.Command(binary, "--help").CombinedOutput()
	assert.NoError(t, err)
	assert.Contains(t, string(out), "validate")
	require.NoError(t, remove())
	assert.NoFileExists(t, binary)
	list, err := exec.Command("git", "-C", tree.Root, "worktree", "list").Output()
	require.NoError(t, err)
	assert.NotContains(t, string(list), strings.TrimSuffix(binary, "/validate"))
}

func TestUnknownRevisionsAreNamed(t *testing.T) {
	tree := tree(t)
	_, _, _, err := tree.Build(t.Context(), "no-such-revision")
	assert.ErrorContains(t, err, "revision no-such-revision: resolve")
	_, err = tree.Resolve(t.Context(), "--help")
	assert.Error(t, err, "a revision is no option")
}

func TestOtherCheckoutsAreRefused(t *testing.T) {
	dir, err := os.MkdirTemp("", "assay-elsewhere-")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	_, err = Find(t.Context(), dir)
	assert.ErrorContains(t, err, "find the checkout")
}
