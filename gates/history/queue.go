package history

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"assay/snapshots"
)

// Word is where an entry point stands.
type Word string

// The words, in the order in which entry points are run.
const (
	NeverRun Word = "never run"
	Stale    Word = "stale"
	Fresh    Word = "fresh"
)

var order = []Word{NeverRun, Stale, Fresh}

// State is where an entry point stands, by the snapshots that are at hand.
type State struct {
	*Entry
	Word    Word
	Last    *snapshots.Report // the newest that has it; nil: none
	Changed []string          // sources that are others than then
	Void    bool              // it was measured, but the figures are void
}

// Why says why an entry point is in the queue, or by what it is fresh.
func (s *State) Why() string {
	switch {
	case s.Word == NeverRun && s.Void:
		return "its figures were void whenever it was measured"
	case s.Word == NeverRun:
		return "no snapshot has it"
	case s.Word == Stale:
		return "what it measures has changed since " + s.Last.Name
	}
	return "measured in " + s.Last.Name
}

// Details is Why with the sources that changed.
func (s *State) Details() string {
	if s.Word != Stale {
		return s.Why()
	}
	const few = 3
	list := s.Changed
	if len(list) > few {
		list = append(slices.Clone(list[:few]), fmt.Sprintf("%d more", len(list)-few))
	}
	return s.Why() + ": " + strings.Join(list, ", ")
}

// States finds out where every entry point stands, in the order of the queue: what
// was never run, then what is stale, longest ago first, then what is fresh.
// Superseded snapshots count for nothing.
func States(s *Sources, all []*snapshots.Report) (states []*State) {
	for _, e := range s.Entries() {
		x := &State{Entry: e, Word: NeverRun}
		for _, r := range all {
			switch {
			case r.Superseded != nil:
			case e.MeasuredIn(r):
				x.Last = r
			case e.voidIn(r):
				x.Void = true
			}
		}
		if x.Last != nil {
			x.Word = Fresh
			for _, name := range e.Sources {
				if x.Last.Sources[name] != s.Hash(name) {
					x.Word = Stale
					x.Changed = append(x.Changed, name)
				}
			}
		}
		states = append(states, x)
	}
	slices.SortStableFunc(states, func(a, b *State) int {
		if c := cmp.Compare(slices.Index(order, a.Word), slices.Index(order, b.Word)); c != 0 || a.Word != Stale {
			return c
		}
		return a.Last.Started.Compare(b.Last.Started)
	})
	return states
}

// voidIn tells whether a snapshot has the entry point without usable figures.
func (e *Entry) voidIn(r *snapshots.Report) bool {
	if e.Kind == Kernels {
		return slices.ContainsFunc(r.Kernels, func(k snapshots.Kernel) bool { return k.Entry() == e.Name })
	}
	return slices.ContainsFunc(r.AllBenches(), func(b *snapshots.Bench) bool { return path.Base(b.Model.Path) == path.Base(e.Model) })
}

// Due are those that are not fresh.
func Due(states []*State) []*State {
	i := slices.IndexFunc(states, func(s *State) bool { return s.Word == Fresh })
	if i < 0 {
		return states
	}
	return states[:i]
}

// OnMachine are the snapshots of one machine.
func OnMachine(all []*snapshots.Report, id string) (some []*snapshots.Report) {
	for _, r := range all {
		if r.MachineID == id {
			some = append(some, r)
		}
	}
	return some
}
