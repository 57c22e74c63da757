package snapshots

import "slices"

// gateTally is what became of one gate.
type gateTally struct {
	gate      string
	held, all int
	rungs     []string
	worst     Verdict
}

// severity orders verdicts: the worst first.
var severity = []Verdict{Failed, Void, Missing, Skipped, Held}

// byGate counts the results of each gate, in the order of the report.
func (r *Report) byGate() (all []*gateTally) {
	for i := range r.Results {
		x := &r.Results[i]
		k := slices.IndexFunc(all, func(t *gateTally) bool { return t.gate == x.Gate })
		if k < 0 {
			k = len(all)
			all = append(all, &gateTally{gate: x.Gate, worst: x.Verdict})
		}
		t := all[k]
		t.all++
		if x.Verdict == Held {
			t.held++
		}
		if slices.Index(severity, x.Verdict) < slices.Index(severity, t.worst) {
			t.worst = x.Verdict
		}
		if x.Rung != "" && !slices.Contains(t.rungs, x.Rung) {
			t.rungs = append(t.rungs, x.Rung)
		}
	}
	return all
}

// GateVerdict is the worst verdict of a gate, with how many of its checks held;
// "" when the report has none of it.
func (r *Report) GateVerdict(gate string) (worst Verdict, held, all int) {
	for _, t := range r.byGate() {
		if t.gate == gate {
			return t.worst, t.held, t.all
		}
	}
	return "", 0, 0
}
