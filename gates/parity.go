package gates

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/engine"
	"assay/engine/checkpoint"
	"assay/gates/parity"
	"assay/oracle"
	"assay/snapshots"
)

// parityJob replays the recording of a gate and compares.
func parityJob(ctx context.Context, r *run, c *Case) ([]snapshots.Result, error) {
	s, err := r.sources(c)
	if err != nil {
		return nil, err
	}
	defer s.close()
	m, err := r.open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if err := r.verify(s.evidence, m, c); err != nil {
		return nil, err
	}
	o := parity.Options{KV: c.KV, Batch: c.Batch, Diverges: c.Diverges, TopK: c.topK(), State: true, Progress: r.steps(c)}
	var reference *oracle.RowComparer
	if s.reference != nil {
		reference = oracle.NewRowComparer(s.reference)
		reference.TopKSize = cmp.Or(c.topK(), reference.TopKSize)
		o.Also = s.alsoTo(reference)
	}
	replay, err := parity.Replay(ctx, m, s.evidence, o)
	if err != nil {
		return nil, err
	}
	var results []snapshots.Result
	for i := range c.Checks {
		k := &c.Checks[i]
		x, err := s.check(ctx, m, c, k, replay, reference)
		if err != nil {
			return nil, err
		}
		results = append(results, *x)
	}
	return results, nil
}

// sources are what a parity case compares with.
type sources struct {
	evidence, reference *oracle.Evidence
	text                *parity.Text
}

// sources opens what the definition or the user names.
func (r *run) sources(c *Case) (*sources, error) {
	path := r.path(c.Evidence)
	if c.Definition.Evidence == "" {
		path = r.options.Evidence
	}
	e, err := oracle.Load(path)
	if err != nil {
		return nil, err
	}
	s := &sources{evidence: e}
	if r.options.Reference != "" {
		if s.reference, err = oracle.LoadReference(r.options.Reference, "reference", e); err != nil {
			s.close()
			return nil, err
		}
	}
	if r.options.Text != "" {
		if s.text, err = parity.LoadText(r.options.Text); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *sources) close() {
	s.evidence.Close()
	if s.reference != nil {
		s.reference.Close()
	}
}

// verify makes sure that the recording was made from the opened files, or from
// those that the definition names.
func (r *run) verify(e *oracle.Evidence, m *engine.Model, c *Case) error {
	of := m.Checkpoint()
	if c.RecordedOf != "" {
		other, err := checkpoint.Open(r.path(c.RecordedOf))
		if err != nil {
			return err
		}
		defer other.Close()
		of = other
	}
	digest, err := of.Digest()
	if err != nil {
		return err
	}
	return e.VerifyCheckpoint(digest)
}

// alsoTo hands rows of the recording's prompts to the same prompts of the
// reference, which may have fewer.
func (s *sources) alsoTo(to *oracle.RowComparer) func(prompt, row int, logits []float32) error {
	index := map[int]int{}
	for i := range s.evidence.Manifest.Prompts {
		name := s.evidence.Manifest.Prompts[i].Name
		index[i] = slices.IndexFunc(s.reference.Manifest.Prompts, func(p oracle.Prompt) bool { return p.Name == name })
	}
	return func(prompt, row int, logits []float32) error {
		if j := index[prompt]; j >= 0 {
			return to.Row(j, row, logits)
		}
		return nil
	}
}

// check makes one check of a replay.
func (s *sources) check(ctx context.Context, m *engine.Model, c *Case, k *Check, replay *parity.Result, reference *oracle.RowComparer) (*snapshots.Result, error) {
	by, rows := s.evidence.Manifest.Engine.Name+" "+firstWord(s.evidence.Manifest.Engine.Version), replay.Rows
	switch {
	case k.Of == "reference" && reference == nil, k.Of == "text" && s.text == nil:
		x := k.result("not measured")
		x.Verdict, x.Detail = snapshots.Skipped, fmt.Sprintf("no %s was given (--%s)", k.Of, k.Of)
		return &x, nil
	case k.Of == "reference":
		by, rows = "reference rows", reference.Stats()
	case k.Of == "text":
		return s.likelihood(ctx, m, c, k)
	}
	var x snapshots.Result
	switch k.What {
	case "ids", "logits":
		x = k.result(rowsValue(rows, k.Tolerance))
		fail(&x, k.Judge(rows)...)
	case "hidden":
		x = tensors(c, k, replay, "hidden")
	case "kv":
		x = tensors(c, k, replay, "k", "v")
	case "nll":
		got, want := rows.MeanNLL()
		x = k.result(nllValue(got, want))
		fail(&x, k.Judge(rows)...)
	}
	x.Fixture = c.subject() + " / " + strings.TrimSpace(by)
	if x.Verdict == snapshots.Failed && k.Of == "" {
		fail(&x, diagnosis(replay)...)
	}
	return &x, nil
}

// likelihood scores a text and compares its mean with the recorded one.
func (s *sources) likelihood(ctx context.Context, m *engine.Model, c *Case, k *Check) (*snapshots.Result, error) {
	got, err := s.text.Score(ctx, m, c.KV)
	if err != nil {
		return nil, err
	}
	x := k.result(nllValue(got, s.text.MeanNLL))
	x.Fixture = fmt.Sprintf("%s / %s, %d ids", c.subject(), firstWords(s.text.Engine), len(s.text.IDs))
	if apart := got/s.text.MeanNLL - 1; !(max(apart, -apart) <= k.NLL) {
		fail(&x, fmt.Sprintf("mean NLL %.5g, recorded %.5g: more than %g %% apart", got, s.text.MeanNLL, 100*k.NLL))
	}
	return &x, nil
}

func nllValue(got, want float64) string {
	return fmt.Sprintf("mean NLL %.5g, recorded %.5g (%+.2f %%)", got, want, 100*(got/want-1))
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return strings.TrimSuffix(w, ",")
}

// tensors judges the states whose names begin with one of the kinds. A recording
// of the user may have been made without them.
func tensors(c *Case, k *Check, replay *parity.Result, kinds ...string) snapshots.Result {
	var worst oracle.Difference
	var bad []string
	n, differ := 0, 0
	for _, diffs := range replay.State {
		for i := range diffs {
			d := &diffs[i]
			if !slices.Contains(kinds, kindOf(d.Name)) || k.Only != "" && !strings.HasSuffix(d.Name, "."+k.Only) {
				continue
			}
			n++
			if d.Differ > 0 {
				differ++
			}
			bad = append(bad, k.JudgeTensor(d)...)
			if d.MaxAbs >= worst.MaxAbs {
				worst = *d
			}
		}
	}
	if n == 0 {
		x := k.result("nothing recorded")
		x.Verdict, x.Detail = snapshots.Void, fmt.Sprintf("the recording holds no %s", strings.Join(kinds, " and no "))
		if c.For != nil {
			x.Verdict = snapshots.Skipped
		}
		return x
	}
	value := fmt.Sprintf("|difference| %.3g (%s), nmse %.2g, %d tensors", worst.MaxAbs, worst.Name, worst.NMSE, n)
	if k.Rung == oracle.Bits {
		value = fmt.Sprintf("%d of %d tensors differ", differ, n)
	}
	x := k.result(value)
	if len(bad) > 4 {
		bad = append(bad[:3:3], fmt.Sprintf("and %d more", len(bad)-3))
	}
	fail(&x, bad...)
	return x
}

// kindOf is "k" of "p0.k.L3".
func kindOf(name string) string {
	_, rest, _ := strings.Cut(name, ".")
	kind, _, _ := strings.Cut(rest, ".")
	return kind
}

// diagnosis is what leads to the cause, in lines.
func diagnosis(replay *parity.Result) []string {
	var lines []string
	for _, d := range replay.Diagnose() {
		lines = append(lines, strings.Split(d.String(), "\n")...)
	}
	return lines
}
