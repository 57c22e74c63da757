package bisect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"assay/engine/checkpoint"
	"assay/oracle"
)

// Build makes the program of a git revision.
type Build func(ctx context.Context, revision string) (binary, sha string, remove func() error, err error)

// RevisionError is a revision whose program cannot record intermediates.
type RevisionError struct{ Revision, Reason string }

func (e *RevisionError) Error() string { return fmt.Sprintf("revision %s: %s", e.Revision, e.Reason) }

// FromRevision lets the program of a revision record the ids.
func FromRevision(ctx context.Context, build Build, path string, s *Setup, ids []int32) (_ *Recorded, err error) {
	if build == nil {
		return nil, &RevisionError{s.Revision, "there is no source tree here to build it of"}
	}
	binary, sha, remove, err := build(ctx, s.Revision)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	dir, err := os.MkdirTemp("", "assay-bisect-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	prompts, out := filepath.Join(dir, "prompts.yaml"), filepath.Join(dir, "recording")
	b, err := yaml.Marshal([]oracle.Prompt{{Name: "bisect", IDs: ids}})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(prompts, b, 0o644); err != nil {
		return nil, err
	}
	args := []string{"record", "--model", path, "--prompts", prompts, "--out", out, "--tokens", "1", "--nodes", "--kv"}
	for _, x := range []struct{ flag, value string }{{"cpu", s.CPU}, {"threads", number(s.Threads)}, {"chunk", number(s.Chunk)}, {"activations", s.Activations}, {"kv-type", kvOf(s)}} {
		if x.value != "" {
			args = append(args, "--"+x.flag, x.value)
		}
	}
	if said, err := exec.CommandContext(ctx, binary, args...).CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		first, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
		return nil, &RevisionError{s.Revision, fmt.Sprintf("its program cannot record this: %v: %.200s", err, first)}
	}
	model, err := checkpoint.Open(path)
	if err != nil {
		return nil, err
	}
	defer model.Close()
	r, err := FromEvidence(out, "", model)
	if err != nil {
		return nil, &RevisionError{s.Revision, err.Error()}
	}
	r.From = "revision " + sha
	return r, nil
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// kvOf is the format of a setup in words: record has another default.
func kvOf(s *Setup) string {
	f, _ := s.format() // checked when it was parsed
	return f.String()
}
