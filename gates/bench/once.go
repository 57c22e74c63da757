package bench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"assay/engine"
	"assay/engine/decoder"
	"assay/engine/kv"
	"assay/engine/sample"
	"assay/kernels/quant"
)

// Once takes one sample of the engine in this process.
func Once(ctx context.Context, j Job) (_ *Sample, err error) {
	a, err := engine.ParseActivations(j.Activations)
	if err != nil {
		return nil, err
	}
	format, err := parseKV(j.KV)
	if err != nil {
		return nil, err
	}
	tuning, err := decoder.ParseTuning(j.Tuning)
	if err != nil {
		return nil, err
	}
	m, err := engine.Open(ctx, j.Model, engine.Options{Threads: j.Threads, Activations: a, CPU: j.CPU, Tuning: tuning})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := warm(ctx, m, j, format); err != nil {
		return nil, err
	}
	r, err := repeat(ctx, m, j, format)
	if err != nil {
		return nil, err
	}
	s := &Sample{Logits: r.sum, PeakRSS: peakRSS(), Work: workOf(m), Counters: m.Counters()}
	if s.Counters == nil {
		s.Counters = map[string]int64{}
	}
	for _, fact := range []string{"level." + m.Level().String(), "kv." + format.String(), fmt.Sprintf("threads.%d", m.Threads()), "activations." + m.Activations().String()} {
		s.Counters[fact] = 1
	}
	if j.Rows {
		s.Rows = r.rows
	}
	for _, p := range append(m.LoadPhases(), r.phases...) {
		s.Timings = append(s.Timings, Timing{Phase: p.Name, Tokens: p.Tokens, Seconds: p.Duration.Seconds()})
	}
	return s, nil
}

func parseKV(name string) (kv.Type, error) {
	for _, t := range []kv.Type{kv.F16, kv.F32} {
		if name == t.String() || name == "" {
			return t, nil
		}
	}
	return 0, fmt.Errorf("bench: unknown K/V format %q (f16, f32)", name)
}

func warm(ctx context.Context, m *engine.Model, j Job, format kv.Type) error {
	s, err := m.NewSession(engine.SessionOptions{Context: len(j.Prompt), KV: format})
	if err != nil {
		return err
	}
	return errors.Join(s.Prefill(ctx, j.Prompt), s.Close())
}

// fed is what one session did.
type fed struct {
	phases []engine.Phase
	rows   []Row  // after the prompt and after the last id
	sum    string // their SHA-256
}

// repeat runs the phases as often as asked and gives the median of each. Every
// session must give the bits of the first.
func repeat(ctx context.Context, m *engine.Model, j Job, format kv.Type) (*fed, error) {
	first, err := feed(ctx, m, j, format)
	if err != nil {
		return nil, err
	}
	all := [][]engine.Phase{first.phases}
	for i := 1; i < j.Repeat; i++ {
		again, err := feed(ctx, m, j, format)
		if err != nil {
			return nil, err
		}
		if again.sum != first.sum {
			return nil, &ParityError{Where: fmt.Sprintf("session %d of one model", i), What: "its logits are not those of the first session"}
		}
		all = append(all, again.phases)
	}
	for i := range first.phases {
		first.phases[i] = middle(all, i)
	}
	return first, nil
}

// middle is the median of a phase over sessions, of an even number the lower one:
// a time that was measured.
func middle(all [][]engine.Phase, phase int) engine.Phase {
	same := make([]engine.Phase, len(all))
	for i := range all {
		same[i] = all[i][phase]
	}
	slices.SortFunc(same, func(a, b engine.Phase) int { return cmp.Compare(a.Duration, b.Duration) })
	return same[(len(same)-1)/2]
}

// feed runs the timed phases in a fresh session and keeps the logits after the
// prompt and after the last id.
func feed(ctx context.Context, m *engine.Model, j Job, format kv.Type) (_ *fed, err error) {
	s, err := m.NewSession(engine.SessionOptions{Context: len(j.Prompt) + len(j.Decode), KV: format})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Prefill(ctx, j.Prompt); err != nil {
		return nil, err
	}
	s.Choose(greedy)
	prompted := slices.Clone(s.Logits())
	snapshot := s.Checkpoint()
	var first []float32
	for i, id := range j.Decode {
		if err := s.Decode(ctx, id); err != nil {
			return nil, err
		}
		if i == 0 {
			first = slices.Clone(s.Logits())
		}
	}
	last := slices.Clone(s.Logits())
	if err := s.Restore(snapshot); err != nil {
		return nil, err
	}
	f := &fed{phases: s.Phases(), rows: []Row{prompted, last}}
	if err := sameBits("after restoring", s.Logits(), prompted); err != nil {
		return nil, err
	}
	if first != nil {
		if err := s.Decode(ctx, j.Decode[0]); err != nil {
			return nil, err
		}
		if err := sameBits("one id after restoring", s.Logits(), first); err != nil {
			return nil, err
		}
	}
	h := sha256.New()
	for _, row := range f.rows {
		_ = binary.Write(h, binary.LittleEndian, []float32(row))
	}
	f.sum = hex.EncodeToString(h.Sum(nil))
	return f, nil
}

func greedy(logits []float32) int32 {
	id, _ := sample.Greedy(logits) // what is fed is given; logits that are no numbers show in the checksum
	return id
}

func workOf(m *engine.Model) *Work {
	c := m.Config()
	w := &Work{HeadMACs: c.Vocab * c.Hidden, Int8: m.Activations() == engine.Int8}
	w.Bytes, w.MACs = m.Work()
	for _, float := range []quant.Type{quant.F32, quant.F16, quant.BF16} {
		if _, used := m.Kernels()[float.String()]; used {
			w.Int8 = false
		}
	}
	return w
}
