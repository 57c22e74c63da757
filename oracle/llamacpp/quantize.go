package llamacpp

import (
	"fmt"
	"sort"
	"strings"
)

// fileTypes is enum llama_ftype of the release, as far as files of it are read or made here.
var fileTypes = map[string]int32{"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q2_K": 10, "Q3_K_M": 12,
	"Q4_K_S": 14, "Q4_K_M": 15, "Q5_K_S": 16, "Q5_K_M": 17, "Q6_K": 18, "BF16": 32}

// QuantizeRequest asks for a file in another type. Pure makes every matrix that type.
type QuantizeRequest struct {
	In   string `json:"in"`
	Out  string `json:"out"`
	Type string `json:"type"`
	Pure bool   `json:"pure,omitempty"`
}

// Quantize writes Out with the library's own quantiser. In is an F32, F16 or BF16 file.
func (l *Library) Quantize(q QuantizeRequest) error {
	t, ok := fileTypes[q.Type]
	if !ok {
		names := make([]string, 0, len(fileTypes))
		for n := range fileTypes {
			names = append(names, n)
		}
		sort.Strings(names)
		return &CallError{Call: "llama_model_quantize", Detail: fmt.Sprintf("type %q, there are %s", q.Type, strings.Join(names, " "))}
	}
	p := l.api.quantDefaults()
	p.fileType, p.threads, p.pure = t, 1, q.Pure
	logged.take()
	if rc := l.api.quantize(q.In, q.Out, &p); rc != 0 {
		return &CallError{Call: "llama_model_quantize", Detail: fmt.Sprintf("returned %d", rc), Log: logged.take()}
	}
	return nil
}
