package engine

import (
	"context"
	"fmt"
	"time"

	"assay/engine/decoder"
	"assay/engine/kv"
)

// Session is the state of one request: keys and values of the ids fed so far,
// and the logits after the last. It is used by one goroutine at a time.
type Session struct {
	model  *Model
	cache  *kv.Cache
	chunk  int
	rows   *decoder.Rows
	logits []float32
	one    [1]int32
	clock  clock
	first  bool // the next choice is the boundary token
	base   int  // position of the running pass, for the observer
	closed bool
}

// ContextFullError is an attempt to feed more ids than the session holds.
type ContextFullError struct{ Used, Asked, Capacity int }

func (e *ContextFullError) Error() string {
	return fmt.Sprintf("engine: context full: %d positions used and %d asked of %d", e.Used, e.Asked, e.Capacity)
}

// TokenError is an id outside the vocabulary.
type TokenError struct {
	ID    int32
	Index int // in the ids of the call
	Vocab int
}

func (e *TokenError) Error() string {
	return fmt.Sprintf("engine: id %d at index %d is outside the vocabulary of %d", e.ID, e.Index, e.Vocab)
}

// NewSession makes an empty session.
func (m *Model) NewSession(o SessionOptions) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	if o.Context < 0 || o.Chunk < 0 {
		return nil, fmt.Errorf("engine: negative session option: context %d, chunk %d", o.Context, o.Chunk)
	}
	if o.Context == 0 {
		o.Context = min(m.Config().Context, DefaultContext)
		if o.Context <= 0 {
			o.Context = DefaultContext
		}
	}
	s := m.spec
	cache, err := kv.New(kv.Shape{Layers: s.Layers, Heads: s.KVHeads, HeadDim: s.HeadDim, Positions: o.Context, Type: o.KV})
	if err != nil {
		return nil, err
	}
	session := &Session{model: m, cache: cache, chunk: decoder.MaxBatch, logits: make([]float32, s.Vocab)}
	if b := m.options.Tuning.Batch; b > 0 {
		session.chunk = b
	}
	if o.Chunk > 0 {
		session.chunk = min(o.Chunk, session.chunk)
	}
	session.observe(o.Observer)
	return session, nil
}

// observe translates positions for the caller's functions.
func (s *Session) observe(o *Observer) {
	if o == nil {
		return
	}
	s.rows = &decoder.Rows{}
	if o.Logits != nil {
		s.rows.Logits = func(t int, row []float32) { o.Logits(s.base+t, row) }
	}
	if o.Hidden != nil {
		s.rows.Hidden = func(layer, t int, row []float32) { o.Hidden(layer, s.base+t, row) }
	}
	if o.Node != nil {
		s.rows.Node = func(name string, layer, t int, row []float32) { o.Node(name, layer, s.base+t, row) }
	}
}

// Prefill evaluates ids after those fed before; Logits then belong to the last
// one. On an error, cancellation included, the session holds the ids of the
// pieces that were finished; Position tells how many.
func (s *Session) Prefill(ctx context.Context, ids []int32) error {
	start := time.Now()
	if err := s.feed(ctx, ids); err != nil {
		return err
	}
	s.clock.add(PhasePrompt, len(ids), start)
	s.first = true
	return nil
}

// Decode evaluates one id. It allocates nothing.
func (s *Session) Decode(ctx context.Context, id int32) error {
	start := time.Now()
	s.one[0] = id
	if err := s.feed(ctx, s.one[:]); err != nil {
		return err
	}
	s.clock.add(PhaseDecode, 1, start)
	s.first = false
	return nil
}

// Choose picks the next id from the logits. Its time counts as the boundary
// phase right after a prompt, and as decoding later.
func (s *Session) Choose(pick func(logits []float32) int32) int32 {
	start := time.Now()
	id := pick(s.logits)
	if s.first {
		s.clock.add(PhaseBoundary, 1, start)
	} else {
		s.clock.add(PhaseDecode, 0, start)
	}
	return id
}

func (s *Session) feed(ctx context.Context, ids []int32) error {
	if s.closed {
		return ErrClosed
	}
	if used, room := s.cache.Used(), s.cache.Shape().Positions; len(ids) > room-used {
		return &ContextFullError{Used: used, Asked: len(ids), Capacity: room}
	}
	vocab := s.model.spec.Vocab
	for i, id := range ids {
		if id < 0 || int(id) >= vocab {
			return &TokenError{ID: id, Index: i, Vocab: vocab}
		}
	}
	for len(ids) > 0 {
		n := min(len(ids), s.chunk)
		if err := s.pass(ctx, ids[:n]); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

func (s *Session) pass(ctx context.Context, ids []int32) error {
	m := s.model
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	s.base = s.cache.Used()
	logits, err := m.runner.Run(ctx, s.cache, ids, s.rows)
	if err != nil {
		return err
	}
	copy(s.logits, logits)
	return nil
}

// Logits are the logits after the last fed id, [vocab]; zero before any. The
// slice is overwritten by the next evaluation.
func (s *Session) Logits() []float32 { return s.logits }

// Position is the number of ids that the session holds.
func (s *Session) Position() int { return s.cache.Used() }

// Capacity is the number of ids that the session can hold.
func (s *Session) Capacity() int { return s.cache.Shape().Positions }

// Phases are the times since the session began or ResetPhases was called.
func (s *Session) Phases() []Phase { return append([]Phase(nil), s.clock.phases...) }

// ResetPhases starts the counting anew.
func (s *Session) ResetPhases() { s.clock.phases = s.clock.phases[:0] }

// KeyValue reads the state of one layer back as float32,
// [kvHeads][positions][headDim] each; keys are rotated, in the file's pairing. A
// closed session has no positions.
func (s *Session) KeyValue(layer int) (k, v []float32, positions int) {
	k, v = s.cache.Layer(layer)
	return k, v, s.cache.Used()
}

// Snapshot is the state of a session at one moment. It may be restored into any
// session of the same model with the same K/V format, any number of times.
type Snapshot struct {
	kv     *kv.Snapshot
	logits []float32
	model  *Model
}

// Position is the number of ids in the snapshot.
func (s *Snapshot) Position() int { return s.kv.Used() }

// Checkpoint copies the state; that of a closed session is empty.
func (s *Session) Checkpoint() *Snapshot {
	return &Snapshot{kv: s.cache.Snapshot(), logits: append([]float32(nil), s.logits...), model: s.model}
}

// Restore puts a snapshot back: what follows gives the same bits as if the ids
// of the snapshot had just been fed.
func (s *Session) Restore(from *Snapshot) error {
	start := time.Now()
	if s.closed {
		return ErrClosed
	}
	if from.model != s.model {
		return fmt.Errorf("engine: the snapshot belongs to another model")
	}
	if err := s.cache.Restore(from.kv); err != nil {
		return err
	}
	copy(s.logits, from.logits)
	s.clock.add(PhaseRestore, from.Position(), start)
	s.first = true
	return nil
}

// Close frees the state: no position is left, and feeding or restoring gives
// ErrClosed.
func (s *Session) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return s.cache.Close()
}
