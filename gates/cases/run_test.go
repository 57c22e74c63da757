package cases

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The runner is itself under test here: a case that does not hold must fail.

func own(t *testing.T) *Folder {
	t.Helper()
	f, err := Load("testdata")
	require.NoError(t, err)
	return f
}

func find(t *testing.T, f *Folder, id string) Case {
	t.Helper()
	for _, c := range f.Cases {
		if c.ID == id {
			return c
		}
	}
	require.Fail(t, "no case "+id)
	return Case{}
}

func TestExpectationsThatDoNotHoldAreProblems(t *testing.T) {
	for name, c := range map[string]struct {
		id     string
		change func(c *Case)
		says   string
	}{
		"accepted":    {"gguf/version-3", func(c *Case) { c.Expect = "refuse" }, "must be refused"},
		"refused":     {"gguf/version-4", func(c *Case) { c.Expect = "accept" }, "must be accepted"},
		"name":        {"gguf/version-4", func(c *Case) { c.Error.Names = []string{"general.name"} }, `does not name "general.name"`},
		"path only":   {"gguf/offset-overlap", func(c *Case) { c.Error.Names = []string{"offset-overlap"} }, "does not name"},
		"hint":        {"gguf/version-4", func(c *Case) { c.Error.Hints = []string{"nest"} }, "none of the hints"},
		"shape":       {"gguf-model/shape-short", func(c *Case) { c.ErrorNumbers.Found = []int{17} }, "does not show the shape [17]"},
		"key":         {"gguf/align-8-fill0", func(c *Case) { c.Values.KV["general.alignment"] = 16 }, `key "general.alignment" is 8, want 16`},
		"digest":      {"gguf/align-8-fill0", func(c *Case) { c.Values.Tensors[0].SHA256 = "00" }, "other bytes"},
		"value":       {"gguf/align-8-fill0", func(c *Case) { c.Values.Tensors[0].First[1] = 2 }, "value 1 is"},
		"tensor":      {"gguf/align-8-fill0", func(c *Case) { c.Values.Tensors[0].Name = "t9" }, "was not read"},
		"dims":        {"gguf/align-8-fill0", func(c *Case) { c.Values.Tensors[0].Shape = []int64{5} }, "has shape"},
		"type":        {"gguf/align-8-fill0", func(c *Case) { c.Values.Tensors[0].Type = "F16" }, "has type F32"},
		"count":       {"gguf/align-8-fill0", func(c *Case) { c.Values.Tensors = c.Values.Tensors[:1] }, "3 tensors, want 1"},
		"bytes":       {"gguf/text-latin1", func(c *Case) { c.BytesHex = "ffff" }, "no string holds"},
		"bits":        {"safetensors/nan-inf", func(c *Case) { c.FloatBits[1] = "7fc00001" }, "has bits 7fc00000"},
		"metadata":    {"safetensors/metadata", func(c *Case) { c.Values.Metadata = map[string]string{"format": "x"} }, `metadata "format"`},
		"prefix":      {"gguf/truncate-each", func(c *Case) { c.Truncate.EveryLengthBelow = 288 }, "alone were accepted"},
		"logits":      {"gguf-model/plain-tied", func(c *Case) { c.SameAs = "gguf-model/plain-seed2" }, "the tolerance is"},
		"no logits":   {"gguf-model/plain-tied", func(c *Case) { c.SameAs = "nobody" }, "no logits are recorded"},
		"ids":         {"tokenizer/merges-pairs", func(c *Case) { c.Values.Encode[0].IDs = nil }, "encoding"},
		"text":        {"tokenizer/bytes-invalid", func(c *Case) { c.Values.Decode[0].Text = "x" }, "decoding"},
		"no file":     {"gguf/version-3", func(c *Case) { c.File = "files/none.gguf" }, "cannot be set up"},
		"no base":     {"config/plain", func(c *Case) { c.Recipe.Base = "files/none" }, "cannot be set up"},
		"replacement": {"config/plain", func(c *Case) { c.Recipe.Replace["config.json"] = "none" }, "cannot be set up"},
	} {
		t.Run(name, func(t *testing.T) {
			f := own(t)
			changed := find(t, f, c.id)
			require.Empty(t, f.Run(changed, EngineHooks(), t.TempDir()).Problems, "the case must hold before it is changed")
			c.change(&changed)
			o := f.Run(changed, EngineHooks(), t.TempDir())
			require.NotEmpty(t, o.Problems)
			assert.Contains(t, o.Problems[0], c.says)
		})
	}
}

func TestWithoutHooksTokenizersAreSkippedAndModelsOnlyOpened(t *testing.T) {
	f := own(t)
	o := f.Run(find(t, f, "tokenizer/merges-pairs"), Hooks{}, t.TempDir())
	assert.NotEmpty(t, o.Skipped)
	o = f.Run(find(t, f, "gguf-model/plain-tied"), Hooks{}, t.TempDir())
	assert.Empty(t, o.Problems)
	assert.Contains(t, o.Notes[0], "not compared")
}

type broken struct{}

func (broken) Logits([]int32) ([]float32, error) { return nil, errors.New("no kernel") }
func (broken) Close() error                      { return errors.New("stuck") }

func TestFailuresOfTheSubjectAreProblems(t *testing.T) {
	f := own(t)
	h := Hooks{OpenModel: func(string) (Model, error) {
		allocated = make([]byte, 2*maxAlloc)
		return broken{}, nil
	}}
	o := f.Run(find(t, f, "gguf-model/plain-tied"), h, t.TempDir())
	require.Len(t, o.Problems, 3)
	assert.Contains(t, o.Problems[0], "allocated")
	assert.Contains(t, o.Problems[1], "no kernel")
	assert.Contains(t, o.Problems[2], "stuck")
}

var allocated []byte // kept, so that the allocation is not optimised away

func TestDroppedFilesAreCases(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	put("mine.yaml", "format: assay-cases/1\ncases:\n- {id: a/b, level: container, file: a.gguf, expect: refuse}\n")
	put("a.gguf", "GGUF")
	put("manifest.yaml", "format: other\ncases: 5\n")
	put("numerics/index.yaml", "format: assay-cases/1\ncases:\n- {id: rope/x}\n")
	put("state/scenarios.yaml", "format: assay-cases/1\nscenarios:\n- {id: state/x}\n")
	f, err := Load(dir)
	require.NoError(t, err)
	require.Len(t, f.Cases, 1)
	assert.Empty(t, f.Run(f.Cases[0], Hooks{}, t.TempDir()).Problems)
	require.Len(t, f.NotRun, 2)
	assert.Equal(t, "rope/x", f.NotRun[0].ID)
}

func TestCasesThatCannotBeJudgedAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ yaml, says string }{
		"no id":    {"{level: container, file: a, expect: refuse}", "id is missing"},
		"level":    {"{id: x, level: contaner, file: a, expect: refuse}", `level "contaner"`},
		"expect":   {"{id: x, level: container, file: a, expect: refused}", `expect "refused"`},
		"no file":  {"{id: x, level: container, expect: refuse}", "one of file and recipe"},
		"not yaml": {"{", "cases:"},
		"same twice": {"{id: x, level: container, file: a, expect: refuse}\n- {id: x, level: container, file: a, expect: refuse}",
			"is also in"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "c.yaml"), []byte("format: assay-cases/1\ncases:\n- "+c.yaml+"\n"), 0o600))
			_, err := Load(dir)
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err := Load(t.TempDir())
	require.ErrorContains(t, err, "no *.yaml")
	_, err = Load("testdata/none")
	require.Error(t, err)
}
