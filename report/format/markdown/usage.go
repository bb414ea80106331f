package markdown

import (
	"io"

	"cg/report/format"
	"cg/report/usage"
)

// writeUsage writes the tables of a summary of cg monitor.
func writeUsage(w io.Writer, d *usage.Document, o format.Options) error {
	m := &page{}
	m.line("### %s\n", escape.Replace(d.Title()))
	for _, fact := range d.Facts() {
		m.line("- %s: %s", fact[0], escape.Replace(fact[1]))
	}
	for _, t := range d.Tables(o.Rows(1 << 30)) {
		m.line("\n**%s**\n", t.Title)
		m.head(t.Columns...)
		for _, row := range t.Rows {
			cells := []string{name(row[0])}
			for _, c := range row[1:] {
				cells = append(cells, escape.Replace(c))
			}
			m.row(cells...)
		}
		if t.More > 0 {
			m.line("\nand %d more (--verbose)", t.More)
		}
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}
