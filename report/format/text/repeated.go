package text

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/repeated"
	"cg/shown"
)

// writeRepeated lays out what was measured for people.
func writeRepeated(w io.Writer, r *repeated.Result, o format.Options) error {
	p := newPrinter(o.Terminal)
	if r.Swept() {
		p.swept(r)
	} else {
		for _, c := range r.All() {
			p.command(c)
		}
	}
	if len(r.Commands) > 1 && !r.Swept() {
		p.line("%s", p.paint(bold, "Against the first, round by round"))
		for i, c := range r.Commands[1:] {
			if a := c.AgainstFirst; a != nil {
				p.line("  %d  %s  %s  (%s)", i+2, left(figures.Change(a.Change), 9), a.Interval(), p.cut(c.Line(), 48))
			}
		}
		p.line("")
	}
	if r.Baseline != nil {
		p.note(dim, "baseline", r.Baseline.Line())
	}
	for _, w := range r.Warnings {
		p.note(yellow, w.Slug, w.Message)
	}
	return p.print(w)
}

// swept shows commands with parameters: a row each under the command that they are of, and how their energies grow.
func (p *printer) swept(r *repeated.Result) {
	all := r.All()
	for i, group := range byTemplate(all) {
		p.line("%s  %s", p.paint(bold, "Command"), p.cut(templateOf(group[0]), p.Width-9))
		if i == 0 {
			p.line("  %s  %d, %s each", pad("Commands", 8), len(all), countedRuns(all[0]))
			p.line("  %s  %s", pad("Source", 8), p.paint(dim, p.cut(all[0].Backend.Name, p.Width-12)))
		}
		p.settings(group)
		p.line("")
	}
	for _, g := range r.Growth {
		p.line("%s", p.paint(bold, shown.Line(g.Title())))
		for _, line := range g.Lines() {
			p.note(dim, line[0], line[1])
		}
		p.line("")
	}
}

// templateOf is the command with its parameters' names in braces.
func templateOf(c repeated.Command) string {
	if len(c.Template) > 0 {
		c.Argv = c.Template
	}
	return c.Line()
}

// byTemplate are the commands of each template.
func byTemplate(all []repeated.Command) (groups [][]repeated.Command) {
	for _, c := range all {
		at := slices.IndexFunc(groups, func(g []repeated.Command) bool { return templateOf(g[0]) == templateOf(c) })
		if at < 0 {
			at, groups = len(groups), append(groups, nil)
		}
		groups[at] = append(groups[at], c)
	}
	return groups
}

// settings shows the commands of a template: a row each, and what the table has no room for.
func (p *printer) settings(group []repeated.Command) {
	mean := func(s *repeated.Statistic, show func(float64) string) string {
		if s == nil {
			return "?"
		}
		return show(s.Mean)
	}
	type command = repeated.Command
	joules := func(c command) func(float64) string {
		return func(v float64) string { return c.Mark() + figures.Joules(v) }
	}
	verbose := p.Verbose
	p.Verbose = true // all rows
	table(p, "parameters", group, command.Setting, []column[command]{
		{"program", 0, func(c command) string { return mean(c.ProgramEnergyJ, joules(c)) }},
		{"interval", 60, func(c command) string { return c.ProgramEnergyJ.Interval(figures.Joules) }},
		{"machine", 72, func(c command) string { return mean(c.EnergyJ, joules(c)) }},
		{"time", 0, func(c command) string { return mean(c.DurationS, figures.Seconds) }},
		{"power", 88, func(c command) string { return mean(c.PowerW, meanWatts) }},
		{"vs first", 0, func(c command) string {
			if c.AgainstFirst == nil {
				return ""
			}
			return figures.Change(c.AgainstFirst.Change)
		}},
	})
	p.Verbose = verbose
	for _, c := range group {
		if c.Footprint != nil || len(c.Units) > 0 || c.Hours.Line() != "" {
			p.line("%s", p.cut(c.Setting(), p.Width))
			p.hours(c.Hours, "  ", 10)
			p.footprint(c.Footprint, c.Mark(), "  ")
			p.units(c, c.Mark())
		}
		if c.BudgetExceeded != nil && *c.BudgetExceeded {
			p.line("%s: %s", c.Setting(), p.paint(yellow, "the budget is exceeded"))
		}
	}
}

// command shows what the runs of a command come to.
func (p *printer) command(c repeated.Command) {
	p.line("%s  %s", p.paint(bold, "Command"), p.cut(c.Line(), p.Width-9))
	mark := c.Mark()
	p.statistic("Program", c.ProgramEnergyJ, figures.Joules, mark)
	p.statistic("Machine", c.EnergyJ, figures.Joules, mark)
	p.statistic("Time", c.DurationS, figures.Seconds, "")
	p.hours(c.Hours, "  ", 10)
	p.statistic("CPU", c.CPUS, figures.Seconds, "")
	p.statistic("Power", c.PowerW, meanWatts, mark)
	if s := c.ProgramEnergyJ; s != nil && len(c.Measurements) > 1 {
		p.line("  %s  %s to %s, median %s", pad("Range", 8), figures.Joules(s.Min), figures.Joules(s.Max),
			figures.Joules(s.Median))
		if spread := c.Spread(); spread != "" {
			p.line("  %s  %s", pad("CV", 8), spread)
		}
	}
	p.footprint(c.Footprint, mark, "  ")
	p.units(c, mark)
	p.line("  %s  %s", pad("Runs", 8), countedRuns(c))
	if s := c.ProgramEnergyJ; s != nil && len(s.Outliers) > 0 {
		var out []string
		for _, i := range s.Outliers {
			out = append(out, figures.Joules(c.Measurements[i].ProgramEnergyJ.Float()))
		}
		p.line("  %s  %s: far from the others, and counted", pad("Outliers", 8), strings.Join(out, ", "))
	}
	p.meanDomains(c, mark)
	p.budget(c)
	p.line("  %s  %s", pad("Source", 8), p.paint(dim, p.cut(c.Backend.Name, p.Width-12)))
	p.repeatedFunctions(c, mark)
	p.repeatedPlaces(c, mark)
	p.line("")
}

// repeatedFunctions shows what the functions of a program with checkpoints come to.
func (p *printer) repeatedFunctions(c repeated.Command, mark string) {
	mean := func(s *repeated.Statistic, show func(float64) string) string {
		if s == nil {
			return "?"
		}
		return show(s.Mean)
	}
	joules := func(v float64) string { return mark + figures.Joules(v) }
	type function = repeated.Function
	table(p, "function", c.Functions, func(f function) string { return f.Name }, []column[function]{
		{"calls", 0, func(f function) string {
			return mean(f.Calls, func(v float64) string { return figures.Count(uint64(math.Round(v))) })
		}},
		{"self", 0, func(f function) string { return mean(f.SelfEnergyJ, joules) }},
		{"interval", 72, func(f function) string { return f.SelfEnergyJ.Interval(figures.Joules) }},
		{"CV", 0, func(f function) string { return figures.Percent(f.SelfEnergyJ.CV()) }},
		{"incl", 60, func(f function) string { return mean(f.InclusiveEnergyJ, joules) }},
		{"share", 0, func(f function) string { return figures.Percent(f.SharePercent) }},
		{"time", 88, func(f function) string { return mean(f.SelfTimeS, figures.Seconds) }},
	})
	said := func(f function) bool { return f.Verdict.Meaning() != "" }
	if slices.ContainsFunc(c.Functions, said) {
		p.line("")
		listVerdicts(p, c.Functions, func(f function) (string, report.Verdict) { return f.Name, f.Verdict })
	}
}

// repeatedPlaces shows what the lines or blocks of functions come to, the dearest first.
func (p *printer) repeatedPlaces(c repeated.Command, mark string) {
	all := c.DearestPlaces()
	if len(all) == 0 {
		return
	}
	what := "line"
	if slices.ContainsFunc(all, func(l repeated.PlaceIn) bool { return l.Kind == "block" }) {
		what = "block"
	}
	where := func(l repeated.PlaceIn) string {
		text := l.Text
		if l.IsRest() {
			text = "(rest of " + l.Function.Name + ")"
		}
		return fmt.Sprintf("%s:%d %s", filepath.Base(l.Function.File), l.Line, text)
	}
	mean := func(s *repeated.Statistic, show func(float64) string) string {
		if s == nil {
			return "?"
		}
		return show(s.Mean)
	}
	columns := []column[repeated.PlaceIn]{
		{"count", 60, func(l repeated.PlaceIn) string {
			if l.IsRest() {
				return ""
			}
			return mean(l.Count, func(v float64) string { return figures.Count(uint64(math.Round(v))) })
		}},
		{"self", 0, func(l repeated.PlaceIn) string {
			return mean(l.SelfEnergyJ, func(v float64) string { return mark + figures.Joules(v) })
		}},
		{"interval", 72, func(l repeated.PlaceIn) string { return l.SelfEnergyJ.Interval(figures.Joules) }},
		{"time", 0, func(l repeated.PlaceIn) string { return mean(l.SelfTimeS, figures.Seconds) }},
	}
	if slices.ContainsFunc(all, func(l repeated.PlaceIn) bool { return l.OwnPower() != "" }) {
		columns = append(columns, column[repeated.PlaceIn]{"own power", 60, repeated.PlaceIn.OwnPower})
	}
	table(p, what, all, where, columns)
	p.note(dim, what+"s", c.PlacesNote())
}

// statistic shows a figure over the runs, with its spread and its interval.
func (p *printer) statistic(name string, s *repeated.Statistic, show func(float64) string, mark string) {
	if s == nil {
		p.line("  %s  ?", pad(name, 8))
		return
	}
	text := mark + show(s.Mean)
	if s.CI95Lower != nil || s.Std > 0 {
		text += " ± " + show(s.Std)
	}
	if s.CI95Lower != nil {
		text += "  " + s.Interval(show)
	}
	p.line("  %s  %s", pad(name, 8), text)
}

func meanWatts(v float64) string { return figures.Watts(&v) }

// units shows what a unit of the command's work takes.
func (p *printer) units(c repeated.Command, mark string) {
	figure := func(q *repeated.Quotient, show func(float64) string, unit string) string {
		text := q.In(show)
		if q != nil {
			text = mark + text + unit
		}
		if interval := q.Interval(show); interval != "" {
			text += "  " + interval
		}
		return text
	}
	for _, u := range c.Units {
		text := figure(u.EnergyJ, figures.SmallJoules, "/"+u.Name) + "; " +
			figure(u.PerJ, figures.Amount, " "+u.Name+"/J")
		if u.EnergyJ == nil {
			text = "?"
		}
		p.line("  %s  %s", pad("Per unit", 8), text)
		if s := u.Count; s != nil {
			p.line("  %s  in a run %s %s, machine %s", pad("", 8), figures.Amount(s.Mean), u.Name,
				figure(u.MachineJ, figures.SmallJoules, "/"+u.Name))
		}
		if g := u.CO2eG; g != nil {
			p.line("  %s  SCI %s%s CO2e/%s  [%s, %s]", pad("", 8), mark, figures.Grams(g.Value), u.Name,
				figures.Grams(g.Lo), figures.Grams(g.Hi))
		}
	}
}

// countedRuns says how many runs count, and what became of the others.
func countedRuns(c repeated.Command) string {
	runs := fmt.Sprintf("%d", c.Runs.MeasurementRuns)
	if c.Runs.WarmupRuns > 0 {
		runs += fmt.Sprintf(" after %d to warm up", c.Runs.WarmupRuns)
		if c.Runs.WarmupIncludedInStats {
			runs += ", which count"
		}
	}
	if c.Runs.Failed > 0 {
		runs += fmt.Sprintf("; %d failed", c.Runs.Failed)
	}
	unknown := 0
	for _, m := range c.Measurements {
		if m.EnergyJ == nil && (!m.Warmup || c.Runs.WarmupIncludedInStats) {
			unknown++
		}
	}
	if unknown > 0 && c.EnergyJ != nil {
		runs += fmt.Sprintf("; the energy of %d is not known", unknown)
	}
	return runs
}

// meanDomains shows the mean of each domain where there are several.
func (p *printer) meanDomains(c repeated.Command, mark string) {
	if len(c.Domains) > 1 {
		most := 0.0
		for _, e := range c.Domains {
			most = max(most, e)
		}
		for _, id := range c.Backend.DomainsSeen {
			n := 0
			if most > 0 {
				n = int(math.Round(20 * c.Domains[id] / most))
			}
			p.line("  %s  %s  %s  %s", pad(shorten(id, 16), 16), left(mark+figures.Joules(c.Domains[id]), 10),
				left(meanWatts(c.DomainsPowerW[id]), 8), p.paint(cyan, strings.Repeat("█", n)))
		}
	}
}

// budget shows what became of a command's budget.
func (p *printer) budget(c repeated.Command) {
	if c.BudgetJ != nil {
		verdict := shown.Safe("kept")
		switch {
		case c.ProgramEnergyJ == nil:
			verdict = "not known: no energy could be read"
		case c.BudgetExceeded == nil:
			verdict = "not known: too little energy for the counter"
		case *c.BudgetExceeded:
			verdict = p.paint(yellow, "exceeded")
		}
		p.line("  %s  %s, %s", pad("Budget", 8), figures.Joules(*c.BudgetJ), verdict)
	}
}
