package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Tree is a checkout of this project.
type Tree struct{ Root string }

// Error is a step that failed, with the end of what it said.
type Error struct {
	Revision, Step, Output string
	Err                    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("revision %s: %s: %v: %s", e.Revision, e.Step, e.Err, e.Output)
}

func (e *Error) Unwrap() error { return e.Err }

// Find gives the checkout that holds a folder.
func Find(ctx context.Context, dir string) (*Tree, error) {
	root, err := command(ctx, dir, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, &Error{Revision: dir, Step: "find the checkout", Output: root, Err: err}
	}
	if b, err := os.ReadFile(filepath.Join(root, "go.mod")); err != nil || !bytes.HasPrefix(b, []byte("module assay\n")) {
		return nil, &Error{Revision: dir, Step: "find the checkout", Output: root, Err: errors.New("it is not one of assay")}
	}
	return &Tree{root}, nil
}

// Resolve gives the full hash of a revision.
func (t *Tree) Resolve(ctx context.Context, name string) (string, error) {
	sha, err := command(ctx, t.Root, "git", "rev-parse", "--verify", "--end-of-options", name+"^{commit}")
	if err != nil {
		return "", &Error{Revision: name, Step: "resolve", Output: sha, Err: err}
	}
	return sha, nil
}

// Build builds the validate program of a revision. The caller calls remove when the
// program is no longer needed.
func (t *Tree) Build(ctx context.Context, name string) (binary, sha string, remove func() error, err error) {
	if sha, err = t.Resolve(ctx, name); err != nil {
		return "", "", nil, err
	}
	dir, err := os.MkdirTemp("", "assay-revision-")
	if err != nil {
		return "", "", nil, err
	}
	work := filepath.Join(dir, "tree")
	remove = func() error { // forced twice: also one that is half made
		_, err := command(context.WithoutCancel(ctx), t.Root, "git", "worktree", "remove", "--force", "--force", work)
		if _, there := os.Stat(work); errors.Is(there, os.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, os.RemoveAll(dir))
	}
	binary = filepath.Join(dir, "validate")
	for _, step := range []struct {
		name, dir string
		args      []string
	}{
		{"make a worktree", t.Root, []string{"git", "worktree", "add", "--detach", "--force", work, sha}},
		{buildStep, work, build(binary)},
	} {
		if out, err := command(ctx, step.dir, step.args...); err != nil {
			return "", "", nil, errors.Join(&Error{Revision: name, Step: step.name, Output: out, Err: err}, remove())
		}
	}
	return binary, sha, remove, nil
}

// buildStep is the step of an Error when the program does not compile.
const buildStep = "build"

// build makes the same bytes of the same source, wherever it lies.
func build(binary string) []string {
	return []string{"go", "build", "-buildvcs=false", "-trimpath", "-o", binary, "./cmd/validate"}
}

// Unbuildable tells that the source of a revision does not compile.
func (e *Error) Unbuildable() bool { return e.Step == buildStep }

// output runs a program and gives all of its standard output.
func output(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	return cmd.Output()
}

// command runs a program and gives what it wrote, the last of it when there is much.
func command(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if n := len(text); n > 2000 {
		text = "..." + text[n-2000:]
	}
	return text, err
}
