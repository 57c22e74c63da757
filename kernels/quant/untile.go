package quant

import (
	"encoding/binary"
	"math"

	"assay/kernels/arith"
)

// DecodeTiledRow writes the exact values of one row of a group of 16 in tile
// layout: what DecodeRow gives for the stored row. len(dst) is the row length.
func DecodeTiledRow(t Type, dst []float32, group []byte, row int) error {
	le := binary.LittleEndian
	if !t.Quantised() {
		size := t.BlockBytes()
		cols := PaddedCols(t, len(dst))
		tile := group[row/FloatTileRows*cols*size*FloatTileRows+row%FloatTileRows*8*size:]
		for k := range dst {
			b := tile[k/8*8*size*FloatTileRows+k%8*size:]
			switch t {
			case F32:
				dst[k] = math.Float32frombits(le.Uint32(b))
			case F16:
				dst[k] = arith.F16(le.Uint16(b))
			case BF16:
				dst[k] = arith.BF16(le.Uint16(b))
			default:
				return &UnsupportedError{t}
			}
		}
		return nil
	}
	if !Decodable(t) {
		return &UnsupportedError{t}
	}
	size, in := t.BlockSize(), t.BlockBytes()*TileRows
	for b := range len(dst) / size {
		untileBlock(t, dst[b*size:(b+1)*size], group[b*in:(b+1)*in], row)
	}
	return nil
}

func untileBlock(t Type, dst []float32, d []byte, r int) {
	scale := half(d[2*r:])
	switch t {
	case Q4_0, Q4_1:
		lines, m := d[32:], float32(0)
		if t == Q4_1 {
			lines, m = d[64:], half(d[32+2*r:])
		}
		for j := range 16 {
			v := lines[j/4*64+4*r+j%4]
			if t == Q4_0 {
				dst[j] = scale * float32(int(v&15)-8)
				dst[j+16] = scale * float32(int(v>>4)-8)
			} else {
				dst[j] = float32(scale*float32(v&15)) + m
				dst[j+16] = float32(scale*float32(v>>4)) + m
			}
		}
	case Q8_0:
		for j := range dst {
			dst[j] = scale * float32(int(d[32+j/4*64+4*r+j%4])-128)
		}
	case Q6_K:
		for j := range dst {
			dst[j] = float32(scale*float32(int8(d[32+j/16*16+r]))) * float32(int(TiledSixBits(d, r, j))-32)
		}
	}
}

// TiledSixBits is element j (0..255) of row r in a tiled Q6_K block, 0..63.
func TiledSixBits(d []byte, r, j int) uint8 {
	g, e := j/32, j%32
	line := d[288+384*g:]
	low := line[e%16/4*64+4*r+e%4]
	if e >= 16 {
		low >>= 4
	}
	up := line[256+e/16*64+4*r+e%4] >> (2 * (e % 16 / 4))
	return low&15 | up&3<<4
}

// DecodeGroup writes a group of 16 rows exactly as four F32 tiles: dst has
// GroupBytes(F32, cols) bytes.
func DecodeGroup(t Type, dst, group []byte, cols int) {
	le := binary.LittleEndian
	var block [256]float32
	size, in := t.BlockSize(), t.BlockBytes()*TileRows
	padded := PaddedCols(F32, cols)
	for r := range TileRows {
		tile := dst[r/FloatTileRows*padded*16+r%FloatTileRows*32:]
		for b := range cols / size {
			x := block[:size]
			untileBlock(t, x, group[b*in:(b+1)*in], r)
			for i, v := range x {
				k := b*size + i
				le.PutUint32(tile[k/8*128+k%8*4:], math.Float32bits(v))
			}
		}
	}
}
