package llamacpp

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// Library is the opened library. A process opens it once; Decode calls must not overlap.
type Library struct {
	api  *api
	dir  string
	info Info
}

// Info says which build of the library runs.
type Info struct {
	Dir     string `json:"dir"`
	Version string `json:"version"` // llama.cpp
	GGML    string `json:"ggml"`    // version and commit of ggml
	Backend string `json:"backend"` // file of the CPU backend, e.g. libggml-cpu-haswell.so
	System  string `json:"system"`  // features as the library prints them
}

var (
	mu     sync.Mutex
	opened *Library
	choice string // the variant asked for when it was opened
	logged logLines
)

// Open opens the library in dir (empty: where Find finds it) with one CPU backend by name, e.g. "haswell", or with the one the
// library finds best when variant is empty. The choice is for the life of the process: another one later is an error.
func Open(dir, variant string) (*Library, error) {
	if !supported {
		_, err := bind("")
		return nil, err
	}
	if dir == "" {
		found, err := Find()
		if err != nil {
			return nil, err
		}
		dir = found
	} else if found := below(dir); found != "" {
		dir = found
	}
	mu.Lock()
	defer mu.Unlock()
	if opened != nil {
		if opened.dir == dir && choice == variant {
			return opened, nil
		}
		return nil, &CallError{Call: "Open", Detail: "this process has opened " + opened.info.Backend + " of " + opened.dir + " already"}
	}
	l, err := open(dir, variant)
	if err != nil {
		return nil, err
	}
	opened, choice = l, variant
	return l, nil
}

func open(dir, variant string) (*Library, error) {
	if err := checkSizes(); err != nil {
		return nil, err
	}
	a, err := bind(dir)
	if err != nil {
		return nil, err
	}
	if v := a.version(); !strings.HasPrefix(strings.TrimPrefix(v, "v"), Release) {
		return nil, &LayoutError{What: "llama_version", Got: v}
	}
	if err := a.checkDefaults(); err != nil {
		return nil, err
	}
	cb := newCallback(func(level int32, text *byte, _ uintptr) {
		if level >= 3 { // warnings and errors, and the lines that continue them
			logged.add(goString(text))
		}
	})
	a.llamaLog(cb, 0)
	a.ggmlLog(cb, 0)
	if variant == "" {
		a.loadBackends(dir)
	} else {
		file := filepath.Join(dir, "libggml-cpu-"+filepath.Base(variant)+".so")
		if _, err := os.Stat(file); err != nil {
			return nil, &CallError{Call: "Open", Detail: "no CPU variant " + variant + ", there are " + strings.Join(Variants(dir), ", ")}
		}
		if a.loadBackend(file) == 0 {
			return nil, &CallError{Call: "ggml_backend_load", Detail: "this CPU cannot run variant " + variant, Log: logged.take()}
		}
	}
	a.backendInit()
	l := &Library{api: a, dir: dir}
	l.info = Info{Dir: dir, Version: a.version(), GGML: a.ggmlVersion() + " " + a.ggmlCommit(), Backend: loadedBackend(), System: a.systemInfo()}
	if l.info.Backend == "" {
		return nil, &CallError{Call: "ggml_backend_load_all_from_path", Detail: "no CPU backend for this machine", Log: logged.take()}
	}
	return l, nil
}

// Info says which build runs.
func (l *Library) Info() Info { return l.info }

// loadedBackend finds the CPU backend among the files mapped into this process.
func loadedBackend() string {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if at := strings.Index(line, "libggml-cpu-"); at >= 0 {
			return strings.TrimSpace(line[at:])
		}
	}
	return ""
}

// logLines keeps the last lines of the library's log for error messages.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) add(s string) {
	s = strings.TrimSpace(s)
	if s == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 8 {
		l.lines = l.lines[1:]
	}
	l.lines = append(l.lines, s)
}

func (l *logLines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.lines
	l.lines = nil
	return out
}

func goString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// ModelOptions is how a file is loaded.
type ModelOptions struct {
	VocabOnly bool // tokenizer only
	NoRepack  bool // keep weights in the file's layout
}

// Model is a loaded file.
type Model struct {
	lib    *Library
	handle uintptr
	path   string
}

// Load loads a GGUF file. The library prints nothing; what it logged is in the error.
func (l *Library) Load(path string, o ModelOptions) (*Model, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, &CallError{Call: "llama_model_load_from_file", Detail: err.Error()}
	}
	p := l.api.modelDefaults()
	p.vocabOnly, p.extraBuffers = o.VocabOnly, !o.NoRepack
	logged.take()
	h := l.api.modelLoad(path, p)
	if h == 0 {
		return nil, &CallError{Call: "llama_model_load_from_file", Detail: path, Log: logged.take()}
	}
	return &Model{lib: l, handle: h, path: path}, nil
}

// Close frees the model. Contexts must be closed before.
func (m *Model) Close() {
	if m.handle != 0 {
		m.lib.api.modelFree(m.handle)
		m.handle = 0
	}
}

// Vocab is the number of ids.
func (m *Model) Vocab() int { return int(m.lib.api.vocabCount(m.lib.api.vocab(m.handle))) }

// Layers is the number of layers.
func (m *Model) Layers() int { return int(m.lib.api.layers(m.handle)) }

// KVHeads is the number of key/value heads.
func (m *Model) KVHeads() int { return int(m.lib.api.kvHeads(m.handle)) }

// IsEnd says whether an id ends generation.
func (m *Model) IsEnd(id int32) bool { return m.lib.api.isEnd(m.lib.api.vocab(m.handle), id) }

// Describe is the library's own name for the model.
func (m *Model) Describe() string {
	var buf [256]byte
	n := m.lib.api.describe(m.handle, &buf[0], uint64(len(buf)))
	return string(buf[:min(max(int(n), 0), len(buf)-1)])
}

// Tokenize gives the ids of a text. addSpecial adds the ids that the model's vocabulary asks for at the ends, parseSpecial
// recognises special tokens written in the text.
func (m *Model) Tokenize(text string, addSpecial, parseSpecial bool) ([]int32, error) {
	b := append([]byte(text), 0)
	out := make([]int32, len(text)+16)
	n := m.lib.api.tokenize(m.lib.api.vocab(m.handle), &b[0], int32(len(text)), &out[0], int32(len(out)), addSpecial, parseSpecial)
	runtime.KeepAlive(b)
	if n < 0 || int(n) > len(out) {
		return nil, &CallError{Call: "llama_tokenize", Detail: "needs more ids than there are bytes", Log: logged.take()}
	}
	return out[:n:n], nil
}
