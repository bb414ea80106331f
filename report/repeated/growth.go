package repeated

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"cg/nemb"
	"cg/report"
	"cg/report/figures"
	"cg/statistics"
)

// Growth is how the energy of a command grows with a parameter that has numbers (cg run -P size 1..1000), while the
// others have one value each. See statistics.Growth.
type Growth struct {
	Template  []string          `json:"command"` // with the parameters' names in braces
	Parameter string            `json:"parameter"`
	With      map[string]string `json:"with,omitempty"` // the values of the other parameters
	// Of is program_energy_j, or cpu_s where the energy is not known.
	Of   string      `json:"of"`
	Kind nemb.Method `json:"energy_kind"`
	// Values is of how many values of the parameter the cost is known.
	Values int `json:"values"`
	// Unfit is why there is no fit, "" where there is one.
	Unfit string `json:"unfit,omitempty"`
	// Power is the fit cost = start + scale * value^exponent.
	Power *PowerLaw `json:"power_law"`
	// Shown tells that the cost depends on the parameter, more than chance would make it.
	Shown bool `json:"dependence_shown"`
	// Models are laws that are compared, the most likely first: none of fewer than six values.
	Models []Model `json:"models"`
}

// PowerLaw is a fit.
type PowerLaw struct {
	Start    float64  `json:"start"` // 0 where it is less than 0.01 % of the least mean
	Scale    float64  `json:"scale"`
	Exponent float64  `json:"exponent"`
	Lo       *float64 `json:"exponent_lo"` // 95 % interval, null for an end that the runs do not show
	Hi       *float64 `json:"exponent_hi"`
	// DeviationPercent is the largest deviation of a mean from the fit.
	DeviationPercent float64 `json:"deviation_percent"`
}

// Model is a law with its Akaike weight among the others, start + scale * law.
type Model struct {
	Name   string   `json:"name"`
	Start  float64  `json:"start"`
	Scale  float64  `json:"scale"`
	Base   *float64 `json:"base,omitempty"` // of a^n
	BaseLo *float64 `json:"base_lo,omitempty"`
	BaseHi *float64 `json:"base_hi,omitempty"`
	Weight float64  `json:"weight"`
	// Excluded tells that the runs speak against it.
	Excluded bool `json:"excluded"`
}

// grow finds how the energies of commands grow with their parameters.
func (r *Result) grow() {
	r.Growth = nil
	type group struct {
		of       Growth
		commands []*Command
	}
	var groups []*group
	all := r.All()
	for i := range all {
		c := &all[i]
		for _, name := range slices.Sorted(maps.Keys(c.Parameters)) {
			with := maps.Clone(c.Parameters)
			if delete(with, name); len(with) == 0 {
				with = nil
			}
			at := slices.IndexFunc(groups, func(g *group) bool {
				return g.of.Parameter == name && maps.Equal(g.of.With, with) && slices.Equal(g.of.Template, c.Template)
			})
			if at < 0 {
				at = len(groups)
				groups = append(groups, &group{of: Growth{Template: c.Template, Parameter: name, With: with,
					Models: []Model{}}})
			}
			groups[at].commands = append(groups[at].commands, c)
		}
	}
	var unfit []Growth
	for _, g := range groups {
		switch {
		case !g.of.fit(g.commands):
		case g.of.Power == nil:
			unfit = append(unfit, g.of)
		default:
			r.Growth = append(r.Growth, g.of)
		}
	}
	slices.SortStableFunc(unfit, func(a, b Growth) int { return b.Values - a.Values })
	for _, g := range unfit { // one of each command and parameter, if there is no better one
		if !slices.ContainsFunc(r.Growth, func(o Growth) bool {
			return o.Parameter == g.Parameter && slices.Equal(o.Template, g.Template)
		}) {
			r.Growth = append(r.Growth, g)
		}
	}
}

// numberOf is the value of a parameter that is a number.
func (c *Command) numberOf(parameter string) (float64, bool) {
	v, err := strconv.ParseFloat(c.Parameters[parameter], 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

// fit fits the laws, and reports whether the parameter has numbers, so that there is something to tell.
func (g *Growth) fit(commands []*Command) bool {
	g.Of, g.Kind = "program_energy_j", commands[0].Backend.Kind
	for _, c := range commands {
		if _, is := c.numberOf(g.Parameter); !is {
			return false
		}
		if c.ProgramEnergyJ == nil && len(c.costsOf("cpu_s")) > 0 { // one that failed has no runs that count
			g.Of = "cpu_s"
		}
	}
	var sized []statistics.Sized
	least := math.Inf(1)
	for _, c := range commands {
		size, _ := c.numberOf(g.Parameter)
		costs := c.costsOf(g.Of)
		sum := 0.0
		for _, v := range costs {
			sum += v
		}
		switch {
		case size <= 0:
			g.Unfit = fmt.Sprintf("%s has values that are not above 0", g.Parameter)
			return true
		case sum > 0:
			least = min(least, sum/float64(len(costs)))
			same := slices.IndexFunc(sized, func(o statistics.Sized) bool { return o.Size == size })
			if same >= 0 { // 1 and 1.0
				sized[same].Costs = append(sized[same].Costs, costs...)
			} else {
				sized = append(sized, statistics.Sized{Size: size, Costs: costs})
			}
		}
	}
	g.Values = len(sized)
	fit := statistics.Grow(sized)
	if fit == nil {
		g.Unfit = fmt.Sprintf("the cost is known of %d values of %s%s, and a fit needs %d", g.Values, g.Parameter,
			map[bool]string{true: " beside the same others"}[len(g.With) > 0], statistics.FewestSizes)
		return true
	}
	if g.Shown = !fit.Flat; fit.Start < 1e-4*least {
		fit.Start = 0
	}
	g.Power = &PowerLaw{Start: fit.Start, Scale: fit.Scale, Exponent: fit.Exponent, Lo: statistics.Known(fit.Lo),
		Hi: statistics.Known(fit.Hi), DeviationPercent: 100 * fit.Deviation}
	for _, m := range fit.Models {
		out := Model{Name: m.Name, Start: m.Start, Scale: m.Scale, Weight: m.Weight, Excluded: m.Excluded}
		if m.Name == statistics.ModelExponential {
			out.Base, out.BaseLo, out.BaseHi = statistics.Known(m.Base), statistics.Known(m.Lo), statistics.Known(m.Hi)
		}
		g.Models = append(g.Models, out)
	}
	return true
}

// costsOf are the costs of the runs that count.
func (c *Command) costsOf(of string) (costs []float64) {
	for _, m := range c.Measurements {
		v := &m.CPUS
		if of == "program_energy_j" {
			v = report.Value(m.ProgramEnergyJ)
		}
		if v != nil && (!m.Warmup || c.Runs.WarmupIncludedInStats) {
			costs = append(costs, *v)
		}
	}
	return costs
}

// Of are the commands that a growth is of, in the order of its parameter.
func (r *Result) Of(g Growth) (commands []Command) {
	for _, c := range r.All() {
		with := maps.Clone(c.Parameters)
		_, has := with[g.Parameter]
		if delete(with, g.Parameter); has && maps.Equal(with, g.With) && slices.Equal(c.Template, g.Template) {
			commands = append(commands, c)
		}
	}
	slices.SortStableFunc(commands, func(a, b Command) int {
		x, _ := a.numberOf(g.Parameter)
		y, _ := b.numberOf(g.Parameter)
		return int(math.Copysign(1, x-y))
	})
	return commands
}

// At is the fitted cost of a value, and where a value's runs are: its number and their costs.
func (g Growth) At(x float64) float64 {
	return g.Power.Start + g.Power.Scale*math.Pow(x, g.Power.Exponent)
}

// Costs are the number that a command's parameter has, and the costs of its runs that count.
func (g Growth) Costs(c Command) (x float64, costs []float64) {
	x, _ = c.numberOf(g.Parameter)
	return x, c.costsOf(g.Of)
}

// Title says what grows with what.
func (g Growth) Title() string {
	what := "energy of the program"
	if g.Of == "cpu_s" {
		what = "processor time"
	}
	var with []string
	for _, name := range slices.Sorted(maps.Keys(g.With)) {
		with = append(with, name+" "+g.With[name])
	}
	title := fmt.Sprintf("%s by %s: %s", what, g.Parameter, Command{Argv: g.Template}.Line())
	if len(with) > 0 {
		title += " (" + strings.Join(with, ", ") + ")"
	}
	return title
}

// Lines say what the fit comes to, each with a word for what it is about.
func (g Growth) Lines() (lines [][2]string) {
	if g.Power == nil {
		return [][2]string{{"fit", "none: " + g.Unfit}}
	}
	if !g.Shown {
		return [][2]string{{"fit", fmt.Sprintf("no dependence on %s is shown by %d values", g.Parameter, g.Values)}}
	}
	p := g.Power
	lines = [][2]string{{"power law", g.law(p.Start, p.Scale, fmt.Sprintf("%s^%.3g", g.Parameter, p.Exponent))},
		{"exponent", fmt.Sprintf("%.3g %s; the means are within %s of this law", p.Exponent, between(p.Lo, p.Hi),
			figures.Percent(&p.DeviationPercent))}}
	if len(g.Models) == 0 {
		return append(lines, [2]string{"models", fmt.Sprintf("n log n, n^2 and others are compared from %d values on",
			statistics.FewestSizesToCompare)})
	}
	return append(lines, [2]string{"models", g.verdict()})
}

// Sentence has the lines in one.
func (g Growth) Sentence() string {
	var parts []string
	for _, line := range g.Lines() {
		parts = append(parts, line[0]+": "+line[1])
	}
	return strings.Join(parts, " · ")
}

// law is a law in words.
func (g Growth) law(start, scale float64, of string) string {
	mark, unit := report.Mark(g.Kind), "J"
	if g.Of == "cpu_s" {
		mark, unit = "", "s"
	}
	text := fmt.Sprintf("%s%.3g %s · %s", mark, scale, unit, of)
	if start > 0 {
		text = fmt.Sprintf("%s%.3g %s + %.3g %s · %s", mark, start, unit, scale, unit, of)
	}
	return text
}

// between is an interval whose ends may not be known.
func between(lo, hi *float64) string {
	end := func(v *float64) string {
		if v == nil {
			return "?"
		}
		return fmt.Sprintf("%.3g", *v)
	}
	return "[" + end(lo) + ", " + end(hi) + "]"
}

// verdict says which laws the runs speak for.
func (g Growth) verdict() string {
	var left []Model
	var names []string
	for _, m := range g.Models {
		if !m.Excluded {
			left = append(left, m)
		}
		names = append(names, m.Name)
	}
	slices.Sort(names)
	of := strings.Join(names, ", ")
	if g.Parameter != "n" {
		of += "; n is " + g.Parameter
	}
	switch len(left) {
	case 0:
		return "none of these describes it: " + of
	case 1:
		return fmt.Sprintf("%s, %s (the runs speak against all others of %s)", left[0].title(),
			g.law(left[0].Start, left[0].Scale, left[0].title()), of)
	}
	var titles []string
	for _, m := range left {
		titles = append(titles, m.title())
	}
	last := len(titles) - 1
	return fmt.Sprintf("%s and %s cannot be told apart (of %s); more values, a wider range or more runs may tell",
		strings.Join(titles[:last], ", "), titles[last], of)
}

// title is the law's name, with the base of an exponential.
func (m Model) title() string {
	if m.Base == nil {
		return m.Name
	}
	return fmt.Sprintf("%.3g^n (base %s)", *m.Base, between(m.BaseLo, m.BaseHi))
}

// Swept reports whether commands differ by parameters.
func (r *Result) Swept() bool {
	return len(r.Commands) > 1 && slices.ContainsFunc(r.Commands, func(c Command) bool { return len(c.Parameters) > 0 })
}

// ParameterNames are the parameters of all commands, each once.
func (r *Result) ParameterNames() []string {
	names := map[string]bool{}
	for _, c := range r.All() {
		for name := range c.Parameters {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Setting is what a command's parameters are, or the command where it has none.
func (c Command) Setting() string {
	if len(c.Parameters) == 0 {
		return c.Line()
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Parameters)) {
		parts = append(parts, name+" "+c.Parameters[name])
	}
	return strings.Join(parts, ", ")
}
