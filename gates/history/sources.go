package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "assay"

// Sources are the hashes of what is measured, as this tree has it: a package by
// its folder, the benchmarks of a package by "FOLDER tests", a fixture by its path.
type Sources struct {
	root     string
	hashes   map[string]string
	imports  map[string][]string // of a package: packages of this module
	tests    map[string][]string // of its files with benchmarks: packages of this module
	marks    map[string][]string // of a package: its benchmarks
	fixtures map[string]string   // path below fixtures -> SHA-256
}

// ReadSources reads the Go and assembly files below root, for every system and
// processor, and the sums of the fixtures. Nothing is built.
func ReadSources(root string) (*Sources, error) {
	s := &Sources{root: root, hashes: map[string]string{}, imports: map[string][]string{}, tests: map[string][]string{}, marks: map[string][]string{}, fixtures: map[string]string{}}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if base := d.Name(); name != root && (base == "testdata" || base[0] == '.' || base[0] == '_') {
			return filepath.SkipDir
		}
		return s.folder(name)
	})
	if err != nil {
		return nil, fmt.Errorf("history: sources: %w", err)
	}
	if err := s.readDefinitions(); err != nil {
		return nil, err
	}
	return s, s.readFixtures()
}

func (s *Sources) folder(dir string) error {
	below, err := filepath.Rel(s.root, dir)
	if err != nil {
		return err
	}
	p := filepath.ToSlash(below)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	code, tests := sha256.New(), sha256.New()
	hasCode, hasTests := false, false
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".s") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
		into := code
		switch {
		case !strings.HasSuffix(name, "_test.go"):
			hasCode = true
			if err := s.parse(s.imports, p, name, b); err != nil {
				return err
			}
		case bytes.Contains(b, []byte("\nfunc Benchmark")):
			hasTests, into = true, tests
			if err := s.parse(s.tests, p, name, b); err != nil {
				return err
			}
		default:
			continue
		}
		fmt.Fprintf(into, "%s %d\n", name, len(b))
		into.Write(b)
	}
	if hasCode {
		s.hashes[p] = hex.EncodeToString(code.Sum(nil))
	}
	if hasTests {
		s.hashes[testsOf(p)] = hex.EncodeToString(tests.Sum(nil))
	}
	return nil
}

func testsOf(p string) string { return p + " tests" }

// parse notes imports, and the benchmarks of a file of tests.
func (s *Sources) parse(imports map[string][]string, p, name string, b []byte) error {
	if !strings.HasSuffix(name, ".go") {
		return nil
	}
	f, err := parser.ParseFile(token.NewFileSet(), path.Join(p, name), b, 0)
	if err != nil {
		return err
	}
	for _, spec := range f.Imports {
		used, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if own, ok := strings.CutPrefix(used, module+"/"); ok && !slices.Contains(imports[p], own) {
			imports[p] = append(imports[p], own)
		}
	}
	if !strings.HasSuffix(name, "_test.go") {
		return nil
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
			if mark, ok := strings.CutPrefix(fn.Name.Name, "Benchmark"); ok && mark != "" {
				s.marks[p] = append(s.marks[p], mark)
			}
		}
	}
	return nil
}

// closure is a package with all of this module that it uses.
func (s *Sources) closure(packages ...string) []string {
	seen := map[string]bool{}
	var visit func(p string)
	visit = func(p string) {
		if seen[p] {
			return
		}
		seen[p] = true
		for _, used := range s.imports[p] {
			visit(used)
		}
	}
	for _, p := range packages {
		visit(p)
	}
	return slices.Sorted(maps.Keys(seen))
}

// OfGates are the sources that the gates on the fixtures hold to something.
func (s *Sources) OfGates() []string {
	return append(s.closure("engine"), "fixtures/models", "fixtures/evidence", gateDefinitions)
}

// gateDefinitions is the folder whose files say what must hold.
const gateDefinitions = "gates/definitions"

// readFixtures reads the sums of the fixtures.
func (s *Sources) readFixtures() error {
	b, err := os.ReadFile(filepath.Join(s.root, "fixtures", "SHA256SUMS"))
	if err != nil {
		return fmt.Errorf("history: sources: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if ok {
			s.fixtures[name] = sum
		}
	}
	return nil
}

// readDefinitions hashes the definitions of the gates.
func (s *Sources) readDefinitions() error {
	h := sha256.New()
	err := filepath.WalkDir(filepath.Join(s.root, filepath.FromSlash(gateDefinitions)), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d\n", d.Name(), len(b))
		h.Write(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")))
		return nil
	})
	if err != nil {
		return fmt.Errorf("history: sources: %w", err)
	}
	s.hashes[gateDefinitions] = hex.EncodeToString(h.Sum(nil))
	return nil
}

// fixture is the hash of a file or folder of fixtures.
func (s *Sources) fixture(prefix string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.fixtures)) {
		if name == prefix || strings.HasPrefix(name, prefix+"/") {
			fmt.Fprintf(h, "%s  %s\n", s.fixtures[name], name)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Hashes are those of some sources, to be kept in a snapshot.
func (s *Sources) Hashes(names []string) map[string]string {
	m := map[string]string{}
	for _, n := range names {
		m[n] = s.Hash(n)
	}
	return m
}

// Hash is that of one source; "" when there is no such.
func (s *Sources) Hash(name string) string {
	if below, ok := strings.CutPrefix(name, "fixtures/"); ok {
		return s.fixture(below)
	}
	return s.hashes[name]
}
