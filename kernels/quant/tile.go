package quant

import (
	"encoding/binary"
	"fmt"
)

// Weights are repacked once at load into tiles, so that a kernel reads one
// sequential stream and its lanes are outputs. Rows beyond the last are zero.
//
// Block formats: a tile is 16 rows; per block of the format, ascending,
//
//	Q4_0   16 x f16 d; 4 x 64 bytes: dword r of line j holds elements 4j..4j+3 of
//	       row r in its low nibbles and 16+4j..16+4j+3 in its high nibbles
//	Q4_1   16 x f16 d; 16 x f16 m; the same 4 lines
//	Q8_0   16 x f16 d; 8 x 64 bytes: dword r of line j holds elements 4j..4j+3 of
//	       row r, each plus 128
//	Q6_K   16 x f16 d; 16 x 16 int8 scales [sub-block][row]; then per 32 elements
//	       4 lines of low nibbles as in Q4_0 and 2 lines of upper bit pairs: bits
//	       2i, 2i+1 of line h belong to elements 16h+4i..16h+4i+3
//
// Plain formats: a tile is 4 rows, [k/8][4][8]; K is padded with zeros to a
// multiple of 8. But for that padding a layout takes as many bytes a row as the
// file's.

// TileRows is the number of rows of a block format's tile, and what the rows
// of every matrix are padded to.
const TileRows = 16

// FloatTileRows is the number of rows of a plain format's tile.
const FloatTileRows = 4

// PaddedCols is the row length in a tile: for plain formats the next multiple
// of 8.
func PaddedCols(t Type, cols int) int {
	if t.Quantised() {
		return cols
	}
	return (cols + 7) &^ 7
}

// GroupBytes is the size of 16 rows in tile layout: one tile of a block format,
// four tiles of a plain one.
func GroupBytes(t Type, cols int) int {
	n := PaddedCols(t, cols)
	return n / t.BlockSize() * t.BlockBytes() * TileRows
}

// TiledBytes is the size of a whole matrix in tile layout.
func TiledBytes(t Type, rows, cols int) int {
	return (rows + TileRows - 1) / TileRows * GroupBytes(t, cols)
}

// Repack writes up to 16 rows (raw, rowBytes each, one behind the other in src)
// into dst, which has GroupBytes bytes and is all zero.
func Repack(t Type, dst, src []byte, cols int) error {
	rowBytes, err := t.RowBytes(cols)
	if err != nil {
		return err
	}
	rows := len(src) / max(rowBytes, 1)
	if rows > TileRows || rows*rowBytes != len(src) {
		return fmt.Errorf("quant: %d bytes are not up to %d rows of %d bytes", len(src), TileRows, rowBytes)
	}
	switch t {
	case F32, F16, BF16:
		repackPlain(dst, src, rows, rowBytes, t.BlockBytes(), PaddedCols(t, cols))
		return nil
	case Q4_0, Q4_1, Q8_0, Q6_K:
	default:
		return &UnsupportedError{t}
	}
	blocks, in := cols/t.BlockSize(), t.BlockBytes()
	for r := range TileRows {
		for b := range blocks {
			d := dst[b*in*TileRows:][:in*TileRows]
			if r >= rows {
				if t == Q8_0 { // the value 0 is stored as 128
					for g := range 8 {
						binary.LittleEndian.PutUint32(d[32+64*g+4*r:], 0x80808080)
					}
				}
				continue
			}
			repackBlock(t, d, src[r*rowBytes+b*in:][:in], r)
		}
	}
	return nil
}

func repackPlain(dst, src []byte, rows, rowBytes, size, cols int) {
	tile := cols * size * FloatTileRows
	for r := range rows {
		row := src[r*rowBytes : (r+1)*rowBytes]
		out := dst[r/FloatTileRows*tile+r%FloatTileRows*8*size:]
		for k := 0; k < rowBytes; k += 8 * size {
			copy(out[k*FloatTileRows:][:8*size], row[k:min(k+8*size, rowBytes)])
		}
	}
}

func repackBlock(t Type, d, b []byte, r int) {
	le := binary.LittleEndian
	switch t {
	case Q4_0:
		le.PutUint16(d[2*r:], le.Uint16(b))
		for j := range 4 {
			le.PutUint32(d[32+64*j+4*r:], le.Uint32(b[2+4*j:]))
		}
	case Q4_1:
		le.PutUint16(d[2*r:], le.Uint16(b))
		le.PutUint16(d[32+2*r:], le.Uint16(b[2:]))
		for j := range 4 {
			le.PutUint32(d[64+64*j+4*r:], le.Uint32(b[4+4*j:]))
		}
	case Q8_0:
		le.PutUint16(d[2*r:], le.Uint16(b))
		for j := range 8 {
			le.PutUint32(d[32+64*j+4*r:], le.Uint32(b[2+4*j:])^0x80808080)
		}
	case Q6_K:
		repackQ6K(d, b, r)
	}
}

func repackQ6K(d, b []byte, r int) {
	le := binary.LittleEndian
	le.PutUint16(d[2*r:], le.Uint16(b[208:]))
	for s := range 16 {
		d[32+16*s+r] = b[192+s]
	}
	for g := range 8 { // 32 elements each
		h, q := g/4, g%4
		low, high := b[64*h+32*(q%2):], b[128+32*h:]
		shift := 4 * (q / 2)
		out := d[288+384*g:]
		for j := range 4 {
			l := le.Uint32(low[4*j:]) >> shift & 0x0f0f0f0f
			u := le.Uint32(low[16+4*j:]) >> shift & 0x0f0f0f0f
			le.PutUint32(out[64*j+4*r:], l|u<<4)
		}
		for half := range 2 {
			var v uint32
			for i := range 4 {
				v |= (le.Uint32(high[16*half+4*i:]) >> (2 * q) & 0x03030303) << (2 * i)
			}
			le.PutUint32(out[256+64*half+4*r:], v)
		}
	}
}
