package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"path"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"assay/snapshots"
)

// spot is one phase of one engine under the roof.
type spot struct {
	intensity, rate float64 // multiply-adds per byte of weights, 1e9 multiply-adds/s
	said            string
	colour          color.Color
	hollow          bool // nothing of the machine is its ceiling
}

// Roofline draws the phases that evaluate tokens as points: how many multiply-adds
// each byte of weights serves, and how many are done in a second. The roof is what
// the machine can do: reading weights on the left, multiplying int8 on the right.
//
// Source of the model: S. Williams, A. Waterman and D. Patterson, Roofline: An
// Insightful Visual Performance Model, Communications of the ACM 52 (2009).
func Roofline(w io.Writer, benches []*snapshots.Bench) error {
	var m snapshots.Machine
	var spots []spot
	for _, b := range benches {
		if b.Machine.ReadGBs >= m.ReadGBs {
			read := b.Machine
			read.Int8GMACs = max(read.Int8GMACs, m.Int8GMACs)
			m = read
		}
		m.Int8GMACs = max(m.Int8GMACs, b.Machine.Int8GMACs)
		spots = append(spots, spotsOf(b)...)
	}
	if len(spots) == 0 || m.ReadGBs <= 0 || m.Int8GMACs <= 0 {
		return fmt.Errorf("plot: no phase with ceilings to draw a roofline of")
	}
	p := newPlot("Phases under the ceilings of the machine", "multiply-adds per byte of weights", "GMAC/s")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = logTicks{}, logTicks{}
	frameSpots(p, spots, m)
	p.Add(roof{m, spots})
	k := newKey(spots)
	return write(w, 330+k.height(), func(c draw.Canvas) {
		c = caption(c, m.String(),
			"A prompt reads every weight at least once, a decoded token all of them. Hollow: no ceiling of the machine applies, since the weights fit into its cache or are not multiplied as int8.")
		k.draw(c)
		p.Draw(draw.Crop(c, 0, -10, k.height()+6, 0))
	})
}

// key tells below the picture what each letter is, in columns.
type key struct {
	spots         []spot
	columns, rows int
}

const keyRow = 14

func newKey(spots []spot) key {
	const margin = 30
	var widest vg.Length
	for _, s := range spots {
		widest = max(widest, margin+style(9, ink).Width(s.said))
	}
	k := key{spots: spots, columns: max(1, min(3, int(width/widest)))}
	k.rows = (len(spots) + k.columns - 1) / k.columns
	return k
}

func (k key) height() vg.Length { return keyRow * vg.Length(k.rows) }

func (k key) draw(c draw.Canvas) {
	for i, s := range k.spots {
		at := vg.Point{
			X: c.Min.X + 12 + (c.Max.X-c.Min.X)/vg.Length(k.columns)*vg.Length(i/k.rows),
			Y: c.Min.Y + k.height() - keyRow*vg.Length(i%k.rows) - keyRow/2,
		}
		dot(c, s.colour, s.hollow, at)
		c.FillText(centred(style(9, ink)), vg.Point{X: at.X + 12, Y: at.Y}, letter(i))
		c.FillText(style(9, ink), vg.Point{X: at.X + 21, Y: at.Y}, s.said)
	}
}

// letter names a point: a to z, then a2 and so on.
func letter(i int) string {
	s := string(rune('a' + i%26))
	if i >= 26 {
		s += fmt.Sprint(i/26 + 1)
	}
	return s
}

// spotsOf gives the phases of a benchmark that are not void.
func spotsOf(b *snapshots.Bench) (spots []spot) {
	if b.Model.WeightsPerTokenBytes <= 0 {
		return nil
	}
	perToken := float64(b.Model.MACsPerToken)
	for i, run := range b.Runs {
		for _, p := range run.Phases {
			if p.Void != "" || p.TokensPerSec <= 0 {
				continue
			}
			s := spot{intensity: perToken / float64(b.Model.WeightsPerTokenBytes), rate: perToken * p.TokensPerSec / 1e9, colour: blue, hollow: p.Ceiling == "none" || p.Ceiling == ""}
			if p.Phase == "prompt" {
				s.intensity *= float64(p.Tokens)
				s.colour = green
			}
			s.said = strings.TrimSuffix(path.Base(b.Model.Path), ".gguf") + " " + p.Phase
			if i > 0 {
				s.said, s.colour = s.said+" "+run.Engine, amber
			}
			if !s.hollow {
				s.said += fmt.Sprintf(": %.0f %% of %s", 100*p.OfCeiling, p.Ceiling)
			}
			spots = append(spots, s)
		}
	}
	return spots
}

// frameSpots chooses axes that hold the points, the ridge and some air.
func frameSpots(p *plot.Plot, spots []spot, m snapshots.Machine) {
	ridge := m.Int8GMACs / m.ReadGBs
	x0, x1, y0, y1 := ridge, ridge, m.Int8GMACs, m.Int8GMACs
	for _, s := range spots {
		x0, x1 = min(x0, s.intensity), max(x1, s.intensity)
		y0, y1 = min(y0, s.rate), max(y1, s.rate)
	}
	p.X.Min, p.X.Max = x0/2, x1*2.5
	p.Y.Min, p.Y.Max = min(y0, p.X.Min*m.ReadGBs)/1.8, y1*2
}

type roof struct {
	m     snapshots.Machine
	spots []spot
}

// Plot draws the two ceilings and the points below.
func (r roof) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	ridge := r.m.Int8GMACs / r.m.ReadGBs
	start := vg.Point{X: x(p.X.Min), Y: y(p.X.Min * r.m.ReadGBs)}
	corner, end := vg.Point{X: x(ridge), Y: y(r.m.Int8GMACs)}, vg.Point{X: x(p.X.Max), Y: y(r.m.Int8GMACs)}
	line(c, ink, 1.75, nil, start, corner, end)
	s := style(10, ink)
	s.XAlign, s.YAlign = text.XRight, text.YBottom
	c.FillText(s, vg.Point{X: end.X, Y: end.Y + 4}, fmt.Sprintf("%.0f GMAC/s of int8", r.m.Int8GMACs))
	s = style(10, ink)
	s.YAlign = text.YBottom
	s.Rotation = math.Atan2(float64(corner.Y-start.Y), float64(corner.X-start.X))
	label := fmt.Sprintf("memory read at %.1f GB/s", r.m.ReadGBs)
	along := vg.Length(math.Hypot(float64(corner.X-start.X), float64(corner.Y-start.Y)))
	if along < s.Width(label)+12 { // too short to write on
		s.Rotation, s.XAlign = 0, text.XLeft
		c.FillText(s, vg.Point{X: c.Min.X + 4, Y: c.Max.Y - 14}, label)
	} else {
		sin, cos := math.Sincos(s.Rotation)
		shift := (float64(along) - float64(s.Width(label))) / 2
		c.FillText(s, vg.Point{X: start.X + vg.Length(shift*cos-4*sin), Y: start.Y + vg.Length(shift*sin+4*cos)}, label)
	}
	r.points(c, x, y)
}

// points draws the points, and beside each its letter where there is room.
func (r roof) points(c draw.Canvas, x, y func(float64) vg.Length) {
	var taken []vg.Point
	for _, s := range r.spots {
		taken = append(taken, vg.Point{X: x(s.intensity), Y: y(s.rate)})
	}
	for i, s := range r.spots {
		at := taken[i]
		dot(c, s.colour, s.hollow, at)
		pos := place(at, taken)
		taken = append(taken, pos)
		c.FillText(centred(style(9, ink)), pos, letter(i))
	}
}

// place finds room for a letter near a point: on rings around it, the nearest
// first.
func place(at vg.Point, taken []vg.Point) vg.Point {
	best, most := at, vg.Length(-1)
	for _, radius := range []float64{9, 14, 20} {
		for k := range 12 {
			sin, cos := math.Sincos(float64(k) * math.Pi / 6)
			pos := vg.Point{X: at.X + vg.Length(radius*cos), Y: at.Y + vg.Length(radius*sin)}
			room := vg.Length(math.Inf(1))
			for _, t := range taken {
				room = min(room, vg.Length(math.Hypot(float64(pos.X-t.X), float64(pos.Y-t.Y))))
			}
			if room > most {
				best, most = pos, room
			}
		}
		if most >= 8.5 {
			break
		}
	}
	return best
}
