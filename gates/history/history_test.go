package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/snapshots"
)

// tree is a small source tree: an engine that uses one kernel, two benchmarks.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                           "module assay\n",
		"fixtures/SHA256SUMS":              "aa  models/tiny.gguf\nbb  models/folder/config.json\ncc  models/folder/weights\ndd  evidence/x\n",
		"gates/definitions/set/gates.yaml": "- name: a\n",
		"engine/engine.go":                 "package engine\n\nimport _ \"assay/kernels/vector\"\n",
		"kernels/vector/vector.go":         "package vector\n",
		"kernels/vector/add_amd64.s":       "// nothing\n",
		"kernels/vector/other_test.go":     "package vector\n",
		"kernels/vector/bench_test.go":     "package vector\n\nimport (\n\t\"testing\"\n\n\t_ \"assay/kernels/arith\"\n)\n\nfunc BenchmarkAdd(b *testing.B) {}\n\nfunc BenchmarkNorm(b *testing.B) {}\n",
		"kernels/arith/arith.go":           "package arith\n",
		"kernels/_asm/gen.go":              "package not go\n",
		"kernels/vector/testdata/bad.go":   "package not go\n",
	} {
		write(t, root, name, text)
	}
	return root
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func sources(t *testing.T, root string) *Sources {
	t.Helper()
	s, err := ReadSources(root)
	require.NoError(t, err)
	return s
}

// measured is a report that has some entry points, measured on sources.
func measured(s *Sources, at int, names ...string) *snapshots.Report {
	r := &snapshots.Report{Format: snapshots.ReportFormat, Started: time.Date(2026, 9, 1+at, 0, 0, 0, 0, time.UTC), Name: fmt.Sprint("snapshot-", at), MachineID: "m", Command: "validate snapshot", Sources: map[string]string{}}
	for _, e := range s.Entries() {
		for _, n := range names {
			if e.Name != n {
				continue
			}
			for k, v := range s.Hashes(e.Sources) {
				r.Sources[k] = v
			}
			if e.Kind == Kernels {
				r.Kernels = append(r.Kernels, snapshots.Kernel{Package: e.Package, Benchmark: e.Mark, Case: "scalar", Median: 1, Low: 1, High: 1, Samples: []float64{1}})
			} else {
				r.Benches = append(r.Benches, timed(e.Model))
			}
		}
	}
	return r
}

func timed(model string) *snapshots.Bench {
	return &snapshots.Bench{Model: snapshots.BenchModel{Path: model}, Runs: []snapshots.Run{{Engine: "assay", Phases: []snapshots.BenchPhase{
		{Phase: "prompt", Tokens: PromptIDs, Median: 0.1, Low: 0.1, High: 0.1, Samples: []float64{0.1}}, {Phase: "decode", Tokens: Evaluations, Median: 0.2, Low: 0.2, High: 0.2, Samples: []float64{0.2}},
	}}}}
}

func words(states []*State) (list []string) {
	for _, s := range states {
		list = append(list, s.Name+": "+string(s.Word))
	}
	return list
}

func TestEntryPointsAreModelsAndBenchmarks(t *testing.T) {
	var names []string
	for _, e := range sources(t, tree(t)).Entries() {
		names = append(names, e.Name)
	}
	assert.Equal(t, []string{"phases/folder", "phases/tiny.gguf", "kernels/vector.Add", "kernels/vector.Norm"}, names)
}

func TestEntryPointsMeasureWhatTheyUse(t *testing.T) {
	by := map[string]*Entry{}
	for _, e := range sources(t, tree(t)).Entries() {
		by[e.Name] = e
	}
	assert.Equal(t, []string{"engine", "kernels/vector", "fixtures/models/tiny.gguf"}, by["phases/tiny.gguf"].Sources)
	assert.Equal(t, []string{"kernels/arith", "kernels/vector", "kernels/vector tests"}, by["kernels/vector.Add"].Sources)
}

func TestWhatChangedIsStale(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		stale            []string
	}{
		{"nothing", "README.md", "x", nil},
		{"the engine", "engine/engine.go", "package engine\n\nimport _ \"assay/kernels/vector\"\n\n// changed\n", []string{"phases/tiny.gguf"}},
		{"assembly", "kernels/vector/add_amd64.s", "// changed\n", []string{"phases/tiny.gguf", "kernels/vector.Add"}},
		{"what the benchmark uses", "kernels/arith/arith.go", "package arith // changed\n", []string{"kernels/vector.Add"}},
		{"the benchmark", "kernels/vector/bench_test.go", "package vector\n\nimport \"testing\"\n\nfunc BenchmarkAdd(b *testing.B) { b.Loop() }\n\nfunc BenchmarkNorm(b *testing.B) {}\n", []string{"kernels/vector.Add"}},
		{"other tests", "kernels/vector/other_test.go", "package vector // changed\n", nil},
		{"the fixture", "fixtures/SHA256SUMS", "ee  models/tiny.gguf\nbb  models/folder/config.json\n", []string{"phases/tiny.gguf"}},
		{"line ends", "kernels/vector/vector.go", "package vector\r\n", nil},
		{"a new file", "kernels/vector/more_riscv64.s", "// more\n", []string{"phases/tiny.gguf", "kernels/vector.Add"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t)
			r := measured(sources(t, root), 0, "phases/tiny.gguf", "kernels/vector.Add")
			write(t, root, c.file, c.text)
			var stale []string
			for _, s := range States(sources(t, root), []*snapshots.Report{r}) {
				if s.Word == Stale {
					stale = append(stale, s.Name)
					assert.NotEmpty(t, s.Changed)
					assert.Contains(t, s.Details(), "changed since snapshot-0: ")
				}
			}
			assert.Equal(t, c.stale, stale)
		})
	}
}

func TestQueueIsNeverRunThenStaleThenFresh(t *testing.T) {
	root := tree(t)
	s := sources(t, root)
	old, new := measured(s, 1, "kernels/vector.Norm"), measured(s, 2, "kernels/vector.Add", "phases/tiny.gguf")
	write(t, root, "kernels/vector/bench_test.go", "package vector\n\nimport \"testing\"\n\nfunc BenchmarkAdd(b *testing.B) {}\n\nfunc BenchmarkNorm(b *testing.B) {} // changed\n")
	states := States(sources(t, root), []*snapshots.Report{old, new})
	assert.Equal(t, []string{"phases/folder: never run", "kernels/vector.Norm: stale", "kernels/vector.Add: stale", "phases/tiny.gguf: fresh"}, words(states))
	assert.Len(t, Due(states), 3)
	assert.Equal(t, "measured in snapshot-2", states[3].Details())
	assert.Equal(t, "no snapshot has it", states[0].Details())
}

func TestSupersededAndVoidSnapshotsMeasureNothing(t *testing.T) {
	s := sources(t, tree(t))
	r := measured(s, 0, "kernels/vector.Add", "kernels/vector.Norm", "phases/tiny.gguf", "phases/folder")
	assert.Empty(t, Due(States(s, []*snapshots.Report{r})))
	r.Kernels[0].Void = "impossible"
	r.Benches[0].Runs[0].Phases[1].Void = "impossible"
	r.Benches[1].Runs[0].Phases[0].Tokens = 7
	states := States(s, []*snapshots.Report{r})
	assert.Equal(t, []string{"phases/folder: never run", "phases/tiny.gguf: never run", "kernels/vector.Add: never run", "kernels/vector.Norm: fresh"}, words(states))
	assert.Equal(t, "its figures were void whenever it was measured", states[0].Why())
	r.Superseded = &snapshots.Superseded{Reason: "busy"}
	assert.Len(t, Due(States(s, []*snapshots.Report{r})), 4)
}

func TestStoresKeepSnapshotsWhole(t *testing.T) {
	store := &Store{Dir: filepath.Join(t.TempDir(), "not there yet")}
	all, err := store.List()
	require.NoError(t, err)
	assert.Empty(t, all)
	s := sources(t, tree(t))
	for i := range 3 {
		r := measured(s, i/2, "kernels/vector.Add", "phases/tiny.gguf")
		dir, err := store.Add(r)
		require.NoError(t, err)
		for _, name := range []string{"snapshot.json", "snapshot.md", "kernels.txt", "phases-tiny.gguf.txt"} {
			assert.FileExists(t, filepath.Join(dir, name))
		}
	}
	require.NoError(t, os.MkdirAll(filepath.Join(store.Dir, "something else"), 0o755))
	write(t, store.Dir, "README.md", "words")
	all, err = store.List()
	require.NoError(t, err)
	var names []string
	for _, r := range all {
		names = append(names, r.Name)
	}
	assert.Equal(t, []string{"20260901T000000Z-m", "20260901T000000Z-m-2", "20260902T000000Z-m"}, names)
	page, err := os.ReadFile(filepath.Join(store.Dir, names[2], "snapshot.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "### Since 20260901T000000Z-m-2\n")
	assert.Contains(t, string(page), "](history-tiny.gguf-0-threads-decode.svg)")
	entries, err := os.ReadDir(store.Dir)
	require.NoError(t, err)
	for _, e := range entries {
		assert.False(t, strings.HasPrefix(e.Name(), "."), "%s was left behind", e.Name())
	}
}

func TestSupersededSnapshotsStayWithTheReason(t *testing.T) {
	store := &Store{Dir: t.TempDir()}
	s := sources(t, tree(t))
	for i := range 3 {
		_, err := store.Add(measured(s, i, "kernels/vector.Add"))
		require.NoError(t, err)
	}
	const second, third = "20260902T000000Z-m", "20260903T000000Z-m"
	assert.ErrorContains(t, store.Supersede(second, "", " "), "without a reason")
	assert.ErrorContains(t, store.Supersede("nothing", "", "busy"), "no snapshot nothing")
	assert.ErrorContains(t, store.Supersede(second, "nothing", "busy"), "no snapshot nothing")
	require.NoError(t, store.Supersede(second, third, "the machine was busy"))
	r, err := store.Read(second)
	require.NoError(t, err)
	assert.Equal(t, &snapshots.Superseded{By: third, Reason: "the machine was busy"}, r.Superseded)
	page, err := os.ReadFile(filepath.Join(store.Dir, second, "snapshot.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "the machine was busy")
	all, err := store.List()
	require.NoError(t, err)
	require.Len(t, all, 3)
	assert.Equal(t, "20260901T000000Z-m", before(all, all[2]).Name, "what is superseded is not compared with")
}

func TestOnlySnapshotsOfOneKindAndMachineAreCompared(t *testing.T) {
	s := sources(t, tree(t))
	a, b, c, d := measured(s, 0), measured(s, 1), measured(s, 2), measured(s, 3)
	b.Command, c.MachineID = "validate cross", "other"
	all := []*snapshots.Report{a, b, c, d}
	assert.Same(t, a, before(all, d))
	assert.Nil(t, before(all, b))
	assert.Equal(t, "", verb("validate --json x"))
	assert.Len(t, OnMachine(all, "m"), 3)
}

func TestForeignFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.json", `{"format": "other/1"}`)
	_, err := ReadReport(filepath.Join(dir, "a.json"))
	assert.ErrorContains(t, err, `format is "other/1", want "assay-report/1"`)
	write(t, dir, "b/snapshot.json", `{`)
	_, err = (&Store{Dir: dir}).List()
	assert.ErrorContains(t, err, "snapshot.json: ")
}

func TestEntryPointsAreMeasuredInTheirOrder(t *testing.T) {
	s := sources(t, tree(t))
	var asked []string
	m := Measure{
		Sources: s, Samples: 6, Time: time.Millisecond,
		Phases: func(_ context.Context, model string) (*snapshots.Bench, error) {
			asked = append(asked, model)
			b := timed("/tmp/x/" + model)
			return b, nil
		},
		GoTest: func(_ context.Context, args ...string) ([]byte, error) {
			asked = append(asked, strings.Join(args, " "))
			return []byte("pkg: assay/kernels/vector\nBenchmarkAdd/scalar-2 10 5 ns/op\nBenchmarkAdd/scalar-2 10 7 ns/op\n"), nil
		},
	}
	r := &snapshots.Report{}
	require.NoError(t, m.Run(t.Context(), r, s.Entries()))
	assert.Equal(t, []string{
		"models/folder", "models/tiny.gguf",
		"-run=^$ -bench=^Benchmark(CacheRead|Int8)$ -benchmem -count=6 -benchtime=1ms ./kernels/ceiling",
		"-run=^$ -bench=^Benchmark(Add|Norm)$ -benchmem -count=6 -benchtime=1ms ./kernels/vector",
	}, asked)
	assert.Equal(t, "models/tiny.gguf", r.Benches[1].Model.Path)
	assert.Equal(t, []string{"kernels/vector.Norm gave no figures: it was skipped"}, r.Notes)
	states := States(s, []*snapshots.Report{r})
	assert.Equal(t, []string{"kernels/vector.Norm: never run", "phases/folder: fresh", "phases/tiny.gguf: fresh", "kernels/vector.Add: fresh"}, words(states))
}

func TestWhatWasMeasuredBeforeAnErrorIsKept(t *testing.T) {
	s := sources(t, tree(t))
	calls := 0
	m := Measure{Sources: s, Phases: func(_ context.Context, model string) (*snapshots.Bench, error) {
		if calls++; calls > 1 {
			return nil, errors.New("no memory")
		}
		return timed(model), nil
	}}
	r := &snapshots.Report{}
	assert.ErrorContains(t, m.Run(t.Context(), r, s.Entries()), "phases/tiny.gguf: no memory")
	assert.Len(t, r.Benches, 1)
	m.GoTest = func(context.Context, ...string) ([]byte, error) {
		return []byte("does not build"), errors.New("exit status 1")
	}
	assert.ErrorContains(t, m.Run(t.Context(), r, s.Entries()[2:]), "exit status 1\ndoes not build")
}

func TestEveryPrimitiveHasItsBenchmark(t *testing.T) {
	rows, err := Rows()
	require.NoError(t, err)
	names := map[string]bool{}
	for _, e := range sources(t, "../..").Entries() {
		names[e.Name] = true
	}
	for _, r := range rows {
		assert.True(t, names[r.Entry], "%s: no benchmark %s", r.Row, r.Entry)
		assert.NotEmpty(t, r.Published)
	}
}

func TestRealTreeHasItsEntryPoints(t *testing.T) {
	s := sources(t, "../..")
	by := map[string]*Entry{}
	for _, e := range s.Entries() {
		by[e.Name] = e
		for _, name := range e.Sources {
			assert.NotEmpty(t, s.Hash(name), "%s: %s", e.Name, name)
		}
	}
	require.Contains(t, by, "phases/llama-Q4_0.gguf")
	assert.Contains(t, by["phases/llama-Q4_0.gguf"].Sources, "kernels/matmul")
	assert.NotContains(t, by["kernels/vector.RMSNorm3584"].Sources, "kernels/matmul")
	assert.NotContains(t, by["phases/llama-Q4_0.gguf"].Sources, "gates")
}

func TestCommittedPagesAreWhatTheirDataGive(t *testing.T) {
	committed := filepath.Join("..", "..", filepath.FromSlash(Committed))
	store := &Store{Dir: filepath.Join(t.TempDir(), "copy")}
	require.NoError(t, os.CopyFS(store.Dir, os.DirFS(committed)))
	_, err := store.Render()
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(store.Dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(store.Dir, name)
		require.NoError(t, err)
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(committed, below))
		assert.NoError(t, err)
		assert.True(t, string(want) == string(got), "%s: write it with: go run ./cmd/validate history --store %s --render", below, Committed)
		return nil
	}))
}

func TestRenderingChangesNothing(t *testing.T) {
	store := &Store{Dir: t.TempDir()}
	dir, err := store.Add(measured(sources(t, tree(t)), 0, "kernels/vector.Add", "phases/tiny.gguf"))
	require.NoError(t, err)
	contents := func() string {
		var b strings.Builder
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			b.WriteString(e.Name() + "\n" + string(text))
		}
		return b.String()
	}
	first := contents()
	n, err := store.Render()
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, first, contents())
}
