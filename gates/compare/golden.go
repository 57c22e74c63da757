package compare

import (
	"fmt"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"

	"assay/gates"
)

// Golden is how the golden bits of two sides differ.
type Golden struct {
	Contracts [2]int   `json:"contracts"` // versions of the arithmetic contract; 0: a side has none
	Same      int      `json:"same"`
	Differ    int      `json:"differ"`
	OneSided  int      `json:"one_sided"` // fixtures or modes that only one side has
	Names     []string `json:"names,omitempty"`
}

// SameContract tells that both sides promise the same bits.
func (g *Golden) SameContract() bool { return g.Contracts[0] > 0 && g.Contracts[0] == g.Contracts[1] }

// Broken tells that a promise was broken: other bits, the same contract.
func (g *Golden) Broken() bool { return g.SameContract() && g.Differ > 0 }

// compareGolden compares two golden.yaml, either of which may be missing.
func compareGolden(base, candidate []byte) (*Golden, error) {
	g := &Golden{}
	var sides [2]map[string]gates.GoldenEntry
	for i, b := range [][]byte{base, candidate} {
		var f gates.Golden
		if err := yaml.Unmarshal(b, &f); err != nil { // more fields than we know are allowed
			return nil, fmt.Errorf("golden.yaml: %w", err)
		}
		g.Contracts[i] = f.Contract
		sides[i] = map[string]gates.GoldenEntry{}
		for _, e := range f.Entries {
			// The prompt is in it by its ids: other ids are another entry.
			sides[i][fmt.Sprintf("%s, %s, K/V %s, %s %v", e.Model, e.Activations, e.KV, e.Prompt, f.Prompts[e.Prompt])] = e
		}
	}
	for key, a := range sides[0] {
		b, both := sides[1][key]
		switch {
		case !both:
			g.OneSided++
		case reflect.DeepEqual(a, b):
			g.Same++
		default:
			g.Differ++
			g.Names = append(g.Names, fmt.Sprintf("%s, %s, K/V %s, %s", a.Model, a.Activations, a.KV, a.Prompt))
		}
	}
	for key := range sides[1] {
		if _, both := sides[0][key]; !both {
			g.OneSided++
		}
	}
	slices.Sort(g.Names)
	return g, nil
}
