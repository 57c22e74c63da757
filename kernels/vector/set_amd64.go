package vector

import (
	"unsafe"

	"assay/kernels/arith"
	"assay/kernels/cpu"
	"assay/kernels/race"
)

// The wrappers give whole groups to the assembly and the rest to the portable
// code; sums over a vector that is no multiple of their lanes are portable.

func init() {
	sets = append(sets, &Set{
		Level:          cpu.AVX2,
		RMSNorm:        rmsNormAVX2,
		RotateHalves:   wrapHalvesAVX2,
		RotateAdjacent: wrapAdjacentAVX2,
		SiLUMul:        wrapGatedAVX2(siluMulAVX2, scalar.SiLUMul),
		GELUMul:        wrapGatedAVX2(geluMulAVX2, scalar.GELUMul),
		Add: func(dst, x []float32) {
			n := len(x) &^ 7
			dst = dst[:len(x)]
			if n > 0 {
				race.Read(x)
				race.Write(dst)
				addAVX2(&dst[0], &x[0], n/8)
			}
			scalar.Add(dst[n:], x[n:])
		},
		NarrowF16: func(dst []uint16, x []float32) {
			n := len(x) &^ 7
			dst = dst[:len(x)]
			if n > 0 {
				race.Read(x)
				race.Write(dst)
				narrowF16AVX2(&dst[0], &x[0], n/8)
			}
			scalar.NarrowF16(dst[n:], x[n:])
		},
		Quantise32: func(x []float32, col []byte, stride int) {
			if n := len(x) / 32; n > 0 {
				_ = col[(11*n-1)*stride+3]
				markColumn(x, col, 11*n, stride)
				quantise32AVX2(&x[0], n, &col[0], stride)
			}
		},
		Quantise256: func(x []float32, col []byte, stride int) {
			if n := len(x) / 256; n > 0 {
				_ = col[(81*n-1)*stride+3]
				markColumn(x, col, 81*n, stride)
				quantise256AVX2(&x[0], n, &col[0], stride)
			}
		},
	})
}

func rmsNormAVX2(dst, x, w []float32, eps float32) {
	n := len(x)
	if n == 0 || n%16 != 0 {
		arith.RMSNorm(dst, x, w, eps)
		return
	}
	dst, w = dst[:n], w[:n]
	race.Read(x)
	race.Read(w)
	race.Write(dst)
	inv := arith.InverseRMS(sumSquaresAVX2(&x[0], n/16), n, eps)
	scaleMulAVX2(&dst[0], &x[0], &w[0], n/8, &inv)
}

func wrapHalvesAVX2(head, cos, sin []float32) {
	h := len(cos)
	if h == 0 || h%8 != 0 {
		rotateHalves(head, cos, sin)
		return
	}
	head, sin = head[:2*h], sin[:h]
	race.Write(head)
	rotateHalvesAVX2(&head[0], h, &cos[0], &sin[0])
}

func wrapAdjacentAVX2(head, cos, sin []float32) {
	n := len(cos) &^ 7
	head, sin = head[:len(cos)], sin[:len(cos)]
	if n > 0 {
		race.Write(head)
		rotateAdjacentAVX2(&head[0], n/8, &cos[0], &sin[0])
	}
	rotateAdjacent(head[n:], cos[n:], sin[n:])
}

func wrapGatedAVX2(body func(dst, gate, up *float32, groups int), rest func(dst, gate, up []float32)) func(dst, gate, up []float32) {
	return func(dst, gate, up []float32) {
		n := len(gate) &^ 7
		dst, up = dst[:len(gate)], up[:len(gate)]
		if n > 0 {
			race.Read(gate)
			race.Read(up)
			race.Write(dst)
			body(unsafe.SliceData(dst), unsafe.SliceData(gate), unsafe.SliceData(up), n/8)
		}
		rest(dst[n:], gate[n:], up[n:])
	}
}

// markColumn tells the race detector of a column's dwords.
func markColumn(x []float32, col []byte, rows, stride int) {
	if !race.Enabled {
		return
	}
	race.Read(x)
	for row := range rows {
		race.Write(col[row*stride:][:4])
	}
}
