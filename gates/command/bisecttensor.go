package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"assay/engine"
	"assay/engine/checkpoint"
	"assay/engine/tokenizer"
	"assay/gates"
	"assay/gates/bench"
	"assay/gates/bisect"
	"assay/gates/parity"
	"assay/gates/revision"
	"assay/oracle"
)

func init() { register(bisectTensorCommand) }

// roundingDiverges is the tolerance where another engine rounds activations to int8
// as this one does: values that lie between two steps may fall either way, which
// moves rows by up to some hundredths of their size; faults of structure move them by
// more.
const roundingDiverges = 0.1

// bisectDefaultIDs are fed when none are named.
const bisectDefaultIDs = 32

// bisectFlags ask where two runs part.
type bisectFlags struct {
	model, a, b, evidence string
	ids                   []int32
	text, prompt          string
	tolerance             float64
	out, replay, json     string

	given map[string]bool
}

func bisectTensorCommand(s *shell) *cobra.Command {
	var f bisectFlags
	c := &cobra.Command{
		Use:   "bisect-tensor --model PATH",
		Short: "Find the first tensor in which two runs differ",
		Long: `bisect-tensor feeds the same ids to two setups, or to one and holds it to a recording,
and tells the first row that differs: position by position, and within a position in
the order of computation, so that whatever it names had equal inputs.

A setup is key=value,...: cpu, threads, chunk (1: id by id), activations (int8,
float32), kv (f16, f32), revision (a git revision, built here), and the knobs of the
engine: hugepages=off, pool=goroutines, prefetch=off, fuse=off, columns, grain, batch.
--evidence takes a recording, best with intermediates (validate record --nodes --kv),
or a dump of nodes (nodes.json, nodes.safetensors).

Rows of this engine must have the same bits, those of another one may differ by a
relative RMS of 0.001, or 0.1 where both round activations to int8; --tolerance asks
for something else. Exit status: 0 no difference, 1 a difference, 2 the question could
not be answered.`,
		Example: `  validate bisect-tensor --model model.gguf --a cpu=scalar --b cpu=avx2
  validate bisect-tensor --model model.gguf --b chunk=1,threads=1 --text "Once upon a time" --out difference.json
  validate bisect-tensor --model model.gguf --evidence recording/ --prompt story
  validate bisect-tensor --replay difference.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.given = map[string]bool{}
			for _, name := range []string{"model", "a", "b", "evidence", "ids", "text", "prompt", "tolerance", "out"} {
				f.given[name] = c.Flags().Changed(name)
			}
			return f.run(c.Context(), s)
		},
	}
	c.Flags().StringVar(&f.model, "model", "", "weight file or folder")
	c.Flags().StringVar(&f.a, "a", "", "first setup (default: what a user gets)")
	c.Flags().StringVar(&f.b, "b", "", "second setup")
	c.Flags().StringVar(&f.evidence, "evidence", "", "folder of a recording or of a dump of nodes instead of --b")
	c.Flags().Int32SliceVar(&f.ids, "ids", nil, "ids to feed")
	c.Flags().StringVar(&f.text, "text", "", "text to feed")
	c.Flags().StringVar(&f.prompt, "prompt", "", "prompt of the recording (default: its first)")
	c.Flags().Float64Var(&f.tolerance, "tolerance", 0, "relative RMS from which a row differs; 0: any bit")
	c.Flags().StringVar(&f.out, "out", "", "write a reproducer to this file")
	c.Flags().StringVar(&f.replay, "replay", "", "run a reproducer again; --model names its model where it was moved")
	c.Flags().StringVar(&f.json, "json", "", "write the answer as JSON to this file (- for standard output)")
	return c
}

func (f *bisectFlags) run(ctx context.Context, s *shell) error {
	if err := f.check(); err != nil {
		return &usageError{"validate bisect-tensor", err}
	}
	if err := writable(f.out, f.json); err != nil {
		return err
	}
	var build bisect.Build
	if tree, err := revision.Find(ctx, "."); err == nil {
		build = tree.Build
	}
	if f.replay != "" {
		return f.again(ctx, s, build)
	}
	q, err := f.question()
	if err != nil {
		return err
	}
	q.Build = build
	answer, err := q.Find(ctx)
	if err != nil {
		return err
	}
	if f.json != "-" {
		tell(s.out, answer, q)
	}
	if answer.First != nil {
		s.status = statusFailed
		if err := f.reproducer(s, q, answer); err != nil {
			return err
		}
	}
	return f.writeJSON(s, answer)
}

func (f *bisectFlags) check() error {
	if f.replay != "" {
		for name, given := range f.given {
			if given && name != "model" {
				return fmt.Errorf("--replay takes all from the file: --%s has no place", name)
			}
		}
		return nil
	}
	switch {
	case f.model == "":
		return errors.New("--model is needed, or --replay")
	case (f.b == "") == (f.evidence == ""):
		return errors.New("want either --b or --evidence")
	case f.given["ids"] && f.given["text"], f.evidence != "" && (f.given["ids"] || f.given["text"]):
		return errors.New("the ids come from one place: --ids, --text or --evidence")
	case f.given["prompt"] && f.evidence == "":
		return errors.New("--prompt names one of --evidence")
	case !(f.tolerance >= 0):
		return fmt.Errorf("--tolerance %v: want a number from 0", f.tolerance)
	}
	return nil
}

// question reads setups, ids and the recording.
func (f *bisectFlags) question() (*bisect.Question, error) {
	q := &bisect.Question{Model: f.model, IDs: f.ids, Tolerance: f.tolerance}
	var err error
	if q.A, err = bisect.ParseSetup(f.a); err != nil {
		return nil, &usageError{"validate bisect-tensor", err}
	}
	if f.evidence != "" {
		return q, f.recorded(q)
	}
	if q.B, err = bisect.ParseSetup(f.b); err != nil {
		return nil, &usageError{"validate bisect-tensor", err}
	}
	if f.given["ids"] {
		return q, nil
	}
	c, err := checkpoint.Open(f.model)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	q.IDs = bench.IDs(bisectDefaultIDs, c.Config().Vocab)
	if f.given["text"] {
		list := []oracle.Prompt{{Name: "text", Text: f.text}}
		if err := resolve(list, func() (*tokenizer.Tokenizer, error) { return tokenizer.FromCheckpoint(c) }); err != nil {
			return nil, err
		}
		q.IDs = list[0].IDs
	}
	return q, nil
}

// recorded opens the recording, and computes as it was computed unless asked
// otherwise.
func (f *bisectFlags) recorded(q *bisect.Question) (err error) {
	c, err := checkpoint.Open(f.model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if _, none := os.Stat(filepath.Join(f.evidence, bisect.DumpIndex)); none == nil {
		q.Kept, err = bisect.FromDump(f.evidence, c.Config())
	} else {
		q.Kept, err = bisect.FromEvidence(f.evidence, f.prompt, c)
	}
	if err != nil {
		return err
	}
	q.IDs = q.Kept.IDs
	if q.A.Activations == "" && slices.Contains([]string{"int8", "float32"}, q.Kept.Activations) {
		q.A.Activations = q.Kept.Activations
	}
	if q.A.KV == "" {
		q.A.KV = "f32"
		if q.Kept.KV == "f16" {
			q.A.KV = q.Kept.KV
		}
	}
	if !q.Kept.Exact && !f.given["tolerance"] {
		q.Tolerance = parity.DefaultDiverges
		if q.A.Activations != engine.Float32.String() && slices.ContainsFunc(c.Tensors(), func(t *checkpoint.Tensor) bool { return t.Type.Quantised() }) {
			q.Tolerance = roundingDiverges
		}
	}
	return nil
}

func (f *bisectFlags) reproducer(s *shell, q *bisect.Question, a *bisect.Answer) error {
	if f.out == "" {
		return nil
	}
	r, err := q.Reproducer(a, gates.Version())
	if err != nil {
		return err
	}
	b, err := r.JSON()
	if err != nil {
		return err
	}
	var files outputFlags
	if err := files.file(s, f.out, b); err != nil {
		return err
	}
	if f.out != "-" && f.json != "-" {
		fmt.Fprintf(s.out, "\nreproducer: %s\n    run it again with: validate bisect-tensor --replay %s\n", f.out, f.out)
	}
	return nil
}

// again replays a reproducer.
func (f *bisectFlags) again(ctx context.Context, s *shell, build bisect.Build) error {
	r, err := bisect.ReadReproducer(f.replay)
	if err != nil {
		return err
	}
	replayed, err := r.Replay(ctx, f.model, build)
	if err != nil {
		return err
	}
	if f.json != "-" {
		switch {
		case replayed.Answer.First == nil:
			fmt.Fprintf(s.out, "no difference any more: %s at position %d is as it should be\n", r.First.Tensor, r.First.Position)
		case replayed.Same:
			fmt.Fprintln(s.out, "the same difference:")
		default:
			fmt.Fprintf(s.out, "another difference than in the file, where it is %s at position %d:\n", r.First.Tensor, r.First.Position)
		}
		if replayed.Answer.First != nil {
			tellDifference(s.out, replayed.Answer.First)
		}
	}
	if replayed.Answer.First != nil {
		s.status = statusFailed
	}
	return f.writeJSON(s, replayed.Answer)
}

func (f *bisectFlags) writeJSON(s *shell, a *bisect.Answer) error {
	if f.json == "" {
		return nil
	}
	b, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	var files outputFlags
	return files.file(s, f.json, append(b, '\n'))
}

// tell writes an answer for people.
func tell(w io.Writer, a *bisect.Answer, q *bisect.Question) {
	other := ""
	if q.Kept != nil {
		other = q.Kept.By + ", " + q.Kept.From
	} else {
		other = q.B.String()
	}
	fmt.Fprintf(w, "a: %s\nb: %s\n\n", q.A, other)
	how := "same bits"
	if q.Tolerance > 0 {
		how = fmt.Sprintf("relative RMS at most %g", q.Tolerance)
	}
	if a.First == nil {
		fmt.Fprintf(w, "no difference: %d rows of %d ids compared (%s)\n", a.Counts.Rows, a.Whole, how)
		return
	}
	tellDifference(w, a.First)
	fmt.Fprintf(w, "%d of %d rows differ (%s)\n", a.Counts.Differ, a.Counts.Rows, how)
	fmt.Fprintf(w, "%d of %d ids show it", len(a.IDs), a.Whole)
	if a.Note != "" {
		fmt.Fprintf(w, ": %s", a.Note)
	}
	fmt.Fprintln(w)
}

func tellDifference(w io.Writer, d *bisect.Difference) {
	v := d.Values[0]
	head := ""
	if d.Head >= 0 {
		head = fmt.Sprintf(", head %d", d.Head)
	}
	apart := fmt.Sprintf("%d ulp apart", v.ULP)
	if v.A == "NaN" || v.B == "NaN" {
		apart = "one is not a number"
	}
	fmt.Fprintf(w, "first difference: %s, position %d, index %d%s: a %s (%s), b %s (%s), %s\n", d.Tensor, d.Position, d.Index, head, v.A, v.ABits, v.B, v.BBits, apart)
	fmt.Fprintf(w, "    %d of %d values of the row differ, by %.3g at most; relative RMS %.3g\n", d.Differ, d.Width, d.MaxAbs, d.RelRMS)
	if d.Before != "" {
		fmt.Fprintf(w, "    the last row before it, in the order of computation, agrees: %s\n", d.Before)
	} else {
		fmt.Fprintln(w, "    it is the first row that was compared")
	}
}
