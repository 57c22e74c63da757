package gguf_test

import (
	"os"
	"path/filepath"
	"testing"

	. "assay/engine/checkpoint/gguf"
	"assay/engine/checkpoint/internal/craft"
)

// FuzzParse holds that any bytes are refused or read without a panic, and that
// what is read stays inside the file.
func FuzzParse(f *testing.F) {
	f.Add(craft.GGUF(3, 32, append(kv("a", craft.Array(8, "x", "yz")), craft.KV{Key: "f", Value: float32(1)}), two()))
	seeds, _ := filepath.Glob("../../../gates/cases/testdata/files/gguf/*.gguf")
	for _, path := range seeds {
		if data, err := os.ReadFile(path); err == nil && len(data) < 2000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data, "fuzz")
		if err != nil {
			return
		}
		total := 0
		for i := range file.Tensors {
			tensor := &file.Tensors[i]
			if int64(len(tensor.Data)) != tensor.Bytes {
				t.Fatalf("tensor %q has %d of %d bytes", tensor.Name, len(tensor.Data), tensor.Bytes)
			}
			tensor.Shape()
			total += len(tensor.Data)
		}
		if total > len(data) {
			t.Fatalf("%d bytes of tensors in a file of %d", total, len(data))
		}
		for _, kv := range file.Metadata {
			kv.Value.Any()
			kv.Value.TypeName()
			kv.Value.Ints()
			kv.Value.Strings()
		}
	})
}
