package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// quantiser emits the activation rounding of arith.QuantiseBlock. The results
// go into one column of a panel: consecutive dwords of the column are stride
// bytes apart.
type quantiser struct {
	abs, order, ones16, ones8 Mem
	c127                      Mem
}

func newQuantiser() *quantiser {
	q := &quantiser{
		abs: table("quantAbs", 0x7fffffff), ones16: table("quantOnes16", 0x00010001),
		ones8: table("quantOnes8", 0x01010101), c127: table("quant127", math.Float32bits(127)),
	}
	q.order = GLOBL("quantOrder", RODATA|NOPTR)
	for i, v := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		DATA(4*i, U32(v))
	}
	return q
}

func (q *quantiser) emit() {
	q.block32()
	q.block256()
}

// absMax folds the magnitudes (as bits) of the 8 values at m into mx.
func (q *quantiser) absMax(m Mem, abs, mx VecVirtual) {
	y := YMM()
	VPAND(m, abs, y)
	VPMAXUD(y, mx, mx)
}

// largest moves the largest lane of mx into a general register.
func (q *quantiser) largest(mx VecVirtual) Register {
	t := XMM()
	VEXTRACTI128(Imm(1), mx, t)
	x := mx.AsX()
	VPMAXUD(t, x, x)
	VPSHUFD(Imm(0x4e), x, t)
	VPMAXUD(t, x, x)
	VPSHUFD(Imm(0xb1), x, t)
	VPMAXUD(t, x, x)
	g := GP32()
	VMOVD(x, g)
	return g
}

// scales computes d = amax/127 into memory at p and returns 127/amax spread.
func (q *quantiser) scales(mx VecVirtual, p GPVirtual) (d, id VecVirtual) {
	d = XMM()
	c := XMM()
	VMOVSS(q.c127, c)
	VDIVSS(c, mx.AsX(), d)
	VMOVSS(d, Mem{Base: p})
	VDIVSS(mx.AsX(), c, c)
	id = YMM()
	VBROADCASTSS(c, id)
	return d, id
}

// round32 rounds 32 values at x to int8, in order.
func (q *quantiser) round32(x GPVirtual, disp int, id VecVirtual) VecVirtual {
	var v [4]VecVirtual
	for i := range v {
		v[i] = YMM()
		VMULPS(Mem{Base: x, Disp: disp + 32*i}, id, v[i])
		VCVTPS2DQ(v[i], v[i])
	}
	VPACKSSDW(v[1], v[0], v[0])
	VPACKSSDW(v[3], v[2], v[2])
	VPACKSSWB(v[2], v[0], v[0])
	o := YMM()
	VMOVDQU(q.order, o)
	VPERMD(v[0], o, v[0])
	return v[0]
}

// scatter stores eight dwords from p on, stride bytes apart, and moves p behind.
func scatter(y VecVirtual, p, stride GPVirtual) {
	hi := XMM()
	VEXTRACTI128(Imm(1), y, hi)
	for _, x := range []VecVirtual{y.AsX().(VecVirtual), hi} {
		for i := range 4 {
			VPEXTRD(Imm(uint64(i)), x, Mem{Base: p})
			ADDQ(stride, p)
		}
	}
}

// laneSums adds the int8 values of each 128-bit half; every dword of a half
// holds its sum.
func (q *quantiser) laneSums(y VecVirtual) VecVirtual {
	s, t := YMM(), YMM()
	VMOVDQU(q.ones8, s)
	VPMADDUBSW(y, s, s)
	VPMADDWD(q.ones16, s, s)
	VPSHUFD(Imm(0x4e), s, t)
	VPADDD(t, s, s)
	VPSHUFD(Imm(0xb1), s, t)
	VPADDD(t, s, s)
	return s
}

// fill writes v into rows dwords of the column.
func fill(p, stride GPVirtual, rows int, v Register, label string) {
	n := GP64()
	MOVQ(U32(uint32(rows)), n)
	Label(label)
	MOVL(v, Mem{Base: p})
	ADDQ(stride, p)
	DECQ(n)
	JNZ(LabelRef(label))
}

// unusual handles blocks that count as zero or hold no finite maximum: float
// rows become 0 or NaN, all others 0.
func unusual(p, stride GPVirtual, amax Register, floats, rest int) {
	Label("unusual")
	v := GP32()
	XORL(v, v)
	CMPL(amax, U32(0x7f800000))
	JB(LabelRef("zero"))
	MOVL(U32(0x7fc00000), v)
	Label("zero")
	fill(p, stride, floats, v, "fillFloats")
	XORL(v, v)
	fill(p, stride, rest, v, "fillRest")
}

func (q *quantiser) block32() {
	TEXT("quantise32AVX2", NOSPLIT, "func(x *float32, blocks int, col *byte, stride int)")
	Doc("quantise32AVX2 rounds blocks of 32 values into one column of a panel: d, s, n, eight groups.")
	Pragma("noescape")
	x, n, p, stride := param("x"), param("blocks"), param("col"), param("stride")
	abs := YMM()
	VMOVDQU(q.abs, abs)
	Label("block")
	mx := YMM()
	VPAND(Mem{Base: x}, abs, mx)
	for i := 1; i < 4; i++ {
		q.absMax(Mem{Base: x, Disp: 32 * i}, abs, mx)
	}
	amax := q.largest(mx)
	CMPL(amax, U32(0x0d800000))
	JB(LabelRef("unusual"))
	CMPL(amax, U32(0x7f800000))
	JAE(LabelRef("unusual"))
	d, id := q.scales(mx, p)
	ADDQ(stride, p)
	y := q.round32(x, 0, id)
	s := q.laneSums(y)
	hi, f := XMM(), XMM()
	VEXTRACTI128(Imm(1), s, hi)
	VPADDD(hi, s.AsX(), hi)
	VCVTDQ2PS(hi, f)
	VMULSS(d, f, f)
	VMOVSS(f, Mem{Base: p}) // s = float32(sum)*d
	ADDQ(stride, p)
	sum := GP32()
	VMOVD(hi, sum)
	SHLL(Imm(3), sum)
	NEGL(sum)
	MOVL(sum, Mem{Base: p}) // n = -8*sum
	ADDQ(stride, p)
	scatter(y, p, stride)
	Label("next")
	ADDQ(U32(128), x)
	DECQ(n)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
	unusual(p, stride, amax, 2, 9)
	JMP(LabelRef("next"))
}

func (q *quantiser) block256() {
	TEXT("quantise256AVX2", NOSPLIT, "func(x *float32, blocks int, col *byte, stride int)")
	Doc("quantise256AVX2 rounds blocks of 256 values into one column: d, 16 x -32*sum, 64 groups.")
	Pragma("noescape")
	x, n, p, stride := param("x"), param("blocks"), param("col"), param("stride")
	abs := YMM()
	VMOVDQU(q.abs, abs)
	Label("block")
	mx := YMM()
	VPAND(Mem{Base: x}, abs, mx)
	for i := 1; i < 32; i++ {
		q.absMax(Mem{Base: x, Disp: 32 * i}, abs, mx)
	}
	amax := q.largest(mx)
	CMPL(amax, U32(0x0d800000))
	JB(LabelRef("unusual"))
	CMPL(amax, U32(0x7f800000))
	JAE(LabelRef("unusual"))
	_, id := q.scales(mx, p)
	ADDQ(stride, p)
	groups := GP64()
	MOVQ(stride, groups)
	SHLQ(Imm(4), groups)
	ADDQ(p, groups)
	m := GP64()
	MOVQ(U32(8), m)
	Label("part")
	y := q.round32(x, 0, id)
	s := q.laneSums(y)
	hi := XMM()
	VEXTRACTI128(Imm(1), s, hi)
	for _, half := range []VecVirtual{s.AsX().(VecVirtual), hi} {
		sum := GP32()
		VMOVD(half, sum)
		SHLL(Imm(5), sum)
		NEGL(sum)
		MOVL(sum, Mem{Base: p})
		ADDQ(stride, p)
	}
	scatter(y, groups, stride)
	ADDQ(U32(128), x)
	DECQ(m)
	JNZ(LabelRef("part"))
	MOVQ(groups, p)
	Label("next")
	DECQ(n)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
	unusual(p, stride, amax, 1, 80)
	ADDQ(U32(1024), x)
	JMP(LabelRef("next"))
}
