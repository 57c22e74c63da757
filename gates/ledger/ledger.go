package ledger

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// A Ledger is one generated file at the root of the project.
type Ledger struct {
	Name string
	make func(*tree) (any, error) // what the template of the same name is filled with
	arch string                   // the only architecture on which it can be made; "": any
}

var ledgers = []Ledger{
	{Name: "validation-gates.md", make: gatesData},
	{Name: "backend-parity-matrix.md", make: matrixData, arch: matrixArch},
	{Name: "benchmark-snapshot-queue.md", make: queueData},
}

// All lists the ledgers.
func All() []Ledger { return ledgers }

// matrixArch is the architecture whose build knows every implementation.
const matrixArch = "amd64"

// ErrElsewhere is returned for a ledger that cannot be made here.
var ErrElsewhere = errors.New("ledger: cannot be made here")

// Generate gives the ledger as it must be, of the source tree that this is run in.
func (l Ledger) Generate() ([]byte, error) {
	if l.arch != "" && l.arch != runtime.GOARCH {
		return nil, fmt.Errorf("%w: only on %s, whose build has every kernel", ErrElsewhere, l.arch)
	}
	root, err := Root(".")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrElsewhere, err)
	}
	return l.generate(root)
}

// generate gives the ledger of a source tree.
func (l Ledger) generate(root string) ([]byte, error) {
	t, err := readTree(root)
	if err != nil {
		return nil, err
	}
	data, err := l.make(t)
	if err != nil {
		return nil, err
	}
	return l.fill(data)
}

func (l Ledger) fill(data any) ([]byte, error) {
	t, err := template.New(l.Name+".tmpl").Funcs(template.FuncMap{"cell": cell, "list": list}).ParseFS(templates, "templates/"+l.Name+".tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Write generates the ledger below root.
func (l Ledger) Write(root string) error {
	b, err := l.Generate()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, l.Name), b, 0o644)
}

// Stale says in what the file below root differs from what it must be; "" when it
// does not.
func (l Ledger) Stale(root string) (string, error) {
	want, err := l.Generate()
	if err != nil {
		return "", err
	}
	got, err := os.ReadFile(filepath.Join(root, l.Name))
	if errors.Is(err, os.ErrNotExist) {
		return "there is no such file", nil
	}
	if err != nil {
		return "", err
	}
	return difference(string(got), string(want)), nil
}

// difference names the first line that differs. Files that were checked out with
// carriage returns are the same.
func difference(got, want string) string {
	g, w := strings.Split(strings.ReplaceAll(got, "\r\n", "\n"), "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		switch {
		case i >= len(g):
			return fmt.Sprintf("it ends before line %d: %q", i+1, w[i])
		case i >= len(w):
			return fmt.Sprintf("line %d should not be there: %q", i+1, g[i])
		case g[i] != w[i]:
			return fmt.Sprintf("line %d is %.120q, should be %.120q", i+1, g[i], w[i])
		}
	}
	return ""
}

// cell keeps a text inside its cell of a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "*", "\\*", "_", "\\_", "<", "&lt;").Replace(strings.TrimSpace(s))
}

// list joins values of any kind.
func list(values any) string {
	s := strings.Fields(strings.Trim(fmt.Sprint(values), "[]"))
	return strings.Join(s, ", ")
}

// Root finds the folder of the module that the folder at belongs to: the first
// one upwards whose go.mod names this module.
func Root(at string) (string, error) {
	dir, err := filepath.Abs(at)
	if err != nil {
		return "", err
	}
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(b), "module assay\n") {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("ledger: %s is not inside the module assay", at)
		}
		dir = up
	}
}
