package safetensors_test

import (
	"os"
	"path/filepath"
	"testing"

	"assay/engine/checkpoint/internal/craft"
	. "assay/engine/checkpoint/safetensors"
)

const seeds = "../../../gates/cases/testdata/files/safetensors/"

// FuzzParse holds that any bytes are refused or read without a panic, and that
// an accepted file is covered exactly by its tensors.
func FuzzParse(f *testing.F) {
	f.Add(craft.Safetensors(entries()...))
	paths, _ := filepath.Glob(seeds + "*.safetensors")
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil && len(data) < 2000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data, "fuzz")
		if err != nil {
			return
		}
		total := file.DataStart
		for _, tensor := range file.Tensors {
			if int64(len(tensor.Data)) != tensor.Bytes {
				t.Fatalf("tensor %q has %d of %d bytes", tensor.Name, len(tensor.Data), tensor.Bytes)
			}
			total += tensor.Bytes
		}
		if total != int64(len(data)) {
			t.Fatalf("%d of %d bytes are covered", total, len(data))
		}
	})
}

// FuzzParseIndex holds that no index leads out of its folder.
func FuzzParseIndex(f *testing.F) {
	paths, _ := filepath.Glob(seeds + "*/*.index.json")
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := ParseIndex(data, "fuzz")
		if err != nil {
			return
		}
		for _, e := range entries {
			if filepath.Base(e.Value) != e.Value || !filepath.IsLocal(e.Value) {
				t.Fatalf("shard %q is no plain file name", e.Value)
			}
		}
	})
}
