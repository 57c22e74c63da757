package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"assay/snapshots"
)

func writeTable(w io.Writer, r *snapshots.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, x := range r.Results {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", x.Verdict, x.Gate, x.Check, x.Fixture, x.Rung, x.Value, x.Tolerance)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, x := range r.Results {
		if x.Detail != "" {
			fmt.Fprintf(w, "\n%s: %s %s on %s\n  %s\n", x.Verdict, x.Gate, x.Check, x.Fixture, strings.ReplaceAll(x.Detail, "\n", "\n  "))
		}
	}
	_, err := fmt.Fprintf(w, "\n%d held, %d failed, %d void, %d skipped, %d not available in %.1f s\n", r.Count(snapshots.Held), r.Count(snapshots.Failed),
		r.Count(snapshots.Void), r.Count(snapshots.Skipped), r.Count(snapshots.Missing), r.Seconds)
	return err
}

func writeJSON(w io.Writer, r *snapshots.Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

func writeMarkdown(w io.Writer, r *snapshots.Report) error { return writeTable(w, r) }
func writeJUnit(w io.Writer, r *snapshots.Report) error    { return nil }
