package gates

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"assay/fixtures"
	"assay/kernels/arith"
)

// Golden is what assay computed when its arithmetic contract was fixed: hashes
// that any build on any machine must reproduce.
type Golden struct {
	// Contract is the version of the contract that the hashes belong to.
	Contract int `yaml:"contract"`
	// Command made the file.
	Command string `yaml:"command"`
	// Prompts are the fed ids: story-FAMILY in the ids of that tokenizer, long for
	// contexts that attention splits.
	Prompts map[string][]int32 `yaml:"prompts,flow"`
	Entries []GoldenEntry      `yaml:"entries"`
}

// GoldenEntry is one fixture in one mode.
type GoldenEntry struct {
	Model       string `yaml:"model"`
	Activations string `yaml:"activations"`
	KV          string `yaml:"kv"`
	Prompt      string `yaml:"prompt"`
	// Logits is the SHA-256 of all rows as little-endian float32, Layers that of keys
	// and then values, [heads][positions][head dim], of each layer after the last id.
	Logits string   `yaml:"logits"`
	Layers []string `yaml:"layers"`
}

// LoadGolden reads the embedded hashes.
func LoadGolden() (*Golden, error) {
	d := yaml.NewDecoder(bytes.NewReader(fixtures.Golden))
	d.KnownFields(true)
	g := new(Golden)
	if err := d.Decode(g); err != nil {
		return nil, fmt.Errorf("gates: golden.yaml: %w", err)
	}
	return g, nil
}

// entry finds the hashes of a case. A float file computes the same in both modes
// and is listed once.
func (g *Golden) entry(c *Case) (*GoldenEntry, []int32, error) {
	if g.Contract != arith.ContractVersion {
		return nil, nil, fmt.Errorf("gates: golden.yaml belongs to version %d of the arithmetic contract, this build has version %d: the golden bits are to be made anew, with the reason for the new version", g.Contract, arith.ContractVersion)
	}
	prompt := first(c.Prompt, "story")
	i := slices.IndexFunc(g.Entries, func(e GoldenEntry) bool {
		return strings.HasPrefix(e.Prompt, prompt) && e.Model == c.Model && e.Activations == c.Activations.String() && e.KV == c.KV.String()
	})
	if i < 0 {
		return nil, nil, fmt.Errorf("gates: golden.yaml has no entry for %s %s K/V %s, prompt %s", c.Model, c.Activations, c.KV, prompt)
	}
	ids := g.Prompts[g.Entries[i].Prompt]
	if len(ids) == 0 {
		return nil, nil, fmt.Errorf("gates: golden.yaml has no prompt %q", g.Entries[i].Prompt)
	}
	return &g.Entries[i], ids, nil
}

// differs tells where a trace leaves the golden bits first.
func (e *GoldenEntry) differs(t *trace) []string {
	if len(e.Layers) != len(t.keys) {
		return []string{fmt.Sprintf("%d layers, golden are %d", len(t.keys), len(e.Layers))}
	}
	for l, want := range e.Layers {
		if got := t.layerSHA256(l); got != want {
			where := "what layer " + fmt.Sprint(l-1) + " computes: attention, feed-forward, or the norm before its successor's keys"
			if l == 0 {
				where = "the embedding, the first norm, the products with the key and value weights, or the rotary embedding"
			}
			return []string{fmt.Sprintf("K/V of layer %d has SHA-256 %s, golden is %s; the layers before agree: look at %s", l, got, want, where)}
		}
	}
	if got := t.logitsSHA256(); got != e.Logits {
		return []string{fmt.Sprintf("K/V of every layer agrees, logits have SHA-256 %s, golden is %s: look at the last layer's attention and feed-forward, the last norm or the head", got, e.Logits)}
	}
	return nil
}
