package kv

import (
	"fmt"

	"assay/kernels/attention"
)

// Snapshot is a copy of the filled part of a cache.
type Snapshot struct {
	shape Shape
	used  int
	data  []byte // per head: the key tiles, then the value rows that are in use
}

// Used is the number of positions in the snapshot.
func (s *Snapshot) Used() int { return s.used }

// Bytes is the size of the copied state.
func (s *Snapshot) Bytes() int { return len(s.data) }

func (c *Cache) filled() (k, v int) {
	h := attention.Head{HeadDim: c.shape.HeadDim, F16: c.shape.Type == F16}
	tiles := (c.used + attention.KeyTile - 1) / attention.KeyTile
	k, _ = h.Bytes(tiles * attention.KeyTile)
	_, v = h.Bytes(c.used)
	return k, v
}

// Snapshot copies the filled positions.
func (c *Cache) Snapshot() *Snapshot {
	k, v := c.filled()
	s := &Snapshot{shape: c.shape, used: c.used, data: make([]byte, 0, len(c.heads)*(k+v))}
	for i := range c.heads {
		s.data = append(s.data, c.heads[i].K[:k]...)
		s.data = append(s.data, c.heads[i].V[:v]...)
	}
	return s
}

// Restore puts a snapshot back. The cache must have the snapshot's shape, but
// may have another capacity that is large enough.
func (c *Cache) Restore(s *Snapshot) error {
	want := s.shape
	want.Positions = c.shape.Positions
	if want != c.shape || s.used > c.shape.Positions {
		return fmt.Errorf("kv: a snapshot of %d positions of %+v does not fit %+v", s.used, s.shape, c.shape)
	}
	c.used = s.used
	k, v := c.filled()
	at := s.data
	for i := range c.heads {
		copy(c.heads[i].K[:k], at)
		copy(c.heads[i].V[:v], at[k:])
		at = at[k+v:]
	}
	return nil
}
