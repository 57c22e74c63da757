package ledger

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/perf/benchunit"

	"assay/gates/history"
	"assay/snapshots"
)

// queue is what the template of the queue shows.
type queue struct {
	Prompt, Decode int
	Counts         string
	Due, Fresh     []queued
	Phases         []measured
	Rows           []rowEntry
}

// queued is one entry point with its state and the reason for it.
type queued struct{ Entry, Word, Why string }

// measured is what the record has of an entry point.
type measured struct{ Entry, Figures, Where string }

// rowEntry is one primitive that other engines publish.
type rowEntry struct {
	history.Row
	Word                 string
	Scalar, Best, Of, By string
}

func queueData(t *tree) (any, error) {
	q := &queue{Prompt: history.PromptIDs, Decode: history.Evaluations}
	states := history.States(t.sources, t.records)
	counts := map[history.Word]int{}
	byName := map[string]*history.State{}
	for _, s := range states {
		counts[s.Word]++
		byName[s.Name] = s
		row := queued{s.Name, string(s.Word), t.why(s)}
		if s.Word == history.Fresh {
			q.Fresh = append(q.Fresh, row)
		} else {
			q.Due = append(q.Due, row)
		}
		if s.Kind == history.Phases && s.Last != nil {
			q.Phases = append(q.Phases, measured{s.Name, phasesOf(s), link(s.Last)})
		}
	}
	slices.SortFunc(q.Phases, func(a, b measured) int { return strings.Compare(a.Entry, b.Entry) })
	q.Counts = fmt.Sprintf("%d never run, %d stale, %d fresh", counts[history.NeverRun], counts[history.Stale], counts[history.Fresh])
	rows, err := history.Rows()
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		s := byName[r.Entry]
		if s == nil {
			return nil, fmt.Errorf("ledger: primitive %q: there is no benchmark %s", r.Row, r.Entry)
		}
		q.Rows = append(q.Rows, figuresOf(r, s))
	}
	return q, nil
}

// why is the reason with a link in place of the name of the snapshot.
func (t *tree) why(s *history.State) string {
	if s.Last == nil {
		return s.Why()
	}
	return strings.Replace(s.Why(), s.Last.Name, link(s.Last)+" on "+s.Last.Machine.CPU, 1)
}

// phasesOf are the medians of prompt and decode.
func phasesOf(s *history.State) string {
	var parts []string
	for _, b := range s.Last.AllBenches() {
		if path.Base(b.Model.Path) != path.Base(s.Model) || len(b.Runs) == 0 {
			continue
		}
		for _, p := range b.Runs[0].Phases {
			if p.TokensPerSec > 0 {
				parts = append(parts, fmt.Sprintf("%s %.0f tokens/s", p.Phase, p.TokensPerSec))
			}
		}
		break
	}
	return strings.Join(parts, ", ")
}

// figuresOf are the times of the portable implementation and of the best one.
func figuresOf(r history.Row, s *history.State) rowEntry {
	x := rowEntry{Row: r, Word: string(s.Word)}
	if s.Last == nil {
		return x
	}
	var best *snapshots.Kernel
	for i := range s.Last.Kernels {
		k := &s.Last.Kernels[i]
		switch {
		case k.Entry() != r.Entry:
		case strings.HasPrefix(k.Case, "scalar"), k.Case == "":
			x.Scalar = benchunit.Scale(k.Median, benchunit.Decimal) + "s"
		case best == nil || k.Median < best.Median:
			best = k
		}
	}
	if best != nil {
		x.Best = fmt.Sprintf("%ss (%s)", benchunit.Scale(best.Median, benchunit.Decimal), best.Case)
		if best.OfCeiling > 0 {
			x.Of = fmt.Sprintf("%.0f %% of %s", 100*best.OfCeiling, best.Ceiling)
		}
	}
	x.By = link(s.Last)
	return x
}
