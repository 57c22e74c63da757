package llamacpp

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Cache is one key/value cache: the full-attention one or the sliding one.
type Cache struct {
	Positions []int32
	// K and V: per layer that owns a cache of this kind [positions][kv width]
	K, V [][]float32
}

const stateMagic = 0xAF143CD8

// StateError says where a state does not have the layout of the release.
type StateError struct {
	Offset int
	Reason string
}

func (e *StateError) Error() string {
	return fmt.Sprintf("llamacpp: state at byte %d: %s", e.Offset, e.Reason)
}

// ParseState reads what llama_state_seq_get_data writes for models with attention caches: u32 magic, u32 sequence, then the
// caches (full attention first). Recurrent state is refused.
func ParseState(b []byte) (caches []Cache, err error) {
	r := &stateReader{b: b}
	if m := r.u32(); m != stateMagic && r.err == nil {
		return nil, r.fail("magic %#x", m)
	}
	r.u32()
	for r.err == nil && r.at < len(b) {
		if c, some := r.cache(); some {
			caches = append(caches, c)
		}
	}
	return caches, r.err
}

type stateReader struct {
	b   []byte
	at  int
	err error
}

func (r *stateReader) fail(format string, a ...any) error {
	if r.err == nil {
		r.err = &StateError{Offset: r.at, Reason: fmt.Sprintf(format, a...)}
	}
	return r.err
}

// take gives the next n bytes, or nil when there are not as many.
func (r *stateReader) take(n uint64) []byte {
	if r.err != nil || n > uint64(len(r.b)-r.at) {
		r.fail("%d bytes wanted, %d left", n, len(r.b)-r.at)
		return nil
	}
	p := r.b[r.at : r.at+int(n)]
	r.at += int(n)
	return p
}

func (r *stateReader) u32() uint32 {
	if p := r.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (r *stateReader) u64() uint64 {
	if p := r.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

func (r *stateReader) cache() (c Cache, some bool) {
	if n := r.u32(); n != 1 && r.err == nil {
		r.fail("%d streams, one is understood", n)
	}
	cells := r.u32()
	if uint64(cells)*8 > uint64(len(r.b)) {
		r.fail("%d cells in %d bytes", cells, len(r.b))
	}
	for i := uint32(0); i < cells && r.err == nil; i++ {
		c.Positions = append(c.Positions, int32(r.u32()))
		r.take(4 * uint64(r.u32()))
	}
	if cells == 0 || r.err != nil {
		return c, false
	}
	transposed, layers := r.u32(), r.u32()
	if transposed > 1 || layers > 1<<16 {
		r.fail("transposed %d, %d layers: not an attention cache", transposed, layers)
	}
	for i := uint32(0); i < layers && r.err == nil; i++ {
		c.K = append(c.K, r.rows(cells))
	}
	for i := uint32(0); i < layers && r.err == nil; i++ {
		if transposed == 1 {
			c.V = append(c.V, r.columns(cells))
		} else {
			c.V = append(c.V, r.rows(cells))
		}
	}
	return c, r.err == nil
}

// rows reads { i32 type, u64 bytes per row, rows }.
func (r *stateReader) rows(cells uint32) []float32 {
	kind, row := r.u32(), r.u64()
	if row > uint64(len(r.b)) {
		r.fail("rows of %d bytes", row)
		return nil
	}
	return r.floats(kind, row*uint64(cells))
}

// columns reads { i32 type, u32 bytes per element, u32 width, [width][cells] } and transposes it to [cells][width].
func (r *stateReader) columns(cells uint32) []float32 {
	kind, size, width := r.u32(), r.u32(), r.u32()
	if r.err == nil && size != map[uint32]uint32{0: 4, 1: 2, 30: 2}[kind] {
		r.fail("type %d of %d bytes", kind, size)
	}
	if uint64(width)*uint64(cells) > uint64(len(r.b)) {
		r.fail("%d columns of %d", width, cells)
		return nil
	}
	x := r.floats(kind, uint64(size)*uint64(width)*uint64(cells))
	out := make([]float32, len(x))
	for w := 0; w < int(width) && len(x) > 0; w++ {
		for p := range int(cells) {
			out[p*int(width)+w] = x[w*int(cells)+p]
		}
	}
	return out
}

func (r *stateReader) floats(kind uint32, n uint64) []float32 {
	b := r.take(n)
	if r.err != nil {
		return nil
	}
	switch kind {
	case 0:
		out := make([]float32, len(b)/4)
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		return out
	case 1, 30:
		out := make([]float32, len(b)/2)
		for i := range out {
			h := binary.LittleEndian.Uint16(b[2*i:])
			if kind == 30 {
				out[i] = math.Float32frombits(uint32(h) << 16)
			} else {
				out[i] = half(h)
			}
		}
		return out
	}
	r.fail("element type %d", kind)
	return nil
}

// half widens an IEEE half.
func half(h uint16) float32 {
	sign, e, f := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch e {
	case 0:
		v := float32(f) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 255<<23 | f<<13)
	}
	return math.Float32frombits(sign | (e+112)<<23 | f<<13)
}

// heads reorders [positions][heads*dim] to [heads][positions][dim].
func byHeads(x []float32, heads, positions int) []float32 {
	if heads <= 0 || positions <= 0 || len(x)%(heads*positions) != 0 {
		return nil
	}
	dim := len(x) / heads / positions
	out := make([]float32, len(x))
	for p := range positions {
		for h := range heads {
			copy(out[(h*positions+p)*dim:], x[(p*heads+h)*dim:(p*heads+h+1)*dim])
		}
	}
	return out
}
