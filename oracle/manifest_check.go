package oracle

import (
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
)

// gpuNames are words that no computation on a CPU has in the names of its device or backends.
var gpuNames = []string{"cuda", "cublas", "vulkan", "metal", "opencl", "sycl", "rocm", "hipblas", "ggml-hip", "musa", "ggml-cann", "webgpu", "gpu"}

func (m *Manifest) check(path string) error {
	refuse := func(field, format string, a ...any) error {
		return &RefusedError{File: path, Field: field, Reason: fmt.Sprintf(format, a...)}
	}
	if m.Format != Format {
		return refuse("format", "%q, want %q", m.Format, Format)
	}
	if strings.TrimSpace(m.Engine.Name) == "" {
		return refuse("engine.name", "missing: evidence says who computed it")
	}
	if m.Compute.Device == "" {
		return refuse("compute.device", "missing: evidence says on what it was computed")
	}
	if field, word := m.gpuBehindCPU(); word != "" {
		return refuse(field, "names %q while compute.device claims %q", word, m.Compute.Device)
	}
	if err := m.checkHashes(path); err != nil {
		return err
	}
	if _, err := m.KeyOrder(); err != nil {
		return refuse("key_order", "%v", err)
	}
	if len(m.Prompts) == 0 && m.Kind == "" && m.Extra["requests"] == nil {
		return refuse("prompts", "none: nothing can be replayed")
	}
	return m.checkPrompts(path)
}

// gpuBehindCPU finds a graphics backend in a manifest that claims the CPU. A build such as "torch 2.15.0+cu132" is not one:
// the library can use a GPU, which does not say that it did.
func (m *Manifest) gpuBehindCPU() (field, word string) {
	if !strings.Contains(strings.ToLower(string(m.Compute.Device)), "cpu") {
		return "", ""
	}
	fields := map[string]string{"compute.device": string(m.Compute.Device), "compute.backend": string(m.Compute.Backend), "engine.build": m.Engine.Build}
	for key, v := range m.Compute.Extra {
		low := strings.ToLower(key)
		if strings.Contains(low, "backend") || strings.Contains(low, "device") {
			fields["compute."+key] = fmt.Sprint(v)
		}
		if strings.Contains(low, "gpu_layers") || low == "ngl" {
			if s := fmt.Sprint(v); s != "0" && s != "false" {
				return "compute." + key, s
			}
		}
	}
	names := make([]string, 0, len(fields))
	for f := range fields {
		names = append(names, f)
	}
	sort.Strings(names)
	for _, f := range names {
		low := strings.ToLower(fields[f])
		for _, w := range gpuNames {
			if strings.Contains(low, w) {
				return f, w
			}
		}
	}
	return "", ""
}

func (m *Manifest) checkHashes(path string) error {
	one := func(field, sum string) error {
		if b, err := hex.DecodeString(sum); err != nil || len(b) != 32 {
			return &RefusedError{File: path, Field: field, Reason: fmt.Sprintf("%.80q is not a SHA-256", sum)}
		}
		return nil
	}
	for _, s := range []struct{ field, sum string }{{"evidence_sha256", m.EvidenceSHA256}, {"tokenizer_sha256", m.TokenizerSHA256}} {
		if s.sum != "" {
			if err := one(s.field, s.sum); err != nil {
				return err
			}
		}
	}
	for _, g := range []struct {
		field string
		sums  map[string]string
	}{{"checkpoint.files", m.Checkpoint.Files}, {"checkpoint.sha256", m.Checkpoint.SHA256}, {"checkpoint.tensors", m.Checkpoint.Tensors}, {"tensor_sha256", m.TensorSHA256}} {
		for name, sum := range g.sums {
			if err := one(fmt.Sprintf("%s[%s]", g.field, name), sum); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Manifest) checkPrompts(path string) error {
	seen := map[string]bool{}
	for i := range m.Prompts {
		p := &m.Prompts[i]
		refuse := func(field, format string, a ...any) error {
			return &RefusedError{File: path, Field: fmt.Sprintf("prompts[%d]%s", i, field), Prompt: p.Name, Reason: fmt.Sprintf(format, a...)}
		}
		if p.Index != nil && *p.Index < 0 {
			return refuse(".index", "%d is negative", *p.Index)
		}
		if pre := m.prefix(i); seen[pre] {
			return refuse("", "a second prompt for the tensors %s*", pre)
		} else {
			seen[pre] = true
		}
		if len(p.IDs) == 0 {
			return refuse(".ids", "none")
		}
		for list, ids := range map[string][]int32{".ids": p.IDs, ".produced": p.Produced} {
			for j, id := range ids {
				if id < 0 || m.Checkpoint.Vocab > 0 && int(id) >= m.Checkpoint.Vocab {
					return refuse(list, "id %d at %d is outside of the vocabulary (%d)", id, j, m.Checkpoint.Vocab)
				}
			}
		}
		if r, ok := p.Extra["rows"].(int); ok && r != p.Rows() {
			return refuse(".rows", "%d, but %d prompt ids and %d produced ids give %d", r, len(p.IDs), len(p.Produced), p.Rows())
		}
	}
	return nil
}
