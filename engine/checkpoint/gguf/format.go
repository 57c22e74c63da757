package gguf

import (
	"fmt"

	"assay/kernels/quant"
)

// Format is the storage format of a tensor as the file numbers it. The
// container lists formats that the engine cannot compute with; Type is
// quant.Invalid for those.
type Format struct {
	Number     uint32
	Name       string
	BlockSize  int // elements of a block
	BlockBytes int // bytes of a block
	Type       quant.Type
}

func engineFormat(n uint32, t quant.Type) Format {
	return Format{n, t.String(), t.BlockSize(), t.BlockBytes(), t}
}

func foreignFormat(n uint32, name string, size, bytes int) Format {
	return Format{n, name, size, bytes, quant.Invalid}
}

var formats = func() map[uint32]Format {
	m := map[uint32]Format{}
	for n, t := range map[uint32]quant.Type{
		0: quant.F32, 1: quant.F16, 2: quant.Q4_0, 3: quant.Q4_1, 6: quant.Q5_0, 7: quant.Q5_1, 8: quant.Q8_0,
		10: quant.Q2_K, 11: quant.Q3_K, 12: quant.Q4_K, 13: quant.Q5_K, 14: quant.Q6_K,
		24: quant.I8, 25: quant.I16, 26: quant.I32, 27: quant.I64, 28: quant.F64, 30: quant.BF16,
	} {
		m[n] = engineFormat(n, t)
	}
	for _, f := range []Format{
		foreignFormat(9, "Q8_1", 32, 36),
		foreignFormat(15, "Q8_K", 256, 292),
		foreignFormat(16, "IQ2_XXS", 256, 66),
		foreignFormat(17, "IQ2_XS", 256, 74),
		foreignFormat(18, "IQ3_XXS", 256, 98),
		foreignFormat(19, "IQ1_S", 256, 50),
		foreignFormat(20, "IQ4_NL", 32, 18),
		foreignFormat(21, "IQ3_S", 256, 110),
		foreignFormat(22, "IQ2_S", 256, 82),
		foreignFormat(23, "IQ4_XS", 256, 136),
		foreignFormat(29, "IQ1_M", 256, 56),
		foreignFormat(34, "TQ1_0", 256, 54),
		foreignFormat(35, "TQ2_0", 256, 66),
		foreignFormat(39, "MXFP4", 32, 17),
	} {
		m[f.Number] = f
	}
	return m
}()

// Numbers that once meant a format and were withdrawn.
var withdrawn = map[uint32]string{
	4: "Q4_2", 5: "Q4_3", 31: "Q4_0_4_4", 32: "Q4_0_4_8", 33: "Q4_0_8_8",
	36: "IQ4_NL_4_4", 37: "IQ4_NL_4_8", 38: "IQ4_NL_8_8",
}

func formatOf(number uint32) (Format, error) {
	if f, ok := formats[number]; ok {
		return f, nil
	}
	if name, ok := withdrawn[number]; ok {
		return Format{}, fmt.Errorf("type %d (%s) was withdrawn from the format", number, name)
	}
	return Format{}, fmt.Errorf("unknown type %d", number)
}
