package text

import (
	"io"

	"cg/report"
	"cg/report/format"
)

// writeRuns lays runs out side by side.
func writeRuns(w io.Writer, runs report.Several, o format.Options) error {
	p := newPrinter(o.Terminal)
	columns := func() []column[report.Row] {
		var out []column[report.Row]
		for i, name := range runs.Names(o) {
			out = append(out, column[report.Row]{shorten(name, 24), 0, func(r report.Row) string { return r.Cells[i] }})
		}
		return append(out, column[report.Row]{"change", 0, func(r report.Row) string { return r.Change }})
	}
	table(p, "run", runs.Totals(), func(r report.Row) string { return r.Name }, columns())
	table(p, "self energy of function", runs.Functions(), func(r report.Row) string { return r.Name }, columns())
	if different := runs.Different(); len(different) > 0 {
		p.line("")
		for _, d := range different {
			p.note(yellow, "different", d)
		}
	}
	return p.print(w)
}
