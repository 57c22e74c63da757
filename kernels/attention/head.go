package attention

import (
	"encoding/binary"
	"math"

	"assay/kernels/arith"
)

// Head is the memory of one key/value head.
//
// Keys lie in tiles of 16 positions, [position/16][headDim][16]: the lanes of a
// score are keys. Values lie in rows of HeadDim rounded up to 16. Elements are
// F16 or F32.
type Head struct {
	HeadDim int
	F16     bool
	K, V    []byte
}

// KeyTile is the number of positions in a key tile.
const KeyTile = 16

func (h *Head) size() int {
	if h.F16 {
		return 2
	}
	return 4
}

func (h *Head) padded() int { return (h.HeadDim + 15) &^ 15 }

// Bytes gives the sizes of K and V for a number of positions (a multiple of
// KeyTile).
func (h *Head) Bytes(positions int) (k, v int) {
	return positions * h.HeadDim * h.size(), positions * h.padded() * h.size()
}

// PutF16 stores key and value of one position, already narrowed.
func (h *Head) PutF16(pos int, k, v []uint16) {
	base := pos/KeyTile*h.HeadDim*KeyTile + pos%KeyTile
	for d, x := range k {
		binary.LittleEndian.PutUint16(h.K[2*(base+KeyTile*d):], x)
	}
	row := h.V[2*pos*h.padded():][:2*h.padded()]
	for d, x := range v {
		binary.LittleEndian.PutUint16(row[2*d:], x)
	}
}

// PutF32 stores key and value of one position.
func (h *Head) PutF32(pos int, k, v []float32) {
	base := pos/KeyTile*h.HeadDim*KeyTile + pos%KeyTile
	for d, x := range k {
		binary.LittleEndian.PutUint32(h.K[4*(base+KeyTile*d):], math.Float32bits(x))
	}
	row := h.V[4*pos*h.padded():][:4*h.padded()]
	for d, x := range v {
		binary.LittleEndian.PutUint32(row[4*d:], math.Float32bits(x))
	}
}

// Get reads key and value of one position back as float32.
func (h *Head) Get(pos int, k, v []float32) {
	base := pos/KeyTile*h.HeadDim*KeyTile + pos%KeyTile
	at := func(b []byte, i int) float32 {
		if h.F16 {
			return arith.F16(binary.LittleEndian.Uint16(b[2*i:]))
		}
		return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	for d := range k {
		k[d] = at(h.K, base+KeyTile*d)
		v[d] = at(h.V, pos*h.padded()+d)
	}
}
