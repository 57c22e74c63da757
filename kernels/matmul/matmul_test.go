package matmul

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/kernels/arith"
	"assay/kernels/cpu"
	"assay/kernels/quant"
	"assay/kernels/vector"
)

var formats = []quant.Type{quant.Q4_0, quant.Q4_1, quant.Q8_0, quant.Q6_K, quant.F32, quant.F16, quant.BF16}

// rawRows makes stored rows: random bytes with scales of a sane size. extreme
// sets every weight byte to all ones or zeros.
func rawRows(r *rand.Rand, t quant.Type, rows, cols int, extreme bool) []byte {
	n, _ := t.RowBytes(cols)
	b := make([]byte, rows*n)
	for i := range b {
		b[i] = byte(r.Uint32())
		if extreme {
			b[i] = byte(0 - r.IntN(2))
		}
	}
	put := func(at int, v float32) { binary.LittleEndian.PutUint16(b[at:], arith.ToF16(v)) }
	for at := 0; at < len(b); at += t.BlockBytes() {
		switch t {
		case quant.Q4_0, quant.Q8_0:
			put(at, float32(r.NormFloat64()*0.1))
		case quant.Q4_1:
			put(at, float32(r.NormFloat64()*0.1))
			put(at+2, float32(r.NormFloat64()))
		case quant.Q6_K:
			put(at+208, float32(r.NormFloat64()*0.01))
		case quant.F16:
			put(at, float32(r.NormFloat64()))
		case quant.F32:
			binary.LittleEndian.PutUint32(b[at:], math.Float32bits(float32(r.NormFloat64())))
		case quant.BF16:
			binary.LittleEndian.PutUint16(b[at:], uint16(math.Float32bits(float32(r.NormFloat64()))>>16))
		}
	}
	return b
}

// reference computes one output by the contract, from the stored row.
func reference(t quant.Type, row []byte, x []float32) float32 {
	switch t {
	case quant.Q4_0, quant.Q4_1, quant.Q8_0:
		a := arith.Quantise(x, 32)
		return map[quant.Type]func([]byte, *arith.Activations) float32{
			quant.Q4_0: arith.DotQ4_0, quant.Q4_1: arith.DotQ4_1, quant.Q8_0: arith.DotQ8_0,
		}[t](row, &a)
	case quant.Q6_K:
		a := arith.Quantise(x, 256)
		return arith.DotQ6_K(row, &a)
	}
	w := make([]float32, len(x))
	if err := quant.DecodeRow(t, w, row); err != nil {
		panic(err)
	}
	return arith.DotLanes(w, x)
}

func tiled(t testing.TB, f quant.Type, raw []byte, rows, cols int) []byte {
	n, err := f.RowBytes(cols)
	require.NoError(t, err)
	g := quant.GroupBytes(f, cols)
	out := make([]byte, quant.TiledBytes(f, rows, cols))
	for r := 0; r < rows; r += quant.TileRows {
		e := min(r+quant.TileRows, rows)
		require.NoError(t, quant.Repack(f, out[r/quant.TileRows*g:][:g], raw[r*n:e*n], cols))
	}
	return out
}

func TestEveryKernelGivesTheBitsOfTheContract(t *testing.T) {
	for _, k := range Kernels() {
		if k.Level > cpu.Detected() {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s", k.Format, k.Name), func(t *testing.T) {
			r := rand.New(rand.NewPCG(21, 22))
			step := max(k.Format.BlockSize(), 1)
			for trial := range 24 {
				cols := step * (1 + trial%3)
				if step == 1 {
					cols = 1 + r.IntN(70)
				}
				rows := 1 + r.IntN(40)
				raw := rawRows(r, k.Format, rows, cols, trial%4 == 3)
				w := tiled(t, k.Format, raw, rows, cols)
				rowBytes, _ := k.Format.RowBytes(cols)
				for C := 1; C <= len(k.Columns); C++ {
					x := make([][]float32, C)
					for c := range x {
						x[c] = make([]float32, cols)
						for i := range x[c] {
							x[c][i] = float32(r.NormFloat64())
							if trial%4 == 3 {
								x[c][i] = float32(2*r.IntN(2) - 1) // all activations at +-127
							}
						}
					}
					panel := make([]byte, C*k.Rounding.ColumnBytes(cols))
					for c := range x {
						k.Rounding.Pack(vector.For(cpu.Scalar), x[c], panel, c, C)
					}
					padded := (rows + 15) &^ 15
					ldo := padded + 5
					out := make([]float32, C*ldo)
					for i := range out {
						out[i] = float32(math.NaN())
					}
					k.Multiply(w, padded, cols, panel, C, out, ldo)
					for c := range x {
						for row := range rows {
							want := reference(k.Format, raw[row*rowBytes:(row+1)*rowBytes], x[c])
							got := out[c*ldo+row]
							require.Equal(t, math.Float32bits(want), math.Float32bits(got), "%dx%d, column %d of %d, row %d: want %g, got %g", rows, cols, c, C, row, want, got)
						}
						for i := padded; i < ldo && c < C-1; i++ {
							require.True(t, math.IsNaN(float64(out[c*ldo+i])), "wrote beyond its rows")
						}
					}
				}
			}
		})
	}
}

func TestTilesHoldTheStoredValuesExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for _, f := range formats {
		cols := 2 * max(f.BlockSize(), 1)
		if f.BlockSize() == 1 {
			cols = 13
		}
		const rows = 21
		raw := rawRows(r, f, rows, cols, false)
		w := tiled(t, f, raw, rows, cols)
		n, _ := f.RowBytes(cols)
		g := quant.GroupBytes(f, cols)
		for row := range rows {
			want, got := make([]float32, cols), make([]float32, cols)
			require.NoError(t, quant.DecodeRow(f, want, raw[row*n:(row+1)*n]))
			require.NoError(t, quant.DecodeTiledRow(f, got, w[row/16*g:(row/16+1)*g], row%16))
			require.Equal(t, want, got, "%s row %d", f, row)
		}
	}
}

func TestEveryFormatHasAKernelAtEveryLevelOfThisMachine(t *testing.T) {
	for _, f := range formats {
		for _, l := range cpu.Supported() {
			k := Lookup(f, l)
			require.NotNil(t, k, "%s", f)
			if l == cpu.Scalar {
				assert.Equal(t, cpu.Scalar, k.Level)
			} else {
				assert.GreaterOrEqual(t, k.Level, cpu.AVX2, "%s fell back to scalar at %s", f, l)
			}
		}
	}
}

func TestPanelsAreSpreadEvenly(t *testing.T) {
	for n := 1; n < 200; n++ {
		for width := 1; width <= MaxColumns; width++ {
			p := Panels(n, width)
			require.Equal(t, 0, Split(n, width, 0))
			require.Equal(t, n, Split(n, width, p))
			for i := range p {
				a, b := Split(n, width, i), Split(n, width, i+1)
				require.True(t, b-a >= 1 && b-a <= width && b-a >= n/p, "%d columns, panel %d has %d", n, i, b-a)
				for c := a; c < b; c++ {
					require.Equal(t, i, PanelOf(n, width, c))
				}
			}
		}
	}
}
