package text

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"cg/report/compare"
	"cg/report/figures"
	"cg/report/format"
	"cg/shown"
)

// writeComparison lays a comparison out for people, with the top functions.
func writeComparison(w io.Writer, c *compare.Result, o format.Options) error {
	o.Verbose = true // the rows are chosen here
	p, mark := newPrinter(o.Terminal), c.Mark()
	p.line("%s  %s", p.paint(bold, "Compared"), p.cut(c.Heading(), p.Width-10))
	if c.Base.Kind == c.Head.Kind {
		p.line("Energies  %s", p.kind(c.Base.Kind))
	} else {
		p.line("Energies  %s → %s", p.kind(c.Base.Kind), p.kind(c.Head.Kind))
	}
	p.line("Program   %s", p.headlineOf(c.Totals[0], mark))
	columns := []column[compare.Change]{
		{"base", 0, func(c compare.Change) string { return figures.Value(c.Base.Value, c.Unit, mark) }},
		{"head", 0, func(c compare.Change) string { return figures.Value(c.Head.Value, c.Unit, mark) }},
		{"change", 0, func(c compare.Change) string { return c.Signed() }},
		{"interval", 72, compare.Change.Interval},
		{"verdict", 0, func(c compare.Change) string { return string(c.Verdict) + weakMark(c) }},
	}
	table(p, "total", c.Totals, func(c compare.Change) string { return c.Name }, columns)
	n := o.AtMost(len(c.Functions))
	table(p, "self energy of function", c.Functions[:n], compare.FunctionChange.Title, []column[compare.FunctionChange]{
		{"base", 60, func(f compare.FunctionChange) string { return figures.Value(f.Base.Value, f.Unit, mark) }},
		{"head", 60, func(f compare.FunctionChange) string { return figures.Value(f.Head.Value, f.Unit, mark) }},
		{"change", 0, func(f compare.FunctionChange) string { return f.Signed() }},
		{"interval", 88, func(f compare.FunctionChange) string { return f.Interval() }},
		{"calls", 104, func(f compare.FunctionChange) string { return figures.Calls(f.BaseCalls, f.HeadCalls) }},
		{"found by", 120, func(f compare.FunctionChange) string { return f.MatchedBy }},
		{"verdict", 0, func(f compare.FunctionChange) string { return string(f.Verdict) + weakMark(f.Change) }},
	})
	p.further(len(c.Functions) - n)
	longer := c.Longer()
	n = o.AtMost(len(longer))
	table(p, "95th percentile of calls", longer[:n], func(c compare.Change) string { return c.Name }, columns)
	p.further(len(longer) - n)
	p.comparedPlaces(c, o, mark)
	for _, only := range []struct {
		head string
		all  []compare.OneSided
	}{{"only in BASE", c.OnlyInBase}, {"only in HEAD", c.OnlyInHead}} {
		n := o.AtMost(len(only.all))
		table(p, only.head, only.all[:n], func(o compare.OneSided) string { return o.Name }, []column[compare.OneSided]{
			{"self", 0, func(o compare.OneSided) string { return figures.Value(o.EnergyJ, "J", mark) }},
			{"calls", 60, func(o compare.OneSided) string { return figures.Calls(o.Calls, o.Calls) }},
			{"where", 88, func(o compare.OneSided) string { return fmt.Sprintf("%s:%d", filepath.Base(o.File), o.Line) }},
		})
		p.further(len(only.all) - n)
	}
	p.line("")
	for _, d := range c.Different {
		p.note(yellow, "different", fmt.Sprintf("%s: %s; what changed may be that", d.What, d.Sides()))
	}
	for _, t := range c.Totals[1:] { // the first has said it above
		if t.Verdict == compare.NotComparable && t.Why != compare.ZeroInBoth {
			p.note(yellow, "not comparable", t.Name+": "+t.Why)
		}
	}
	for _, note := range c.Notes {
		p.note(dim, "note", note)
	}
	return p.print(w)
}

// comparedPlaces shows the lines or blocks of functions that both sides have.
func (p *printer) comparedPlaces(c *compare.Result, o format.Options, mark string) {
	all, what := c.DearestPlaces(), c.PlaceWord()
	n := o.AtMost(len(all))
	table(p, "self energy of "+what, all[:n], compare.PlaceIn.Where, []column[compare.PlaceIn]{
		{"base", 60, func(l compare.PlaceIn) string { return figures.Value(l.Base.Value, l.Unit, mark) }},
		{"head", 60, func(l compare.PlaceIn) string { return figures.Value(l.Head.Value, l.Unit, mark) }},
		{"change", 0, func(l compare.PlaceIn) string { return l.Signed() }},
		{"interval", 88, func(l compare.PlaceIn) string { return l.Interval() }},
		{"count", 104, func(l compare.PlaceIn) string { return figures.Calls(l.BaseCount, l.HeadCount) }},
		{"found by", 120, func(l compare.PlaceIn) string { return l.MatchedBy }},
		{"verdict", 0, func(l compare.PlaceIn) string { return string(l.Verdict) + weakMark(l.Change) }},
	})
	p.further(len(all) - n)
	base, head := c.OneSidedPlaces()
	for _, only := range []struct {
		head string
		all  []compare.OneSidedIn
	}{{what + " that only BASE came to", base}, {what + " that only HEAD came to", head}} {
		n := o.AtMost(len(only.all))
		table(p, only.head, only.all[:n], compare.OneSidedIn.Where, []column[compare.OneSidedIn]{
			{"self", 0, func(l compare.OneSidedIn) string { return figures.Value(l.EnergyJ, "J", mark) }},
			{"count", 60, func(l compare.OneSidedIn) string { return figures.Calls(l.Count, l.Count) }},
		})
		p.further(len(only.all) - n)
	}
}

func (p *printer) headlineOf(c compare.Change, mark string) shown.Safe {
	style := map[compare.Verdict]string{compare.Higher: yellow, compare.NotComparable: yellow,
		compare.Lower: cyan}[c.Verdict]
	out := figures.Value(c.Base.Value, c.Unit, mark) + " → " + figures.Value(c.Head.Value, c.Unit, mark)
	for _, s := range []string{c.Signed(), c.Interval()} {
		if s != "" {
			out += "  " + s
		}
	}
	return shown.Safe(shown.Line(out)) + "  " + p.paint(style, c.InWords())
}

func (p *printer) further(n int) {
	if n > 0 {
		p.line("%s", p.paint(dim, fmt.Sprintf("and %d more (--top 0, or --json)", n)))
	}
}

// weakMark is the question mark of a verdict that is weak.
func weakMark(c compare.Change) string {
	if strings.HasSuffix(c.InWords(), "?") {
		return "?"
	}
	return ""
}
