package text

import (
	"io"

	"cg/report/cluster"
	"cg/report/format"
	"cg/report/trend"
)

// writeTrend lays a trend over commits out for people.
func writeTrend(w io.Writer, t *trend.Trend, o format.Options) error {
	p := newPrinter(o.Terminal)
	for i := range t.Series {
		s := &t.Series[i]
		if i > 0 {
			p.line("")
		}
		p.line("%s  %s", p.paint(bold, "Trend"), p.cut(s.Title(), p.Width-7))
		for _, fact := range append([][2]string{{"result", s.Sentence()}}, s.Facts()...) {
			p.line("  %s  %s", pad(fact[0], 8), p.cut(fact[1], p.Width-12))
		}
		most := 15
		if o.Verbose {
			most = 0
		}
		for _, table := range s.Tables(most) {
			p.line("")
			p.line("%s", p.paint(bold, table.Title))
			p.columns(cluster.Table(table))
		}
	}
	return p.print(w)
}
