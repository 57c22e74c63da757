package safetensors

import "assay/kernels/quant"

type dtype struct {
	bits int
	typ  quant.Type // quant.Invalid where the engine has no such number
}

var dtypes = map[string]dtype{
	"BOOL": {8, quant.Bool}, "U8": {8, quant.U8}, "I8": {8, quant.I8},
	"U16": {16, quant.U16}, "I16": {16, quant.I16}, "U32": {32, quant.U32}, "I32": {32, quant.I32},
	"U64": {64, quant.U64}, "I64": {64, quant.I64},
	"F16": {16, quant.F16}, "BF16": {16, quant.BF16}, "F32": {32, quant.F32}, "F64": {64, quant.F64},
	"F8_E4M3": {8, quant.F8E4M3}, "F8_E5M2": {8, quant.F8E5M2},
	"F8_E8M0": {8, quant.Invalid}, "F4": {4, quant.Invalid},
	"F6_E2M3": {6, quant.Invalid}, "F6_E3M2": {6, quant.Invalid}, "C64": {64, quant.Invalid},
}
