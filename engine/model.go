package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assay/engine/checkpoint"
	"assay/engine/decoder"
	"assay/engine/tokenizer"
	"assay/kernels/cpu"
	"assay/kernels/parallel"
)

// ErrClosed is what calls on a closed model or session return.
var ErrClosed = errors.New("engine: closed")

// Model is an opened checkpoint: weights and worker pool. It is immutable and
// may be shared by many sessions and goroutines; evaluations take turns.
type Model struct {
	checkpoint *checkpoint.Checkpoint
	spec       *decoder.Spec
	weights    *decoder.Weights
	level      cpu.Level
	options    Options
	load       []Phase

	tokenizer func() (*tokenizer.Tokenizer, error)

	mu     sync.Mutex // one evaluation at a time
	runner *decoder.Runner
	pool   *parallel.Pool
	closed bool
}

// Open opens a GGUF file or a Hugging Face folder. The context cancels loading
// between its two phases: load (map, parse, validate) and prepare (repack).
func Open(ctx context.Context, path string, o Options) (*Model, error) {
	level, err := o.resolve()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	c, err := checkpoint.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := prepare(ctx, c, o, level, time.Since(start))
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return m, nil
}

func prepare(ctx context.Context, c *checkpoint.Checkpoint, o Options, level cpu.Level, loaded time.Duration) (*Model, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	start := time.Now()
	spec, err := decoder.Describe(c.Config())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path(), err)
	}
	if o.Alter != nil {
		o.Alter(spec)
	}
	pool := parallel.New(o.Threads)
	if o.Tuning.Goroutines {
		pool = parallel.NewSpawning(o.Threads)
	}
	w, err := decoder.Load(c, spec, pool, decoder.LoadOptions{Level: level, Float: o.Activations == Float32, Tuning: o.Tuning})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("%s: %w", c.Path(), err)
	}
	m := &Model{checkpoint: c, spec: spec, weights: w, level: level, options: o, pool: pool}
	m.runner = decoder.NewRunner(spec, w, pool, o.Tuning)
	m.tokenizer = sync.OnceValues(func() (*tokenizer.Tokenizer, error) { return tokenizer.FromCheckpoint(c) })
	m.load = []Phase{
		{Name: PhaseLoad, Tokens: 0, Duration: loaded},
		{Name: PhasePrepare, Tokens: 0, Duration: time.Since(start)},
	}
	return m, nil
}

// Config is the checkpoint's description of the model.
func (m *Model) Config() *checkpoint.Config { return m.checkpoint.Config() }

// Checkpoint is the opened file or folder, for its digests and metadata.
func (m *Model) Checkpoint() *checkpoint.Checkpoint { return m.checkpoint }

// Tokenizer opens the model's tokenizer on first use. A model whose tokenizer
// is not supported can still be fed ids.
func (m *Model) Tokenizer() (*tokenizer.Tokenizer, error) { return m.tokenizer() }

// Level is the kernel level that runs.
func (m *Model) Level() cpu.Level { return m.level }

// Threads is the number of workers.
func (m *Model) Threads() int { return m.options.Threads }

// Activations tells how quantised weights meet activations.
func (m *Model) Activations() Activations { return m.options.Activations }

// LoadPhases are the times of load and prepare.
func (m *Model) LoadPhases() []Phase { return m.load }

// WeightBytes is the size of the repacked weights.
func (m *Model) WeightBytes() int { return m.weights.Bytes() }

// Work is what one token costs: the bytes of weights read and the
// multiply-adds of the matrix products, the output head included.
func (m *Model) Work() (bytes, multiplyAdds int) { return m.weights.Work() }

// Counters tells, by knob of the tuning, how often its mechanism was used.
func (m *Model) Counters() map[string]int64 { return m.runner.Counters() }

// Kernels tells, per weight format in use, which implementation multiplies it.
func (m *Model) Kernels() map[string]string { return m.weights.Kernels() }

// Close waits for a running evaluation, then frees everything. Sessions of the
// model return ErrClosed afterwards.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	m.pool.Close()
	return errors.Join(m.weights.Close(), m.checkpoint.Close())
}
