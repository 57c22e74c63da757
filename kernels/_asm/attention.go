package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The outer-product chains of attention: 16 lanes x C columns,
// acc[c][lane] = fma(a[j][lane], b[c][j], acc[c][lane]), j ascending.
// Scores: a = a key tile [headDim][16 keys], b = queries. Values: a = 16
// elements of each value row, b = softmax weights.

const outerSignature = "func(acc *float32, ldacc int, a *byte, astride int, b *float32, ldb int, n int)"

type outerFrame struct {
	acc, ldacc, a, astride, b, b3, ldb, n GPVirtual
}

func outerParams(C int) outerFrame {
	f := outerFrame{acc: param("acc"), ldacc: param("ldacc"), a: param("a"), astride: param("astride"), b: param("b"), ldb: param("ldb"), n: param("n")}
	SHLQ(Imm(2), f.ldacc)
	SHLQ(Imm(2), f.ldb)
	f.b3 = GP64()
	if C > 3 {
		LEAQ(Mem{Base: f.b, Index: f.ldb, Scale: 2}, f.b3)
		ADDQ(f.ldb, f.b3)
	}
	return f
}

// at is the address of column c of the current row of b.
func (f outerFrame) at(c int) Mem {
	base := f.b
	if c >= 3 {
		base, c = f.b3, c-3
	}
	if c == 0 {
		return Mem{Base: base}
	}
	return Mem{Base: base, Index: f.ldb, Scale: uint8(c)}
}

func (f outerFrame) advance(C int) {
	ADDQ(f.astride, f.a)
	ADDQ(Imm(4), f.b)
	if C > 3 {
		ADDQ(Imm(4), f.b3)
	}
	DECQ(f.n)
	JNZ(LabelRef("row"))
}

func outerAVX2() {
	for _, format := range []string{"f16", "f32"} {
		for C := 1; C <= 6; C++ {
			TEXT(fmt.Sprintf("%sOuter16x%dAVX2", format, C), NOSPLIT, outerSignature)
			Doc(fmt.Sprintf("%sOuter16x%dAVX2 adds n products of 16 %s lanes and %d columns.", format, C, format, C))
			Pragma("noescape")
			f := outerParams(C)
			acc := make([]VecVirtual, 2*C)
			p := GP64()
			MOVQ(f.acc, p)
			for c := range C {
				for h := range 2 {
					acc[2*c+h] = YMM()
					VMOVUPS(Mem{Base: p, Disp: 32 * h}, acc[2*c+h])
				}
				ADDQ(f.ldacc, p)
			}
			Label("row")
			var y [2]VecVirtual
			for h := range y {
				y[h] = YMM()
				if format == "f16" {
					VCVTPH2PS(Mem{Base: f.a, Disp: 16 * h}, y[h])
				} else {
					VMOVUPS(Mem{Base: f.a, Disp: 32 * h}, y[h])
				}
			}
			for c := range C {
				s := YMM()
				VBROADCASTSS(f.at(c), s)
				VFMADD231PS(s, y[0], acc[2*c])
				VFMADD231PS(s, y[1], acc[2*c+1])
			}
			f.advance(C)
			for c := range C {
				for h := range 2 {
					VMOVUPS(acc[2*c+h], Mem{Base: f.acc, Disp: 32 * h})
				}
				ADDQ(f.ldacc, f.acc)
			}
			VZEROUPPER()
			RET()
		}
	}
}

func outerAVX512() {
	for _, format := range []string{"f16", "f32"} {
		for C := 1; C <= 6; C++ {
			TEXT(fmt.Sprintf("%sOuter16x%dAVX512", format, C), NOSPLIT, outerSignature)
			Doc(fmt.Sprintf("%sOuter16x%dAVX512 adds n products of 16 %s lanes and %d columns.", format, C, format, C))
			Pragma("noescape")
			f := outerParams(C)
			acc := make([]VecVirtual, C)
			p := GP64()
			MOVQ(f.acc, p)
			for c := range C {
				acc[c] = ZMM()
				VMOVUPS(Mem{Base: p}, acc[c])
				ADDQ(f.ldacc, p)
			}
			Label("row")
			z := ZMM()
			if format == "f16" {
				VCVTPH2PS(Mem{Base: f.a}, z)
			} else {
				VMOVUPS(Mem{Base: f.a}, z)
			}
			for c := range C {
				VFMADD231PS_BCST(f.at(c), z, acc[c])
			}
			f.advance(C)
			for c := range C {
				VMOVUPS(acc[c], Mem{Base: f.acc})
				ADDQ(f.ldacc, f.acc)
			}
			VZEROUPPER()
			RET()
		}
	}
}

// softmaxAVX2 is one block of the online softmax: p holds 16*groups raw scores
// (missing keys are -Inf) and becomes the weights; state is {max, sum,
// correction}.
func softmaxAVX2() {
	e := newExp()
	TEXT("softmaxBlockAVX2", NOSPLIT, "func(p *float32, groups int, scale *float32, state *float32)")
	Doc("softmaxBlockAVX2 scales a block of scores and folds it into an online softmax.")
	Pragma("noescape")
	p, groups, state, scale := param("p"), param("groups"), param("state"), param("scale")
	s, m, old := YMM(), YMM(), YMM()
	VBROADCASTSS(Mem{Base: scale}, s)
	VBROADCASTSS(Mem{Base: state}, m)
	VMOVAPS(m, old)
	q, n := GP64(), GP64()
	MOVQ(p, q)
	MOVQ(groups, n)
	Label("max")
	for h := range 2 {
		y := YMM()
		VMULPS(Mem{Base: q, Disp: 32 * h}, s, y)
		VMOVUPS(y, Mem{Base: q, Disp: 32 * h})
		VMAXPS(m, y, m) // y > m ? y : m, so a NaN never wins
	}
	ADDQ(Imm(64), q)
	DECQ(n)
	JNZ(LabelRef("max"))
	t := YMM()
	VPERM2F128(Imm(1), m, m, t)
	VMAXPS(t, m, m)
	VSHUFPS(Imm(0x4e), m, m, t)
	VMAXPS(t, m, m)
	VSHUFPS(Imm(0xb1), m, m, t)
	VMAXPS(t, m, m)
	VMOVSS(m.AsX(), Mem{Base: state})
	VSUBPS(m, old, old)
	c := e.emit(old)
	VMOVSS(c.AsX(), Mem{Base: state, Disp: 8})
	l := zeroed(2, YMM)
	Label("exp")
	for h := range 2 {
		y := YMM()
		VMOVUPS(Mem{Base: p, Disp: 32 * h}, y)
		VSUBPS(m, y, y)
		r := e.emit(y)
		VMOVUPS(r, Mem{Base: p, Disp: 32 * h})
		VADDPS(r, l[h], l[h])
	}
	ADDQ(Imm(64), p)
	DECQ(groups)
	JNZ(LabelRef("exp"))
	VADDPS(l[1], l[0], l[0])
	sum := tree8(l[0])
	o := XMM()
	VMOVSS(Mem{Base: state, Disp: 4}, o)
	VMULSS(c.AsX(), o, o)
	VADDSS(sum, o, o)
	VMOVSS(o, Mem{Base: state, Disp: 4})
	VZEROUPPER()
	RET()
}
