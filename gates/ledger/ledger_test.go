package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/gates"
	"assay/kernels/matmul"
)

func generate(t *testing.T, name string) string {
	t.Helper()
	for _, l := range All() {
		if l.Name == name {
			b, err := l.Generate()
			if errors.Is(err, ErrElsewhere) {
				t.Skip(err)
			}
			require.NoError(t, err)
			again, err := l.Generate()
			require.NoError(t, err)
			require.Equal(t, string(b), string(again), "the same tree must give the same bytes")
			return string(b)
		}
	}
	t.Fatalf("no ledger %s", name)
	return ""
}

func TestLedgerOfGatesNamesEveryGateAndReason(t *testing.T) {
	text := generate(t, "validation-gates.md")
	for _, set := range []gates.Set{gates.OnFixtures, gates.OnModel, gates.OnReal} {
		definitions, err := gates.Load(set)
		require.NoError(t, err)
		for _, d := range definitions {
			assert.Contains(t, text, "\n### "+d.Name+"\n")
			for _, c := range d.Checks {
				assert.Contains(t, text, cell(c.Why), d.Name)
			}
		}
	}
	noStrayBlankLines(t, text)
}

func TestMatrixNamesEveryKernel(t *testing.T) {
	text := generate(t, "backend-parity-matrix.md")
	for _, k := range matmul.Kernels() {
		assert.Contains(t, text, "\n| "+k.Format.String()+" |")
		assert.Contains(t, text, " "+k.Level.String()+" |")
	}
	for _, operation := range []string{"RMSNorm", "RotateHalves", "SiLUMul", "Quantise256", "K/V F16", "K/V F32"} {
		assert.Contains(t, text, "\n| "+operation+" |")
	}
	noStrayBlankLines(t, text)
}

// noStrayBlankLines also sees that every row of a table has as many cells as its header.
func noStrayBlankLines(t *testing.T, text string) {
	t.Helper()
	assert.NotContains(t, text, "\n\n\n")
	assert.True(t, strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, "\n\n"))
	cells := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, "\\|", ""), "|")
		if cells != 0 {
			assert.Equal(t, cells, n, line)
		}
		cells = n
		assert.NotContains(t, line, "<no value>")
	}
}

func TestStaleLedgersAreTold(t *testing.T) {
	l := All()[0]
	dir := t.TempDir()
	why, err := l.Stale(dir)
	require.NoError(t, err)
	assert.Equal(t, "there is no such file", why)
	require.NoError(t, l.Write(dir))
	why, err = l.Stale(dir)
	require.NoError(t, err)
	assert.Empty(t, why)
	path := filepath.Join(dir, l.Name)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append([]byte("x"), b...), 0o644))
	why, err = l.Stale(dir)
	require.NoError(t, err)
	assert.Contains(t, why, `line 1 is "x# Validation gates"`)
}

func TestDifferencesAreNamedByLine(t *testing.T) {
	assert.Empty(t, difference("a\r\nb\n", "a\nb\n"))
	assert.Equal(t, `line 2 is "c", should be "b"`, difference("a\nc", "a\nb"))
	assert.Equal(t, `it ends before line 2: "b"`, difference("a", "a\nb"))
	assert.Equal(t, `line 2 should not be there: "b"`, difference("a\nb", "a"))
}

func TestRootIsThatOfTheModule(t *testing.T) {
	root, err := Root(".")
	require.NoError(t, err)
	_, err = os.Stat(filepath.Join(root, "gates", "ledger"))
	assert.NoError(t, err)
	_, err = Root(t.TempDir())
	assert.ErrorContains(t, err, "not inside the module assay")
}

func TestMatrixIsMadeOnOneArchitecture(t *testing.T) {
	_, err := All()[1].Generate()
	assert.Equal(t, runtime.GOARCH != matrixArch, errors.Is(err, ErrElsewhere))
}
