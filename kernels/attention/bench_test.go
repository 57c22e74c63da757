package attention

import (
	"math"
	"testing"

	"assay/kernels/arith"
)

// wave is the input of benchmarks: sin(0.013*i).
func wave(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(0.013 * float64(i)))
	}
	return x
}

func narrow(x []float32) []uint16 {
	h := make([]uint16, len(x))
	for i, v := range x {
		h[i] = arith.ToF16(v)
	}
	return h
}

func emptyHead(positions, headDim int, f16 bool) *Head {
	h := &Head{HeadDim: headDim, F16: f16}
	k, v := h.Bytes(positions)
	h.K, h.V = make([]byte, k), make([]byte, v)
	return h
}

// decode is grouped-query attention of one token: 12 query heads share 4
// key/value heads of 128, each with 512 keys. MB/s counts keys and values.
func decode(b *testing.B, f16 bool) {
	const heads, kvHeads, headDim, keys = 12, 4, 128, 512
	const group = heads / kvHeads
	var state [kvHeads]*Head
	x := wave(keys * headDim)
	for i := range state {
		state[i] = emptyHead(keys, headDim, f16)
		for pos := range keys {
			row := x[pos*headDim:][:headDim]
			if f16 {
				state[i].PutF16(pos, narrow(row), narrow(row))
			} else {
				state[i].PutF32(pos, row, row)
			}
		}
	}
	q, out, scratch := wave(heads*headDim), make([]float32, heads*headDim), NewScratch(headDim)
	for _, s := range runnable() {
		b.Run(s.Level.String(), func(b *testing.B) {
			b.SetBytes(int64(kvHeads * (len(state[0].K) + len(state[0].V))))
			b.ReportAllocs()
			queries := Queries{LdQ: headDim, C: group, Keys: keys, Scale: 1 / float32(math.Sqrt(headDim)), LdOut: headDim}
			for b.Loop() {
				for i, h := range state {
					queries.Q, queries.Out = q[i*group*headDim:], out[i*group*headDim:]
					s.Attend(h, &queries, scratch)
				}
			}
		})
	}
}

func BenchmarkGroupedQueryDecodeF16(b *testing.B) { decode(b, true) }
func BenchmarkGroupedQueryDecodeF32(b *testing.B) { decode(b, false) }

// Appending one key and one value row, 512 wide, is 4 heads of 128.

func BenchmarkAppendF16x512(b *testing.B) {
	h := emptyHead(512, 512, true)
	row := narrow(wave(512))
	b.SetBytes(2 * 2 * 512)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.PutF16(i%512, row, row)
	}
}

func BenchmarkAppendF32x512(b *testing.B) {
	h := emptyHead(512, 512, false)
	row := wave(512)
	b.SetBytes(2 * 4 * 512)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.PutF32(i%512, row, row)
	}
}
