package markdown

import (
	"io"
	"strconv"

	"cg/report/bisection"
	"cg/report/format"
)

// writeBisection writes a search for the first commit with a regression.
func writeBisection(w io.Writer, r *bisection.Result, _ format.Options) error {
	m := &page{}
	m.line("### Search for the first commit at which %s costs more\n", name(r.Line()))
	m.line("%s\n", escape.Replace(r.Sentence()))
	for _, commit := range r.Names() {
		m.line("- %s", escape.Replace(commit))
	}
	m.line("")
	m.head("commit", "pairs", "against good", "interval", "taken as")
	for _, t := range r.Trials {
		change, interval := bisection.Change(t)
		m.row(escape.Replace(bisection.Name(t)), strconv.Itoa(t.Pairs), change, interval, bisection.Mark(t))
	}
	m.line("")
	for _, fact := range r.Facts() {
		m.line("- %s: %s", fact[0], escape.Replace(fact[1]))
	}
	for _, line := range r.Skipped() {
		m.line("- skipped: %s", escape.Replace(line))
	}
	for _, w := range r.Warnings {
		m.line("- %s: %s", escape.Replace(w.Slug), escape.Replace(w.Message))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}
