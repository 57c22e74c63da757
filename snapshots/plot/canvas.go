package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// width of every picture: 800 px of a page.
const width vg.Length = 600

// Colours of middling lightness, which stand out on white and on black.
var (
	ink   = color.NRGBA{0x6e, 0x77, 0x81, 0xff} // text and axes
	faint = color.NRGBA{0x6e, 0x77, 0x81, 0x40} // grids and bands
	blue  = color.NRGBA{0x2f, 0x7f, 0xd6, 0xff}
	green = color.NRGBA{0x1f, 0x94, 0x52, 0xff}
	red   = color.NRGBA{0xd6, 0x45, 0x3d, 0xff}
	amber = color.NRGBA{0xb7, 0x79, 0x1f, 0xff}
)

// fonts has the one family that all text is set in.
var fonts = font.NewCache(liberation.Collection())

func style(size vg.Length, c color.Color) text.Style {
	return text.Style{Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, YAlign: text.YCenter, Handler: text.Plain{Fonts: fonts}}
}

// newPlot is an empty plot in the style of the house.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.TextHandler = text.Plain{Fonts: fonts}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle = style(13, ink)
	p.Title.TextStyle.XAlign, p.Title.TextStyle.YAlign = text.XCenter, text.YTop
	p.Title.Padding = 8
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		align, rotation := axis.Label.TextStyle, axis.Label.TextStyle.Rotation
		axis.Label.TextStyle = style(11, ink)
		axis.Label.TextStyle.Rotation, axis.Label.TextStyle.XAlign, axis.Label.TextStyle.YAlign = rotation, align.XAlign, align.YAlign
		align = axis.Tick.Label
		axis.Tick.Label = style(10, ink)
		axis.Tick.Label.XAlign, axis.Tick.Label.YAlign = align.XAlign, align.YAlign
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = ink, ink
		axis.LineStyle.Width, axis.Tick.LineStyle.Width = 0.75, 0.75
	}
	return p
}

// write draws on a canvas of a height and writes the SVG.
func write(w io.Writer, height vg.Length, paint func(c draw.Canvas)) error {
	svg := &canvas{Canvas: vgsvg.NewWith(vgsvg.UseWH(width, height))}
	paint(draw.New(svg))
	var b bytes.Buffer
	if _, err := svg.WriteTo(&b); err != nil {
		return err
	}
	// Whoever has not this family has one of the same widths, or is told the width.
	out := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	out = bytes.ReplaceAll(out, []byte("font-variant:none;"), nil)
	parts := bytes.SplitAfter(out, []byte("<text"))
	var sized bytes.Buffer
	for i, part := range parts {
		sized.Write(part)
		if i < len(svg.widths) && i < len(parts)-1 {
			fmt.Fprintf(&sized, ` textLength="%.2f" lengthAdjust="spacingAndGlyphs"`, svg.widths[i].Points())
		}
	}
	_, err := w.Write(sized.Bytes())
	return err
}

// canvas notes how wide every text is, in the order of the file.
type canvas struct {
	*vgsvg.Canvas
	widths []vg.Length
}

// FillString implements vg.Canvas.
func (c *canvas) FillString(f font.Face, at vg.Point, s string) {
	c.widths = append(c.widths, f.Width(s))
	c.Canvas.FillString(f, at, s)
}

// logTicks marks a logarithmic axis at 1, 2 and 5 of each decade, or finer where
// it is short.
type logTicks struct{ suffix string }

func (l logTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	steps := []float64{1, 2, 5}
	switch decades := math.Log10(high / low); {
	case decades > 4:
		steps = []float64{1}
	case decades < 0.18:
		steps = nil
		for m := 0.5; m < 10; m += 0.05 {
			steps = append(steps, m)
		}
	case decades < 0.7:
		steps = []float64{1, 1.2, 1.5, 2, 3, 4, 5, 6, 8}
	}
	for e := math.Floor(math.Log10(low)) - 1; e <= math.Ceil(math.Log10(high)); e++ {
		for _, s := range steps {
			v := s * math.Pow(10, e)
			if v >= low*(1-1e-9) && v <= high*(1+1e-9) && (len(ticks) == 0 || v > ticks[len(ticks)-1].Value*(1+1e-9)) {
				ticks = append(ticks, plot.Tick{Value: v, Label: short(v) + l.suffix})
			}
		}
	}
	return ticks
}

// short is a number without an exponent where that is short.
func short(v float64) string {
	if v >= 1000 && v < 1e6 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// linearTicks marks an axis at four to nine round numbers.
type linearTicks struct{}

func (linearTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, m := range []float64{2, 2.5, 2} { // 2, 5, 10 times the power of ten
		if (high-low)/step <= 8 {
			break
		}
		step *= m
	}
	for i := math.Ceil(low / step); i*step <= high; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 5, 64)})
	}
	return ticks
}

// line draws between points of a canvas.
func line(c draw.Canvas, col color.Color, w vg.Length, dashes []vg.Length, points ...vg.Point) {
	c.StrokeLines(draw.LineStyle{Color: col, Width: w, Dashes: dashes}, points)
}

func fill(c draw.Canvas, col color.Color, x0, y0, x1, y1 vg.Length) {
	c.FillPolygon(col, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}

// dot draws a point, hollow where it counts for less.
func dot(c draw.Canvas, col color.Color, hollow bool, at vg.Point) {
	s := draw.GlyphStyle{Color: col, Radius: 3.5, Shape: draw.CircleGlyph{}}
	if hollow {
		s.Shape = draw.RingGlyph{}
	}
	c.DrawGlyph(s, at)
}

// wrap breaks a text into lines of a width.
func wrap(s text.Style, t string, w vg.Length) (lines []string) {
	current := ""
	for _, word := range bytes.Fields([]byte(t)) {
		next := string(word)
		if current != "" {
			next = current + " " + next
		}
		if current != "" && s.Width(next) > w {
			lines = append(lines, current)
			next = string(word)
		}
		current = next
	}
	if current != "" {
		lines = append(lines, current)
	}
	return lines
}

// caption sets small lines at the foot of the canvas and gives what is left above.
func caption(c draw.Canvas, sentences ...string) draw.Canvas {
	s := style(9, ink)
	var lines []string
	for _, t := range sentences {
		lines = append(lines, wrap(s, t, c.Max.X-c.Min.X-16)...)
	}
	const step = 12
	for i, t := range lines {
		c.FillText(s, vg.Point{X: c.Min.X + 8, Y: c.Min.Y + 8 + step*vg.Length(len(lines)-1-i)}, t)
	}
	return draw.Crop(c, 8, -10, step*vg.Length(len(lines))+8, -6)
}
