package arith

import "encoding/binary"

// Activations is one row of activations rounded to int8 blocks.
type Activations struct {
	Block int       // values per block: 32 or 256
	Q     []int8    // all values, K of them
	D     []float32 // one scale per block
	Sum   []int32   // the sum of q, per 32 values (Block 32) or per 16 (Block 256)
}

// Quantise rounds a row for weights whose blocks hold block activations.
func Quantise(x []float32, block int) Activations {
	a := Activations{Block: block, Q: make([]int8, len(x))}
	for i := 0; i < len(x); i += block {
		q := a.Q[i : i+block]
		d, sum := QuantiseBlock(q, x[i:i+block])
		a.D = append(a.D, d)
		if block == 32 {
			a.Sum = append(a.Sum, sum)
			continue
		}
		for j := 0; j < block; j += 16 {
			sum = 0
			for _, v := range q[j : j+16] {
				sum += int32(v)
			}
			a.Sum = append(a.Sum, sum)
		}
	}
	return a
}

func half(b []byte) float32 { return F16(binary.LittleEndian.Uint16(b)) }

// nibble is element j of the 16 bytes that Q4_0 and Q4_1 share: the low half
// of byte j, or the high half of byte j-16.
func nibble(b []byte, j int) int32 {
	if j < 16 {
		return int32(b[j] & 15)
	}
	return int32(b[j-16] >> 4)
}

// DotQ4_0 is one output: row holds blocks {f16 d, 16 bytes} with values
// d*(q-8). Per block, ascending: acc = fma(float32(sum (q-8)*a), d*da, acc).
func DotQ4_0(row []byte, a *Activations) (acc float32) {
	for b := range a.D {
		w := row[18*b : 18*b+18]
		var isum int32
		for j := range 32 {
			isum += (nibble(w[2:], j) - 8) * int32(a.Q[32*b+j])
		}
		acc = FMA32(float32(isum), half(w)*a.D[b], acc)
	}
	return acc
}

// DotQ4_1 is one output: row holds blocks {f16 d, f16 m, 16 bytes} with values
// d*q + m. Per block: acc = fma(float32(sum q*a), d*da, acc), then
// acc = fma(m, float32(sum a)*da, acc).
func DotQ4_1(row []byte, a *Activations) (acc float32) {
	for b := range a.D {
		w := row[20*b : 20*b+20]
		var isum int32
		for j := range 32 {
			isum += nibble(w[4:], j) * int32(a.Q[32*b+j])
		}
		acc = FMA32(float32(isum), half(w)*a.D[b], acc)
		acc = FMA32(half(w[2:]), float32(a.Sum[b])*a.D[b], acc)
	}
	return acc
}

// DotQ8_0 is one output: row holds blocks {f16 d, 32 int8} with values d*q.
func DotQ8_0(row []byte, a *Activations) (acc float32) {
	for b := range a.D {
		w := row[34*b : 34*b+34]
		var isum int32
		for j := range 32 {
			isum += int32(int8(w[2+j])) * int32(a.Q[32*b+j])
		}
		acc = FMA32(float32(isum), half(w)*a.D[b], acc)
	}
	return acc
}

// SixBits is element j (0..255) of a Q6_K super-block, 0..63; the value is
// d * scale[j/16] * (q - 32). Layout: 128 bytes of low nibbles, 64 bytes of
// upper bit pairs, 16 int8 scales, f16 d.
func SixBits(w []byte, j int) int32 {
	h, l := j/128, j%128
	low := w[64*h+l%64]
	if l >= 64 {
		low >>= 4
	}
	high := w[128+32*h+l%32] >> (2 * (l / 32))
	return int32(low&15) | int32(high&3)<<4
}

// DotQ6_K is one output against blocks of 256 activations:
// isum = sum over 16 sub-blocks of scale * sum (q-32)*a, an exact int32;
// acc = fma(float32(isum), d*da, acc).
func DotQ6_K(row []byte, a *Activations) (acc float32) {
	for b := range a.D {
		w := row[210*b : 210*b+210]
		var isum int32
		for s := range 16 {
			var sub int32
			for j := 16 * s; j < 16*s+16; j++ {
				sub += (SixBits(w, j) - 32) * int32(a.Q[256*b+j])
			}
			isum += int32(int8(w[192+s])) * sub
		}
		acc = FMA32(float32(isum), half(w[208:])*a.D[b], acc)
	}
	return acc
}
