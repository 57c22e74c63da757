package ceiling

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"assay/kernels/cpu"
	"assay/kernels/memory"
	"assay/kernels/parallel"
)

// Defaults of Options.
const (
	DefaultBytes  = 256 << 20
	DefaultPasses = 9
)

// Options say what is measured. The zero value measures the portable loops on
// one thread for each core that the process may use.
type Options struct {
	Level   cpu.Level // best loops at or below it
	Threads int       // 0: the cores that the process may use
	Bytes   int       // of the buffer that is read; several times the last-level cache. 0: DefaultBytes
	Passes  int       // 0: DefaultPasses
}

// Figures are the ceilings of a machine: the median of several passes, because a
// phase is a median too and both meet the same disturbances.
type Figures struct {
	Level     cpu.Level // of the loops that ran
	Threads   int
	ReadGBs   float64 // bytes read from memory by all threads together, 1e9/s
	Int8GMACs float64 // int8 multiply-adds by all threads together, 1e9/s
}

// chunk is what a worker reads in one call: far below a millisecond, since
// assembly cannot be pre-empted.
const chunk = 1 << 20

// passTime is how long one pass of multiplications takes.
const passTime = 10 * time.Millisecond

// Measure measures both ceilings. With the defaults it takes well under a
// second and 256 MB.
func Measure(o Options) (Figures, error) {
	if o.Threads <= 0 {
		o.Threads = min(runtime.GOMAXPROCS(0), runtime.NumCPU())
	}
	if o.Bytes <= 0 {
		o.Bytes = DefaultBytes
	}
	if o.Passes <= 0 {
		o.Passes = DefaultPasses
	}
	o.Bytes = (o.Bytes + 255) &^ 255
	l := loopsFor(o.Level)
	pool := parallel.New(o.Threads)
	defer pool.Close()
	f := Figures{Level: l.level, Threads: o.Threads}
	var err error
	if f.ReadGBs, err = readRate(pool, l, o); err != nil {
		return Figures{}, fmt.Errorf("ceiling: %w", err)
	}
	f.Int8GMACs = multiplyRate(pool, l, o.Passes)
	return f, nil
}

func readRate(pool *parallel.Pool, l loops, o Options) (float64, error) {
	block, err := memory.Alloc(o.Bytes)
	if err != nil {
		return 0, err
	}
	r := &reader{read: l.read, p: block.Data}
	pool.For(len(r.p), chunk, toucher(r.p))
	pool.For(len(r.p), chunk, r) // threads awake, pages known
	var rates []float64
	for range o.Passes {
		start := time.Now()
		pool.For(len(r.p), chunk, r)
		rates = append(rates, float64(len(r.p))/seconds(start)/1e9)
	}
	return median(rates), block.Free()
}

func multiplyRate(pool *parallel.Pool, l loops, passes int) float64 {
	m := &multiplier{multiply: l.multiply, act: make([]byte, 64)}
	for i := range m.act {
		m.act[i] = byte(i - 32)
	}
	// A unit of work is 4096 rounds: 0.1 to 0.3 ms on cores of today.
	const rounds = 1 << 12
	m.rounds = rounds
	units := 8 * pool.Workers()
	for {
		start := time.Now()
		pool.For(units, 1, m)
		if d := time.Since(start); d >= passTime || units >= 1<<20 {
			break
		}
		units *= 2
	}
	var rates []float64
	for range passes {
		start := time.Now()
		pool.For(units, 1, m)
		rates = append(rates, float64(units)*rounds*float64(l.round)/seconds(start)/1e9)
	}
	return median(rates)
}

// seconds since start, never zero: clocks of some machines tick slowly.
func seconds(start time.Time) float64 { return max(time.Since(start), 1).Seconds() }

// toucher makes pages real: reading memory that was never written reads one
// page of zeros.
type toucher []byte

func (t toucher) Do(_, lo, hi int) {
	for i := lo; i < hi; i += 4096 {
		t[i] = 1
	}
}

type reader struct {
	read func(p []byte) uint64
	p    []byte
	sink atomic.Uint64
}

func (r *reader) Do(_, lo, hi int) { r.sink.Add(r.read(r.p[lo:hi])) }

type multiplier struct {
	multiply func(act []byte, n int) uint64
	act      []byte
	rounds   int
	sink     atomic.Uint64
}

func (m *multiplier) Do(_, lo, hi int) { m.sink.Add(m.multiply(m.act, (hi-lo)*m.rounds)) }
