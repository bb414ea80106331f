package report

import (
	"io"

	"cg/report/format"
)

// textRuns lays runs out side by side.
func textRuns(w io.Writer, runs Several, o format.Options) error {
	p := newPrinter(o.Terminal)
	columns := func() []column[row] {
		var out []column[row]
		for i, name := range names(o, runs) {
			out = append(out, column[row]{shorten(name, 24), 0, func(r row) string { return r.cells[i] }})
		}
		return append(out, column[row]{"change", 0, func(r row) string { return r.change }})
	}
	table(p, "run", besideTotals(runs), func(r row) string { return r.name }, columns())
	table(p, "self energy of function", besideFunctions(runs), func(r row) string { return r.name }, columns())
	if different := comparable(runs); len(different) > 0 {
		p.line("")
		for _, d := range different {
			p.note(yellow, "different", d)
		}
	}
	return p.print(w)
}
