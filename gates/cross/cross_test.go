package cross

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/snapshots"
)

// module writes a tiny module and makes it what the package checks.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func run(t *testing.T, root string, o Options) []snapshots.Result {
	t.Helper()
	o.Root = root
	results, err := Run(context.Background(), o)
	require.NoError(t, err)
	return results
}

func TestWhatIsOnlyCompiledIsNeverCalledRan(t *testing.T) {
	root := module(t, map[string]string{"go.mod": "module x\n\ngo 1.26\n", "a/a.go": "package a\n"})
	for _, r := range run(t, root, Options{Only: []string{"darwin/arm64", "windows/amd64"}}) {
		assert.Equal(t, snapshots.Held, r.Verdict, r.Detail)
		assert.Equal(t, "compiled", r.Value)
	}
	for _, r := range run(t, root, Options{Only: []string{"linux/arm64"}, Compile: true}) {
		assert.Equal(t, "compiled", r.Value)
	}
}

func TestAPackageThatDoesNotCompileElsewhereFailsWithTheCompilersWords(t *testing.T) {
	root := module(t, map[string]string{"go.mod": "module x\n\ngo 1.26\n", "a/a_arm64.go": "package a\n\nvar x int = \"no\"\n", "a/a.go": "package a\n"})
	results := run(t, root, Options{Only: []string{"linux/arm64"}})
	require.Len(t, results, 1, "nothing is run after a failed build")
	assert.Equal(t, snapshots.Failed, results[0].Verdict)
	assert.Contains(t, results[0].Detail, "cannot use \"no\"")
}

func TestTestsRunNativelyAtEveryLevel(t *testing.T) {
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("the ladder of levels is that of linux/amd64")
	}
	test := "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestGoldenBits(t *testing.T) {\n\tif os.Getenv(\"ASSAY_CPU\") == \"scalar\" {\n\t\tt.Fatal(\"seeded\")\n\t}\n}\n"
	root := module(t, map[string]string{
		"go.mod": "module x\n\ngo 1.26\n", "kernels/a/a_test.go": test, "kernels/a/a.go": "package a\n",
		"engine/a.go": "package a\n", "gates/a.go": "package a\n",
	})
	verdicts := map[string]snapshots.Verdict{}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	t.Setenv("PATH", filepath.Join(strings.TrimSpace(string(goroot)), "bin")) // no emulator
	for _, r := range run(t, root, Options{Only: []string{"linux/amd64"}}) {
		verdicts[r.Check] = r.Verdict
	}
	assert.Equal(t, snapshots.Failed, verdicts["kernels on level scalar"])
	assert.Equal(t, snapshots.Missing, verdicts["run"], "a missing emulator is said, not passed over")
}

func TestAnUnknownTargetIsRefused(t *testing.T) {
	_, err := Run(context.Background(), Options{Only: []string{"plan9/mips"}})
	assert.ErrorContains(t, err, "linux/riscv64")
}
