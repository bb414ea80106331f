package markdown

import (
	"io"

	"cg/report/cluster"
	"cg/report/format"
)

// writeCluster writes the tables of a run of many ranks.
func writeCluster(w io.Writer, d *cluster.Run, o format.Options) error {
	m := &page{}
	m.line("### Energy of %s\n", name(d.Title()))
	for _, fact := range d.Facts() {
		m.line("- %s: %s", fact[0], escape.Replace(fact[1]))
	}
	for _, t := range d.Tables(o.Rows(1 << 30)) {
		m.line("\n**%s**\n", t.Title)
		m.head(t.Columns...)
		for _, row := range t.Rows {
			cells := make([]string, len(row))
			for i, c := range row {
				cells[i] = escape.Replace(c)
			}
			m.row(cells...)
		}
		if t.More > 0 {
			m.line("\nand %d more (--verbose)", t.More)
		}
	}
	m.line("")
	for _, warning := range d.Warnings {
		m.line("- %s: %s", escape.Replace(warning.Slug), escape.Replace(warning.Message))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}
