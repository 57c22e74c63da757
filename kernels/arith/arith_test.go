package arith

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exactFMA rounds a*b+c once by big arithmetic.
func exactFMA(a, b, c float32) float32 {
	p := new(big.Float).SetPrec(2000).Mul(big.NewFloat(float64(a)), big.NewFloat(float64(b)))
	s := new(big.Float).SetPrec(2000).Add(p, big.NewFloat(float64(c)))
	if s.Sign() == 0 { // big.Float has no rule for the sign of a cancelled sum
		return float32(float64(a)*float64(b)) + c
	}
	f, _ := s.Float32()
	return f
}

func TestFMA32RoundsOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 300000 {
		a := math.Float32frombits(r.Uint32())
		b := math.Float32frombits(r.Uint32())
		c := math.Float32frombits(r.Uint32())
		switch i % 3 {
		case 1: // sums close to midpoints: c an odd multiple of half a unit of a*b
			a, b = float32(1+r.IntN(1<<12)), float32(1+r.IntN(1<<12))
			c = math.Float32frombits(math.Float32bits(a*b)-uint32(r.IntN(30))<<23) * 1.5
		case 2: // subnormal results
			a, b = math.Float32frombits(r.Uint32()&0x007fffff|0x20000000), math.Float32frombits(r.Uint32()&0x007fffff|0x1f800000)
			c = math.Float32frombits(r.Uint32() & 0x00ffffff)
		}
		if a != a || b != b || c != c || math.IsInf(float64(a), 0) || math.IsInf(float64(b), 0) || math.IsInf(float64(c), 0) {
			continue
		}
		want, got := exactFMA(a, b, c), FMA32(a, b, c)
		if math.Float32bits(want) != math.Float32bits(got) {
			require.Failf(t, "not rounded once", "fma(%x, %x, %x) = %x, want %x", math.Float32bits(a), math.Float32bits(b), math.Float32bits(c), math.Float32bits(got), math.Float32bits(want))
		}
	}
}

func TestHalfConversionsAreExactAndRoundToEven(t *testing.T) {
	for h := range 1 << 16 {
		f := F16(uint16(h))
		if f != f {
			assert.Equal(t, uint16(h)|0x200, ToF16(f))
			continue
		}
		require.Equal(t, uint16(h), ToF16(f), "%04x", h)
		if h&0x7fff < 0x7bff { // the midpoint to the next value goes to the even one
			up := F16(uint16(h + 1))
			mid := float32((float64(f) + float64(up)) / 2)
			require.Equal(t, uint16(h+h&1), ToF16(mid), "midpoint above %04x", h)
		}
	}
	assert.Equal(t, uint16(0x7c00), ToF16(65520))
	assert.Equal(t, uint16(0x7bff), ToF16(65519.996))
}

func TestExpIsCloseToTheExactExponential(t *testing.T) {
	worst := 0.0
	for x := float32(-86.4); x < 88; x += 0.000937 {
		want := math.Exp(float64(x))
		worst = max(worst, math.Abs(float64(Exp(x))-want)/want)
	}
	assert.Less(t, worst, 3e-7)
	assert.Zero(t, Exp(-90))
	assert.Zero(t, Exp(float32(math.Inf(-1))))
	assert.Equal(t, float32(1), Exp(0))
	assert.True(t, math.IsNaN(float64(Exp(float32(math.NaN())))))
}

func TestTablesAreGoodToFloat64(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		x := r.Float64() * 200000
		s, c := SinCos(x)
		assert.InDelta(t, math.Sin(x), s, 2e-15)
		assert.InDelta(t, math.Cos(x), c, 2e-15)
		assert.InEpsilon(t, math.Log(x+1e-3), Log(x+1e-3), 1e-14)
		y := -r.Float64()
		assert.InEpsilon(t, math.Pow(500000, y), Pow(500000, y), 1e-14)
	}
}

func TestQuantisedBlocksNeverHoldMinus128AndKeepNaN(t *testing.T) {
	q := make([]int8, 32)
	x := make([]float32, 32)
	for i := range x {
		x[i] = float32(i) - 31
	}
	d, sum := QuantiseBlock(q, x)
	assert.Equal(t, float32(31)/127, d)
	assert.Equal(t, int8(-127), q[0])
	var want int32
	for _, v := range q {
		want += int32(v)
	}
	assert.Equal(t, want, sum)

	x[3] = float32(math.NaN())
	d, sum = QuantiseBlock(q, x)
	assert.True(t, d != d)
	assert.Zero(t, sum)
	assert.Equal(t, make([]int8, 32), q)

	clear(x)
	x[7] = 1e-37
	d, _ = QuantiseBlock(q, x)
	assert.Zero(t, d, "127/amax would overflow")
}

func TestAttentionIsASoftmaxOverAllKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const hd, n = 16, 2100
	row := func() []float32 {
		x := make([]float32, hd)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	q := row()
	k, v := make([][]float32, n), make([][]float32, n)
	for i := range k {
		k[i], v[i] = row(), row()
	}
	got := make([]float32, hd)
	Attention(got, q, k, v, 0, 0.25)
	var sum float64
	want := make([]float64, hd)
	for j := range k {
		s := 0.0
		for d := range q {
			s += float64(q[d]) * float64(k[j][d])
		}
		e := math.Exp(s / 4)
		sum += e
		for d := range want {
			want[d] += e * float64(v[j][d])
		}
	}
	for d := range want {
		assert.InDelta(t, want[d]/sum, got[d], 1e-6)
	}
}
