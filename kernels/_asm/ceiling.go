package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func pause() {
	TEXT("pause", NOSPLIT, "func(n uint32)")
	Doc("pause executes n PAUSE instructions.")
	n := GP32()
	Load(Param("n"), n)
	Label("loop")
	PAUSE()
	DECL(n)
	JNZ(LabelRef("loop"))
	RET()
}

// ceilings are the loops behind the machine's measured limits.
func ceilings() {
	TEXT("readAVX2", NOSPLIT, "func(p *byte, n256 int) uint64")
	Doc("readAVX2 reads 256*n256 bytes.")
	Pragma("noescape")
	p, n := param("p"), param("n256")
	s := zeroed(4, YMM)
	Label("loop")
	for i := range 8 {
		VPXOR(Mem{Base: p, Disp: 32 * i}, s[i%4], s[i%4])
	}
	ADDQ(U32(256), p)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VPXOR(s[1], s[0], s[0])
	VPXOR(s[3], s[2], s[2])
	VPXOR(s[2], s[0], s[0])
	g := GP64()
	VMOVQ(s[0].AsX(), g)
	Store(g, ReturnIndex(0))
	VZEROUPPER()
	RET()

	TEXT("int8PeakAVX2", NOSPLIT, "func(act *byte, n int)")
	Doc("int8PeakAVX2 does n rounds of 16 x (broadcast load, u8*s8 pairs, int16 add): 512 multiply-adds a round.")
	Pragma("noescape")
	act, n := param("act"), param("n")
	acc := zeroed(8, YMM)
	w := spread(0x07050301)
	Label("loop")
	for i := range 16 {
		t := YMM()
		VPBROADCASTD(Mem{Base: act, Disp: 4 * i}, t)
		VPMADDUBSW(t, w, t)
		VPADDW(t, acc[i%8], acc[i%8])
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()

	TEXT("int8PeakAVX512", NOSPLIT, "func(act *byte, n int)")
	Doc("int8PeakAVX512 does n rounds of 16 VNNI instructions with a broadcast operand: 1024 multiply-adds a round.")
	Pragma("noescape")
	act, n = param("act"), param("n")
	acc = make([]VecVirtual, 16)
	for i := range acc {
		acc[i] = ZMM()
		VPXORD(acc[i], acc[i], acc[i])
	}
	r := GP32()
	MOVL(U32(0x07050301), r)
	w = ZMM()
	VPBROADCASTD(r, w)
	Label("loop")
	for i := range acc {
		VPDPBUSD_BCST(Mem{Base: act, Disp: 4 * i}, w, acc[i])
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
