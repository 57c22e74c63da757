package quant

import "fmt"

// Type is the storage format of a tensor's elements: a plain number format or
// a block format of llama.cpp's GGUF files.
type Type uint8

// The formats in the order in which the project learned them. The numbers are
// ours; file formats have their own and map to these.
const (
	Invalid Type = iota
	F32
	F16
	BF16
	Q4_0
	Q4_1
	Q5_0
	Q5_1
	Q8_0
	Q2_K
	Q3_K
	Q4_K
	Q5_K
	Q6_K
	F64
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	Bool
	F8E4M3
	F8E5M2
)

type layout struct {
	name        string
	size, bytes int // elements in a block, bytes of a block
}

var layouts = [...]layout{
	Invalid: {"invalid", 0, 0},
	F32:     {"F32", 1, 4},
	F16:     {"F16", 1, 2},
	BF16:    {"BF16", 1, 2},
	Q4_0:    {"Q4_0", 32, 18},
	Q4_1:    {"Q4_1", 32, 20},
	Q5_0:    {"Q5_0", 32, 22},
	Q5_1:    {"Q5_1", 32, 24},
	Q8_0:    {"Q8_0", 32, 34},
	Q2_K:    {"Q2_K", 256, 84},
	Q3_K:    {"Q3_K", 256, 110},
	Q4_K:    {"Q4_K", 256, 144},
	Q5_K:    {"Q5_K", 256, 176},
	Q6_K:    {"Q6_K", 256, 210},
	F64:     {"F64", 1, 8},
	I8:      {"I8", 1, 1},
	I16:     {"I16", 1, 2},
	I32:     {"I32", 1, 4},
	I64:     {"I64", 1, 8},
	U8:      {"U8", 1, 1},
	U16:     {"U16", 1, 2},
	U32:     {"U32", 1, 4},
	U64:     {"U64", 1, 8},
	Bool:    {"BOOL", 1, 1},
	F8E4M3:  {"F8_E4M3", 1, 1},
	F8E5M2:  {"F8_E5M2", 1, 1},
}

// String gives the name that GGUF and safetensors tools print.
func (t Type) String() string {
	if int(t) < len(layouts) {
		return layouts[t].name
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// BlockSize is the number of elements that share one block; 1 for plain numbers.
func (t Type) BlockSize() int {
	if int(t) < len(layouts) {
		return layouts[t].size
	}
	return 0
}

// BlockBytes is the number of bytes of one block.
func (t Type) BlockBytes() int {
	if int(t) < len(layouts) {
		return layouts[t].bytes
	}
	return 0
}

// Quantised tells whether the type stores blocks with a shared scale.
func (t Type) Quantised() bool { return t.BlockSize() > 1 }

// RowBytes is the size of a row of n elements, or an error when n is no
// multiple of the block size.
func (t Type) RowBytes(n int) (int, error) {
	b := t.BlockSize()
	if b == 0 || n < 0 || n%b != 0 {
		return 0, fmt.Errorf("quant: a row of %d elements is no multiple of the %s block of %d", n, t, b)
	}
	return n / b * t.BlockBytes(), nil
}
