package history

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"assay/snapshots"
	"assay/snapshots/plot"
)

// WriteFolder writes a report in all its forms: BASE.json, BASE.md, the samples of
// phases and kernels in Go benchmark format, JUnit where there are checks, and the
// pictures that it has the figures for. The history ends with the report itself.
func WriteFolder(dir, base string, r, since *snapshots.Report, history []*snapshots.Report) error {
	f := &folder{dir: dir}
	f.write(base+".json", func(w io.Writer) error { return snapshots.WriteJSON(w, r) })
	if len(r.Results) > 0 && r.Name == "" { // a run; what is kept for long has it as JSON
		f.write(base+".junit.xml", func(w io.Writer) error { return snapshots.WriteJUnit(w, r) })
	}
	for _, b := range r.AllBenches() {
		if !usable(b, func(*snapshots.BenchPhase) bool { return true }) {
			continue
		}
		f.write("phases-"+fileName(path.Base(b.Model.Path))+".txt", func(w io.Writer) error { return snapshots.WriteGoBench(w, b) })
	}
	if len(r.Kernels) > 0 {
		f.write("kernels.txt", func(w io.Writer) error { return snapshots.WriteKernelBench(w, r.Machine, r.Kernels) })
	}
	page := snapshots.Page{Since: since, Pictures: f.pictures(r, history)}
	f.write(base+".md", func(w io.Writer) error { return snapshots.WritePage(w, r, page) })
	return f.err
}

// folder writes files until one cannot be written.
type folder struct {
	dir string
	err error
}

func (f *folder) write(name string, make func(w io.Writer) error) bool {
	if f.err != nil {
		return false
	}
	var b bytes.Buffer
	if f.err = make(&b); f.err == nil {
		f.err = os.WriteFile(filepath.Join(f.dir, name), b.Bytes(), 0o644)
	}
	if f.err != nil {
		f.err = fmt.Errorf("history: %s: %w", name, f.err)
	}
	return f.err == nil
}

func (f *folder) pictures(r *snapshots.Report, history []*snapshots.Report) (all []snapshots.Picture) {
	add := func(file, title string, of snapshots.Section, draw func(w io.Writer) error) {
		if f.write(file, draw) {
			all = append(all, snapshots.Picture{File: file, Title: title, Of: of})
		}
	}
	if benches := underRoof(r.AllBenches()); len(benches) > 0 {
		add("roofline.svg", "Phases under the ceilings of the machine", snapshots.OfPhases, func(w io.Writer) error { return plot.Roofline(w, benches) })
	}
	var ratios []plot.Ratio
	for _, b := range r.AllBenches() {
		ratios = append(ratios, plot.Of(b)...)
	}
	if len(ratios) > 0 {
		add("peer.svg", "Beside another engine", snapshots.OfPhases, func(w io.Writer) error {
			return plot.Ratios(w, "Beside another engine", "times as fast as it", ratios, "Median of interleaved pairs with its interval. "+r.Machine.String())
		})
	}
	if rows := plot.OfExperiments(r.Experiments); len(rows) > 0 {
		add("experiments.svg", "Experiments", snapshots.OfExperiments, func(w io.Writer) error {
			return plot.Ratios(w, "Experiments", "baseline over candidate: right of 1 the candidate is faster", rows, "Bands are the noise floors of this machine.")
		})
	}
	for _, t := range drawn(r, history) {
		title := "History of " + t.Name()
		add("history-"+fileName(t.Name())+".svg", title, snapshots.OfHistory, func(w io.Writer) error { return plot.History(w, t, snapshots.DefaultWindow) })
	}
	return all
}

// underRoof are the benchmarks of which a roofline can be drawn.
func underRoof(all []*snapshots.Bench) (some []*snapshots.Bench) {
	for _, b := range all {
		if b.Machine.ReadGBs > 0 && b.Machine.Int8GMACs > 0 && b.Model.WeightsPerTokenBytes > 0 && usable(b, func(p *snapshots.BenchPhase) bool { return p.TokensPerSec > 0 }) {
			some = append(some, b)
		}
	}
	return some
}

// usable tells whether a benchmark has a phase of a kind that is not void.
func usable(b *snapshots.Bench, kind func(*snapshots.BenchPhase) bool) bool {
	for i := range b.Runs {
		for k := range b.Runs[i].Phases {
			if p := &b.Runs[i].Phases[k]; p.Void == "" && kind(p) {
				return true
			}
		}
	}
	return false
}

// drawn are the histories that a page shows: prompt and decode of the largest
// model, once there is more than one point.
func drawn(r *snapshots.Report, history []*snapshots.Report) (some []*snapshots.Track) {
	var largest *snapshots.Bench
	for _, b := range r.AllBenches() {
		if largest == nil || b.Model.Bytes > largest.Model.Bytes {
			largest = b
		}
	}
	if largest == nil {
		return nil
	}
	for _, t := range snapshots.Tracks(history) {
		if t.MachineID == r.MachineID && len(t.Points) > 1 && t.Of == largest.Key() && (t.Phase == "prompt" || t.Phase == "decode") {
			some = append(some, t)
		}
	}
	return some
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName makes a file name of any text.
func fileName(s string) string {
	return strings.Trim(notInNames.ReplaceAllString(s, "-"), "-.")
}
