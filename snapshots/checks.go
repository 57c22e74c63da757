package snapshots

import (
	"fmt"
	"slices"
	"strings"
)

// checkGroup are results of one gate that differ only in what they ran on.
type checkGroup struct {
	first  *Result
	check  string
	on     []string
	values []string
}

// groups gathers results with the same gate, check, rung, tolerance and verdict.
func (r *Report) groups() (all []*checkGroup) {
	for i := range r.Results {
		x, check := &r.Results[i], r.check(i)
		k := slices.IndexFunc(all, func(g *checkGroup) bool {
			y := g.first
			return g.check == check && y.Gate == x.Gate && y.Rung == x.Rung && y.Tolerance == x.Tolerance && y.Verdict == x.Verdict
		})
		if k < 0 {
			k = len(all)
			all = append(all, &checkGroup{first: x, check: check})
		}
		g := all[k]
		if x.Fixture != "" && !slices.Contains(g.on, x.Fixture) {
			g.on = append(g.on, x.Fixture)
		}
		if x.Value != "" && !slices.Contains(g.values, x.Value) {
			g.values = append(g.values, x.Value)
		}
	}
	return all
}

// writeChecks lists the checks, those that differ only in what they ran on
// together, in a table without padding: comments on pull requests are limited in
// size. The data have every one by itself.
func writeChecks(b *strings.Builder, r *Report) {
	b.WriteString("| gate | check | on | rung | value | tolerance | verdict |\n|---|---|---|---|---|---|---|\n")
	for _, g := range r.groups() {
		x := g.first
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", cell(x.Gate), cell(g.check), cell(someOf(g.on)), cell(x.Rung), cell(someOf(g.values)), cell(x.Tolerance), verdictCell(x.Verdict))
	}
}

// someOf is a short list, or its first and how many more there are.
func someOf(list []string) string {
	if len(list) <= 2 {
		return strings.Join(list, "; ")
	}
	return fmt.Sprintf("%s; and %d more", list[0], len(list)-1)
}
