package html

import (
	"fmt"
	"io"
	"strings"

	"cg/gate"
	"cg/report/compare"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/verdict"
	"cg/statistics"
)

// writeGate writes the page of a check of a change.
func writeGate(w io.Writer, g *verdict.Check, _ format.Options) error {
	s := sheet{title: "Energy check of " + g.CommandLine(), version: g.Meta.CgVersion, lead: g.Sentence(),
		warnings: g.Warnings, facts: [][2]string{{"metric", g.Metric + " by " + g.Counter}}}
	if !g.Alone() {
		s.facts = append(s.facts, [2]string{"base", g.BaseTitle()}, [2]string{"head", g.HeadTitle()})
	}
	for _, r := range g.Rows() {
		if !r.Judged { // what is judged has a table
			s.facts = append(s.facts, [2]string{strings.ToLower(r.Name), fmt.Sprintf(
				"%s in base, %s in head, %s; not what is judged", r.Base, r.Head, g.Backend.Kind)})
		}
	}
	s.facts = append(s.facts, [2]string{"measured", fmt.Sprintf("%d pairs of at most %d", g.Pairs, g.MaxPairs)},
		[2]string{"alpha, seed", fmt.Sprintf("%g, %s", g.Alpha, g.Seed)})
	rows := table{Columns: []string{"", "base", "head", "change", "interval", "could have found", "threshold",
		"verdict", ""}}
	add := func(title string, c gate.Comparison) {
		rows.Rows = append(rows.Rows, []string{title, g.Value(c.Base), g.Value(c.Head), g.Change(c), g.Interval(c),
			g.Detectable(c), g.Threshold(c), string(c.Verdict), c.Note})
		s.changes = append(s.changes, change{name: title, at: c.Change, lo: c.Lo, hi: c.Hi, threshold: c.Threshold,
			color: map[statistics.Verdict]string{statistics.Regression: worse, statistics.Pass: better}[c.Verdict]})
	}
	add(g.Whole(), g.Program)
	for _, f := range g.Functions {
		add(f.Name, f)
	}
	for i := range s.changes {
		if s.changes[i].color == "" {
			s.changes[i].color = unsure
		}
	}
	budgets := table{Title: "Budgets", Columns: []string{"of", "allowed", "used", ""}}
	for _, b := range g.Budgets {
		outcome := "kept"
		if b.Exceeded == nil {
			outcome = "not known"
		} else if *b.Exceeded {
			outcome = "exceeded"
		}
		budgets.Rows = append(budgets.Rows, []string{verdict.Owner(b.Name), figures.Joules(b.BudgetJ), g.BudgetText(b),
			outcome})
	}
	s.tables = []table{rows, budgets}
	return s.write(w)
}

// writeComparison writes the page of a comparison. A change that is none is grey.
func writeComparison(w io.Writer, c *compare.Result, o format.Options) error {
	mark := c.Mark()
	s := sheet{title: c.Heading(), version: c.Comparison.CgVersion,
		lead: "Energy of the program: " + c.Totals[0].InWords(), facts: [][2]string{{"command", c.Head.Command}}, notes: c.Notes}
	if mark != "" {
		s.facts = append(s.facts, [2]string{"energies", "estimated, not measured"})
	}
	for _, d := range c.Different {
		s.facts = append(s.facts, [2]string{"different " + d.What, d.Sides() + "; what changed may be that"})
	}
	tint := func(v compare.Verdict) string {
		switch v {
		case compare.Higher:
			return worse
		case compare.Lower:
			return better
		}
		return unsure
	}
	totals := table{Columns: []string{"", c.Base.Name, c.Head.Name, "change", "interval", "verdict"}}
	for _, t := range c.Totals {
		totals.Rows = append(totals.Rows, []string{t.Name, figures.Value(t.Base.Value, t.Unit, mark),
			figures.Value(t.Head.Value, t.Unit, mark), t.Signed(), t.Interval(), t.InWords()})
		s.changes = append(s.changes, change{name: t.Name, at: t.Change, lo: t.Lo, hi: t.Hi, color: tint(t.Verdict)})
	}
	n := min(o.AtMost(len(c.Functions)), mostRows)
	functions := table{Title: "Functions, energy of their own", More: len(c.Functions) - n,
		Columns: []string{"", "base", "head", "change", "interval", "calls", "verdict"}}
	for _, f := range c.Functions[:n] {
		name := f.Name
		if f.Was != "" {
			name += ", was " + f.Was
		}
		functions.Rows = append(functions.Rows, []string{name, figures.Value(f.Base.Value, f.Unit, mark),
			figures.Value(f.Head.Value, f.Unit, mark), f.Signed(), f.Interval(),
			figures.Calls(f.BaseCalls, f.HeadCalls), f.InWords()})
		s.changes = append(s.changes, change{name: f.Name, at: f.Change.Change, lo: f.Lo, hi: f.Hi,
			color: tint(f.Verdict)})
	}
	s.tables = append([]table{totals, functions}, comparedPlaces(c, o)...)
	for _, only := range []struct {
		title string
		all   []compare.OneSided
	}{{"Only in base", c.OnlyInBase}, {"Only in head", c.OnlyInHead}} {
		n := min(o.AtMost(len(only.all)), mostRows)
		t := table{Title: only.title, Columns: []string{"", "self", "calls"}, More: len(only.all) - n}
		for _, f := range only.all[:n] {
			t.Rows = append(t.Rows, []string{f.Name, figures.Value(f.EnergyJ, "J", mark),
				figures.Calls(f.Calls, f.Calls)})
		}
		s.tables = append(s.tables, t)
	}
	return s.write(w)
}

// comparedPlaces are the tables of the lines or blocks of functions that both sides have.
func comparedPlaces(c *compare.Result, o format.Options) []table {
	all, mark := c.DearestPlaces(), c.Mark()
	what := strings.ToUpper(c.PlaceWord()[:1]) + c.PlaceWord()[1:] + "s"
	n := min(o.AtMost(len(all)), mostRows)
	lines := table{Title: what + ", energy of their own", More: len(all) - n,
		Columns: []string{"", "base", "head", "change", "interval", "count", "verdict"}}
	for _, l := range all[:n] {
		lines.Rows = append(lines.Rows, []string{l.Where(), figures.Value(l.Base.Value, l.Unit, mark),
			figures.Value(l.Head.Value, l.Unit, mark), l.Signed(), l.Interval(),
			figures.Calls(l.BaseCount, l.HeadCount), l.InWords()})
	}
	tables := []table{lines}
	base, head := c.OneSidedPlaces()
	for _, only := range []struct {
		title string
		all   []compare.OneSidedIn
	}{{what + " that only base came to", base}, {what + " that only head came to", head}} {
		n := min(o.AtMost(len(only.all)), mostRows)
		t := table{Title: only.title, Columns: []string{"", "self", "count"}, More: len(only.all) - n}
		for _, l := range only.all[:n] {
			t.Rows = append(t.Rows, []string{l.Where(), figures.Value(l.EnergyJ, "J", mark),
				figures.Calls(l.Count, l.Count)})
		}
		tables = append(tables, t)
	}
	return tables
}
