package attention

import "assay/kernels/cpu"

func init() {
	sets = append(sets, &Set{
		Level:   cpu.AVX2,
		f16:     []outer{f16Outer16x1AVX2, f16Outer16x2AVX2, f16Outer16x3AVX2, f16Outer16x4AVX2, f16Outer16x5AVX2, f16Outer16x6AVX2},
		f32:     []outer{f32Outer16x1AVX2, f32Outer16x2AVX2, f32Outer16x3AVX2, f32Outer16x4AVX2, f32Outer16x5AVX2, f32Outer16x6AVX2},
		softmax: softmaxBlockAVX2,
	}, &Set{
		Level:   cpu.AVX512,
		f16:     []outer{f16Outer16x1AVX512, f16Outer16x2AVX512, f16Outer16x3AVX512, f16Outer16x4AVX512, f16Outer16x5AVX512, f16Outer16x6AVX512},
		f32:     []outer{f32Outer16x1AVX512, f32Outer16x2AVX512, f32Outer16x3AVX512, f32Outer16x4AVX512, f32Outer16x5AVX512, f32Outer16x6AVX512},
		softmax: softmaxBlockAVX2,
	})
}
