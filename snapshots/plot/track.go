package plot

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"assay/snapshots"
)

// History draws a time over snapshots, with its intervals, the median of every
// stretch between change points, and the change points.
func History(w io.Writer, t *snapshots.Track, window int) error {
	unit, scale := unitOf(t)
	p := newPlot(t.Name(), "snapshots, oldest first", unit)
	n := len(t.Points)
	p.X.Min, p.X.Max = -0.6, float64(n)-0.4
	low, high := math.Inf(1), 0.0
	for _, x := range t.Points {
		low, high = min(low, x.Low*scale), max(high, x.High*scale)
	}
	margin := 0.12 * max(high-low, 0.02*high)
	p.Y.Min, p.Y.Max = max(0, low-margin), high+2.2*margin
	p.Y.Tick.Marker = linearTicks{}
	p.X.Tick.Marker = plot.ConstantTicks(marks(t.Points))
	p.X.Tick.Label.Rotation = math.Pi / 6
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = text.XRight, text.YTop
	changes := t.Changes(window)
	p.Add(trackPlot{t, changes, scale})
	return write(w, 320, func(c draw.Canvas) {
		p.Draw(caption(c, t.Machine.String(), ruleOf(t, window, len(changes))))
	})
}

// unitOf is the unit in which the times are short numbers.
func unitOf(t *snapshots.Track) (unit string, scale float64) {
	most := 0.0
	for _, x := range t.Points {
		most = max(most, x.Median)
	}
	switch {
	case most >= 1:
		return "s", 1
	case most >= 1e-3:
		return "ms", 1e3
	case most >= 1e-6:
		return "µs", 1e6
	}
	return "ns", 1e9
}

// marks names at most a dozen snapshots below the axis.
func marks(points []snapshots.Point) (ticks []plot.Tick) {
	const most = 12
	step := (len(points) + most - 1) / most
	for i, x := range points {
		tick := plot.Tick{Value: float64(i)}
		if (len(points)-1-i)%step == 0 {
			tick.Label = shortName(x.Snapshot)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// shortName is the day and time of a snapshot's name, or its beginning.
func shortName(s string) string {
	if len(s) >= 13 && s[8] == 'T' { // 20060102T150405Z-machine
		return s[0:4] + "-" + s[4:6] + "-" + s[6:8] + " " + s[9:11] + ":" + s[11:13]
	}
	return s[:min(len(s), 16)]
}

func ruleOf(t *snapshots.Track, window, found int) string {
	counted := 0
	for _, x := range t.Points {
		if x.Superseded == "" {
			counted++
		}
	}
	if counted < 2*window {
		return fmt.Sprintf("Change points need %d snapshots: %d medians on either side. Hollow points are superseded.", 2*window, window)
	}
	return fmt.Sprintf("Change points (%d): all of %d medians lie on one side of the %d before (rank-sum test of Wilcoxon, 1945), and the middle ones are more than the noise of %.1f %% apart. Hollow points are superseded.",
		found, window, window, 100*t.Floor())
}

type trackPlot struct {
	*snapshots.Track
	changes []snapshots.ChangePoint
	scale   float64
}

// Plot draws stretches, change points and points, in this order.
func (t trackPlot) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	from := 0
	for _, change := range append(t.changes, snapshots.ChangePoint{At: len(t.Points)}) {
		if m := t.stretch(from, change.At); m > 0 {
			line(c, faint, 5, nil, vg.Point{X: x(float64(from) - 0.4), Y: y(m * t.scale)}, vg.Point{X: x(float64(change.At) - 0.6), Y: y(m * t.scale)})
		}
		from = change.At
	}
	for _, change := range t.changes {
		t.change(c, x(float64(change.At)-0.5), change.Ratio)
	}
	for i, q := range t.Points {
		col := blue
		if q.Superseded != "" {
			col = ink
		}
		at := x(float64(i))
		line(c, col, 1.25, nil, vg.Point{X: at, Y: y(q.Low * t.scale)}, vg.Point{X: at, Y: y(q.High * t.scale)})
		dot(c, col, q.Superseded != "", vg.Point{X: at, Y: y(q.Median * t.scale)})
	}
}

// stretch is the median of the points that count between two change points.
func (t trackPlot) stretch(from, to int) float64 {
	return snapshots.Middle(t.Points[from:to])
}

func (t trackPlot) change(c draw.Canvas, at vg.Length, ratio float64) {
	col, word := green, fmt.Sprintf("%.2f× faster", ratio)
	if ratio < 1 {
		col, word = red, fmt.Sprintf("%.2f× slower", 1/ratio)
	}
	line(c, col, 1, []vg.Length{4, 3}, vg.Point{X: at, Y: c.Min.Y}, vg.Point{X: at, Y: c.Max.Y})
	s := style(10, col)
	pos := vg.Point{X: at + 4, Y: c.Max.Y - 7}
	if at+4+s.Width(word) > c.Max.X {
		s.XAlign, pos.X = text.XRight, at-4
	}
	c.FillText(s, pos, word)
}
