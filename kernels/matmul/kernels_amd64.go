package matmul

import (
	"assay/kernels/cpu"
	"assay/kernels/quant"
)

func init() {
	add := func(t quant.Type, level cpu.Level, tileRows int, columns ...Tile) {
		register(&Kernel{Name: level.String(), Format: t, Level: level, Rounding: RoundingOf(t), TileRows: tileRows, Columns: columns})
	}
	add(quant.Q4_0, cpu.AVX2, 16, q4_0Tile16x1AVX2, q4_0Tile16x2AVX2, q4_0Tile16x3AVX2, q4_0Tile16x4AVX2, q4_0Tile16x5AVX2, q4_0Tile16x6AVX2, q4_0Tile16x7AVX2, q4_0Tile16x8AVX2)
	add(quant.Q4_1, cpu.AVX2, 16, q4_1Tile16x1AVX2, q4_1Tile16x2AVX2, q4_1Tile16x3AVX2, q4_1Tile16x4AVX2, q4_1Tile16x5AVX2, q4_1Tile16x6AVX2, q4_1Tile16x7AVX2, q4_1Tile16x8AVX2)
	add(quant.Q8_0, cpu.AVX2, 16, q8_0Tile16x1AVX2, q8_0Tile16x2AVX2, q8_0Tile16x3AVX2, q8_0Tile16x4AVX2, q8_0Tile16x5AVX2, q8_0Tile16x6AVX2, q8_0Tile16x7AVX2, q8_0Tile16x8AVX2)
	add(quant.Q6_K, cpu.AVX2, 16, q6_KTile16x1AVX2, q6_KTile16x2AVX2, q6_KTile16x3AVX2, q6_KTile16x4AVX2, q6_KTile16x5AVX2, q6_KTile16x6AVX2, q6_KTile16x7AVX2, q6_KTile16x8AVX2)
	add(quant.F32, cpu.AVX2, 4, f32Tile4x1AVX2, f32Tile4x2AVX2, f32Tile4x3AVX2)
	add(quant.F16, cpu.AVX2, 4, f16Tile4x1AVX2, f16Tile4x2AVX2, f16Tile4x3AVX2)
	add(quant.BF16, cpu.AVX2, 4, bf16Tile4x1AVX2, bf16Tile4x2AVX2, bf16Tile4x3AVX2)
	add(quant.Q4_0, cpu.AVX512, 16, q4_0Tile16x1AVX512, q4_0Tile16x2AVX512, q4_0Tile16x3AVX512, q4_0Tile16x4AVX512, q4_0Tile16x5AVX512, q4_0Tile16x6AVX512, q4_0Tile16x7AVX512, q4_0Tile16x8AVX512)
	add(quant.Q4_1, cpu.AVX512, 16, q4_1Tile16x1AVX512, q4_1Tile16x2AVX512, q4_1Tile16x3AVX512, q4_1Tile16x4AVX512, q4_1Tile16x5AVX512, q4_1Tile16x6AVX512, q4_1Tile16x7AVX512, q4_1Tile16x8AVX512)
	add(quant.Q8_0, cpu.AVX512, 16, q8_0Tile16x1AVX512, q8_0Tile16x2AVX512, q8_0Tile16x3AVX512, q8_0Tile16x4AVX512, q8_0Tile16x5AVX512, q8_0Tile16x6AVX512, q8_0Tile16x7AVX512, q8_0Tile16x8AVX512)
	add(quant.Q6_K, cpu.AVX512, 16, q6_KTile16x1AVX512, q6_KTile16x2AVX512, q6_KTile16x3AVX512, q6_KTile16x4AVX512, q6_KTile16x5AVX512, q6_KTile16x6AVX512, q6_KTile16x7AVX512, q6_KTile16x8AVX512)

	// The same without prefetch, for experiments; wider panels never prefetch.
	plain := func(t quant.Type, level cpu.Level, one Tile) {
		k := *Lookup(t, level)
		k.Variant, k.Name = "plain", k.Name+"-plain"
		k.Columns = append([]Tile{one}, k.Columns[1:]...)
		register(&k)
	}
	plain(quant.Q4_0, cpu.AVX2, q4_0PlainTile16x1AVX2)
	plain(quant.Q4_1, cpu.AVX2, q4_1PlainTile16x1AVX2)
	plain(quant.Q8_0, cpu.AVX2, q8_0PlainTile16x1AVX2)
	plain(quant.Q4_0, cpu.AVX512, q4_0PlainTile16x1AVX512)
	plain(quant.Q4_1, cpu.AVX512, q4_1PlainTile16x1AVX512)
	plain(quant.Q8_0, cpu.AVX512, q8_0PlainTile16x1AVX512)
}
