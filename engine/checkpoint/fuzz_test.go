package checkpoint

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"assay/engine/checkpoint/gguf"
	"assay/engine/checkpoint/internal/craft"
)

const caseFiles = "../../gates/cases/testdata/files/"

func valid(t *testing.T, c *Config) {
	if c.Heads%c.KVHeads != 0 || c.HeadDim%2 != 0 || c.Rope.Dim > c.HeadDim || c.Layers < 1 || !(c.NormEps >= 0 && c.NormEps <= math.MaxFloat32) || !(c.Rope.Base > 0) {
		t.Fatalf("accepted %+v", *c)
	}
}

// FuzzConfig holds that any config.json is refused or gives a config whose
// sizes fit together.
func FuzzConfig(f *testing.F) {
	seeds, _ := filepath.Glob(caseFiles + "config/*.json")
	for _, path := range seeds {
		if text, err := os.ReadFile(path); err == nil {
			f.Add(text)
		}
	}
	tensors := make([]*Tensor, 21)
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &Checkpoint{tensors: tensors, canonical: map[string]*Tensor{}}
		config, err := c.hfConfig("config.json", text)
		if err != nil {
			return
		}
		valid(t, config)
	})
}

// FuzzGGUFModel holds the same of metadata and tensor records.
func FuzzGGUFModel(f *testing.F) {
	m := newTiny()
	f.Add(craft.GGUF(3, 32, m.metadata(), m.tensors()))
	m.keys["llama.rope.scaling.type"], m.keys["llama.rope.scaling.factor"] = "linear", float32(4)
	m.keys["llama.attention.head_count_kv"] = craft.Array[int32](5, 1, 1)
	f.Add(craft.GGUF(2, 32, m.metadata(), m.tensors()))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := gguf.Parse(data, "fuzz")
		if err != nil {
			return
		}
		c := &Checkpoint{canonical: map[string]*Tensor{}}
		c.addGGUF(file)
		for _, tensor := range c.tensors {
			c.canonical[tensor.Name] = tensor
		}
		if c.config, err = c.ggufConfig(file); err != nil {
			return
		}
		valid(t, c.config)
		if c.checkTensors(ggufNaming) != nil || c.readDivisors() != nil {
			return
		}
		for _, r := range layerTensors(c.config) {
			for l := range c.config.Layers {
				if _, ok := c.Tensor(fmt.Sprintf("blk.%d.%s", l, r.name)); !ok {
					t.Fatalf("accepted without layer %d's %s", l, r.name)
				}
			}
		}
	})
}
