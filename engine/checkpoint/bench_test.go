package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkOpen opens each model of the folder that ASSAY_MODELS names.
func BenchmarkOpen(b *testing.B) {
	paths, _ := filepath.Glob(filepath.Join(os.Getenv("ASSAY_MODELS"), "*.gguf"))
	if os.Getenv("ASSAY_MODELS") == "" || len(paths) == 0 {
		b.Skip("ASSAY_MODELS is unset: no folder of large models")
	}
	for _, path := range paths {
		b.Run(filepath.Base(path), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c, err := Open(path)
				if err != nil {
					b.Skip(err)
				}
				c.Close()
			}
		})
	}
}
