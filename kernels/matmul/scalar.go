package matmul

import (
	"encoding/binary"
	"math"
	"unsafe"

	"assay/kernels/arith"
	"assay/kernels/cpu"
	"assay/kernels/quant"
)

// The portable implementations: the same tiles and panels, one output at a
// time, in the order of the contract.

func init() {
	add := func(t quant.Type, tileRows int, dot func(w, act []byte, r, c, C, blocks int) float32) {
		k := &Kernel{Name: "scalar", Format: t, Level: cpu.Scalar, Rounding: RoundingOf(t), TileRows: tileRows}
		group := quant.GroupBytes(t, k.Rounding.BlockCols()) * tileRows / quant.TileRows
		for C := 1; C <= k.Rounding.Columns(); C++ {
			k.Columns = append(k.Columns, scalarTile(C, tileRows, group, k.Rounding, dot))
		}
		register(k)
	}
	add(quant.Q4_0, quant.TileRows, dotQ4_0)
	add(quant.Q4_1, quant.TileRows, dotQ4_1)
	add(quant.Q8_0, quant.TileRows, dotQ8_0)
	add(quant.Q6_K, quant.TileRows, dotQ6_K)
	add(quant.F32, quant.FloatTileRows, floatDot(4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }))
	add(quant.F16, quant.FloatTileRows, floatDot(2, func(b []byte) float32 { return arith.F16(binary.LittleEndian.Uint16(b)) }))
	add(quant.BF16, quant.FloatTileRows, floatDot(2, func(b []byte) float32 { return arith.BF16(binary.LittleEndian.Uint16(b)) }))
}

// scalarTile makes a Tile from a function that computes one output. blockBytes
// is the size of one block of a whole tile.
func scalarTile(C, tileRows, blockBytes int, r Rounding, dot func(w, act []byte, row, c, C, blocks int) float32) Tile {
	return func(w *byte, tiles int, act *byte, blocks int, out *float32, ldo int) {
		ws := unsafe.Slice(w, tiles*blocks*blockBytes)
		as := unsafe.Slice(act, C*r.ColumnBytes(blocks*r.BlockCols()))
		os := unsafe.Slice(out, (C-1)*ldo+tiles*tileRows)
		for t := range tiles {
			tile := ws[t*blocks*blockBytes : (t+1)*blocks*blockBytes]
			for c := range C {
				for row := range tileRows {
					os[c*ldo+t*tileRows+row] = dot(tile, as, row, c, C, blocks)
				}
			}
		}
	}
}

// column reads panel rows of one column.
type column struct {
	b    []byte
	c, C int
}

func (p column) float(row int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(p.b[4*(row*p.C+p.c):]))
}

func (p column) int(row int) int32 {
	return int32(binary.LittleEndian.Uint32(p.b[4*(row*p.C+p.c):]))
}

func (p column) group(row int) []byte { return p.b[4*(row*p.C+p.c):][:4] }

func halfAt(b []byte) float32 { return arith.F16(binary.LittleEndian.Uint16(b)) }

// nibbleSum is the sum of q*a over 32 elements, q unsigned nibbles in 4 lines.
func nibbleSum(lines []byte, r int, p column) (sum int32) {
	for j := range 4 {
		w := lines[64*j+4*r:][:4]
		lo, hi := p.group(3+j), p.group(7+j)
		for i := range 4 {
			sum += int32(w[i]&15)*int32(int8(lo[i])) + int32(w[i]>>4)*int32(int8(hi[i]))
		}
	}
	return sum
}

func dotQ4_0(w, act []byte, r, c, C, blocks int) (acc float32) {
	for b := range blocks {
		t, p := w[288*b:], column{b: act[44*C*b:], c: c, C: C}
		isum := nibbleSum(t[32:], r, p) + p.int(2)
		acc = arith.FMA32(float32(isum), halfAt(t[2*r:])*p.float(0), acc)
	}
	return acc
}

func dotQ4_1(w, act []byte, r, c, C, blocks int) (acc float32) {
	for b := range blocks {
		t, p := w[320*b:], column{b: act[44*C*b:], c: c, C: C}
		isum := nibbleSum(t[64:], r, p)
		acc = arith.FMA32(float32(isum), halfAt(t[2*r:])*p.float(0), acc)
		acc = arith.FMA32(halfAt(t[32+2*r:]), p.float(1), acc)
	}
	return acc
}

func dotQ8_0(w, act []byte, r, c, C, blocks int) (acc float32) {
	for b := range blocks {
		t, p := w[544*b:], column{b: act[44*C*b:], c: c, C: C}
		isum := p.int(2) << 4
		for j := range 8 {
			wv, a := t[32+64*j+4*r:][:4], p.group(3+j)
			for i := range 4 {
				isum += int32(wv[i]) * int32(int8(a[i]))
			}
		}
		acc = arith.FMA32(float32(isum), halfAt(t[2*r:])*p.float(0), acc)
	}
	return acc
}

func dotQ6_K(w, act []byte, r, c, C, blocks int) (acc float32) {
	for b := range blocks {
		t, p := w[3360*b:], column{b: act[81*4*C*b:], c: c, C: C}
		var isum int32
		for s := range 16 {
			sub := p.int(1 + s)
			for g := range 4 {
				a := p.group(17 + 4*s + g)
				for i := range 4 {
					sub += int32(quant.TiledSixBits(t, r, 16*s+4*g+i)) * int32(int8(a[i]))
				}
			}
			isum += int32(int8(t[32+16*s+r])) * sub
		}
		acc = arith.FMA32(float32(isum), halfAt(t[2*r:])*p.float(0), acc)
	}
	return acc
}

func floatDot(size int, at func([]byte) float32) func(w, act []byte, r, c, C, blocks int) float32 {
	return func(w, act []byte, r, c, C, blocks int) float32 {
		var l [8]float32
		for b := range blocks {
			row, x := w[(4*b+r)*8*size:], act[(C*b+c)*32:]
			for i := range l {
				v := math.Float32frombits(binary.LittleEndian.Uint32(x[4*i:]))
				l[i] = arith.FMA32(at(row[size*i:]), v, l[i])
			}
		}
		return arith.Tree8(&l)
	}
}
