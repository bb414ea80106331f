package text

import (
	"io"
	"strconv"

	"cg/gate"
	"cg/report/bisection"
	"cg/report/format"
)

// writeBisection lays a search for the first commit with a regression out for people.
func writeBisection(w io.Writer, r *bisection.Result, o format.Options) error {
	p := newPrinter(o.Terminal)
	p.line("%s  %s", p.paint(bold, "Bisect"), p.cut(r.Line(), p.Width-8))
	p.note(bold, "result", r.Sentence())
	for _, name := range r.Names() {
		p.line("  %s", p.cut(name, p.Width-2))
	}
	for _, fact := range r.Facts() {
		p.note(dim, fact[0], fact[1])
	}
	verbose := p.Verbose
	p.Verbose = true // all rows
	table(p, "commit", r.Trials, bisection.Name, []column[gate.Trial]{
		{"pairs", 0, func(t gate.Trial) string { return strconv.Itoa(t.Pairs) }},
		{"vs good", 0, func(t gate.Trial) string { change, _ := bisection.Change(t); return change }},
		{"interval", 72, func(t gate.Trial) string { _, interval := bisection.Change(t); return interval }},
		{"", 0, bisection.Mark},
	})
	p.Verbose = verbose
	p.line("")
	for _, line := range r.Skipped() {
		p.note(dim, "skipped", line)
	}
	for _, warning := range r.Warnings {
		p.note(yellow, warning.Slug, warning.Message)
	}
	return p.print(w)
}
