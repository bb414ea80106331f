package markdown

import (
	"io"

	"cg/report/format"
	"cg/report/trend"
)

// writeTrend writes a trend over commits for a summary.
func writeTrend(w io.Writer, t *trend.Trend, o format.Options) error {
	m := &page{}
	for i := range t.Series {
		s := &t.Series[i]
		m.line("### Trend of %s\n", name(s.Title()))
		m.line("%s\n", escape.Replace(s.Sentence()))
		for _, fact := range s.Facts() {
			m.line("- %s: %s", fact[0], escape.Replace(fact[1]))
		}
		for _, table := range s.Tables(o.Rows(1 << 30)) {
			m.line("\n**%s**\n", table.Title)
			m.head(table.Columns...)
			for _, row := range table.Rows {
				cells := make([]string, len(row))
				for k, c := range row {
					cells[k] = escape.Replace(c)
				}
				m.row(cells...)
			}
			if table.More > 0 {
				m.line("\nand %d earlier", table.More)
			}
		}
		m.line("")
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}
