package llamacpp

import "fmt"

// decoders are the functions of ggml that decode one row of a format: (blocks, floats, number of elements).
var decoders = map[string]string{
	"Q4_0": "dequantize_row_q4_0", "Q4_1": "dequantize_row_q4_1", "Q5_0": "dequantize_row_q5_0", "Q5_1": "dequantize_row_q5_1", "Q8_0": "dequantize_row_q8_0",
	"Q2_K": "dequantize_row_q2_K", "Q3_K": "dequantize_row_q3_K", "Q4_K": "dequantize_row_q4_K", "Q5_K": "dequantize_row_q5_K", "Q6_K": "dequantize_row_q6_K",
	"F16": "ggml_fp16_to_fp32_row", "BF16": "ggml_bf16_to_fp32_row",
}

// Dequantise decodes n elements stored in a format (named as in GGUF tools) with the library's own reference decoder. The
// caller vouches that src holds n elements.
func (l *Library) Dequantise(format string, src []byte, n int) ([]float32, error) {
	symbol, ok := decoders[format]
	if !ok {
		return nil, &CallError{Call: "Dequantise", Detail: fmt.Sprintf("format %.20q", format)}
	}
	if n <= 0 || len(src) == 0 {
		return nil, &CallError{Call: symbol, Detail: fmt.Sprintf("%d elements in %d bytes", n, len(src))}
	}
	f, err := rowDecoder(symbol)
	if err != nil {
		return nil, err
	}
	out := make([]float32, n)
	f(&src[0], &out[0], int64(n))
	return out, nil
}
