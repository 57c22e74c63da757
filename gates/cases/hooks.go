package cases

import (
	"assay/engine/checkpoint"
)

// Model is an opened model as far as cases ask.
type Model interface {
	// Logits feeds ids to a fresh sequence and gives the row after the last.
	Logits(ids []int32) ([]float32, error)
	Close() error
}

// Tokenizer is an opened tokenizer as far as cases ask.
type Tokenizer interface {
	Encode(text string, addSpecial bool) ([]int32, error)
	Decode(ids []int32) string
}

// Hooks connect the cases with what they judge. Without OpenModel, model cases
// are opened as checkpoints and their logits are not compared; without
// OpenTokenizer, tokenizer cases are skipped.
type Hooks struct {
	OpenModel     func(path string) (Model, error)
	OpenTokenizer func(path string) (Tokenizer, error)
}

// opener opens what a case is about.
type opener func(path string) (subject, error)

// subject is an opened file that can be held against the case's values.
type subject interface {
	check(f *Folder, c Case, o *Outcome)
	close() error
}

func openerFor(c Case, h Hooks) opener {
	switch c.Level {
	case "container":
		return openContainer
	case "model":
		return func(path string) (subject, error) { return openModel(path, h) }
	case "tokenizer":
		if h.OpenTokenizer == nil {
			return nil
		}
		return func(path string) (subject, error) {
			t, err := h.OpenTokenizer(path)
			if err != nil {
				return nil, err
			}
			return tokenizerSubject{t}, nil
		}
	}
	return nil
}

func openModel(path string, h Hooks) (subject, error) {
	if h.OpenModel == nil {
		c, err := checkpoint.Open(path)
		if err != nil {
			return nil, err
		}
		return checkpointSubject{c}, nil
	}
	m, err := h.OpenModel(path)
	if err != nil {
		return nil, err
	}
	return modelSubject{m}, nil
}

type checkpointSubject struct{ *checkpoint.Checkpoint }

func (s checkpointSubject) check(_ *Folder, c Case, o *Outcome) {
	if len(c.Prompt) > 0 {
		o.note("logits not compared: no model reader is plugged in")
	}
	for _, n := range s.Config().Notes {
		o.note("%s", n)
	}
}

func (s checkpointSubject) close() error { return s.Close() }

type modelSubject struct{ Model }

// logitsTolerance is the absolute distance to which float32 engines are held
// from the recorded logits.
const logitsTolerance = 2e-5

func (s modelSubject) check(f *Folder, c Case, o *Outcome) {
	if n, ok := s.Model.(interface{ Notes() []string }); ok {
		for _, note := range n.Notes() {
			o.note("%s", note)
		}
	}
	if len(c.Prompt) == 0 {
		return
	}
	got, err := s.Logits(c.Prompt)
	if err != nil {
		o.problem("the prompt failed: %v", err)
		return
	}
	id := c.ID
	if c.SameAs != "" {
		id = c.SameAs
	}
	want, ok := f.Expected[id]
	if !ok {
		o.problem("no logits are recorded for %q", id)
		return
	}
	if len(got) != len(want.Last) {
		o.problem("%d logits, want %d", len(got), len(want.Last))
		return
	}
	worst, at := 0.0, 0
	for i := range got {
		d := float64(got[i]) - float64(want.Last[i])
		if d < 0 {
			d = -d
		}
		if !(d <= worst) {
			worst, at = d, i
		}
	}
	o.note("logits differ by at most %.3g (id %d)", worst, at)
	if !(worst <= logitsTolerance) {
		o.problem("logit %d is %v, want %v: %.3g apart, the tolerance is %.3g", at, got[at], want.Last[at], worst, logitsTolerance)
	}
}

func (s modelSubject) close() error { return s.Close() }

type tokenizerSubject struct{ Tokenizer }

func (s tokenizerSubject) check(_ *Folder, c Case, o *Outcome) {
	if c.Values == nil {
		return
	}
	for _, e := range c.Values.Encode {
		got, err := s.Encode(e.Text, c.Values.AddSpecialTokens)
		if err != nil {
			if c.Expect == "either" {
				o.wording(c, err.Error())
				continue
			}
			o.problem("encoding %q: %v", e.Text, err)
			continue
		}
		if !equalIDs(got, e.IDs) {
			o.problem("encoding %q gives %v, want %v", e.Text, got, e.IDs)
		}
	}
	for _, e := range c.Values.Decode {
		if got := s.Decode(e.IDs); got != e.Text {
			o.problem("decoding %v gives %q, want %q", e.IDs, got, e.Text)
		}
	}
}

func (s tokenizerSubject) close() error { return nil }

func equalIDs(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
