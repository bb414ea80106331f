package html

import (
	"io"
	"strconv"

	"cg/report/bisection"
	"cg/report/format"
)

// writeBisection writes the page of a search for the first commit with a regression: what was found, and each commit
// that was checked against good, in the order of the search.
func writeBisection(w io.Writer, r *bisection.Result, _ format.Options) error {
	s := sheet{title: "Search for the first commit at which " + r.Line() + " costs more", version: r.Meta.CgVersion,
		lead: r.Sentence(), facts: r.Facts(), warnings: r.Warnings}
	candidates := table{Title: "Commits that can be the first", Columns: []string{"commit"}}
	for _, name := range r.Names() {
		candidates.Rows = append(candidates.Rows, []string{name})
	}
	trials := table{Title: "Commits that were checked",
		Columns: []string{"commit", "pairs", "against good", "interval", "taken as"}}
	colors := map[string]string{"bad": worse, "good": better, "skip": unsure}
	for _, t := range r.Trials {
		against, interval := bisection.Change(t)
		mark := bisection.Mark(t)
		trials.Rows = append(trials.Rows, []string{bisection.Name(t), strconv.Itoa(t.Pairs), against, interval, mark})
		s.changes = append(s.changes, change{name: bisection.Name(t), at: t.Change, lo: t.Lo, hi: t.Hi,
			threshold: r.Bisection.Threshold, color: colors[mark]})
	}
	for _, line := range r.Skipped() {
		s.notes = append(s.notes, "skipped: "+line)
	}
	if len(candidates.Rows) > 0 {
		s.tables = append(s.tables, candidates)
	}
	s.tables = append(s.tables, trials)
	return s.write(w)
}
