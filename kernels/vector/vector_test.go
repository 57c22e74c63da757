package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/kernels/arith"
	"assay/kernels/cpu"
)

// runnable lists the implementations that this machine can run.
func runnable() []*Set {
	var r []*Set
	for _, s := range Sets() {
		if s.Level <= cpu.Detected() {
			r = append(r, s)
		}
	}
	return r
}

// sameBits compares bit by bit; any NaN equals any NaN.
func sameBits(t *testing.T, want, got []float32, what string) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if want[i] != want[i] && got[i] != got[i] {
			continue
		}
		require.Equal(t, math.Float32bits(want[i]), math.Float32bits(got[i]), "%s: value %d: want %g, got %g", what, i, want[i], got[i])
	}
}

var specials = []float32{0, float32(math.Copysign(0, -1)), 1e-42, -1e-42, 1e-38, 87.9, 88.5, -86.4, -86.6, -104, 3.4e38, -3.4e38, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}

// sample is n normal values, or values with specials sprinkled in.
func sample(r *rand.Rand, n int, special bool) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * 3)
		if special && r.IntN(4) == 0 {
			x[i] = specials[r.IntN(len(specials))]
		}
	}
	return x
}

func clone(x []float32) []float32 { return append([]float32(nil), x...) }

func TestEveryImplementationGivesTheBitsOfTheContract(t *testing.T) {
	for _, s := range runnable() {
		t.Run(s.Level.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			for n := range 70 {
				for _, special := range []bool{false, true} {
					x, y, w := sample(r, n, special), sample(r, n, special), sample(r, n, false)
					got, want := make([]float32, n), make([]float32, n)
					if n > 0 {
						s.RMSNorm(got, x, w, 1e-5)
						arith.RMSNorm(want, x, w, 1e-5)
						sameBits(t, want, got, "RMSNorm")
					}
					s.SiLUMul(got, x, y)
					for i := range want {
						want[i] = arith.SiLUMul(x[i], y[i])
					}
					sameBits(t, want, got, "SiLUMul")
					s.GELUMul(got, x, y)
					for i := range want {
						want[i] = arith.GELUMul(x[i], y[i])
					}
					sameBits(t, want, got, "GELUMul")
					copy(got, x)
					s.Add(got, y)
					for i := range want {
						want[i] = x[i] + y[i]
					}
					sameBits(t, want, got, "Add")
					h16 := make([]uint16, n)
					s.NarrowF16(h16, x)
					for i := range h16 {
						if x[i] == x[i] {
							require.Equal(t, arith.ToF16(x[i]), h16[i], "NarrowF16 of %g", x[i])
						}
					}
				}
			}
		})
	}
}

func TestRotationIsThePairFormulaInBothPairings(t *testing.T) {
	for _, s := range runnable() {
		r := rand.New(rand.NewPCG(9, 10))
		for half := 1; half <= 70; half++ {
			x, cos, sin := sample(r, 2*half+3, false), make([]float32, half), make([]float32, half)
			cos2, sin2 := make([]float32, 2*half), make([]float32, 2*half)
			for i := range cos {
				sn, cs := math.Sincos(r.Float64() * 100)
				cos[i], sin[i] = float32(cs), float32(sn)
				cos2[2*i], cos2[2*i+1], sin2[2*i], sin2[2*i+1] = cos[i], cos[i], -sin[i], sin[i]
			}
			halves, adjacent := clone(x), clone(x)
			s.RotateHalves(halves, cos, sin)
			s.RotateAdjacent(adjacent, cos2, sin2)
			for i := range cos {
				a, b := arith.RotatePair(x[i], x[i+half], cos[i], sin[i])
				sameBits(t, []float32{a, b}, []float32{halves[i], halves[i+half]}, "halves")
				a, b = arith.RotatePair(x[2*i], x[2*i+1], cos[i], sin[i])
				sameBits(t, []float32{a, b}, adjacent[2*i:2*i+2], "adjacent")
			}
			sameBits(t, x[2*half:], halves[2*half:], "untouched rest")
			sameBits(t, x[2*half:], adjacent[2*half:], "untouched rest")
		}
	}
}

func TestActivationRoundingFillsItsColumnAndNothingElse(t *testing.T) {
	for _, s := range runnable() {
		r := rand.New(rand.NewPCG(11, 12))
		for _, c := range []struct {
			block, rows int
			ours, ref   func(x []float32, col []byte, stride int)
		}{{32, 11, s.Quantise32, scalar.Quantise32}, {256, 81, s.Quantise256, scalar.Quantise256}} {
			for trial := range 60 {
				blocks, C := 1+trial%5, 1+trial%8
				x := sample(r, c.block*blocks, false)
				switch trial % 6 {
				case 3:
					x[r.IntN(len(x))] = specials[r.IntN(len(specials))]
				case 4:
					clear(x[:c.block])
				case 5:
					for i := range x {
						x[i] = float32(i%255-127) * 0.5 // exact midpoints
					}
				}
				want, got := make([]byte, c.rows*blocks*C*4), make([]byte, c.rows*blocks*C*4)
				for i := range want {
					want[i], got[i] = 0xa5, 0xa5
				}
				at := 4 * r.IntN(C)
				c.ref(x, want[at:], 4*C)
				c.ours(x, got[at:], 4*C)
				for i := range want { // NaN scales may differ in their payload
					if i%4 == 0 && isNaN(want[i:]) && isNaN(got[i:]) {
						copy(want[i:i+4], got[i:])
					}
				}
				require.Equal(t, want, got, "%s: block %d, trial %d", s.Level, c.block, trial)
			}
		}
	}
}

func isNaN(b []byte) bool {
	v := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	return v&0x7fffffff > 0x7f800000
}

func TestVectorOperationsAllocateNothing(t *testing.T) {
	for _, s := range runnable() {
		x, y, w := sample(rand.New(rand.NewPCG(1, 1)), 256, false), make([]float32, 256), make([]float32, 256)
		col := make([]byte, 81*4)
		assert.Zero(t, testing.AllocsPerRun(10, func() {
			s.RMSNorm(y, x, w, 1e-5)
			s.SiLUMul(y, x, w)
			s.Quantise256(x, col, 4)
		}), s.Level.String())
	}
}

func TestEveryLevelOfThisMachineHasAFastImplementation(t *testing.T) {
	for _, l := range cpu.Supported() {
		if s := For(l); l == cpu.Scalar {
			assert.Equal(t, cpu.Scalar, s.Level)
		} else {
			assert.GreaterOrEqual(t, s.Level, cpu.AVX2, "fell back to scalar at %s", l)
		}
	}
}
