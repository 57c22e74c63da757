package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// tree8 adds the eight lanes of one register in the order of arith.Tree8.
func tree8(y VecVirtual) VecVirtual {
	hi, s, t := XMM(), XMM(), XMM()
	VEXTRACTF128(Imm(1), y, hi)
	VADDPS(hi, y.AsX(), s)
	VMOVHLPS(s, s, t)
	VADDPS(t, s, s) // lane 0: lo0+lo2, lane 1: lo1+lo3
	VMOVSHDUP(s, t)
	VADDSS(t, s, s)
	return s
}

// expTables are the constants of arith.Exp in memory.
type expTables struct{ log2e, hi, lo, max, min, one, p0, p1, p2, p3, p4, p5 Mem }

func newExp() expTables {
	f := func(name string, v float32) Mem { return table("exp"+name, math.Float32bits(v)) }
	return expTables{
		log2e: f("Log2E", 1.44269504088896341), hi: f("Ln2Hi", 0.693359375), lo: f("Ln2Lo", -2.12194440e-4),
		max: f("Max", 88.0), min: f("Min", -86.5), one: f("One", 1),
		p0: f("P0", 1.9875691500e-4), p1: f("P1", 1.3981999507e-3), p2: f("P2", 8.3334519073e-3),
		p3: f("P3", 4.1665795894e-2), p4: f("P4", 1.6666665459e-1), p5: f("P5", 5.0000001201e-1),
	}
}

// emit computes e^x of eight lanes, step by step as arith.Exp does.
func (e expTables) emit(x VecVirtual) VecVirtual {
	keep, v, n, p, r2 := YMM(), YMM(), YMM(), YMM(), YMM()
	VCMPPS(Imm(5), e.min, x, keep) // not less than: also true for NaN
	VMOVUPS(e.max, v)
	VMINPS(x, v, v) // max < x ? max : x
	VMULPS(e.log2e, v, n)
	VROUNDPS(Imm(8), n, n)
	VFNMADD231PS(e.hi, n, v)
	VFNMADD231PS(e.lo, n, v)
	VMOVUPS(e.p0, p)
	VFMADD213PS(e.p1, v, p)
	VFMADD213PS(e.p2, v, p)
	VFMADD213PS(e.p3, v, p)
	VFMADD213PS(e.p4, v, p)
	VFMADD213PS(e.p5, v, p)
	VMULPS(v, v, r2)
	VFMADD213PS(v, r2, p)
	VADDPS(e.one, p, p)
	VCVTPS2DQ(n, n)
	VPSLLD(Imm(23), n, n)
	VPADDD(n, p, p)
	VANDPS(keep, p, p)
	return p
}

func vectorAVX2() {
	sumSquares()
	scaleMul()
	rotateHalves()
	rotateAdjacent()
	e := newExp()
	gated("siluMulAVX2", e, nil)
	c0, c1 := table("geluC0", math.Float32bits(-1.5957691216057308)), table("geluC1", math.Float32bits(-0.07135481282636613))
	gated("geluMulAVX2", e, func(g, t VecVirtual) {
		VMULPS(g, g, t)
		u := YMM()
		VMOVUPS(c0, u)
		VFMADD231PS(c1, t, u)
		VMULPS(g, u, t)
	})
	add()
	narrow()
	newQuantiser().emit()
}

func sumSquares() {
	TEXT("sumSquaresAVX2", NOSPLIT, "func(x *float32, groups int) float32")
	Doc("sumSquaresAVX2 adds the squares of 16*groups values.")
	Pragma("noescape")
	x, n := param("x"), param("groups")
	l := zeroed(2, YMM)
	Label("loop")
	for h := range l {
		y := YMM()
		VMOVUPS(Mem{Base: x, Disp: 32 * h}, y)
		VFMADD231PS(y, y, l[h])
	}
	ADDQ(Imm(64), x)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VADDPS(l[1], l[0], l[0])
	s := tree8(l[0])
	VMOVSS(s, ReturnAddr())
	VZEROUPPER()
	RET()
}

// ReturnAddr is the memory of the only float32 result.
func ReturnAddr() Mem {
	b, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

func scaleMul() {
	TEXT("scaleMulAVX2", NOSPLIT, "func(dst *float32, x *float32, w *float32, groups int, s *float32)")
	Doc("scaleMulAVX2 writes dst = (x*s)*w for 8*groups values.")
	Pragma("noescape")
	dst, x, w, n, s := param("dst"), param("x"), param("w"), param("groups"), param("s")
	sy := YMM()
	VBROADCASTSS(Mem{Base: s}, sy)
	Label("loop")
	y := YMM()
	VMULPS(Mem{Base: x}, sy, y)
	VMULPS(Mem{Base: w}, y, y)
	VMOVUPS(y, Mem{Base: dst})
	for _, p := range []GPVirtual{dst, x, w} {
		ADDQ(Imm(32), p)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func rotateHalves() {
	TEXT("rotateHalvesAVX2", NOSPLIT, "func(x *float32, half int, cos *float32, sin *float32)")
	Doc("rotateHalvesAVX2 rotates the pairs (i, i+half) of one head; half is a multiple of 8.")
	Pragma("noescape")
	x, n, cos, sin := param("x"), param("half"), param("cos"), param("sin")
	x2 := GP64()
	LEAQ(Mem{Base: x, Index: n, Scale: 4}, x2)
	SHRQ(Imm(3), n)
	Label("loop")
	u, w, c, s, a, b := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	VMOVUPS(Mem{Base: x}, u)
	VMOVUPS(Mem{Base: x2}, w)
	VMOVUPS(Mem{Base: cos}, c)
	VMOVUPS(Mem{Base: sin}, s)
	VMULPS(w, s, a)
	VFMSUB231PS(u, c, a)
	VMULPS(u, s, b)
	VFMADD231PS(w, c, b)
	VMOVUPS(a, Mem{Base: x})
	VMOVUPS(b, Mem{Base: x2})
	for _, p := range []GPVirtual{x, x2, cos, sin} {
		ADDQ(Imm(32), p)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// rotateAdjacent uses doubled tables: cos twice, sin as (-sin, +sin).
func rotateAdjacent() {
	TEXT("rotateAdjacentAVX2", NOSPLIT, "func(x *float32, groups int, cos *float32, sin *float32)")
	Doc("rotateAdjacentAVX2 rotates the pairs (2i, 2i+1) of 8*groups values with doubled tables.")
	Pragma("noescape")
	x, n, cos, sin := param("x"), param("groups"), param("cos"), param("sin")
	Label("loop")
	y, t := YMM(), YMM()
	VMOVUPS(Mem{Base: x}, y)
	VPERMILPS(Imm(0xb1), y, t)
	VMULPS(Mem{Base: sin}, t, t)
	VFMADD231PS(Mem{Base: cos}, y, t)
	VMOVUPS(t, Mem{Base: x})
	for _, p := range []GPVirtual{x, cos, sin} {
		ADDQ(Imm(32), p)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// gated writes g / (1 + e^t) * u with t = -g, or what exponent computes from g.
func gated(name string, e expTables, exponent func(g, t VecVirtual)) {
	TEXT(name, NOSPLIT, "func(dst *float32, gate *float32, up *float32, groups int)")
	Doc(name + " is the gated activation of 8*groups values.")
	Pragma("noescape")
	dst, gp, up, n := param("dst"), param("gate"), param("up"), param("groups")
	sign := spread(0x80000000)
	Label("loop")
	g, t := YMM(), YMM()
	VMOVUPS(Mem{Base: gp}, g)
	if exponent == nil {
		VXORPS(sign, g, t)
	} else {
		exponent(g, t)
	}
	r := e.emit(t)
	VADDPS(e.one, r, r)
	VDIVPS(r, g, g)
	VMULPS(Mem{Base: up}, g, g)
	VMOVUPS(g, Mem{Base: dst})
	for _, p := range []GPVirtual{dst, gp, up} {
		ADDQ(Imm(32), p)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func add() {
	TEXT("addAVX2", NOSPLIT, "func(dst *float32, x *float32, groups int)")
	Doc("addAVX2 adds x to dst, 8*groups values.")
	Pragma("noescape")
	dst, x, n := param("dst"), param("x"), param("groups")
	Label("loop")
	y := YMM()
	VMOVUPS(Mem{Base: dst}, y)
	VADDPS(Mem{Base: x}, y, y)
	VMOVUPS(y, Mem{Base: dst})
	ADDQ(Imm(32), dst)
	ADDQ(Imm(32), x)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func narrow() {
	TEXT("narrowF16AVX2", NOSPLIT, "func(dst *uint16, x *float32, groups int)")
	Doc("narrowF16AVX2 rounds 8*groups values to F16, to nearest even.")
	Pragma("noescape")
	dst, x, n := param("dst"), param("x"), param("groups")
	Label("loop")
	y := YMM()
	VMOVUPS(Mem{Base: x}, y)
	VCVTPS2PH(Imm(0), y, Mem{Base: dst})
	ADDQ(Imm(16), dst)
	ADDQ(Imm(32), x)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
