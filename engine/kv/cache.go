package kv

import (
	"fmt"

	"assay/kernels/attention"
	"assay/kernels/memory"
)

// Type is the number format of stored keys and values.
type Type uint8

const (
	// F16 rounds to nearest even; the default.
	F16 Type = iota
	// F32 stores what was computed.
	F32
)

// String is "f16" or "f32".
func (t Type) String() string {
	if t == F32 {
		return "f32"
	}
	return "f16"
}

// Shape is the size of a cache.
type Shape struct {
	Layers, Heads, HeadDim int
	Positions              int // capacity
	Type                   Type
}

// Cache is linear key/value state: position p of every layer is at row p.
type Cache struct {
	shape Shape
	heads []attention.Head // [layer][head]
	block *memory.Block
	used  int
}

// MaxPositions bounds the capacity: the tables of the rotary embedding are exact
// for angles below 2^20 radians, see arith.SinCos.
const MaxPositions = 1 << 20

// New makes an empty cache. The capacity is rounded up to whole key tiles.
func New(s Shape) (*Cache, error) {
	if s.Positions < 1 || s.Positions > MaxPositions {
		return nil, fmt.Errorf("kv: %d positions: want 1 to %d", s.Positions, MaxPositions)
	}
	s.Positions = (s.Positions + attention.KeyTile - 1) / attention.KeyTile * attention.KeyTile
	c := &Cache{shape: s, heads: make([]attention.Head, s.Layers*s.Heads)}
	h := attention.Head{HeadDim: s.HeadDim, F16: s.Type == F16}
	kb, vb := h.Bytes(s.Positions)
	stride := (kb + vb + 63) &^ 63
	block, err := memory.Alloc(stride * len(c.heads))
	if err != nil {
		return nil, fmt.Errorf("kv: %d positions: %w", s.Positions, err)
	}
	c.block = block
	for i := range c.heads {
		m := block.Data[i*stride:]
		c.heads[i] = h
		c.heads[i].K, c.heads[i].V = m[:kb:kb], m[kb:kb+vb:kb+vb]
	}
	return c, nil
}

// Shape tells the size, with the capacity that was really allocated.
func (c *Cache) Shape() Shape { return c.shape }

// Head is the memory of one layer's key/value head.
func (c *Cache) Head(layer, head int) *attention.Head {
	return &c.heads[layer*c.shape.Heads+head]
}

// Used is the number of positions that are filled.
func (c *Cache) Used() int { return c.used }

// SetUsed tells that positions 0..n-1 are filled; a smaller n drops the rest.
func (c *Cache) SetUsed(n int) { c.used = n }

// Layer reads one layer back as float32: k and v are [heads][used][headDim].
func (c *Cache) Layer(layer int) (k, v []float32) {
	n := c.used * c.shape.HeadDim
	k, v = make([]float32, c.shape.Heads*n), make([]float32, c.shape.Heads*n)
	for h := range c.shape.Heads {
		for p := range c.used {
			at := h*n + p*c.shape.HeadDim
			c.Head(layer, h).Get(p, k[at:at+c.shape.HeadDim], v[at:at+c.shape.HeadDim])
		}
	}
	return k, v
}

// Close frees the memory. The cache is empty afterwards, so that reading it
// touches nothing.
func (c *Cache) Close() error {
	c.used = 0
	for i := range c.heads {
		c.heads[i].K, c.heads[i].V = nil, nil
	}
	return c.block.Free()
}
