package cases

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

var dir = flag.String("cases", "testdata", "folder of cases to run")

// deviations are cases of strength "should" that the project answers otherwise,
// with the reason.
func deviations(t *testing.T) map[string]string {
	var d map[string]string
	text, err := os.ReadFile(filepath.Join("testdata", "deviations.yml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &d))
	return d
}

// folder is what -cases names. Tests run in their package's folder; a relative
// name is also looked for from the root, where the command was typed.
func folder() string {
	if _, err := os.Stat(*dir); err != nil && !filepath.IsAbs(*dir) {
		return filepath.Join("..", "..", *dir)
	}
	return *dir
}

func TestEveryCaseGivesItsExpectation(t *testing.T) {
	f, err := Load(folder())
	require.NoError(t, err)
	deviating := deviations(t)
	for _, c := range f.Cases {
		t.Run(c.ID, func(t *testing.T) {
			o := f.Run(c, EngineHooks(), t.TempDir())
			for _, n := range o.Notes {
				t.Log(n)
			}
			if o.Skipped != "" {
				t.Skip(o.Skipped)
			}
			t.Logf("%v, %d bytes allocated, said: %v", o.Elapsed, o.Alloc, o.Refused)
			reason, deviates := deviating[c.ID]
			if deviates && c.Strength == "should" {
				require.NotEmpty(t, o.Problems, "the case holds, its deviation is out of date: %s", reason)
				t.Skipf("differs on purpose: %s; %v", reason, o.Problems)
			}
			for _, p := range o.Problems {
				t.Error(p)
			}
		})
	}
	for _, n := range f.NotRun {
		t.Run(n.ID, func(t *testing.T) { t.Skipf("not run yet: %s", n.File) })
	}
}
