package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"path"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"assay/snapshots"
)

// Ratio is one row: a paired ratio with its interval and the noise floor around 1.
type Ratio struct {
	Label            string
	Value, Low, High float64
	Floor            float64
	Word             string // verdict, where there is one
}

// Of gives the rows of a benchmark with a peer.
func Of(b *snapshots.Bench) (rows []Ratio) {
	for _, r := range b.Ratios {
		rows = append(rows, Ratio{Label: path.Base(b.Model.Path) + " " + r.Phase, Value: r.Speedup, Low: r.Low, High: r.High})
	}
	return rows
}

// OfExperiments gives the rows of experiments that have figures.
func OfExperiments(all []snapshots.Experiment) (rows []Ratio) {
	for _, x := range all {
		if x.Ratio > 0 {
			rows = append(rows, Ratio{Label: x.Name + " · " + x.Target, Value: x.Ratio, Low: x.Low, High: x.High, Floor: x.Floor, Word: x.State})
		}
	}
	return rows
}

// colour tells on which side of the noise floor an interval lies.
func (r *Ratio) colour() color.Color {
	switch {
	case r.Low > 1+r.Floor:
		return green
	case r.High < 1-r.Floor:
		return red
	case r.Low >= 1-r.Floor && r.High <= 1+r.Floor:
		return blue
	}
	return amber
}

// Ratios draws paired ratios with their intervals, one below the other, on a
// logarithmic axis: twice as fast is as far from 1 as twice as slow.
func Ratios(w io.Writer, title, x string, rows []Ratio, notes ...string) error {
	p := newPlot(title, x, "")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{"×"}
	low, high := 1.0, 1.0
	for _, r := range rows {
		low, high = min(low, r.Low, 1-r.Floor), max(high, r.High, 1+r.Floor)
	}
	margin := math.Pow(high/low, 0.06) * 1.01
	p.X.Min, p.X.Max = low/margin, high*margin
	p.Y.Min, p.Y.Max = -float64(len(rows))+0.5, 0.5
	var names []plot.Tick
	for i := range rows {
		names = append(names, plot.Tick{Value: -float64(i), Label: rows[i].Label})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(names)
	p.Y.Tick.Length, p.Y.LineStyle.Width = 0, 0
	p.Add(ratioRows(rows))
	height := vg.Length(22*len(rows)) + 100 + 12*vg.Length(len(notes))
	return write(w, height, func(c draw.Canvas) {
		c = caption(c, notes...)
		var widest vg.Length
		for i := range rows {
			widest = max(widest, style(10, ink).Width(rows[i].said()))
		}
		left := draw.Crop(c, 0, -widest-12, 0, 0)
		p.Draw(left)
		area := p.DataCanvas(left)
		for i := range rows {
			c.FillText(style(10, rows[i].colour()), vg.Point{X: left.Max.X + 8, Y: area.Y(p.Y.Norm(-float64(i)))}, rows[i].said())
		}
	})
}

// said are the figures of a row.
func (r *Ratio) said() string {
	s := fmt.Sprintf("%.2f× [%.2f, %.2f]", r.Value, r.Low, r.High)
	if near := max(math.Abs(r.Low-1), math.Abs(r.High-1)); near < 0.1 {
		s = fmt.Sprintf("%.3f× [%.3f, %.3f]", r.Value, r.Low, r.High)
	}
	if r.Word != "" {
		s += " " + r.Word
	}
	return s
}

type ratioRows []Ratio

// Plot draws the floor of each row as a band, the interval as a line.
func (rows ratioRows) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, r := range rows {
		at := y(-float64(i))
		if r.Floor > 0 {
			fill(c, faint, x(1-r.Floor), at-9, x(1+r.Floor), at+9)
		}
		line(c, faint, 0.5, nil, vg.Point{X: c.Min.X, Y: at}, vg.Point{X: c.Max.X, Y: at})
	}
	line(c, ink, 1, []vg.Length{4, 3}, vg.Point{X: x(1), Y: c.Min.Y}, vg.Point{X: x(1), Y: c.Max.Y})
	for i, r := range rows {
		at := y(-float64(i))
		l, h := x(r.Low), x(r.High)
		line(c, r.colour(), 2, nil, vg.Point{X: l, Y: at}, vg.Point{X: h, Y: at})
		for _, end := range []vg.Length{l, h} {
			line(c, r.colour(), 1.5, nil, vg.Point{X: end, Y: at - 4}, vg.Point{X: end, Y: at + 4})
		}
		dot(c, r.colour(), false, vg.Point{X: x(r.Value), Y: at})
	}
}

// centred is a style whose text is centred on its point.
func centred(s text.Style) text.Style {
	s.XAlign = text.XCenter
	return s
}
