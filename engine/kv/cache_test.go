package kv

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSnapshotBringsBackEveryFilledPosition(t *testing.T) {
	for _, typ := range []Type{F16, F32} {
		s := Shape{Layers: 2, Heads: 2, HeadDim: 4, Positions: 40, Type: typ}
		c, err := New(s)
		require.NoError(t, err)
		defer c.Close()
		fill := func(from, to int, base float32) {
			for l := range s.Layers {
				for h := range s.Heads {
					for p := from; p < to; p++ {
						x := base + float32(l*1000+h*100+p)/8
						if typ == F16 {
							c.Head(l, h).PutF16(p, []uint16{uint16(p), uint16(l), uint16(h), 7}, []uint16{1, 2, 3, uint16(p)})
						} else {
							c.Head(l, h).PutF32(p, []float32{x, x, x, x}, []float32{-x, x, x, x})
						}
					}
				}
			}
			c.SetUsed(to)
		}
		fill(0, 19, 0)
		k, v := c.Layer(1)
		snap := c.Snapshot()
		fill(10, 37, 5)
		require.NoError(t, c.Restore(snap))
		assert.Equal(t, 19, c.Used())
		k2, v2 := c.Layer(1)
		assert.Equal(t, k, k2)
		assert.Equal(t, v, v2)
		assert.Equal(t, []float32{k[4], v[4]}, []float32{k2[4], v2[4]})
	}
}

func TestSnapshotOfAnotherShapeIsRefused(t *testing.T) {
	a, err := New(Shape{Layers: 1, Heads: 1, HeadDim: 4, Positions: 32})
	require.NoError(t, err)
	b, err := New(Shape{Layers: 2, Heads: 1, HeadDim: 4, Positions: 32})
	require.NoError(t, err)
	small, err := New(Shape{Layers: 1, Heads: 1, HeadDim: 4, Positions: 16})
	require.NoError(t, err)
	a.SetUsed(20)
	assert.Error(t, b.Restore(a.Snapshot()))
	assert.Error(t, small.Restore(a.Snapshot()))
	assert.NoError(t, a.Close())
	assert.NoError(t, b.Close())
	assert.NoError(t, small.Close())
}

func TestCapacitiesThatNoMemoryHoldsAreRefused(t *testing.T) {
	for _, n := range []int{-1, 0, MaxPositions + 1, 1 << 40, 1 << 60, math.MaxInt} {
		_, err := New(Shape{Layers: 1, Heads: 1, HeadDim: 4, Positions: n})
		assert.ErrorContains(t, err, fmt.Sprint(n, " positions"))
	}
}

func TestAClosedCacheIsEmptyAndMayBeRead(t *testing.T) {
	c, err := New(Shape{Layers: 1, Heads: 2, HeadDim: 4, Positions: 3 << 10})
	require.NoError(t, err)
	c.SetUsed(2000)
	require.NoError(t, c.Close())
	k, v := c.Layer(0)
	assert.Empty(t, k)
	assert.Empty(t, v)
	assert.Zero(t, c.Snapshot().Used())
	assert.Zero(t, c.Used())
}
