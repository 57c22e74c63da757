package revision

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// State is what a checkout holds at present.
type State struct {
	SHA     string // of HEAD; "" before the first commit
	Changed bool   // files are changed, or new and not ignored
}

// State tells what the checkout holds.
func (t *Tree) State(ctx context.Context) (State, error) {
	var s State
	if sha, err := t.Resolve(ctx, "HEAD"); err == nil {
		s.SHA = sha
	}
	out, err := command(ctx, t.Root, "git", "status", "--porcelain")
	if err != nil {
		return s, &Error{Revision: "working tree", Step: "look for changes", Output: out, Err: err}
	}
	s.Changed = out != ""
	return s, nil
}

// BuildHere builds the validate program of the checkout as it is, with its
// changes. The caller calls remove when the program is no longer needed.
func (t *Tree) BuildHere(ctx context.Context) (binary string, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "assay-revision-")
	if err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(dir) }
	binary = filepath.Join(dir, "validate")
	if out, err := command(ctx, t.Root, build(binary)...); err != nil {
		return "", nil, errors.Join(&Error{Revision: "working tree", Step: buildStep, Output: out, Err: err}, remove())
	}
	return binary, remove, nil
}

// Shallow tells that the checkout has a part of its history only.
func (t *Tree) Shallow(ctx context.Context) bool {
	out, err := command(ctx, t.Root, "git", "rev-parse", "--is-shallow-repository")
	return err == nil && out == "true"
}

// File is a file as a revision has it.
func (t *Tree) File(ctx context.Context, sha, path string) ([]byte, error) {
	out, err := output(ctx, t.Root, "git", "show", sha+":"+path)
	if err != nil {
		return nil, &Error{Revision: sha, Step: "read " + path, Output: strings.TrimSpace(string(out)), Err: err}
	}
	return out, nil
}
