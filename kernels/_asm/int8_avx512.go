package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The products of quantised weights with AVX-512 and VNNI. A tile is 16 rows,
// one lane each; a call covers tiles x columns over all of K. Activations come
// as a panel of C columns: per block rows of C dwords: d, s, n, then eight
// groups of four int8 (see kernels/matmul/panel.go).

const tileSignature = "func(w *byte, tiles int, act *byte, blocks int, out *float32, ldo int)"

// tileLoop runs body once per tile and advances the output by 16 rows.
func tileLoop(body func(w, act, out, ldo GPVirtual)) {
	w, tiles, out, ldo := param("w"), param("tiles"), param("out"), param("ldo")
	SHLQ(Imm(2), ldo)
	act := GP64()
	Label("tile")
	Load(Param("act"), act)
	body(w, act, out, ldo)
	ADDQ(Imm(64), out)
	DECQ(tiles)
	JNZ(LabelRef("tile"))
	VZEROUPPER()
	RET()
}

// store16 writes the accumulators of C columns, ldo bytes apart.
func store16(acc []VecVirtual, out, ldo GPVirtual) {
	p := GP64()
	MOVQ(out, p)
	for c := range acc {
		VMOVUPS(acc[c], Mem{Base: p})
		if c+1 < len(acc) {
			ADDQ(ldo, p)
		}
	}
}

func int8AVX512() {
	for C := 1; C <= 8; C++ {
		tile32AVX512("q4_0", "", C)
		tile32AVX512("q4_1", "", C)
		tile32AVX512("q8_0", "", C)
		tileQ6KAVX512(C)
	}
	for _, format := range []string{"q4_0", "q4_1", "q8_0"} {
		tile32AVX512(format, "Plain", 1)
	}
}

// tile32AVX512 has a variant "Plain" without prefetch.
func tile32AVX512(format, variant string, C int) {
	blockBytes := map[string]int{"q4_0": 288, "q4_1": 320, "q8_0": 544}[format]
	data := map[string]int{"q4_0": 32, "q4_1": 64, "q8_0": 32}[format]
	TEXT(fmt.Sprintf("%s%sTile16x%dAVX512", format, variant, C), NOSPLIT, tileSignature)
	Doc(fmt.Sprintf("%s%sTile16x%dAVX512 multiplies %s tiles of 16 rows with %d columns.", format, variant, C, format, C))
	Pragma("noescape")
	var mask VecVirtual
	if format != "q8_0" {
		r := GP32()
		MOVL(U32(0x0f0f0f0f), r)
		mask = ZMM()
		VPBROADCASTD(r, mask)
	}
	tileLoop(func(w, act, out, ldo GPVirtual) {
		acc := zeroed(C, ZMM)
		n := GP64()
		Load(Param("blocks"), n)
		Label("block")
		var g [8]VecVirtual
		if C == 1 && variant == "" {
			// One pass over memory: ask for lines well ahead of the loads.
			for o := 0; o < blockBytes; o += 64 {
				PREFETCHT0(Mem{Base: w, Disp: 4096 + o})
			}
		}
		if format == "q8_0" {
			for i := range g {
				g[i] = ZMM()
				VMOVDQU32(Mem{Base: w, Disp: data + 64*i}, g[i])
			}
		} else {
			for i := range 4 {
				g[i], g[4+i] = ZMM(), ZMM()
				VMOVDQU32(Mem{Base: w, Disp: data + 64*i}, g[i])
				VPSRLW(Imm(4), g[i], g[4+i])
				VPANDD(mask, g[i], g[i])
				VPANDD(mask, g[4+i], g[4+i])
			}
		}
		scale := ZMM()
		VCVTPH2PS(Mem{Base: w}, scale)
		var minimum VecVirtual
		if format == "q4_1" {
			minimum = ZMM()
			VCVTPH2PS(Mem{Base: w, Disp: 32}, minimum)
		}
		at := func(row, c int) Mem { return Mem{Base: act, Disp: 4 * (row*C + c)} }
		for c := range C {
			isum := ZMM()
			if format == "q4_1" {
				VPXORD(isum, isum, isum)
			} else {
				VPBROADCASTD(at(2, c), isum) // n = -8 * sum of q
			}
			if format == "q8_0" {
				VPSLLD(Imm(4), isum, isum) // bytes are stored plus 128
			}
			for i := range g {
				VPDPBUSD_BCST(at(3+i, c), g[i], isum)
			}
			VCVTDQ2PS(isum, isum)
			ds := ZMM()
			VMULPS_BCST(at(0, c), scale, ds)
			VFMADD231PS(ds, isum, acc[c])
			if format == "q4_1" {
				VFMADD231PS_BCST(at(1, c), minimum, acc[c])
			}
		}
		ADDQ(U32(uint32(blockBytes)), w)
		ADDQ(U32(uint32(44*C)), act)
		DECQ(n)
		JNZ(LabelRef("block"))
		store16(acc, out, ldo)
	})
}

// tileQ6KAVX512: a block of 256 has 16 sub-blocks with an int8 scale each;
// panel rows: d, 16 x (-32 * sum of q), 64 groups.
func tileQ6KAVX512(C int) {
	TEXT(fmt.Sprintf("q6_KTile16x%dAVX512", C), NOSPLIT, tileSignature)
	Doc(fmt.Sprintf("q6_KTile16x%dAVX512 multiplies q6_K tiles of 16 rows with %d columns.", C, C))
	Pragma("noescape")
	r := GP32()
	low, high := ZMM(), ZMM()
	MOVL(U32(0x0f0f0f0f), r)
	VPBROADCASTD(r, low)
	MOVL(U32(0x30303030), r)
	VPBROADCASTD(r, high)
	tileLoop(func(w, act, out, ldo GPVirtual) {
		acc := zeroed(C, ZMM)
		n := GP64()
		Load(Param("blocks"), n)
		Label("block")
		isum := make([]VecVirtual, C)
		for c := range isum {
			isum[c] = ZMM()
			VPXORD(isum[c], isum[c], isum[c])
		}
		at := func(row, c int) Mem { return Mem{Base: act, Disp: 4 * (row*C + c)} }
		q6kGroups("group", w, act, C, func(p q6kPointers, s int) {
			upper := ZMM()
			VMOVDQU32(Mem{Base: p.weights, Disp: 256 + 64*s}, upper)
			var g [4]VecVirtual
			for i := range g {
				g[i] = ZMM()
				VMOVDQU32(Mem{Base: p.weights, Disp: 64 * i}, g[i])
				if s == 1 {
					VPSRLW(Imm(4), g[i], g[i])
				}
				VPANDD(low, g[i], g[i])
				t := ZMM() // bits 2i, 2i+1 of the upper byte go to bits 4, 5
				switch {
				case i < 2:
					VPSLLW(Imm(uint64(4-2*i)), upper, t)
				case i == 2:
					VMOVDQA32(upper, t)
				default:
					VPSRLW(Imm(2), upper, t)
				}
				VPANDD(high, t, t)
				VPORD(t, g[i], g[i])
			}
			sc := ZMM()
			VPMOVSXBD(Mem{Base: p.scales, Disp: 16 * s}, sc)
			for c := range C {
				t := ZMM()
				VPBROADCASTD(Mem{Base: p.sums, Disp: 4 * (s*C + c)}, t)
				for i := range g {
					VPDPBUSD_BCST(Mem{Base: p.act, Disp: 4 * ((4*s+i)*C + c)}, g[i], t)
				}
				VPMULLD(sc, t, t)
				VPADDD(t, isum[c], isum[c])
			}
		})
		scale := ZMM()
		VCVTPH2PS(Mem{Base: w}, scale)
		for c := range C {
			VCVTDQ2PS(isum[c], isum[c])
			ds := ZMM()
			VMULPS_BCST(at(0, c), scale, ds)
			VFMADD231PS(ds, isum[c], acc[c])
		}
		ADDQ(U32(3360), w)
		ADDQ(U32(uint32(81*4*C)), act)
		DECQ(n)
		JNZ(LabelRef("block"))
		store16(acc, out, ldo)
	})
}

// q6kPointers walk the parts of a Q6_K block, 32 elements at a time.
type q6kPointers struct{ weights, scales, sums, act GPVirtual }

// q6kGroups loops over the eight groups of 32 elements of a block; body is
// emitted for both sub-blocks s of 16.
func q6kGroups(label string, w, act GPVirtual, C int, body func(p q6kPointers, s int)) {
	p := q6kPointers{GP64(), GP64(), GP64(), GP64()}
	LEAQ(Mem{Base: w, Disp: 288}, p.weights)
	LEAQ(Mem{Base: w, Disp: 32}, p.scales)
	LEAQ(Mem{Base: act, Disp: 4 * C}, p.sums)
	LEAQ(Mem{Base: act, Disp: 17 * 4 * C}, p.act)
	n := GP64()
	MOVQ(U32(8), n)
	Label(label)
	body(p, 0)
	body(p, 1)
	ADDQ(U32(384), p.weights)
	ADDQ(Imm(32), p.scales)
	ADDQ(Imm(uint64(8*C)), p.sums)
	ADDQ(U32(uint32(8*4*C)), p.act)
	DECQ(n)
	JNZ(LabelRef(label))
}
