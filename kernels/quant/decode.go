package quant

import (
	"encoding/binary"
	"fmt"
	"math"

	"assay/kernels/arith"
)

// UnsupportedError is a format that is known by name but cannot be computed with.
type UnsupportedError struct{ Type Type }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("quant: no decoder for %s", e.Type)
}

// Decodable tells whether DecodeRow and the tiles know the format.
func Decodable(t Type) bool {
	switch t {
	case F32, F16, BF16, Q4_0, Q4_1, Q8_0, Q6_K:
		return true
	}
	return false
}

// DecodeRow writes the exact values of one stored row; len(dst) elements, src
// exactly as many bytes as they take. Products are rounded in the order that
// ggml uses, so the values are equal to its own bit by bit.
func DecodeRow(t Type, dst []float32, src []byte) error {
	n, err := t.RowBytes(len(dst))
	if err != nil {
		return err
	}
	if len(src) != n {
		return fmt.Errorf("quant: a %s row of %d elements takes %d bytes, not %d", t, len(dst), n, len(src))
	}
	switch t {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case F16:
		for i := range dst {
			dst[i] = arith.F16(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case BF16:
		for i := range dst {
			dst[i] = arith.BF16(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case Q4_0, Q4_1, Q8_0, Q6_K:
		size, bytes := t.BlockSize(), t.BlockBytes()
		for b := range len(dst) / size {
			decodeBlock(t, dst[b*size:(b+1)*size], src[b*bytes:(b+1)*bytes])
		}
	default:
		return &UnsupportedError{t}
	}
	return nil
}

func half(b []byte) float32 { return arith.F16(binary.LittleEndian.Uint16(b)) }

func decodeBlock(t Type, dst []float32, b []byte) {
	switch t {
	case Q4_0: // f16 d, 16 bytes: d*(q-8)
		d := half(b)
		for i, v := range b[2:] {
			dst[i] = d * float32(int(v&15)-8)
			dst[i+16] = d * float32(int(v>>4)-8)
		}
	case Q4_1: // f16 d, f16 m, 16 bytes: d*q + m
		d, m := half(b), half(b[2:])
		for i, v := range b[4:] {
			dst[i] = float32(d*float32(v&15)) + m
			dst[i+16] = float32(d*float32(v>>4)) + m
		}
	case Q8_0: // f16 d, 32 int8: d*q
		d := half(b)
		for i, v := range b[2:] {
			dst[i] = d * float32(int8(v))
		}
	case Q6_K: // (d*scale)*(q-32)
		d := half(b[208:])
		for j := range dst {
			dst[j] = float32(d*float32(int8(b[192+j/16]))) * float32(arith.SixBits(b, j)-32)
		}
	}
}
