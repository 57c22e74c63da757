package ledger

import (
	"fmt"
	"strings"

	"assay/gates"
	"assay/snapshots"
)

// gateSet is one set of definitions with the words that introduce it.
type gateSet struct {
	Set   gates.Set
	Gates []gateEntry
}

type gateEntry struct {
	*gates.Definition
	Checks []checkEntry
	Last   string // verdict on the record
}

type checkEntry struct{ What, Rung, Tolerance, Why string }

func gatesData(t *tree) (any, error) {
	var all []gateSet
	for _, set := range []gates.Set{gates.OnFixtures, gates.OnModel, gates.OnReal} {
		definitions, err := gates.Load(set)
		if err != nil {
			return nil, err
		}
		s := gateSet{Set: set}
		for i := range definitions {
			e := gateEntry{Definition: &definitions[i], Last: t.lastVerdict(definitions[i].Name)}
			for j := range definitions[i].Checks {
				e.Checks = append(e.Checks, checkOf(&definitions[i], j))
			}
			s.Gates = append(s.Gates, e)
		}
		all = append(all, s)
	}
	return all, nil
}

// lastVerdict is what the newest committed snapshot says of a gate.
func (t *tree) lastVerdict(gate string) string {
	r := t.newest(func(r *snapshots.Report) bool { _, _, all := r.GateVerdict(gate); return all > 0 })
	if r == nil {
		return "none on the record"
	}
	worst, held, all := r.GateVerdict(gate)
	return fmt.Sprintf("**%s**, %d of %d checks held, in %s%s", worst, held, all, link(r), t.aged(r))
}

func checkOf(d *gates.Definition, i int) checkEntry {
	c := &d.Checks[i]
	e := checkEntry{What: c.What, Rung: c.Rung.String(), Why: c.Why}
	if c.Of != "" {
		e.What += " of " + c.Of
	}
	if d.Kind == gates.Bench { // which compares with the machine, not with a recording
		e.Rung, e.Tolerance = "", "at most 100 % of a measured ceiling"
		return e
	}
	_, e.Tolerance, _ = strings.Cut(c.String(), ": ")
	return e
}
