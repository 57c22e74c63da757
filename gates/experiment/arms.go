package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"assay/engine/checkpoint"
	"assay/fixtures"
	"assay/gates/bench"
	"assay/gates/sampling"
	"assay/kernels/cpu"
)

// ModelsVariable names the folder of real weight files.
const ModelsVariable = "ASSAY_MODELS"

// MissingError is a fixture that is not there.
type MissingError struct{ What string }

func (e *MissingError) Error() string { return "experiment: not available: " + e.What }

// arms are both sides, ready to be sampled.
type arms struct {
	a, b     sampling.Arm
	binaries Binaries
	fixture  FixtureIdentity
	cores    []int
	close    []func() error
}

func (a *arms) Close() (err error) {
	for _, f := range slices.Backward(a.close) {
		err = errors.Join(err, f())
	}
	return err
}

// same are the arms of the baseline against itself.
func (a *arms) same() *arms {
	s := *a
	s.b, s.binaries.Candidate, s.binaries.CandidateRevision = a.a, a.binaries.Baseline, a.binaries.BaselineRevision
	return &s
}

// arms finds the fixture and the binaries of both sides.
func (r *Runner) arms(ctx context.Context, d *Definition) (_ *arms, err error) {
	s := &arms{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	path, err := r.fixture(d, s)
	if err != nil {
		return nil, err
	}
	vocab, err := vocabulary(path)
	if err != nil {
		return nil, err
	}
	s.cores = bench.Cores(max(d.Workload.Threads, d.Baseline.Threads, d.Candidate.Threads))
	for _, x := range []struct {
		arm              *Arm
		into             *sampling.Arm
		binary, revision *string
	}{{&d.Baseline, &s.a, &s.binaries.Baseline, &s.binaries.BaselineRevision}, {&d.Candidate, &s.b, &s.binaries.Candidate, &s.binaries.CandidateRevision}} {
		if _, err := cpu.Parse(x.arm.CPU); err != nil && x.arm.Revision == "" {
			return nil, &MissingError{err.Error()}
		}
		command := r.Command
		if x.arm.Revision != "" {
			if command, *x.revision, err = r.build(ctx, x.arm.Revision, s); err != nil {
				return nil, err
			}
		}
		if *x.binary, err = r.binary(command); err != nil {
			return nil, err
		}
		x.into.Process = bench.Process{Command: command, Cores: s.cores}
		for _, k := range slices.Sorted(maps.Keys(x.arm.Environment)) {
			x.into.Process.Env = append(x.into.Process.Env, k+"="+x.arm.Environment[k])
		}
		x.into.Job = d.job(x.arm, path, vocab)
	}
	return s, nil
}

// fixture finds the checkpoint and checks its bytes.
func (r *Runner) fixture(d *Definition, s *arms) (path string, err error) {
	f := &d.Fixture
	s.fixture.Name = f.Name()
	if f.Embedded != "" {
		sum, ok := fixtures.Sums()["models/"+f.Embedded]
		if !ok {
			return "", &MissingError{"embedded model " + f.Embedded}
		}
		dir, err := os.MkdirTemp("", "assay-experiment-")
		if err != nil {
			return "", err
		}
		s.close = append(s.close, func() error { return os.RemoveAll(dir) })
		s.fixture.SHA256 = sum
		return filepath.Join(dir, "models", f.Embedded), fixtures.Materialise(dir)
	}
	if r.Models == "" {
		return "", &MissingError{fmt.Sprintf("%s: set %s to the folder of real models", f.Model, ModelsVariable)}
	}
	path = filepath.Join(r.Models, f.Model)
	s.fixture.SHA256, err = HashFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", &MissingError{path}
	case err == nil && s.fixture.SHA256 != f.SHA256:
		return "", &MissingError{fmt.Sprintf("%s: it is another file (SHA-256 %.12s, registered is %.12s)", path, s.fixture.SHA256, f.SHA256)}
	}
	return path, err
}

func vocabulary(path string) (int, error) {
	c, err := checkpoint.Open(path)
	if err != nil {
		return 0, err
	}
	return c.Config().Vocab, c.Close()
}

// build gives the command of a revision's program; revisions are built once.
func (r *Runner) build(ctx context.Context, name string, s *arms) (command []string, sha string, err error) {
	if r.Build == nil {
		return nil, "", &MissingError{"revision " + name + ": there is no source tree here"}
	}
	binary, sha, remove, err := r.Build(ctx, name)
	if err != nil {
		return nil, "", err
	}
	s.close = append(s.close, remove)
	return []string{binary, bench.ChildArgument}, sha, nil
}

// binary is the SHA-256 of a command's program, or of this one.
func (r *Runner) binary(command []string) (string, error) {
	if len(command) > 0 {
		return HashFile(command[0])
	}
	if r.self == "" {
		path, err := os.Executable()
		if err != nil {
			return "", err
		}
		if r.self, err = HashFile(path); err != nil {
			return "", err
		}
	}
	return r.self, nil
}
