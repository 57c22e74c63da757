package llamacpp

import (
	"fmt"
	"path/filepath"

	"github.com/ebitengine/purego"
)

const supported = true

func newCallback(f any) uintptr { return purego.NewCallback(f) }

// bind opens the shared objects in the order in which they need each other and finds every function.
func bind(dir string) (a *api, err error) {
	defer func() { // purego panics on a symbol that is not there
		if r := recover(); r != nil {
			a, err = nil, &LayoutError{What: "symbols", Got: fmt.Sprint(r)}
		}
	}()
	var base, ggml, llama uintptr
	for _, lib := range []struct {
		pattern string
		handle  *uintptr
	}{{"libggml-base.so*", &base}, {"libggml.*so*", &ggml}, {"libllama.*so*", &llama}} {
		found, _ := filepath.Glob(filepath.Join(dir, lib.pattern))
		if len(found) == 0 {
			return nil, &NotAvailableError{Dir: dir, Reason: "no " + lib.pattern}
		}
		if *lib.handle, err = purego.Dlopen(found[0], purego.RTLD_NOW|purego.RTLD_GLOBAL); err != nil {
			return nil, &NotAvailableError{Dir: dir, Reason: err.Error()}
		}
	}
	a = new(api)
	for _, f := range []struct {
		to     any
		handle uintptr
		name   string
	}{
		{&a.loadBackends, ggml, "ggml_backend_load_all_from_path"}, {&a.loadBackend, ggml, "ggml_backend_load"},
		{&a.ggmlLog, base, "ggml_log_set"}, {&a.ggmlVersion, base, "ggml_version"}, {&a.ggmlCommit, base, "ggml_commit"}, {&a.opName, base, "ggml_op_desc"},
		{&a.backendInit, llama, "llama_backend_init"}, {&a.llamaLog, llama, "llama_log_set"}, {&a.version, llama, "llama_version"}, {&a.systemInfo, llama, "llama_print_system_info"},
		{&a.modelDefaults, llama, "llama_model_default_params"}, {&a.contextDefaults, llama, "llama_context_default_params"},
		{&a.modelLoad, llama, "llama_model_load_from_file"}, {&a.modelFree, llama, "llama_model_free"},
		{&a.contextNew, llama, "llama_init_from_model"}, {&a.contextFree, llama, "llama_free"},
		{&a.decode, llama, "llama_decode"}, {&a.synchronize, llama, "llama_synchronize"}, {&a.logits, llama, "llama_get_logits_ith"},
		{&a.vocab, llama, "llama_model_get_vocab"}, {&a.vocabCount, llama, "llama_vocab_n_tokens"}, {&a.isEnd, llama, "llama_vocab_is_eog"},
		{&a.layers, llama, "llama_model_n_layer"}, {&a.embedding, llama, "llama_model_n_embd"}, {&a.heads, llama, "llama_model_n_head"}, {&a.kvHeads, llama, "llama_model_n_head_kv"},
		{&a.ropeType, llama, "llama_model_rope_type"}, {&a.describe, llama, "llama_model_desc"}, {&a.modelSize, llama, "llama_model_size"},
		{&a.memory, llama, "llama_get_memory"}, {&a.memoryClear, llama, "llama_memory_clear"},
		{&a.stateSize, llama, "llama_state_seq_get_size"}, {&a.stateGet, llama, "llama_state_seq_get_data"}, {&a.tokenize, llama, "llama_tokenize"},
		{&a.quantDefaults, llama, "llama_model_quantize_default_params"}, {&a.quantize, llama, "llama_model_quantize"},
	} {
		purego.RegisterLibFunc(f.to, f.handle, f.name)
	}
	return a, nil
}
