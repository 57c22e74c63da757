package parallel

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

type counter struct {
	mark  []int32
	count atomic.Int64
	busy  [8]atomic.Int32
	t     *testing.T
	round int32
}

func (c *counter) Do(worker, lo, hi int) {
	if !c.busy[worker].CompareAndSwap(0, 1) {
		c.t.Error("two ranges on one worker at a time")
	}
	for i := lo; i < hi; i++ {
		c.mark[i] = c.round
	}
	c.count.Add(int64(hi - lo))
	c.busy[worker].Store(0)
}

func TestEveryIndexIsVisitedExactlyOnce(t *testing.T) {
	for _, p := range []*Pool{New(1), New(2), New(3), New(5), NewSpawning(3)} {
		c := &counter{mark: make([]int32, 100), t: t}
		for round := range int32(20000) {
			n := int(round)%97 + 1
			c.round = round
			c.count.Store(0)
			p.For(n, int(round)%9+1, c)
			require.EqualValues(t, n, c.count.Load())
			for i := range n {
				require.Equal(t, round, c.mark[i])
			}
		}
		p.Close()
	}
}

func TestCloseEndsAllWorkers(t *testing.T) {
	for range 200 {
		p := New(4)
		p.For(10, 1, &counter{mark: make([]int32, 10), t: t})
		p.Close()
		p.Close()
		for p.running.Load() != 0 {
			spin()
		}
	}
}

func TestLoopAllocatesNothing(t *testing.T) {
	p := New(2)
	defer p.Close()
	c := &counter{mark: make([]int32, 64), t: t}
	require.Zero(t, testing.AllocsPerRun(100, func() { p.For(64, 4, c) }))
}

func BenchmarkEmptyLoop(b *testing.B) {
	p := New(2)
	defer p.Close()
	c := &counter{mark: make([]int32, 64)}
	for b.Loop() {
		p.For(8, 1, c)
	}
}
