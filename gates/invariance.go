package gates

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/engine"
	"assay/kernels/cpu"
	"assay/snapshots"
)

// setup is one way to compute the same thing.
type setup struct {
	chunk, threads int
	level          string
}

func (s setup) String() string {
	chunk := "all"
	if s.chunk > 0 {
		chunk = fmt.Sprint(s.chunk)
	}
	return fmt.Sprintf("chunk %s, %d threads, %s", chunk, s.threads, s.level)
}

// varies names the check that a setup belongs to: what it changes against the
// first one, or all three.
func (s setup) varies(first setup) []string {
	var what []string
	if s.chunk != first.chunk {
		what = append(what, "chunks")
	}
	if s.threads != first.threads {
		what = append(what, "threads")
	}
	if s.level != first.level {
		what = append(what, "levels")
	}
	return what
}

// setups lists what a case runs; the first one is what the others are compared with.
func (r *run) setups(c *Case) (list []setup, err error) {
	levels, threads, chunks := r.options.Levels, r.options.Threads, c.Chunks
	if len(levels) == 0 {
		if levels, err = levelNames(c.Levels); err != nil {
			return nil, err
		}
	}
	if len(threads) == 0 {
		threads = orZero(c.Definition.Threads)
	}
	chunks = orZero(chunks)
	for i, l := range levels {
		for j, n := range threads {
			for k, chunk := range chunks {
				if changed := min(i, 1) + min(j, 1) + min(k, 1); changed > 1 && !c.Cross {
					continue
				}
				list = append(list, setup{chunk, n, l})
			}
		}
	}
	return list, nil
}

func orZero(list []int) []int {
	if len(list) == 0 {
		return []int{0}
	}
	return list
}

// levelNames gives the levels of this machine among those a definition asks
// for, the best one first.
func levelNames(want []string) ([]string, error) {
	var names []string
	for _, l := range cpu.Supported() {
		if len(want) == 0 || want[0] == "all" || slices.Contains(want, l.String()) {
			names = append(names, l.String())
		}
	}
	slices.Reverse(names)
	if len(names) == 0 {
		return nil, &missingError{"this machine has none of the levels " + strings.Join(want, ", ")}
	}
	return names, nil
}

// invarianceJob computes the same ids in every setup and compares bits.
func invarianceJob(ctx context.Context, r *run, c *Case) ([]snapshots.Result, error) {
	list, err := r.setups(c)
	if err != nil {
		return nil, err
	}
	var golden *GoldenEntry
	ids := spread(c.Tokens, 0)
	if r.options.Model == "" {
		g, err := LoadGolden()
		if err != nil {
			return nil, err
		}
		if golden, ids, err = g.entry(c); err != nil {
			return nil, err
		}
	}
	found := map[string]*finding{}
	for _, k := range c.Checks {
		found[k.What] = &finding{}
	}
	if err := r.runSetups(ctx, c, list, ids, golden, found); err != nil {
		return nil, err
	}
	var results []snapshots.Result
	for i := range c.Checks {
		k := &c.Checks[i]
		f := found[k.What]
		x := k.result(fmt.Sprintf("%d of %d runs the same", f.same, f.runs))
		fail(&x, f.bad...)
		switch {
		case f.runs > 0:
		case k.What == "golden":
			x.Verdict, x.Value, x.Detail = snapshots.Skipped, "no golden bits", "there are golden bits for fixtures only"
		default:
			x.Verdict, x.Value, x.Detail = snapshots.Skipped, "one setup only", "this machine or the selection has a single one"
		}
		results = append(results, x)
	}
	return results, nil
}

// finding collects what one check sees.
type finding struct {
	runs, same int
	bad        []string
}

// note counts one run; of those that differ the first is told.
func (f *finding) note(s setup, differs []string) {
	if f == nil {
		return
	}
	f.runs++
	if len(differs) == 0 {
		f.same++
		return
	}
	if len(f.bad) == 0 {
		f.bad = append([]string{s.String() + ":"}, differs...)
	}
}

func (r *run) runSetups(ctx context.Context, c *Case, list []setup, ids []int32, golden *GoldenEntry, found map[string]*finding) error {
	var first *trace
	var m *engine.Model
	var opened setup
	defer func() {
		if m != nil {
			m.Close()
		}
	}()
	for _, s := range list {
		if m == nil || s.level != opened.level || s.threads != opened.threads {
			if m != nil {
				m.Close()
			}
			var err error
			if m, err = engine.Open(ctx, r.path(c.Model), engine.Options{Threads: s.threads, Activations: c.Activations, CPU: s.level, Alter: r.options.Alter}); err != nil {
				return err
			}
			opened = s
		}
		if first == nil && len(ids) > 0 && golden == nil {
			ids = spread(len(ids), m.Config().Vocab)
		}
		t, err := follow(ctx, m, ids, c.KV, s.chunk)
		if err != nil {
			return err
		}
		if golden != nil {
			found["golden"].note(s, golden.differs(t))
		}
		if first == nil {
			first = t
			continue
		}
		differs, err := t.equal(first)
		if err != nil {
			return err
		}
		for _, what := range s.varies(list[0]) {
			found[what].note(s, differs)
		}
	}
	return nil
}

// spread gives n ids from all over a vocabulary, always the same ones.
func spread(n, vocab int) []int32 {
	ids := make([]int32, n)
	x := uint32(2463534242)
	for i := range ids {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		ids[i] = int32(x % uint32(max(vocab, 1)))
	}
	return ids
}
