package llamacpp

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Environment names the folder of the library.
const Environment = "ASSAY_LLAMACPP"

// Release is the release whose layouts this binding knows, Package the registry package that carries it.
const (
	Release = "0.4.0"
	Package = "@node-llama-cpp/linux-x64@3.21.1"
)

// inside is where the package keeps the shared objects, below the folder it is installed into.
const inside = "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64"

// Find gives the folder of the shared objects: below ASSAY_LLAMACPP when that is set, else .cache/llamacpp of this project's
// source tree, where scripts/llamacpp.sh installs them and where the working directory lies in it, else assay/llamacpp in
// the user's cache folder.
func Find() (string, error) {
	if dir := os.Getenv(Environment); dir != "" {
		if found := below(dir); found != "" {
			return found, nil
		}
		return "", &NotAvailableError{Dir: dir, Reason: Environment + " names this folder, there is no libllama in it"}
	}
	var places []string
	if root := moduleRoot(); root != "" {
		places = append(places, filepath.Join(root, ".cache", "llamacpp"))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		places = append(places, filepath.Join(cache, "assay", "llamacpp"))
	}
	for _, p := range places {
		if found := below(p); found != "" {
			return found, nil
		}
	}
	return "", &NotAvailableError{Reason: "no library in " + strings.Join(places, " or ") + "; scripts/llamacpp.sh installs it, or set " + Environment}
}

// below accepts the folder itself and the folder that the package was installed into.
func below(dir string) string {
	for _, d := range []string{dir, filepath.Join(dir, inside)} {
		if m, _ := filepath.Glob(filepath.Join(d, "libllama.*so*")); len(m) > 0 {
			return d
		}
	}
	return ""
}

// moduleRoot is the root of this project's own source tree, where the working
// directory lies in it: code of a stranger's .cache is not opened.
func moduleRoot() string {
	dir, err := os.Getwd()
	for err == nil {
		if b, e := os.ReadFile(filepath.Join(dir, "go.mod")); e == nil && strings.HasPrefix(string(b), "module assay\n") {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

// Variants lists the CPU backends that the library in dir brings, e.g. "haswell".
func Variants(dir string) []string {
	m, _ := filepath.Glob(filepath.Join(dir, "libggml-cpu-*.so"))
	names := make([]string, 0, len(m))
	for _, p := range m {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(p), "libggml-cpu-"), ".so"))
	}
	sort.Strings(names)
	return names
}
