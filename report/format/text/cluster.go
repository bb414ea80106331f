package text

import (
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"cg/report/cluster"
	"cg/report/format"
	"cg/shown"
)

// writeCluster lays a run of many ranks out for people.
func writeCluster(w io.Writer, d *cluster.Run, o format.Options) error {
	p := newPrinter(o.Terminal)
	p.line("%s", p.paint(bold, d.Title()))
	for _, fact := range d.Facts() {
		p.line("  %s  %s", pad(fact[0], 8), fact[1])
	}
	most := 15
	if o.Verbose {
		most = 0
	}
	for _, t := range d.Tables(most) {
		p.line("")
		p.line("%s", p.paint(bold, t.Title))
		p.columns(t)
	}
	p.line("")
	for _, warning := range d.Warnings {
		p.note(yellow, warning.Slug, warning.Message)
	}
	return p.print(w)
}

// columns lays out a table: texts first, figures to the right.
func (p *printer) columns(t cluster.Table) {
	widths := make([]int, len(t.Columns))
	rows := append([][]string{t.Columns}, t.Rows...)
	for i, row := range rows {
		rows[i] = make([]string, len(row))
		for k, cell := range row {
			rows[i][k] = shorten(shown.Line(cell), max(24, p.Width-24*min(2, len(row)-1)))
			widths[k] = max(widths[k], runewidth.StringWidth(rows[i][k]))
		}
	}
	for i, row := range rows {
		var line strings.Builder
		for k, cell := range row {
			if k == 0 || len(row) == 2 {
				cell = pad(cell, widths[k])
			} else {
				cell = left(cell, widths[k])
			}
			line.WriteString("  " + cell)
		}
		style := ""
		if i == 0 {
			style = dim
		}
		if text := strings.TrimRight(line.String(), " "); text != "" {
			p.line("%s", p.paint(style, text))
		}
	}
	if t.More > 0 {
		p.line("  and %d more (--verbose)", t.More)
	}
}
