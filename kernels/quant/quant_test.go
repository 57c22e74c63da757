package quant

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/kernels/arith"
)

func TestBlockSizesAreThoseOfTheFormats(t *testing.T) {
	for typ, want := range map[Type][2]int{
		F32: {1, 4}, F16: {1, 2}, BF16: {1, 2}, Q4_0: {32, 18}, Q4_1: {32, 20}, Q8_0: {32, 34}, Q6_K: {256, 210},
	} {
		assert.Equal(t, want, [2]int{typ.BlockSize(), typ.BlockBytes()}, "%s", typ)
	}
	_, err := Q4_0.RowBytes(48)
	assert.ErrorContains(t, err, "Q4_0")
}

func TestHandMadeBlocksDecodeByTheirFormula(t *testing.T) {
	f16 := func(v float32) []byte { return binary.LittleEndian.AppendUint16(nil, arith.ToF16(v)) }
	nibbles := make([]byte, 16)
	for i := range nibbles {
		nibbles[i] = byte(i) | byte(15-i)<<4 // element i is i, element i+16 is 15-i
	}
	var got [32]float32
	require.NoError(t, DecodeRow(Q4_0, got[:], append(f16(0.5), nibbles...)))
	for i := range 16 {
		assert.Equal(t, 0.5*float32(i-8), got[i])
		assert.Equal(t, 0.5*float32(7-i), got[i+16])
	}
	require.NoError(t, DecodeRow(Q4_1, got[:], append(append(f16(0.5), f16(-3)...), nibbles...)))
	assert.Equal(t, float32(-3), got[0])
	assert.Equal(t, float32(4.5), got[16])
	q8 := make([]byte, 32)
	q8[3], q8[4] = 0x80, 0x7f
	require.NoError(t, DecodeRow(Q8_0, got[:], append(f16(2), q8...)))
	assert.Equal(t, []float32{-256, 254}, got[3:5])

	q6 := make([]byte, 210)
	q6[0], q6[128] = 0x0f, 3           // element 0: 15 | 3<<4 = 63
	q6[32], q6[128] = 0xf0, q6[128]|12 // element 96 (high nibble of byte 32): 15; element 32: upper bits 3
	q6[192], q6[194] = 2, 0xff         // scales of elements 0..15 and 32..47
	copy(q6[208:], f16(0.25))
	var k [256]float32
	require.NoError(t, DecodeRow(Q6_K, k[:], q6))
	assert.Equal(t, float32(0.25*2*31), k[0])
	assert.Equal(t, float32(0.25*-1*16), k[32])
}

func TestDecodingRefusesWrongLengthsAndUnknownFormats(t *testing.T) {
	assert.ErrorContains(t, DecodeRow(Q4_0, make([]float32, 31), nil), "block of 32")
	assert.ErrorContains(t, DecodeRow(Q4_0, make([]float32, 32), make([]byte, 17)), "18 bytes")
	var u *UnsupportedError
	require.ErrorAs(t, DecodeRow(Q2_K, make([]float32, 256), make([]byte, 84)), &u)
	assert.Equal(t, Q2_K, u.Type)
	assert.ErrorContains(t, Repack(Q4_0, nil, make([]byte, 19), 32), "rows")
}

func TestADecodedGroupIsTheFloatTileOfItsRows(t *testing.T) {
	const cols = 64
	raw := make([]byte, 16*36)
	for i := range raw {
		raw[i] = byte(i * 7)
	}
	for r := range 16 {
		for b := range 2 {
			binary.LittleEndian.PutUint16(raw[36*r+18*b:], arith.ToF16(float32(r+1)/8))
		}
	}
	group := make([]byte, GroupBytes(Q4_0, cols))
	require.NoError(t, Repack(Q4_0, group, raw, cols))
	float := make([]byte, GroupBytes(F32, cols))
	DecodeGroup(Q4_0, float, group, cols)
	for r := range 16 {
		want, got := make([]float32, cols), make([]float32, cols)
		require.NoError(t, DecodeRow(Q4_0, want, raw[36*r:36*r+36]))
		require.NoError(t, DecodeTiledRow(F32, got, float, r))
		assert.Equal(t, want, got)
	}
}
