package bisect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"assay/engine/checkpoint"
	"assay/engine/checkpoint/regular"
	"assay/gates/bench"
)

// ReproducerFormat is the value of Reproducer.Format.
const ReproducerFormat = "assay-reproducer/1"

const maxReproducer = 64 << 20 // bytes

// Reproducer is all that it takes to see a difference again.
type Reproducer struct {
	Format  string `json:"format"`
	Version string `json:"version"` // of the tree that found it
	// Model is where the checkpoint was, SHA256 are its files by name.
	Model  string            `json:"model"`
	SHA256 map[string]string `json:"sha256"`
	IDs    []int32           `json:"ids"`
	A      *Setup            `json:"a"`
	B      *Setup            `json:"b,omitempty"`
	// Recorded is who computed b, where it was no setup of this program, and Row
	// what it gave where the difference is, in base64 of little-endian float32.
	Recorded  string      `json:"recorded,omitempty"`
	Row       bench.Row   `json:"row,omitempty"`
	Tolerance float64     `json:"tolerance"`
	First     *Difference `json:"difference"`
}

// ReproducerError is a file that cannot be replayed.
type ReproducerError struct{ Path, Reason string }

func (e *ReproducerError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Reason) }

// Reproducer writes an answer down.
func (q *Question) Reproducer(a *Answer, version string) (*Reproducer, error) {
	sums, err := digest(q.Model)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(q.Model)
	if err != nil {
		return nil, err
	}
	r := &Reproducer{Format: ReproducerFormat, Version: version, Model: path, SHA256: sums, IDs: a.IDs, A: q.A, B: q.B, Tolerance: q.Tolerance, First: a.First}
	switch {
	case q.Kept != nil:
		r.Recorded, r.Row = q.Kept.By+", "+q.Kept.From, a.rowB
	case q.B.Revision != "":
		r.Recorded, r.Row = "revision "+q.B.Revision, a.rowB
	}
	return r, nil
}

// JSON is the file.
func (r *Reproducer) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	return append(b, '\n'), err
}

// ReadReproducer reads a file.
func ReadReproducer(path string) (*Reproducer, error) {
	b, err := regular.ReadAny(path, maxReproducer)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	r := &Reproducer{}
	if err := d.Decode(r); err != nil {
		return nil, &ReproducerError{path, err.Error()}
	}
	if reason := r.check(); reason != "" {
		return nil, &ReproducerError{path, reason}
	}
	return r, nil
}

// check tells what is wrong with a reproducer.
func (r *Reproducer) check() string {
	switch {
	case r.Format != ReproducerFormat:
		return fmt.Sprintf("its format is %q, not %s", r.Format, ReproducerFormat)
	case r.A == nil || r.First == nil || len(r.IDs) == 0 || len(r.SHA256) == 0:
		return "want a setup, a difference, ids and the SHA-256 of the model's files"
	case r.B == nil && len(r.Row) == 0:
		return "want a second setup or a row"
	case r.First.Position < 0 || r.First.Position >= len(r.IDs):
		return fmt.Sprintf("position %d of %d ids", r.First.Position, len(r.IDs))
	case !(r.Tolerance >= 0):
		return "want a tolerance from 0"
	}
	if _, err := ParseTensor(r.First.Tensor); err != nil {
		return err.Error()
	}
	for _, s := range []*Setup{r.A, r.B} {
		if s == nil {
			continue
		}
		if err := s.check(); err != nil {
			return err.Error()
		}
	}
	return ""
}

// Replayed is what a replay shows.
type Replayed struct {
	Answer *Answer // as of the reproducer's ids now
	Same   bool    // the same tensor and values as in the file
}

// Replay computes both sides again. Another place of the model may be given.
func (r *Reproducer) Replay(ctx context.Context, model string, build Build) (*Replayed, error) {
	if model == "" {
		model = r.Model
	}
	sums, err := digest(model)
	if err != nil {
		return nil, err
	}
	if !maps.Equal(sums, r.SHA256) && !sameFile(sums, r.SHA256) {
		return nil, &ReproducerError{model, "it is another model than that of the reproducer (SHA-256)"}
	}
	q := &Question{Model: model, IDs: r.IDs, A: r.A, B: r.B, Tolerance: r.Tolerance, Build: build}
	if len(r.Row) > 0 {
		q.B, q.Kept = nil, r.kept()
	}
	answer, err := q.answer(ctx, func(_, _ side, answer *Answer) (*Answer, error) { return answer, nil })
	if err != nil {
		return nil, err
	}
	out := &Replayed{Answer: answer}
	if d := answer.First; d != nil {
		out.Same = d.Tensor == r.First.Tensor && d.Position == r.First.Position && slices.Equal(d.Values, r.First.Values)
	}
	return out, nil
}

// kept is the one row that a reproducer holds.
func (r *Reproducer) kept() *Recorded {
	t, _ := ParseTensor(r.First.Tensor) // checked when it was read
	trace := newTrace()
	trace.put(t, r.First.Position, r.Row)
	return &Recorded{From: r.Recorded, Trace: trace}
}

func digest(path string) (map[string]string, error) {
	c, err := checkpoint.Open(path)
	if err != nil {
		return nil, err
	}
	sums, err := c.Digest()
	return sums, errors.Join(err, c.Close())
}

// sameFile tells that both are one file with the same bytes: it may be renamed.
func sameFile(a, b map[string]string) bool {
	return len(a) == 1 && len(b) == 1 && slices.Equal(slices.Collect(maps.Values(a)), slices.Collect(maps.Values(b)))
}
