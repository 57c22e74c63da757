package snapshots

import (
	"fmt"
	"strings"
)

// writeChanges tells what is different from an earlier report.
func writeChanges(b *strings.Builder, c *Changes) error {
	fmt.Fprintf(b, "\n### Since %s\n\n", cell(c.Since.Title()))
	if s := c.Since.Superseded; s != nil {
		fmt.Fprintf(b, "That snapshot is superseded: %s\n\n", cell(s.Reason))
	}
	switch {
	case len(c.Verdicts) > 0:
		g := grid{header: []string{"check", "then", "now", "verdict"}}
		for _, x := range c.Verdicts {
			g.add(cell(x.After.name()), cell(x.Before.Value), cell(x.After.Value), was(x))
		}
		if err := g.markdown(b); err != nil {
			return err
		}
		b.WriteString("\n")
	default:
		b.WriteString("No check has another verdict or value.\n\n")
	}
	if c.New > 0 {
		fmt.Fprintf(b, "New checks: %d.\n\n", c.New)
	}
	if len(c.Gone) > 0 {
		fmt.Fprintf(b, "Checks that are gone: %s.\n\n", cell(shortened(c.Gone, 5)))
	}
	if c.Machine != "" {
		fmt.Fprintf(b, "Times are not compared: %s.\n", cell(c.Machine))
		return nil
	}
	return writeTimes(b, c)
}

func was(x ResultChange) string {
	if x.Before.Verdict == x.After.Verdict {
		return verdictCell(x.After.Verdict)
	}
	return string(x.Before.Verdict) + " → " + verdictCell(x.After.Verdict)
}

// shortened names the first n of a list.
func shortened(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
}

// writeTimes shows what is faster or slower, and folds up the rest.
func writeTimes(b *strings.Builder, c *Changes) error {
	if len(c.Times) == 0 {
		b.WriteString("No time was measured both then and now.\n")
		return nil
	}
	var moved, rest grid
	moved.header = []string{"of", "phase", "then", "now", "then/now", ""}
	moved.right = []int{2, 3, 4}
	rest.header, rest.right = moved.header, moved.right
	for _, t := range c.Times {
		g := &moved
		if t.Word == Within {
			g = &rest
		}
		g.add(cell(t.Of), cell(t.Phase), duration(t.Before), duration(t.After), fmt.Sprintf("%.2f×", t.Ratio), t.Word)
	}
	b.WriteString("Times of the same machine, not paired: a hint where to look, no verdict.\n\n")
	if len(moved.rows) > 0 {
		if err := moved.markdown(b); err != nil {
			return err
		}
	} else {
		b.WriteString("No time has left the spread of its samples.\n")
	}
	if len(rest.rows) == 0 {
		return nil
	}
	fmt.Fprintf(b, "\n<details><summary>%d times within the spread</summary>\n\n", len(rest.rows))
	if err := rest.markdown(b); err != nil {
		return err
	}
	b.WriteString("\n</details>\n")
	return nil
}
