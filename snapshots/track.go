package snapshots

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A Track is the history of one time on one machine, oldest first.
type Track struct {
	Of, Phase string // benchmark and phase, or entry point and case
	MachineID string
	Machine   Machine // of the newest point
	Points    []Point
}

// Point is what one snapshot has of it.
type Point struct {
	Snapshot   string  `json:"snapshot"` // its title
	Version    string  `json:"version"`
	Median     float64 `json:"median_s"`
	Low        float64 `json:"low_s"`
	High       float64 `json:"high_s"`
	Superseded string  `json:"superseded,omitempty"` // reason; such points are shown and count for nothing
}

// Tracks sorts the times of snapshots, oldest first, by what they are of.
func Tracks(reports []*Report) (all []*Track) {
	by := map[string]*Track{}
	for _, r := range reports {
		add := func(of, phase, void string, median, low, high float64) {
			if void != "" || median <= 0 {
				return
			}
			key := strings.Join([]string{of, phase, r.MachineID}, "\x00")
			t := by[key]
			if t == nil {
				t = &Track{Of: of, Phase: phase, MachineID: r.MachineID}
				by[key] = t
				all = append(all, t)
			}
			p := Point{Snapshot: r.Title(), Version: r.Version, Median: median, Low: low, High: high}
			if r.Superseded != nil {
				p.Superseded = r.Superseded.Reason
			}
			t.Machine = r.Machine
			t.Points = append(t.Points, p)
		}
		for _, b := range r.AllBenches() {
			for _, run := range b.Runs[:min(len(b.Runs), 1)] { // a peer has no history here
				for _, p := range run.Phases {
					add(b.Key(), p.Phase, p.Void, p.Median, p.Low, p.High)
				}
			}
		}
		for i := range r.Kernels {
			k := &r.Kernels[i]
			add(k.Entry(), k.Case, k.Void, k.Median, k.Low, k.High)
		}
	}
	return all
}

// Name is what a user calls the track: "llama-Q4_0.gguf 2 threads int8 decode".
func (t *Track) Name() string { return strings.TrimSpace(t.Of + " " + t.Phase) }

// DefaultWindow is how many points stand on either side of a change.
const DefaultWindow = 4

// leastFloor is the least difference that a change point is worth.
const leastFloor = 0.01

// ChangePoint says that from a point on a time is another one.
type ChangePoint struct {
	At    int     `json:"at"`    // index of the first point that is different
	Ratio float64 `json:"ratio"` // median before over median after: above 1 it became faster
}

// Floor is how far a median must move to count: half the interval of the typical
// point, as a part of its median, and at least one percent.
func (t *Track) Floor() float64 {
	var halves []float64
	for _, p := range t.counted() {
		x := t.Points[p]
		halves = append(halves, max(x.High-x.Median, x.Median-x.Low)/x.Median)
	}
	return max(leastFloor, middle(halves))
}

// counted are the indices of points that are not superseded.
func (t *Track) counted() (indices []int) {
	for i := range t.Points {
		if t.Points[i].Superseded == "" {
			indices = append(indices, i)
		}
	}
	return indices
}

// Changes finds change points: places where all of the k points after lie on one
// side of all of the k before, and where the two medians differ by more than the
// floor. Of candidates closer together than k, the one that separates most counts.
//
// If nothing changes, two groups of k are separated with probability 2/C(2k,k):
// 1 in 35 for k = 4, the most extreme outcome of the rank-sum test of F. Wilcoxon,
// Individual Comparisons by Ranking Methods, Biometrics Bulletin 1 (1945). The
// floor keeps separations out that are too small to matter. With fewer than 2k
// points nothing can be told.
func (t *Track) Changes(k int) (points []ChangePoint) {
	counted := t.counted()
	floor := t.Floor()
	type candidate struct {
		ChangePoint
		place int
		size  float64
	}
	var all []candidate
	for i := k; k > 0 && i+k <= len(counted); i++ {
		before, after := t.medians(counted[i-k:i]), t.medians(counted[i:i+k])
		if slices.Max(before) >= slices.Min(after) && slices.Max(after) >= slices.Min(before) {
			continue
		}
		if ratio := middle(before) / middle(after); math.Abs(math.Log(ratio)) > math.Log1p(floor) {
			all = append(all, candidate{ChangePoint{counted[i], ratio}, i, math.Abs(math.Log(ratio))})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.size, a.size) })
	var kept []candidate
	for _, c := range all {
		if !slices.ContainsFunc(kept, func(x candidate) bool { return max(x.place-c.place, c.place-x.place) < k }) {
			kept = append(kept, c)
			points = append(points, c.ChangePoint)
		}
	}
	slices.SortFunc(points, func(a, b ChangePoint) int { return a.At - b.At })
	return points
}

func (t *Track) medians(indices []int) (m []float64) {
	for _, i := range indices {
		m = append(m, t.Points[i].Median)
	}
	return m
}

// middle is the median, 0 of nothing.
func middle(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}

// Middle is the median of the points that count, 0 of none.
func Middle(points []Point) float64 {
	t := Track{Points: points}
	return middle(t.medians(t.counted()))
}

// WriteTrack lists a history for people at a terminal.
func WriteTrack(w io.Writer, t *Track, changes []ChangePoint) error {
	if _, err := fmt.Fprintf(w, "%s, machine %s\n", t.Name(), t.MachineID); err != nil {
		return err
	}
	g := grid{header: []string{"snapshot", "version", "time", "±", ""}, right: []int{2, 3}}
	for i, p := range t.Points {
		note := ""
		for _, c := range changes {
			if c.At == i {
				note = c.said()
			}
		}
		if p.Superseded != "" {
			note = "superseded: " + p.Superseded
		}
		g.add(p.Snapshot, p.Version, duration(p.Median), spread(p.Median, p.Low, p.High), note)
	}
	if err := g.text(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "noise %.1f %%, %d change points\n\n", 100*t.Floor(), len(changes))
	return err
}

func (c ChangePoint) said() string {
	if c.Ratio < 1 {
		return fmt.Sprintf("from here %.2f× slower", 1/c.Ratio)
	}
	return fmt.Sprintf("from here %.2f× faster", c.Ratio)
}
