package report

import (
	"io"

	"cg/report/format"
)

// textRuns lays runs out side by side.
func textRuns(w io.Writer, runs Several, o format.Options) error {
	p := newPrinter(o.Terminal)
	columns := func() []column[Row] {
		var out []column[Row]
		for i, name := range runs.Names(o) {
			out = append(out, column[Row]{shorten(name, 24), 0, func(r Row) string { return r.Cells[i] }})
		}
		return append(out, column[Row]{"change", 0, func(r Row) string { return r.Change }})
	}
	table(p, "run", runs.Totals(), func(r Row) string { return r.Name }, columns())
	table(p, "self energy of function", runs.Functions(), func(r Row) string { return r.Name }, columns())
	if different := runs.Different(); len(different) > 0 {
		p.line("")
		for _, d := range different {
			p.note(yellow, "different", d)
		}
	}
	return p.print(w)
}
