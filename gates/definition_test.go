package gates

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/fixtures"
	"assay/oracle"
)

func TestEveryDefinitionSaysWhy(t *testing.T) {
	for _, set := range []Set{OnFixtures, OnModel, OnReal} {
		list, err := Load(set)
		require.NoError(t, err)
		require.NotEmpty(t, list)
		for _, d := range list {
			for _, c := range d.Checks {
				assert.Greater(t, len(c.Why), 30, "%s %s: a reason is a sentence", d.Name, c.What)
				if c.Rung == oracle.NMSE {
					assert.Positive(t, c.MaxAbs+c.NMSE+c.MaxRel, "%s %s: a numeric rung needs a figure", d.Name, c.What)
				}
				if c.Rung == oracle.KL {
					assert.Positive(t, c.MeanKL+c.NLL, "%s %s: a divergence needs a figure", d.Name, c.What)
				}
			}
		}
	}
}

func TestEveryFixtureIsHeldByAGate(t *testing.T) {
	list, err := Load(OnFixtures)
	require.NoError(t, err)
	named := map[string]bool{}
	kinds := map[string]map[Kind]bool{}
	for _, d := range list {
		named[d.Evidence] = true
		for _, m := range d.Models {
			if kinds[m] == nil {
				kinds[m] = map[Kind]bool{}
			}
			kinds[m][d.Kind] = true
		}
	}
	for _, name := range fixtures.Files() {
		parts := strings.Split(name, "/")
		top := parts[0] + "/" + parts[1]
		if parts[0] == "evidence" {
			assert.True(t, named[top], "%s is replayed by no gate", top)
			continue
		}
		for _, k := range []Kind{Structure, Parity, Invariance} {
			assert.True(t, kinds[top][k], "%s has no gate of kind %s", top, k)
		}
	}
}

func TestBadDefinitionsAreRefused(t *testing.T) {
	good := `
- name: x/y
  kind: parity
  about: something
  phases: [prompt]
  evidence: evidence/llama
  checks: [{what: ids, rung: ids, why: because}]
`
	_, err := Parse("good.yaml", []byte(good))
	require.NoError(t, err)
	for old, c := range map[string]struct{ new, says string }{
		"name: x/y":                {"name: X Y", "a name is made of"},
		"kind: parity":             {"kind: magic", `unknown kind "magic"`},
		"about: something":         {"about: ''", "about is missing"},
		"phases: [prompt]":         {"phases: [lunch]", `unknown phase "lunch"`},
		"evidence: evidence/llama": {"evidence: ''", "evidence is missing"},
		"what: ids":                {"what: golden", `kind parity has no check "golden"`},
		"why: because":             {"why: ' '", "does not say why"},
		"rung: ids":                {"rung: best", "want one of bits"},
		"[{what: ids":              {"[{what: logits, rung: topk, top_k: 5, why: few}, {what: logits, rung: topk, top_k: 10, why: many}, {what: ids", "a replay counts one size"},
		"{what":                    {"{of: nothing, what", `nothing is called "nothing"`},
		"  about":                  {"  colour: red\n  about", "field colour not found"},
	} {
		_, err := Parse("bad.yaml", []byte(strings.Replace(good, old, c.new, 1)))
		require.Error(t, err, c.new)
		assert.ErrorContains(t, err, "bad.yaml")
		assert.ErrorContains(t, err, c.says)
	}
	twice, err := Parse("good.yaml", []byte(good+good[1:]))
	require.NoError(t, err)
	assert.ErrorContains(t, unique(twice), `gate "x/y": there is another gate of this name`)
}

func TestTolerancesReadAsSentences(t *testing.T) {
	for want, tolerance := range map[string]oracle.Tolerance{
		"same bits":                         {Rung: oracle.Bits},
		"same ids, flips up to margin 0.1":  {Rung: oracle.IDs, Margin: 0.1},
		"≤ 4 ulp":                           {Rung: oracle.ULP, MaxULP: 4},
		"|difference| ≤ 0.0001":             {Rung: oracle.NMSE, MaxAbs: 1e-4},
		"same top 10 on ≥ 50 %":             {Rung: oracle.TopKSet, TopK: 10, TopKShare: 0.5},
		"mean KL ≤ 0.007, top-1 ≥ 94.5 %":   {Rung: oracle.KL, MeanKL: 7e-3, Top1: 0.945},
		"mean NLL within 0.5 %":             {Rung: oracle.KL, NLL: 0.005},
		"nmse ≤ 0.0004, largest KL ≤ 0.001": {Rung: oracle.NMSE, NMSE: 4e-4, MaxKL: 1e-3},
	} {
		assert.Equal(t, want, describe(tolerance))
	}
}

func TestSelectionByNamePhaseLevelAndThreads(t *testing.T) {
	list, err := Load(OnFixtures)
	require.NoError(t, err)
	cases := func(o Options) []Case {
		r := &run{options: o}
		all, err := r.cases(list)
		require.NoError(t, err)
		return all
	}
	for _, c := range cases(Options{Select: regexp.MustCompile("^restore/")}) {
		assert.Equal(t, Restore, c.Kind)
	}
	for _, c := range cases(Options{Phases: []string{"load"}}) {
		assert.Contains(t, c.Phases, "load")
	}
	one := cases(Options{Select: regexp.MustCompile("^parity/llama-F32$")})
	assert.Len(t, one, 1)
	six := cases(Options{Select: regexp.MustCompile("^parity/llama-F32$"), Levels: []string{"scalar", "scalar"}, Threads: []int{1, 2, 3}})
	assert.Len(t, six, 6, "levels and threads multiply")
	assert.Equal(t, "parity/llama-F32 llama-F32.gguf float32 K/V f32 scalar 3 threads", six[5].String())

	for says, o := range map[string]Options{
		"no gate matches":           {Select: regexp.MustCompile("nothing")},
		`unknown phase "lunch"`:     {Phases: []string{"lunch"}},
		`level "mmx" is not avail`:  {Levels: []string{"mmx"}},
		"parity/llama-transformers": {Select: regexp.MustCompile("nothing")}, // what there is
	} {
		_, err := (&run{options: o}).cases(list)
		assert.ErrorContains(t, err, says)
	}
}
