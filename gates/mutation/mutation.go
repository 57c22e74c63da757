package mutation

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:embed mutations.yaml
var list []byte

// Mutation is one small change of one file.
type Mutation struct {
	File  string `yaml:"file"` // slash-separated, below the root of the module
	Old   string `yaml:"old"`  // occurs once
	New   string `yaml:"new"`
	Tests string `yaml:"tests"` // package and pattern of the tests that must fail
	About string `yaml:"about"`
	Short bool   `yaml:"short"` // belongs to the short form
}

// Load reads the mutations.
func Load() ([]Mutation, error) {
	var all []Mutation
	d := yaml.NewDecoder(bytes.NewReader(list))
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("mutation: mutations.yaml: %w", err)
	}
	return all, nil
}

// Apply gives the text of the file with the change in it.
func (m *Mutation) Apply(root string) ([]byte, error) {
	b, err := os.ReadFile(m.path(root))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(b, []byte(m.Old)); n != 1 {
		return nil, fmt.Errorf("mutation: %s: %q occurs %d times, not once", m.File, m.Old, n)
	}
	return bytes.Replace(b, []byte(m.Old), []byte(m.New), 1), nil
}

func (m *Mutation) path(root string) string { return filepath.Join(root, filepath.FromSlash(m.File)) }

// Fate is what became of a mutation.
type Fate string

// The fates. Only Caught is good; Broken says nothing about the tests.
const (
	Caught   Fate = "caught"
	Survived Fate = "survived"
	Broken   Fate = "does not compile"
)

// Try runs the tests with the change. What they wrote is returned too.
func (m *Mutation) Try(ctx context.Context, root string) (Fate, string, error) {
	text, err := m.Apply(root)
	if err != nil {
		return "", "", err
	}
	dir, err := os.MkdirTemp("", "assay-mutation-")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(dir)
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(changed, text, 0o644); err != nil {
		return "", "", err
	}
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{m.path(root): changed}})
	if err != nil {
		return "", "", err
	}
	if err := os.WriteFile(overlay, b, 0o644); err != nil {
		return "", "", err
	}
	pkg, pattern, _ := strings.Cut(m.Tests, " ")
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-vet=off", "-failfast", "-overlay", overlay, "-run", pattern, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil && bytes.Contains(out, []byte("[no tests to run]")):
		return Broken, string(out), nil
	case err == nil:
		return Survived, string(out), nil
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case errors.As(err, &exit) && bytes.Contains(out, []byte("--- FAIL")):
		return Caught, string(out), nil
	case errors.As(err, &exit):
		return Broken, string(out), nil
	}
	return "", "", err
}
