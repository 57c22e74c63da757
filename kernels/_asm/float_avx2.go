package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Products of float weights. A tile is 4 rows, [k/8][4][8]; the panel holds C
// columns, [k/8][C][8]. One register is the 8 lanes of one output.

func floatAVX2() {
	for _, format := range []string{"f32", "f16", "bf16"} {
		for C := 1; C <= 3; C++ {
			tileFloatAVX2(format, C)
		}
	}
}

func tileFloatAVX2(format string, C int) {
	size := 4
	if format != "f32" {
		size = 2
	}
	TEXT(fmt.Sprintf("%sTile4x%dAVX2", format, C), NOSPLIT, tileSignature)
	Doc(fmt.Sprintf("%sTile4x%dAVX2 multiplies %s tiles of 4 rows with %d columns; blocks are 8 wide.", format, C, format, C))
	Pragma("noescape")
	w, tiles, out, ldo := param("w"), param("tiles"), param("out"), param("ldo")
	SHLQ(Imm(2), ldo)
	act, n := GP64(), GP64()
	Label("tile")
	Load(Param("act"), act)
	Load(Param("blocks"), n)
	acc := zeroed(4*C, YMM)
	Label("block")
	x := make([]VecVirtual, C)
	for c := range x {
		x[c] = YMM()
		VMOVUPS(Mem{Base: act, Disp: 32 * c}, x[c])
	}
	if C == 1 {
		for o := 0; o < 32*size; o += 64 {
			PREFETCHT0(Mem{Base: w, Disp: 2048 + o})
		}
	}
	for r := range 4 {
		y := YMM()
		m := Mem{Base: w, Disp: 8 * size * r}
		switch format {
		case "f32":
			VMOVUPS(m, y)
		case "f16":
			VCVTPH2PS(m, y)
		case "bf16":
			VPMOVZXWD(m, y)
			VPSLLD(Imm(16), y, y)
		}
		for c := range C {
			VFMADD231PS(x[c], y, acc[4*c+r])
		}
	}
	ADDQ(U32(uint32(32*size)), w)
	ADDQ(U32(uint32(32*C)), act)
	DECQ(n)
	JNZ(LabelRef("block"))
	p := GP64()
	MOVQ(out, p)
	for c := range C {
		VMOVUPS(tree8x4(acc[4*c:4*c+4]), Mem{Base: p})
		if c+1 < C {
			ADDQ(ldo, p)
		}
	}
	ADDQ(Imm(16), out)
	DECQ(tiles)
	JNZ(LabelRef("tile"))
	VZEROUPPER()
	RET()
}

// tree8x4 adds the eight lanes of each of four registers in the order of
// arith.Tree8 and returns the four sums.
func tree8x4(a []VecVirtual) VecVirtual {
	m := make([]VecVirtual, 4)
	for i := range m {
		hi := XMM()
		VEXTRACTF128(Imm(1), a[i], hi)
		m[i] = XMM()
		VADDPS(hi, a[i].AsX(), m[i])
	}
	pair := func(a, b VecVirtual) VecVirtual {
		u, v := XMM(), XMM()
		VSHUFPS(Imm(0x44), b, a, u)
		VSHUFPS(Imm(0xee), b, a, v)
		VADDPS(v, u, u)
		return u
	}
	s, t := pair(m[0], m[1]), pair(m[2], m[3])
	even, odd := XMM(), XMM()
	VSHUFPS(Imm(0x88), t, s, even)
	VSHUFPS(Imm(0xdd), t, s, odd)
	VADDPS(odd, even, even)
	return even
}
