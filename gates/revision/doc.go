// Package revision builds the validate program of git revisions of this tree, each
// in a worktree of its own that is removed afterwards. It must not know what the
// programs are run for.
package revision
