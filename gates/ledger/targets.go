package ledger

import (
	"slices"
	"strings"

	"assay/gates/cross"
	"assay/snapshots"
)

// targetRow is what the record says of one system and processor.
type targetRow struct {
	Target, Word, What, Where string
}

// What a target was seen to do.
const (
	ran      = "ran"
	compiled = "compiled"
	failed   = "failed"
	unknown  = "not on the record"
)

// targets tells of every target whether its tests ran or it only compiled, by the
// newest committed snapshot of validate cross.
func (t *tree) targets() (rows []targetRow) {
	for i := range cross.Targets {
		name := cross.Targets[i].String()
		gate := "cross/" + strings.ReplaceAll(name, "/", "-")
		row := targetRow{Target: name, Word: unknown}
		r := t.newest(func(r *snapshots.Report) bool { _, _, all := r.GateVerdict(gate); return all > 0 })
		if r != nil {
			row.Word, row.What = crossed(r, gate)
			row.Where = link(r) + t.aged(r)
		}
		rows = append(rows, row)
	}
	return rows
}

// crossed condenses the results of one target. What ran is told by what it ran on.
func crossed(r *snapshots.Report, gate string) (word, what string) {
	var kinds []string
	on := map[string][]string{}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Gate != gate {
			continue
		}
		switch {
		case x.Verdict == snapshots.Failed:
			return failed, x.Check
		case x.Verdict == snapshots.Held && x.Value == ran:
			word = ran
			kind, model, _ := strings.Cut(x.Check, " on ")
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
			on[kind] = append(on[kind], model)
		case x.Verdict == snapshots.Held && x.Value == compiled && word == "":
			word = compiled
		}
	}
	if word == "" {
		word = unknown
	}
	var parts []string
	for _, kind := range kinds {
		parts = append(parts, kind+" on "+strings.Join(on[kind], ", "))
	}
	return word, strings.Join(parts, "; ")
}

// otherArch is an architecture whose only implementation is the portable one.
type otherArch struct{ Arch, Cell string }

// others are the architectures beside that of the matrix which the project runs.
func others(rows []targetRow) (all []otherArch) {
	for i := range cross.Targets {
		t := &cross.Targets[i]
		if t.OS == "linux" && t.Arch != matrixArch {
			all = append(all, otherArch{t.Arch, "as scalar: " + rows[i].Word})
		}
	}
	return all
}
