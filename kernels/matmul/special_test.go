package matmul

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/kernels/cpu"
	"assay/kernels/quant"
	"assay/kernels/vector"
)

// Scales of weights that no sane file holds: subnormal, largest, infinite, NaN.
var specialHalves = []uint16{0x0000, 0x8000, 0x0001, 0x83ff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00}

var specialFloats = []float32{0, float32(math.Copysign(0, -1)), 1e-42, -1e-42, 1e-30, 3e38, -3e38, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}

// spoil puts special numbers into some scales of block formats, and into some
// elements of plain ones.
func spoil(r *rand.Rand, t quant.Type, b []byte) {
	half := func(at int) { binary.LittleEndian.PutUint16(b[at:], specialHalves[r.IntN(len(specialHalves))]) }
	for at := 0; at < len(b); at += t.BlockBytes() {
		if r.IntN(3) != 0 {
			continue
		}
		switch t {
		case quant.Q4_0, quant.Q8_0, quant.F16:
			half(at)
		case quant.Q4_1:
			half(at + 2*r.IntN(2))
		case quant.Q6_K:
			half(at + 208)
		case quant.F32:
			binary.LittleEndian.PutUint32(b[at:], math.Float32bits(specialFloats[r.IntN(len(specialFloats))]))
		case quant.BF16:
			binary.LittleEndian.PutUint16(b[at:], uint16(math.Float32bits(specialFloats[r.IntN(len(specialFloats))])>>16))
		}
	}
}

// A NaN must come out as a NaN; its payload is not part of the contract.
func TestInfinitiesNaNsAndSubnormalsPassThroughAsTheContractSays(t *testing.T) {
	for _, k := range Kernels() {
		if k.Level > cpu.Detected() {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s", k.Format, k.Name), func(t *testing.T) {
			r := rand.New(rand.NewPCG(51, 52))
			for trial := range 12 {
				cols, rows := 2*max(k.Format.BlockSize(), 12), 16
				raw := rawRows(r, k.Format, rows, cols, false)
				if trial%3 != 0 {
					spoil(r, k.Format, raw)
				}
				w := tiled(t, k.Format, raw, rows, cols)
				rowBytes, err := k.Format.RowBytes(cols)
				require.NoError(t, err)
				for C := 1; C <= len(k.Columns); C++ {
					x := make([][]float32, C)
					panel := make([]byte, C*k.Rounding.ColumnBytes(cols))
					for c := range x {
						x[c] = make([]float32, cols)
						for i := range x[c] {
							x[c][i] = float32(r.NormFloat64())
							if trial%2 == 0 && r.IntN(cols) == 0 {
								x[c][i] = specialFloats[r.IntN(len(specialFloats))]
							}
						}
						k.Rounding.Pack(vector.For(k.Level), x[c], panel, c, C)
					}
					out := make([]float32, C*rows)
					k.Multiply(w, rows, cols, panel, C, out, rows)
					for c := range x {
						for row := range rows {
							want, got := reference(k.Format, raw[row*rowBytes:(row+1)*rowBytes], x[c]), out[c*rows+row]
							if want != want && got != got {
								continue
							}
							require.Equal(t, math.Float32bits(want), math.Float32bits(got), "trial %d, column %d of %d, row %d: want %g, got %g", trial, c, C, row, want, got)
						}
					}
				}
			}
		})
	}
}
