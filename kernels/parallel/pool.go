package parallel

import (
	"sync"
	"sync/atomic"
)

// Body is the work of a parallel loop. Do handles the range [lo, hi) on one
// worker; worker is 0..Workers()-1 and no two ranges run on the same worker at
// the same time, so it can index scratch memory.
type Body interface {
	Do(worker, lo, hi int)
}

// Pool runs parallel loops on a fixed number of goroutines, the caller among
// them. Chunks are claimed from a shared countdown: the caller never waits for
// a worker that has not claimed one, so a worker whose thread lost its core
// costs nothing. Waiting is a bounded spin, then parking, on both sides.
//
// For must be called by one goroutine at a time.
type Pool struct {
	workers []worker
	slots   [64]job
	_       [64]byte
	epoch   atomic.Uint32
	_       [60]byte
	waiting atomic.Int32 // 1 while the caller is parked
	_       [60]byte
	wake    chan struct{}
	stopped atomic.Bool
	running atomic.Int32
	spawns  bool
}

// A job is one loop. A worker that comes late finds remain below one; if the
// slot was reused meanwhile it claims a chunk of the newer loop, whose fields
// were written before its remain.
type job struct {
	body   Body
	n, ch  int
	_      [24]byte
	remain atomic.Int64 // chunks not yet claimed
	_      [56]byte
	left   atomic.Int64 // chunks not yet finished
	_      [56]byte
}

type worker struct {
	parked atomic.Int32
	wake   chan struct{}
	_      [48]byte
}

// Spin limits in pause calls of about 50 ns. An idle worker spins for some
// 30 µs: longer than the gaps between loops of one token, much shorter than a
// scheduler's slice.
const (
	workerSpins = 600
	callerSpins = 300
)

// New starts a pool of n workers (at least one: the caller).
func New(n int) *Pool {
	p := &Pool{workers: make([]worker, max(n, 1)), wake: make(chan struct{}, 1)}
	for i := range p.slots {
		p.slots[i].remain.Store(-1)
	}
	for i := 1; i < len(p.workers); i++ {
		p.workers[i].wake = make(chan struct{}, 1)
		p.running.Add(1)
		go p.work(i)
	}
	return p
}

// NewSpawning makes a pool that starts goroutines for every loop instead of
// keeping workers: the plain way, for comparison.
func NewSpawning(n int) *Pool { return &Pool{workers: make([]worker, max(n, 1)), spawns: true} }

// Spawns tells whether the pool starts goroutines for every loop.
func (p *Pool) Spawns() bool { return p.spawns }

// Workers is the number of workers, the caller included.
func (p *Pool) Workers() int { return len(p.workers) }

// For runs body over [0, n) in chunks of size chunk (the last may be shorter)
// and returns when all are done.
func (p *Pool) For(n, chunk int, body Body) {
	if n <= 0 {
		return
	}
	if len(p.workers) == 1 || n <= chunk {
		for lo := 0; lo < n; lo += chunk {
			body.Do(0, lo, min(lo+chunk, n))
		}
		return
	}
	if p.spawns {
		p.spawned(n, chunk, body)
		return
	}
	e := p.epoch.Load() + 1
	j := &p.slots[e%uint32(len(p.slots))]
	chunks := int64((n + chunk - 1) / chunk)
	j.body, j.n, j.ch = body, n, chunk
	j.left.Store(chunks)
	j.remain.Store(chunks)
	p.epoch.Store(e)
	for i := 1; i < len(p.workers); i++ {
		w := &p.workers[i]
		if w.parked.Load() == 1 && w.parked.CompareAndSwap(1, 0) {
			w.wake <- struct{}{}
		}
	}
	j.claim(0)
	p.await(j)
}

// spawned is the loop with a goroutine per worker.
func (p *Pool) spawned(n, chunk int, body Body) {
	j := &job{body: body, n: n, ch: chunk}
	chunks := int64((n + chunk - 1) / chunk)
	j.left.Store(chunks)
	j.remain.Store(chunks)
	var wg sync.WaitGroup
	for i := 1; i < len(p.workers); i++ {
		wg.Go(func() { j.claim(i) })
	}
	j.claim(0)
	wg.Wait()
}

// claim runs chunks until none is left; it reports whether this call finished
// the last one of the loop.
func (j *job) claim(worker int) (last bool) {
	for {
		i := j.remain.Add(-1)
		if i < 0 {
			return last
		}
		lo := int(i) * j.ch
		j.body.Do(worker, lo, min(lo+j.ch, j.n))
		last = j.left.Add(-1) == 0
	}
}

// await blocks until every claimed chunk of j is finished. A wake-up may come
// late, from the worker that finished the loop before: so look again each time.
func (p *Pool) await(j *job) {
	for spins := 0; j.left.Load() != 0; spins++ {
		if spins < callerSpins {
			spin()
			continue
		}
		p.waiting.Store(1)
		if j.left.Load() == 0 && p.waiting.CompareAndSwap(1, 0) {
			return
		}
		<-p.wake
	}
}

func (p *Pool) work(id int) {
	defer p.running.Add(-1)
	w := &p.workers[id]
	seen := uint32(0)
	for {
		for spins := 0; p.epoch.Load() == seen; spins++ {
			if spins < workerSpins {
				spin()
				continue
			}
			w.parked.Store(1)
			if p.epoch.Load() != seen {
				if !w.parked.CompareAndSwap(1, 0) {
					<-w.wake // the caller saw it parked and has sent, or will send
				}
				break
			}
			<-w.wake
		}
		if p.stopped.Load() {
			return
		}
		seen = p.epoch.Load()
		if p.slots[seen%uint32(len(p.slots))].claim(id) && p.waiting.CompareAndSwap(1, 0) {
			p.wake <- struct{}{}
		}
	}
}

// Close ends the workers. The pool must not be used afterwards.
func (p *Pool) Close() {
	if p.stopped.Swap(true) {
		return
	}
	p.epoch.Add(1)
	for i := 1; i < len(p.workers); i++ {
		w := &p.workers[i]
		if w.parked.CompareAndSwap(1, 0) {
			w.wake <- struct{}{}
		}
	}
}
