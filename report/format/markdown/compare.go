package markdown

import (
	"io"

	"cg/report/compare"
	"cg/report/figures"
	"cg/report/format"
)

// writeComparison writes a comparison for a comment on a change.
func writeComparison(w io.Writer, c *compare.Result, o format.Options) error {
	m, mark := &page{}, c.Mark()
	headline := c.Totals[0]
	m.line("### Energy of the program: %s\n", escape.Replace(headline.InWords()))
	m.line("%s, %s → %s %s %s\n", name(c.Head.Command), figures.Value(headline.Base.Value, "J", mark),
		figures.Value(headline.Head.Value, "J", mark), headline.Signed(), headline.Interval())
	if mark != "" {
		m.line("Energies are **estimated, not measured**.\n")
	}
	for _, d := range c.Different {
		m.line("- **different %s**: %s; what changed may be that", escape.Replace(d.What), escape.Replace(d.Sides()))
	}
	if len(c.Different) > 0 {
		m.line("")
	}
	m.head("", escape.Replace(c.Base.Name), escape.Replace(c.Head.Name), "change", "interval", "verdict")
	for _, t := range c.Totals {
		m.row(escape.Replace(t.Name), figures.Value(t.Base.Value, t.Unit, mark),
			figures.Value(t.Head.Value, t.Unit, mark), t.Signed(), t.Interval(), escape.Replace(t.InWords()))
	}
	if n := o.AtMost(len(c.Functions)); n > 0 {
		m.line("")
		m.head("self energy of function", "base", "head", "change", "interval", "calls", "verdict")
		for _, f := range c.Functions[:n] {
			title := name(f.Name)
			if f.Was != "" {
				title += " was " + name(f.Was)
			}
			m.row(title, figures.Value(f.Base.Value, f.Unit, mark), figures.Value(f.Head.Value, f.Unit, mark),
				f.Signed(), f.Interval(), figures.Calls(f.BaseCalls, f.HeadCalls), escape.Replace(f.InWords()))
		}
		if more := len(c.Functions) - n; more > 0 {
			m.line("\nand %d more", more)
		}
	}
	m.longer(c, o)
	m.comparedPlaces(c, o)
	for _, only := range []struct {
		head string
		all  []compare.OneSided
	}{{"only in base", c.OnlyInBase}, {"only in head", c.OnlyInHead}} {
		n := o.AtMost(len(only.all))
		if n == 0 {
			continue
		}
		m.line("")
		m.head(only.head, "self", "calls")
		for _, o := range only.all[:n] {
			m.row(name(o.Name), figures.Value(o.EnergyJ, "J", mark), figures.Calls(o.Calls, o.Calls))
		}
		if more := len(only.all) - n; more > 0 {
			m.line("\nand %d more", more)
		}
	}
	m.line("")
	for _, note := range c.Notes {
		m.line("- %s", escape.Replace(note))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

// comparedPlaces writes the lines or blocks of functions that both sides have.
func (m *page) comparedPlaces(c *compare.Result, o format.Options) {
	all, what, mark := c.DearestPlaces(), c.PlaceWord(), c.Mark()
	if n := o.AtMost(len(all)); n > 0 {
		m.line("")
		m.head("self energy of "+what, "base", "head", "change", "interval", "count", "verdict")
		for _, l := range all[:n] {
			m.row(name(l.Where()), figures.Value(l.Base.Value, l.Unit, mark), figures.Value(l.Head.Value, l.Unit, mark),
				l.Signed(), l.Interval(), figures.Calls(l.BaseCount, l.HeadCount), escape.Replace(l.InWords()))
		}
		if more := len(all) - n; more > 0 {
			m.line("\nand %d more", more)
		}
	}
	base, head := c.OneSidedPlaces()
	for _, only := range []struct {
		head string
		all  []compare.OneSidedIn
	}{{what + " that only base came to", base}, {what + " that only head came to", head}} {
		n := o.AtMost(len(only.all))
		if n == 0 {
			continue
		}
		m.line("")
		m.head(only.head, "self", "count")
		for _, l := range only.all[:n] {
			m.row(name(l.Where()), figures.Value(l.EnergyJ, "J", mark), figures.Calls(l.Count, l.Count))
		}
		if more := len(only.all) - n; more > 0 {
			m.line("\nand %d more", more)
		}
	}
}

// longer writes the functions whose calls took longer or less long.
func (m *page) longer(c *compare.Result, o format.Options) {
	all := c.Longer()
	n := o.AtMost(len(all))
	if n == 0 {
		return
	}
	m.line("")
	m.head("95th percentile of calls", "base", "head", "change", "interval", "verdict")
	for _, f := range all[:n] {
		m.row(name(f.Name), figures.Value(f.Base.Value, f.Unit, ""), figures.Value(f.Head.Value, f.Unit, ""),
			f.Signed(), f.Interval(), escape.Replace(f.InWords()))
	}
	if more := len(all) - n; more > 0 {
		m.line("\nand %d more", more)
	}
}
