package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/klauspost/cpuid/v2"

	"assay/kernels/cpu"
)

// Identity is what of a machine decides how fast it is. What cannot be found out
// is empty.
type Identity struct {
	CPU       string `json:"cpu"`
	Microcode string `json:"microcode,omitempty"`
	Cores     int    `json:"cores"` // that the process may use
	MemoryMiB int64  `json:"memory_mib,omitempty"`
	OS        string `json:"os"`
	Kernel    string `json:"kernel,omitempty"`
	Go        string `json:"go"`
	GOAMD64   string `json:"goamd64,omitempty"`
	Level     string `json:"level"`
	Governor  string `json:"governor,omitempty"`   // of the CPU's frequency
	CPULimit  string `json:"cpu_limit,omitempty"`  // of the container
	MemLimit  string `json:"mem_limit,omitempty"`  // of the container
	HugePages string `json:"huge_pages,omitempty"` // whether the kernel gives them by itself
}

// Here is the identity of this machine.
func Here() Identity {
	id := Identity{CPU: cpuid.CPU.BrandName, Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if level, err := cpu.Default(); err == nil {
		id.Level = level.String()
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "GOAMD64" {
				id.GOAMD64 = s.Value
			}
		}
	}
	id.fill()
	return id
}

// ID is short for all of it: two machines with one ID are alike.
func (i Identity) ID() string { return hash(i)[:12] }

// Map is the identity by field.
func (i Identity) Map() map[string]any {
	m := map[string]any{}
	b, err := json.Marshal(i)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		return map[string]any{"cpu": i.CPU} // cannot be: it has strings and numbers only
	}
	return m
}

// hash is the SHA-256 of a value's JSON.
func hash(v any) string {
	b, _ := json.Marshal(v) // values of this package: strings and numbers
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// HashFile is the SHA-256 of a file.
func HashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := f.WriteTo(h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
