package markdown

import (
	"fmt"
	"io"
	"math"

	"cg/nemb"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/repeated"
)

// writeRepeated writes a table with a row for each command.
func writeRepeated(w io.Writer, r *repeated.Result, _ format.Options) error {
	m := &page{}
	m.head("command", "program", "interval", "machine", "time", "power", "runs", "against the first")
	for i, c := range r.All() {
		mark := c.Mark()
		mean := func(s *repeated.Statistic, show func(float64) string) string {
			if s == nil {
				return "?"
			}
			return show(s.Mean)
		}
		joule := func(v float64) string { return mark + figures.Joules(v) }
		interval, change := "", ""
		if s := c.ProgramEnergyJ; s != nil && s.CI95Lower != nil {
			interval = "[" + joule(*s.CI95Lower) + ", " + joule(*s.CI95Upper) + "]"
		}
		if i > 0 && c.AgainstFirst != nil {
			change = figures.Change(c.AgainstFirst.Change) + " " + c.AgainstFirst.Interval()
		}
		m.row(name(c.Line()), mean(c.ProgramEnergyJ, joule), interval, mean(c.EnergyJ, joule),
			mean(c.DurationS, figures.Seconds),
			mean(c.PowerW, func(v float64) string { return mark + figures.Watts(&v) }),
			fmt.Sprint(c.Runs.MeasurementRuns), change)
	}
	for _, g := range r.Growth {
		m.line("\n%s: %s", name(g.Title()), escape.Replace(g.Sentence()))
	}
	for _, c := range r.All() {
		if line := c.Hours.Line(); line != "" {
			if len(r.All()) > 1 {
				line = c.Line() + ": " + line
			}
			m.line("\nHours: %s", escape.Replace(line))
		}
		m.footprint(c.Footprint, c.Mark())
		m.units(c)
		m.repeatedFunctions(c)
	}
	if r.All()[0].Backend.Kind == nemb.Estimated {
		m.line("\nEnergies are **estimated, not measured**.")
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

// units writes a table of what a unit of a command's work takes.
func (m *page) units(c repeated.Command) {
	if len(c.Units) == 0 {
		return
	}
	m.line("")
	m.head("unit", "in a run", "program", "interval", "units/J", "machine", "CO2e")
	for _, u := range c.Units {
		joules := func(v float64) string { return c.Mark() + figures.SmallJoules(v) }
		count, grams := "?", ""
		if u.Count != nil {
			count = figures.Amount(u.Count.Mean)
		}
		if g := u.CO2eG; g != nil {
			grams = fmt.Sprintf("%s%s [%s, %s]", c.Mark(), figures.Grams(g.Value), figures.Grams(g.Lo),
				figures.Grams(g.Hi))
		}
		m.row(name(u.Name), count, u.EnergyJ.In(joules), u.EnergyJ.Interval(joules),
			u.PerJ.In(func(v float64) string { return c.Mark() + figures.Amount(v) }), u.MachineJ.In(joules), grams)
	}
}

// repeatedFunctions writes a table of the functions of a program with checkpoints.
func (m *page) repeatedFunctions(c repeated.Command) {
	if len(c.Functions) == 0 {
		return
	}
	m.line("")
	m.head("function", "calls", "self", "interval", "CV", "incl", "share", "verdict")
	joule := func(v float64) string { return c.Mark() + figures.Joules(v) }
	for _, f := range c.Functions {
		calls, self, incl := "?", "?", "?"
		if s := f.Calls; s != nil {
			calls = figures.Count(uint64(math.Round(s.Mean)))
		}
		if s := f.SelfEnergyJ; s != nil {
			self = joule(s.Mean)
		}
		if s := f.InclusiveEnergyJ; s != nil {
			incl = joule(s.Mean)
		}
		m.row(name(f.Name), calls, self, f.SelfEnergyJ.Interval(joule), figures.Percent(f.SelfEnergyJ.CV()), incl,
			figures.Percent(f.SharePercent), string(f.Verdict))
	}
}
