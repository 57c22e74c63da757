package mutation

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every mutation runs the tests of a package, so none is tried unless asked:
//
//	go test ./gates/mutation -v -args -mutate all
//	go test ./gates/mutation -v -args -mutate short
var mutate = flag.String("mutate", "", "which mutations to try: short or all")

func root(t *testing.T) string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	return dir
}

func TestMutationsFitTheCode(t *testing.T) {
	all, err := Load()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(all), 15)
	short := 0
	for i := range all {
		m := &all[i]
		_, err := m.Apply(root(t))
		assert.NoError(t, err)
		assert.NotEqual(t, m.Old, m.New)
		assert.NotEmpty(t, m.About, m.File)
		if m.Short {
			short++
		}
	}
	assert.Positive(t, short)
}

func TestMutationsAreCaught(t *testing.T) {
	if *mutate == "" {
		t.Skip("pass -args -mutate short or all")
	}
	all, err := Load()
	require.NoError(t, err)
	for i := range all {
		m := &all[i]
		if *mutate == "short" && !m.Short {
			continue
		}
		t.Run(m.About, func(t *testing.T) {
			fate, out, err := m.Try(t.Context(), root(t))
			require.NoError(t, err)
			assert.Equal(t, Caught, fate, "%s: %q -> %q\n%s", m.File, m.Old, m.New, out)
		})
	}
}
