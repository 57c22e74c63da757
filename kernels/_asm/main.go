// Command _asm writes the generated assembly of the kernels. It is a module of
// its own so that users of assay never download the generator. Run it through
// generate.sh, which names every output.
package main

import (
	"flag"
	"fmt"
	"os"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

var generators = map[string]func(){
	"int8_avx2":        int8AVX2,
	"int8_avx512":      int8AVX512,
	"float_avx2":       floatAVX2,
	"vector_avx2":      vectorAVX2,
	"attention_avx2":   func() { outerAVX2(); softmaxAVX2() },
	"attention_avx512": outerAVX512,
	"ceiling":          ceilings,
	"pause":            pause,
}

func main() {
	what := flag.String("what", "", "the set of kernels to write")
	flag.Parse()
	g := generators[*what]
	if g == nil {
		fmt.Fprintln(os.Stderr, "unknown set", *what)
		os.Exit(2)
	}
	ConstraintExpr("amd64")
	g()
	Generate()
}

// param loads an integer or pointer parameter into a register of its own.
func param(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

// spread fills a YMM register with one 32-bit pattern.
func spread(v uint32) VecVirtual {
	r := GP32()
	MOVL(U32(v), r)
	x := XMM()
	VMOVD(r, x)
	y := YMM()
	VPBROADCASTD(x, y)
	return y
}

// table is 32 bytes of read-only memory holding one 32-bit pattern.
func table(name string, v uint32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(v))
	}
	return m
}

func zeroed(n int, of func() VecVirtual) []VecVirtual {
	regs := make([]VecVirtual, n)
	for i := range regs {
		regs[i] = of()
		VXORPS(regs[i], regs[i], regs[i])
	}
	return regs
}
