package verdict

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sets = flag.String("sets", filepath.Join("testdata", "verdicts.json"), "file of sample sets with the verdicts they must get")

// expected is what a sample set says about its own verdict.
type expected struct {
	ID   string `json:"id"`
	Want struct {
		Verdict   Verdict   `json:"verdict"`
		Ambiguous []Verdict `json:"ambiguous-ok"`
		Methods   struct {
			Order struct {
				Interval map[string][2]float64 `json:"interval"`
			} `json:"order"`
		} `json:"methods"`
		Median map[string]float64 `json:"median_ratio"`
	} `json:"want"`
}

func TestEverySampleSetGetsItsVerdict(t *testing.T) {
	b, err := os.ReadFile(*sets)
	require.NoError(t, err)
	list, err := Parse(b)
	require.NoError(t, err)
	var f struct{ Cases []expected }
	require.NoError(t, json.Unmarshal(b, &f))
	for i := range list {
		t.Run(list[i].ID, func(t *testing.T) {
			j, want := Judge(&list[i], OrderStatistics), f.Cases[i].Want
			assert.Contains(t, append(want.Ambiguous, want.Verdict), j.Verdict, "%s: %s", j.Rule, j.Sentence)
			assert.NotEmpty(t, j.Rule)
			assert.NotEmpty(t, j.Sentence)
			for phase, n := range j.Numbers {
				if iv, ok := want.Methods.Order.Interval[phase]; ok {
					assert.InDelta(t, iv[0], n.Low, 1e-6, "low end of %s", phase)
					assert.InDelta(t, iv[1], n.High, 1e-6, "high end of %s", phase)
				}
				if m, ok := want.Median[phase]; ok {
					assert.InDelta(t, m, n.Ratio, 1e-9)
				}
			}
		})
	}
}

func TestExchangingTheArmsExchangesTheVerdict(t *testing.T) {
	s := set(func(*Set) {})
	a := s.Samples["decode"]
	assert.Equal(t, Retained, Judge(s, OrderStatistics).Verdict)
	s.Samples["decode"] = Arms{A: a.B, B: a.A}
	assert.Equal(t, Rejected, Judge(s, OrderStatistics).Verdict)
}

func set(change func(*Set)) *Set {
	a, b := make([]Number, 8), make([]Number, 8)
	for i := range a {
		a[i], b[i] = Number(1+float64(i)/1000), Number(0.9+float64(i)/1000)
	}
	s := &Set{ID: "x", Target: "decode", NoiseFloor: Floor{All: 0.02}, Parity: "ok", Samples: map[string]Arms{"decode": {A: a, B: b}}}
	change(s)
	return s
}

func TestEachRuleHasItsOwnReason(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Set)
		verdict Verdict
		rule    string
	}{
		{"unchanged", func(*Set) {}, Retained, "decode faster"},
		{"other phase slower", func(s *Set) { s.Samples["load"] = Arms{A: s.Samples["decode"].B, B: s.Samples["decode"].A} }, Rejected, "load slower"},
		{"other phase may be slower", func(s *Set) {
			a := s.Samples["decode"].A
			s.Samples["load"] = Arms{A: a, B: append([]Number{a[0] * 1.1}, a[1:]...)}
		}, Ambiguous, "load may be slower"},
		{"missing fixture", func(s *Set) { s.Environment.Missing = "tiny" }, Void, "missing fixture"},
		{"target without samples", func(s *Set) { s.Target = "prompt" }, Void, "no samples"},
		{"uneven arms", func(s *Set) { a := s.Samples["decode"]; a.B = a.B[:7]; s.Samples["decode"] = a }, Void, "different length"},
		{"floor per phase", func(s *Set) { s.NoiseFloor = Floor{ByPhase: map[string]float64{"decode": 0.2}} }, Level, "within"},
		{"impossible floor", func(s *Set) { s.NoiseFloor.All = -1 }, Void, "noise floor"},
		{"stale before void", func(s *Set) {
			s.Parity = "unchecked"
			s.Environment.RecordedFor, s.Environment.Current = map[string]any{"contract": 1.0}, map[string]any{"contract": 2.0}
		}, Stale, "contract"},
		{"void before rejected", func(s *Set) { s.Parity, s.Environment.Busy = "broken", true }, Void, "busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := Judge(set(c.change), OrderStatistics)
			assert.Equal(t, c.verdict, j.Verdict)
			assert.Contains(t, j.Rule, c.rule)
		})
	}
}

func TestNumbersMayBeSpelledAsWords(t *testing.T) {
	list, err := Parse([]byte(`[{"id":"a","target":"decode","noise_floor":0.02,"parity":"ok","samples":{"decode":{"A":[1,1,1,1,1,1],"B":[1,1,1,"NaN",1,null]}}}]`))
	require.NoError(t, err)
	assert.Contains(t, Judge(&list[0], OrderStatistics).Rule, "finite")
	_, err = Parse([]byte(`{}`))
	assert.ErrorContains(t, err, "no sample sets")
	_, err = Parse([]byte(`{"cases": 3}`))
	assert.Error(t, err)
}
