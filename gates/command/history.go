package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/spf13/cobra"

	"assay/gates/experiment"
	"assay/gates/history"
	"assay/snapshots"
	"assay/snapshots/plot"
)

func init() { register(historyCommand) }

type historyFlags struct {
	store, svg, json      string
	of, machine           string
	supersede, by, reason string
	window                int
	render                bool
}

func historyCommand(s *shell) *cobra.Command {
	var f historyFlags
	c := &cobra.Command{
		Use:   "history [PHASE]",
		Short: "List the snapshots of a store, or follow one phase through them",
		Long: `history lists the snapshots of a store. With a phase (decode, prompt, load, ...; of
benchmarks of kernels the case, e.g. avx2) it lists that time snapshot by snapshot,
on one machine, with change points: places where all of the medians after lie on one
side of as many before, farther apart than the noise. --supersede marks a snapshot
whose figures no longer count; it stays, with the reason.`,
		Example: `  validate history
  validate history decode --of smollm2 --svg decode.svg
  validate history avx2 --of kernels/vector.RMSNorm
  validate history --supersede NAME --reason 'the machine was busy'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.run(s, args) },
	}
	addStore(c, &f.store)
	c.Flags().StringVar(&f.of, "of", "", "only benchmarks whose name contains this")
	c.Flags().StringVar(&f.machine, "machine", "", "identity of the machine (default: this one, or the only one there is)")
	c.Flags().IntVar(&f.window, "window", snapshots.DefaultWindow, "snapshots on either side of a change point")
	c.Flags().StringVar(&f.svg, "svg", "", "draw the phase into this file")
	c.Flags().StringVar(&f.json, "json", "", "write what is listed as JSON to this file (- for standard output)")
	c.Flags().BoolVar(&f.render, "render", false, "write all pages and pictures of the store anew from their data")
	c.Flags().StringVar(&f.supersede, "supersede", "", "mark this snapshot")
	c.Flags().StringVar(&f.by, "by", "", "with --supersede: the snapshot that replaces it")
	c.Flags().StringVar(&f.reason, "reason", "", "with --supersede: why its figures no longer count")
	return c
}

func (f *historyFlags) run(s *shell, args []string) error {
	const name = "validate history"
	store, err := openStore(f.store)
	if err != nil {
		return err
	}
	switch {
	case f.window < 1:
		return &usageError{name, fmt.Errorf("--window %d: want at least one snapshot", f.window)}
	case f.supersede != "" && f.reason == "":
		return &usageError{name, errors.New("--supersede needs a --reason")}
	case f.supersede != "":
		if err := store.Supersede(f.supersede, f.by, f.reason); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.out, "%s is superseded: %s\n", f.supersede, f.reason)
		return err
	case f.render:
		n, err := store.Render()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%d snapshots were written anew\n", n)
		return err
	case len(args) == 0 && f.svg != "":
		return &usageError{name, errors.New("--svg needs a phase")}
	}
	all, err := store.List()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return f.list(s, store, all)
	}
	return f.follow(s, all, args[0])
}

// listed is what --json tells of a snapshot.
type listed struct {
	Name       string                `json:"name"`
	Command    string                `json:"command"`
	Version    string                `json:"version"`
	MachineID  string                `json:"machine_id"`
	Machine    string                `json:"machine"`
	Held       int                   `json:"held"`
	Failed     int                   `json:"failed"`
	Void       int                   `json:"void"`
	Benches    int                   `json:"benches"`
	Kernels    int                   `json:"kernels"`
	Superseded *snapshots.Superseded `json:"superseded,omitempty"`
}

func (f *historyFlags) list(s *shell, store *history.Store, all []*snapshots.Report) error {
	rows := []listed{}
	for _, r := range all {
		rows = append(rows, listed{r.Name, r.Command, r.Version, r.MachineID, r.Machine.String(), r.Count(snapshots.Held), r.Count(snapshots.Failed),
			r.Count(snapshots.Void), len(r.AllBenches()), len(r.Kernels), r.Superseded})
	}
	if f.json != "-" {
		if len(rows) == 0 {
			fmt.Fprintf(s.out, "No snapshots in %s.\n", store.Dir)
		} else if err := listTable(s, rows); err != nil {
			return err
		}
	}
	return writeJSONFile(s, f.json, rows)
}

func listTable(s *shell, rows []listed) error {
	t := tablewriter.NewWriter(s.out)
	t.Header("snapshot", "version", "checks", "phases", "kernels", "")
	for _, r := range rows {
		checks := ""
		if n := r.Held + r.Failed + r.Void; n > 0 {
			checks = fmt.Sprintf("%d held, %d failed, %d void", r.Held, r.Failed, r.Void)
		}
		note := ""
		if r.Superseded != nil {
			note = "superseded: " + r.Superseded.Reason
		}
		if err := t.Append(r.Name, r.Version, checks, r.Benches, r.Kernels, note); err != nil {
			return err
		}
	}
	return t.Render()
}

// followed is what --json tells of a time.
type followed struct {
	Of      string                  `json:"of"`
	Phase   string                  `json:"phase"`
	Machine string                  `json:"machine_id"`
	Floor   float64                 `json:"floor"`
	Points  []snapshots.Point       `json:"points"`
	Changes []snapshots.ChangePoint `json:"changes"`
}

// follow lists one phase of every benchmark that was asked for.
func (f *historyFlags) follow(s *shell, all []*snapshots.Report, phase string) error {
	var tracks []*snapshots.Track
	known := map[string]bool{}
	id := f.onMachine(all)
	for _, t := range snapshots.Tracks(all) {
		known[t.Phase] = true
		if t.Phase == phase && t.MachineID == id && strings.Contains(t.Of, f.of) {
			tracks = append(tracks, t)
		}
	}
	if len(tracks) == 0 {
		return fmt.Errorf("no snapshot of machine %s has a phase %q of %q", id, phase, f.of)
	}
	if f.svg != "" {
		if len(tracks) > 1 {
			return &usageError{"validate history", fmt.Errorf("--svg draws one time: choose with --of from %s", strings.Join(trackNames(tracks), "; "))}
		}
		var b bytes.Buffer
		if err := plot.History(&b, tracks[0], f.window); err != nil {
			return err
		}
		if err := os.WriteFile(f.svg, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	var rows []followed
	for _, t := range tracks {
		changes := t.Changes(f.window)
		rows = append(rows, followed{t.Of, t.Phase, t.MachineID, t.Floor(), t.Points, changes})
		if f.json != "-" {
			if err := snapshots.WriteTrack(s.out, t, changes); err != nil {
				return err
			}
		}
	}
	return writeJSONFile(s, f.json, rows)
}

// onMachine is the machine that was asked for, this one, or the only one.
func (f *historyFlags) onMachine(all []*snapshots.Report) string {
	if f.machine != "" {
		return f.machine
	}
	here := experiment.Here().ID()
	seen := map[string]bool{}
	for _, r := range all {
		seen[r.MachineID] = true
	}
	if len(seen) == 1 && !seen[here] {
		for id := range seen {
			return id
		}
	}
	return here
}

func trackNames(tracks []*snapshots.Track) (names []string) {
	for _, t := range tracks {
		names = append(names, t.Name())
	}
	return names
}

func writeJSONFile(s *shell, path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	var files outputFlags
	return files.file(s, path, append(b, '\n'))
}

// listStates prints the queue.
func listStates(s *shell, states []*history.State) error {
	t := tablewriter.NewWriter(s.out)
	t.Header("entry point", "state", "why")
	for _, x := range states {
		if err := t.Append(x.Name, string(x.Word), x.Details()); err != nil {
			return err
		}
	}
	return t.Render()
}
