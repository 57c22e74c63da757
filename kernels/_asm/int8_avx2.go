package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The products of quantised weights with AVX2. The same tiles and panels as
// with AVX-512; a tile's 16 rows are two registers. Sums of u8 x s8 stay in
// int16 over a whole block of 32 where the weights have 4 bits:
// 8 x 2 x 15 x 127 = 30480.

func int8AVX2() {
	ones := table("int16ones", 0x00010001)
	sixteens := table("int16sixteens", 0x00100010)
	for C := 1; C <= 8; C++ {
		tile4bitAVX2("q4_0", "", C, ones)
		tile4bitAVX2("q4_1", "", C, ones)
		tileQ8AVX2("", C, ones, sixteens)
		tileQ6KAVX2(C, ones)
	}
	tile4bitAVX2("q4_0", "Plain", 1, ones)
	tile4bitAVX2("q4_1", "Plain", 1, ones)
	tileQ8AVX2("Plain", 1, ones, sixteens)
}

// columnGroups splits C columns into runs of at most 4: as many as the
// registers hold for 16 rows.
func columnGroups(C int) [][2]int {
	if C <= 4 {
		return [][2]int{{0, C}}
	}
	return [][2]int{{0, 4}, {4, C - 4}}
}

// blockLoop runs body over all blocks of one tile for one group of columns.
func blockLoop(name string, weights GPVirtual, blockBytes, actBytes int, body func(w, act GPVirtual)) {
	w, act, n := GP64(), GP64(), GP64()
	MOVQ(weights, w)
	Load(Param("act"), act)
	Load(Param("blocks"), n)
	Label(name)
	body(w, act)
	ADDQ(U32(uint32(blockBytes)), w)
	ADDQ(U32(uint32(actBytes)), act)
	DECQ(n)
	JNZ(LabelRef(name))
}

// tilesAVX2 is the frame of an AVX2 tile kernel: group is emitted once per
// group of columns and leaves its sums in stack memory at stk.
func tilesAVX2(C, blockBytes int, group func(w GPVirtual, first, count int, stk Mem)) {
	w, tiles, out, ldo := param("w"), param("tiles"), param("out"), param("ldo")
	SHLQ(Imm(2), ldo)
	stk := AllocLocal(8 * 32)
	Label("tile")
	p := GP64()
	MOVQ(out, p)
	for _, g := range columnGroups(C) {
		first, count := g[0], g[1]
		z := YMM()
		VXORPS(z, z, z)
		for i := range 2 * count {
			VMOVUPS(z, stk.Offset(32*i))
		}
		group(w, first, count, stk)
		for c := range count {
			for h := range 2 {
				y := YMM()
				VMOVUPS(stk.Offset(32*(2*c+h)), y)
				VMOVUPS(y, Mem{Base: p, Disp: 32 * h})
			}
			ADDQ(ldo, p)
		}
	}
	step := GP64()
	Load(Param("blocks"), step)
	IMUL3Q(U32(uint32(blockBytes)), step, step)
	ADDQ(step, w)
	ADDQ(Imm(64), out)
	DECQ(tiles)
	JNZ(LabelRef("tile"))
	VZEROUPPER()
	RET()
}

// tile4bitAVX2 has a variant "Plain" without prefetch.
func tile4bitAVX2(format, variant string, C int, ones Mem) {
	blockBytes, data := 288, 32
	if format == "q4_1" {
		blockBytes, data = 320, 64
	}
	TEXT(fmt.Sprintf("%s%sTile16x%dAVX2", format, variant, C), NOSPLIT, tileSignature)
	Doc(fmt.Sprintf("%s%sTile16x%dAVX2 multiplies %s tiles of 16 rows with %d columns.", format, variant, C, format, C))
	Pragma("noescape")
	mask := spread(0x0f0f0f0f)
	tilesAVX2(C, blockBytes, func(weights GPVirtual, first, count int, stk Mem) {
		blockLoop(fmt.Sprintf("block%d", first), weights, blockBytes, 44*C, func(w, act GPVirtual) {
			at := func(row, c int) Mem { return Mem{Base: act, Disp: 4 * (row*C + first + c)} }
			if C == 1 && variant == "" {
				for o := 0; o < blockBytes; o += 64 {
					PREFETCHT0(Mem{Base: w, Disp: 2048 + o})
				}
			}
			isum := make([]VecVirtual, 2*count)
			for i := range isum {
				isum[i] = YMM()
			}
			for i := range 4 {
				var g [4]VecVirtual // low 0, low 1, high 0, high 1
				for h := range 2 {
					g[h], g[2+h] = YMM(), YMM()
					VMOVDQU(Mem{Base: w, Disp: data + 64*i + 32*h}, g[h])
					VPSRLW(Imm(4), g[h], g[2+h])
					VPAND(mask, g[h], g[h])
					VPAND(mask, g[2+h], g[2+h])
				}
				for half := range 2 {
					for c := range count {
						b := YMM()
						VPBROADCASTD(at(3+4*half+i, c), b)
						for h := range 2 {
							sum := isum[2*c+h]
							if i == 0 && half == 0 {
								VPMADDUBSW(b, g[h], sum)
								continue
							}
							t := YMM()
							VPMADDUBSW(b, g[2*half+h], t)
							VPADDW(t, sum, sum)
						}
					}
				}
			}
			for h := range 2 {
				scale := YMM()
				VCVTPH2PS(Mem{Base: w, Disp: 16 * h}, scale)
				for c := range count {
					i := isum[2*c+h]
					VPMADDWD(ones, i, i)
					if format == "q4_0" {
						n := YMM()
						VPBROADCASTD(at(2, c), n)
						VPADDD(n, i, i)
					}
					VCVTDQ2PS(i, i)
					ds := YMM()
					VBROADCASTSS(at(0, c), ds)
					VMULPS(scale, ds, ds)
					VFMADD213PS(stk.Offset(32*(2*c+h)), ds, i)
					if format == "q4_1" {
						minimum, s := YMM(), YMM()
						VCVTPH2PS(Mem{Base: w, Disp: 32 + 16*h}, minimum)
						VBROADCASTSS(at(1, c), s)
						VFMADD231PS(s, minimum, i)
					}
					VMOVUPS(i, stk.Offset(32*(2*c+h)))
				}
			}
		})
	})
}

// tileQ8AVX2 splits the stored byte u = w+128 into halves of four bits, so that
// int16 sums cannot overflow: sum u*a = 16 * sum high*a + sum low*a. Eight rows
// at a time.
func tileQ8AVX2(variant string, C int, ones, sixteens Mem) {
	TEXT(fmt.Sprintf("q8_0%sTile16x%dAVX2", variant, C), NOSPLIT, tileSignature)
	Doc(fmt.Sprintf("q8_0%sTile16x%dAVX2 multiplies q8_0 tiles of 16 rows with %d columns.", variant, C, C))
	Pragma("noescape")
	mask := spread(0x0f0f0f0f)
	tilesAVX2(C, 544, func(weights GPVirtual, first, count int, stk Mem) {
		for h := range 2 {
			blockLoop(fmt.Sprintf("block%d_%d", first, h), weights, 544, 44*C, func(w, act GPVirtual) {
				at := func(row, c int) Mem { return Mem{Base: act, Disp: 4 * (row*C + first + c)} }
				if C == 1 && h == 0 && variant == "" {
					for o := 0; o < 544; o += 64 {
						PREFETCHT0(Mem{Base: w, Disp: 2048 + o})
					}
				}
				low, high := make([]VecVirtual, count), make([]VecVirtual, count)
				for c := range count {
					low[c], high[c] = YMM(), YMM()
				}
				for i := range 8 {
					gl, gh := YMM(), YMM()
					VMOVDQU(Mem{Base: w, Disp: 32 + 64*i + 32*h}, gl)
					VPSRLW(Imm(4), gl, gh)
					VPAND(mask, gl, gl)
					VPAND(mask, gh, gh)
					for c := range count {
						b := YMM()
						VPBROADCASTD(at(3+i, c), b)
						if i == 0 {
							VPMADDUBSW(b, gl, low[c])
							VPMADDUBSW(b, gh, high[c])
							continue
						}
						t := YMM()
						VPMADDUBSW(b, gl, t)
						VPADDW(t, low[c], low[c])
						VPMADDUBSW(b, gh, b)
						VPADDW(b, high[c], high[c])
					}
				}
				scale := YMM()
				VCVTPH2PS(Mem{Base: w, Disp: 16 * h}, scale)
				for c := range count {
					VPMADDWD(ones, low[c], low[c])
					VPMADDWD(sixteens, high[c], high[c])
					VPADDD(high[c], low[c], low[c])
					n := YMM()
					VPBROADCASTD(at(2, c), n)
					VPSLLD(Imm(4), n, n)
					VPADDD(n, low[c], low[c])
					VCVTDQ2PS(low[c], low[c])
					ds := YMM()
					VBROADCASTSS(at(0, c), ds)
					VMULPS(scale, ds, ds)
					VFMADD213PS(stk.Offset(32*(2*c+h)), ds, low[c])
					VMOVUPS(low[c], stk.Offset(32*(2*c+h)))
				}
			})
		}
	})
}

// tileQ6KAVX2: int16 sums hold two groups of four 6-bit weights
// (2 x 2 x 63 x 127 = 32004); each is widened, offset and scaled in int32.
func tileQ6KAVX2(C int, ones Mem) {
	TEXT(fmt.Sprintf("q6_KTile16x%dAVX2", C), NOSPLIT, tileSignature)
	Doc(fmt.Sprintf("q6_KTile16x%dAVX2 multiplies q6_K tiles of 16 rows with %d columns.", C, C))
	Pragma("noescape")
	low, high := spread(0x0f0f0f0f), spread(0x30303030)
	tilesAVX2(C, 3360, func(weights GPVirtual, first, count int, stk Mem) {
		for h := range 2 {
			blockLoop(fmt.Sprintf("block%d_%d", first, h), weights, 3360, 81*4*C, func(w, act GPVirtual) {
				at := func(row, c int) Mem { return Mem{Base: act, Disp: 4 * (row*C + first + c)} }
				isum := zeroed(count, YMM)
				q6kGroups(fmt.Sprintf("group%d_%d", first, h), w, act, C, func(p q6kPointers, s int) {
					upper := YMM()
					VMOVDQU(Mem{Base: p.weights, Disp: 256 + 64*s + 32*h}, upper)
					var g [4]VecVirtual
					for i := range g {
						g[i] = YMM()
						VMOVDQU(Mem{Base: p.weights, Disp: 64*i + 32*h}, g[i])
						if s == 1 {
							VPSRLW(Imm(4), g[i], g[i])
						}
						VPAND(low, g[i], g[i])
						t := YMM()
						switch {
						case i < 2:
							VPSLLW(Imm(uint64(4-2*i)), upper, t)
							VPAND(high, t, t)
						case i == 2:
							VPAND(high, upper, t)
						default:
							VPSRLW(Imm(2), upper, t)
							VPAND(high, t, t)
						}
						VPOR(t, g[i], g[i])
					}
					sc := YMM()
					VPMOVSXBD(Mem{Base: p.scales, Disp: 16*s + 8*h}, sc)
					for c := range count {
						var t [4]VecVirtual
						for i := range t {
							t[i] = YMM()
							VPBROADCASTD(Mem{Base: p.act, Disp: 4 * ((4*s+i)*C + first + c)}, t[i])
							VPMADDUBSW(t[i], g[i], t[i])
							if i%2 == 1 {
								VPADDW(t[i], t[i-1], t[i-1])
								VPMADDWD(ones, t[i-1], t[i-1])
							}
						}
						VPADDD(t[2], t[0], t[0])
						VPBROADCASTD(Mem{Base: p.sums, Disp: 4 * (s*C + first + c)}, t[1])
						VPADDD(t[1], t[0], t[0])
						VPMULLD(sc, t[0], t[0])
						VPADDD(t[0], isum[c], isum[c])
					}
				})
				scale := YMM()
				VCVTPH2PS(Mem{Base: w, Disp: 16 * h}, scale)
				for c := range count {
					VCVTDQ2PS(isum[c], isum[c])
					ds := YMM()
					VBROADCASTSS(at(0, c), ds)
					VMULPS(scale, ds, ds)
					VFMADD213PS(stk.Offset(32*(2*c+h)), ds, isum[c])
					VMOVUPS(isum[c], stk.Offset(32*(2*c+h)))
				}
			})
		}
	})
}
