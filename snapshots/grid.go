package snapshots

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// textWidth is what running text is wrapped to; tables stay near it.
const textWidth = 110

// grid is a table on its way to paper.
type grid struct {
	header []string
	rows   [][]string
	right  []int       // columns of numbers
	widest map[int]int // columns that are wrapped
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// text writes the table for a terminal: one line under the header, no borders.
func (g *grid) text(w io.Writer) error { return g.render(w, nil) }

// markdown writes the table for Markdown; cells must be escaped already.
func (g *grid) markdown(w io.Writer) error { return g.render(w, renderer.NewMarkdown()) }

func (g *grid) render(w io.Writer, r tw.Renderer) error {
	var out bytes.Buffer
	options := []tablewriter.Option{
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAlignment(tw.AlignLeft), tablewriter.WithRowAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone), tablewriter.WithRowAutoWrap(tw.WrapNone),
	}
	if r != nil {
		options = append(options, tablewriter.WithRenderer(r))
	} else {
		options = append(options, tablewriter.WithRowAutoWrap(tw.WrapNormal), tablewriter.WithRendition(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.SeparatorsNone,
				Lines:      tw.Lines{ShowTop: tw.Off, ShowBottom: tw.Off, ShowHeaderLine: tw.On, ShowFooterLine: tw.Off},
			},
		}))
	}
	t := tablewriter.NewTable(&out, options...)
	t.Configure(func(c *tablewriter.Config) {
		align := make([]tw.Align, len(g.header))
		for i := range align {
			align[i] = tw.AlignLeft
		}
		for _, i := range g.right {
			align[i] = tw.AlignRight
		}
		c.Row.Alignment.PerColumn, c.Header.Alignment.PerColumn = align, align
		if r != nil {
			return
		}
		gap := tw.Padding{Left: "", Right: "  ", Overwrite: true}
		c.Row.Padding.Global, c.Header.Padding.Global = gap, gap
		c.Row.ColMaxWidths.PerColumn = tw.NewMapper[int, int]()
		for i, width := range g.widest {
			c.Row.ColMaxWidths.PerColumn.Set(i, width)
		}
	})
	t.Header(g.header)
	if err := t.Bulk(g.rows); err != nil {
		return err
	}
	if err := t.Render(); err != nil {
		return err
	}
	return writeTrimmed(w, out.String())
}

// writeTrimmed drops spaces at the ends of lines.
func writeTrimmed(w io.Writer, s string) error {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimRight(line, " \n"))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// indent wraps every line of a text and sets it in by a prefix. Lines that are
// indented already, as diagnoses are, are left whole.
func indent(text, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			b.WriteString(strings.TrimRight(prefix+line, " ") + "\n")
			continue
		}
		width := 0
		b.WriteString(prefix)
		for i, word := range strings.Fields(line) {
			n := utf8.RuneCountInString(word)
			switch {
			case i == 0:
			case width+1+n > textWidth-len(prefix):
				b.WriteString("\n" + prefix)
				width = 0
			default:
				b.WriteByte(' ')
				width++
			}
			b.WriteString(word)
			width += n
		}
		b.WriteByte('\n')
	}
	return b.String()
}
