// Package repeated is what repeated runs of commands come to: a mean of each figure with its spread and
// interval, and how each command compares with the first.
package repeated

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cg/footprint"
	"cg/nemb"
	"cg/nemb/condition"
	"cg/report"
	"cg/report/figures"
	"cg/runtimes/sdk/spec"
	"cg/statistics"
)

// Result is what repeated runs of commands gave: the meta of a run, and the
// fields of the first command beside it. Where there are several commands, each
// is in Commands, the first too.
type Result struct {
	Meta report.Meta `json:"meta"`
	Command
	Commands []Command        `json:"commands,omitempty"`
	Warnings []report.Warning `json:"warnings"`
	Baseline *report.Baseline `json:"baseline,omitempty"`
	// Growth is how energies grow with the parameters of commands.
	Growth []Growth `json:"growth,omitempty"`
	// MachineState is what the machine was like before the first run and after the last.
	MachineState *report.MachineState `json:"machine_state,omitempty"`
}

// Command is one command's measurements and what they come to. Means, spreads
// and intervals are over all measurements but those of the warm-up, unless that
// is included; nothing else is left out.
type Command struct {
	Argv []string `json:"command"`
	// Parameters are the values of the parameters of cg run -L and -P, Template the command with their names in
	// braces, where it has some.
	Parameters map[string]string `json:"parameters,omitempty"`
	Template   []string          `json:"template,omitempty"`
	Backend    report.Backend    `json:"backend"`
	Runs       Runs              `json:"runs"`
	// EnergyJ is the machine's energy while the command ran, ProgramEnergyJ the
	// command's share of it.
	EnergyJ        *Statistic         `json:"energy_j"`
	ProgramEnergyJ *Statistic         `json:"program_energy_j"`
	DurationS      *Statistic         `json:"duration_s"`
	CPUS           *Statistic         `json:"cpu_s"`
	PowerW         *Statistic         `json:"power_w"` // the mean of energy by duration of each run
	Domains        map[string]float64 `json:"domains"` // mean joules
	DomainsPowerW  map[string]float64 `json:"domains_power_w"`
	BudgetJ        *float64           `json:"budget_j,omitempty"`
	BudgetExceeded *bool              `json:"budget_exceeded,omitempty"`
	OutlierMethod  string             `json:"outlier_method"`
	Measurements   []Measurement      `json:"measurements"`
	// AgainstFirst is how much more of its energy the command takes than the
	// first one, by their runs of the same round.
	AgainstFirst *Ratio `json:"against_first,omitempty"`
	// Functions are those of a program with checkpoints (cg measure --repeat).
	Functions []Function `json:"functions,omitempty"`
	// Footprint is what the machine's energy in a run comes to, where that was asked for.
	Footprint *footprint.Footprint `json:"footprint,omitempty"`
	// Hours are what all runs took of the machine, also those that warm up.
	Hours *report.Hours `json:"hours,omitempty"`
	// Units are what a unit of the command's work takes (cg run --per).
	Units []Unit `json:"units,omitempty"`
}

// Runs counts the runs of a command.
type Runs struct {
	Attempted             int  `json:"attempted"`
	EnergyValid           int  `json:"energy_valid"`
	IQROutliersRemoved    int  `json:"iqr_outliers_removed"` // none ever is
	ZeroEnergyDropped     int  `json:"zero_energy_dropped"`  // none ever is
	WarmupIncludedInStats bool `json:"warmup_included_in_stats"`
	WarmupRuns            int  `json:"warmup_runs"`
	MeasurementRuns       int  `json:"measurement_runs"`
	Failed                int  `json:"failed"`
}

// Statistic describes a figure over runs. The interval is that of the mean.
type Statistic struct {
	Mean      float64  `json:"mean"`
	Std       float64  `json:"std"`
	Min       float64  `json:"min"`
	Max       float64  `json:"max"`
	Median    float64  `json:"median"`
	CI95Lower *float64 `json:"ci95_lower"` // null for fewer than three runs; not below 0
	CI95Upper *float64 `json:"ci95_upper"`
	CVPercent *float64 `json:"cv_percent_across_runs"`
	Outliers  []int    `json:"outliers"` // indices into measurements; shown, and kept
}

// Measurement is one run.
type Measurement struct {
	Warmup         bool                     `json:"warmup"`
	Round          int                      `json:"round"`
	EnergyJ        *report.Joules           `json:"energy_j"`
	ProgramEnergyJ *report.Joules           `json:"program_energy_j"`
	DurationS      float64                  `json:"duration_s"`
	CPUS           float64                  `json:"cpu_s"`
	PowerW         *float64                 `json:"power_w"`
	Domains        map[string]report.Joules `json:"domains"`
	ExitStatus     int                      `json:"exit_status"`
	TimedOut       bool                     `json:"timed_out"`
	Quality        string                   `json:"measurement_quality,omitempty"` // as in the meta of a run
	// Throttled is how often processors were slowed down for their heat in the run, and not before or behind it.
	Throttled int64  `json:"throttled,omitempty"`
	Functions []Cost `json:"functions,omitempty"`
	// Counts are the units of work that the program said it did, by their names.
	Counts map[string]float64 `json:"counts,omitempty"`
}

// Ratio is a change of the program's energy, of processor time where no energy
// is known: 0.05 is 5 % more.
type Ratio struct {
	Of     string   `json:"of"`
	Change float64  `json:"change"`
	Lo     *float64 `json:"change_lo"` // 90 % interval, null where there are too few rounds
	Hi     *float64 `json:"change_hi"`
	P      *float64 `json:"p_costs_more"` // of so much or more if there were no difference
	Rounds int      `json:"rounds"`
}

// OutlierMethod names how outliers are found: beyond 1.5 interquartile ranges from the
// quartiles. They are told, and none is removed (Runs.IQROutliersRemoved).
const OutlierMethod = spec.OutlierMethod

// Measured is a run as a measurement of a command. Energies that are what was used
// at least are none: a mean over them would be less than what was used.
func Measured(r *report.Run, round int, warmup bool) Measurement {
	m := Measurement{
		Warmup: warmup, Round: round, EnergyJ: r.Totals.EnergyJ, ProgramEnergyJ: r.Totals.ProgramEnergyJ,
		DurationS: r.Totals.WallDurationS,
		CPUS:      r.Process.UserS + r.Process.SystemS, PowerW: r.Totals.AvgPowerW, Domains: r.Totals.Domains,
		ExitStatus: r.Process.ExitStatus, TimedOut: r.Process.TimedOut, Quality: r.Meta.MeasurementQuality,
	}
	if !r.Whole() {
		m.EnergyJ, m.ProgramEnergyJ, m.PowerW, m.Domains = nil, nil, nil, map[string]report.Joules{}
	}
	if s := r.MachineState; s != nil {
		m.Throttled = condition.Throttled(s.Before, s.After)
	}
	if len(r.Tasks) > 0 { // from the program's start to its end
		m.DurationS = float64(r.Tasks[0].EndedAtMonoNs-r.Tasks[0].StartedAtMonoNs) * 1e-9
	}
	return m
}

// NotStarted is what there is of runs of a command that was not started.
func NotStarted(failed *report.Run, argv []string) *Result {
	r := &Result{Meta: failed.Meta, Command: Command{Argv: argv, Measurements: []Measurement{}},
		Warnings: failed.Warnings}
	r.Backend.Kind = nemb.Unavailable
	r.Summarize(false)
	return r
}

// Add takes in a run of command i: what it measured, where its energy is from, and
// what there is to warn of.
func (r *Result) Add(i, round int, warmup bool, run *report.Run) {
	r.AddCounted(i, round, warmup, run, nil)
}

// AddCounted takes in a run with the units of work that it did, by their names.
func (r *Result) AddCounted(i, round int, warmup bool, run *report.Run, counts map[string]float64) {
	c := &r.Commands[i]
	m := Measured(run, round, warmup)
	m.Counts = counts
	before := slices.ContainsFunc(c.Measurements, func(m Measurement) bool { return m.EnergyJ != nil })
	m.Functions = c.costs(run)
	c.Hours = c.Hours.Plus(run.Totals.Hours)
	c.Measurements = append(c.Measurements, m)
	c.Backend.Name = run.Totals.Source
	switch kind := run.Totals.Kind; {
	case m.EnergyJ == nil && !before:
		c.Backend.Kind = nemb.Unavailable
	case m.EnergyJ != nil && (!before || kind.Weaker(c.Backend.Kind)):
		c.Backend.Kind = kind
	}
	r.Meta, r.Baseline = run.Meta, run.Baseline
	warnings := run.Warnings
	if w, changed := run.ChangedSince(r.MachineState); changed {
		warnings = append(slices.Clone(warnings), w)
	}
	if run.MachineState != nil {
		if r.MachineState == nil {
			first := *run.MachineState
			r.MachineState = &first
		}
		r.MachineState.After = run.MachineState.After
	}
	for _, w := range warnings {
		if !slices.ContainsFunc(r.Warnings, func(o report.Warning) bool { return o.Slug == w.Slug }) {
			r.Warnings = append(r.Warnings, w)
		}
	}
}

// quality is that of most runs that count, and of two that as many have the worse.
func (r *Result) quality() string {
	order := []string{report.QualityOK, report.QualityEstimated, report.QualityZero, report.QualityFailed,
		report.QualityNoBackend, report.QualityOnlyCalls}
	counts := map[string]int{}
	for _, c := range r.Commands {
		for _, m := range c.Measurements {
			if !m.Warmup || c.Runs.WarmupIncludedInStats {
				counts[m.Quality]++
			}
		}
	}
	most := r.Meta.MeasurementQuality
	for _, q := range order {
		if n := counts[q]; n > 0 && n >= counts[most] {
			most = q
		}
	}
	return most
}

// Summarize computes what the measurements of a command come to.
func (c *Command) Summarize(includeWarmup bool) {
	c.OutlierMethod = OutlierMethod
	c.Runs = Runs{Attempted: len(c.Measurements), WarmupIncludedInStats: includeWarmup}
	var used []int
	for i, m := range c.Measurements {
		if m.Warmup {
			c.Runs.WarmupRuns++
		} else {
			c.Runs.MeasurementRuns++
		}
		if m.EnergyJ != nil {
			c.Runs.EnergyValid++
		}
		if m.ExitStatus != 0 {
			c.Runs.Failed++
		}
		if includeWarmup || !m.Warmup {
			used = append(used, i)
		}
	}
	over := func(of func(Measurement) *float64) *Statistic {
		var xs []float64
		var at []int
		for _, i := range used {
			if v := of(c.Measurements[i]); v != nil {
				xs, at = append(xs, *v), append(at, i)
			}
		}
		return statistic(xs, at)
	}
	c.EnergyJ = over(func(m Measurement) *float64 { return report.Value(m.EnergyJ) })
	c.ProgramEnergyJ = over(func(m Measurement) *float64 { return report.Value(m.ProgramEnergyJ) })
	c.DurationS = over(func(m Measurement) *float64 { return &m.DurationS })
	c.CPUS = over(func(m Measurement) *float64 { return &m.CPUS })
	c.PowerW = over(func(m Measurement) *float64 { return m.PowerW })
	c.Domains, c.DomainsPowerW, c.Backend.DomainsSeen = map[string]float64{}, map[string]float64{}, []string{}
	for _, i := range used {
		for id := range c.Measurements[i].Domains {
			if !slices.Contains(c.Backend.DomainsSeen, id) {
				c.Backend.DomainsSeen = append(c.Backend.DomainsSeen, id)
			}
		}
	}
	slices.Sort(c.Backend.DomainsSeen)
	for _, id := range c.Backend.DomainsSeen {
		e := over(func(m Measurement) *float64 {
			v, ok := m.Domains[id]
			if !ok {
				return nil
			}
			return report.Value(&v)
		})
		p := over(func(m Measurement) *float64 {
			v, ok := m.Domains[id]
			if !ok || m.DurationS <= 0 {
				return nil
			}
			w := v.Float() / m.DurationS
			return &w
		})
		if c.Domains[id] = e.Mean; p != nil {
			c.DomainsPowerW[id] = p.Mean
		}
	}
	c.sortPlaces()
	c.functions(used)
	c.perUnit(used)
	if exceeded := c.exceeds(c.ProgramEnergyJ); exceeded != nil {
		c.BudgetExceeded = exceeded
	}
}

// exceeds tells whether an energy is above the budget, by the lower end of its interval; nil where
// that is not known.
func (c *Command) exceeds(energy *Statistic) *bool {
	if c.BudgetJ == nil || energy == nil || energy.Mean <= 0 { // 0 is what no counter has seen
		return nil
	}
	least := energy.Mean
	if energy.CI95Lower != nil {
		least = *energy.CI95Lower
	}
	exceeded := least > *c.BudgetJ
	return &exceeded
}

// Interval is that of the mean in words, "?" where it is not known.
func (s *Statistic) Interval(show func(float64) string) string {
	if s == nil || s.CI95Lower == nil || s.CI95Upper == nil {
		return "?"
	}
	return "[" + show(*s.CI95Lower) + ", " + show(*s.CI95Upper) + "]"
}

// CV is the coefficient of variation in percent, nil where it is not known.
func (s *Statistic) CV() *float64 {
	if s == nil {
		return nil
	}
	return s.CVPercent
}

// FewestForInterval is how many runs have an interval: two can be drawn from in one way
// only that has a spread.
const FewestForInterval = 3

// statistic is nil where nothing was measured.
func statistic(xs []float64, at []int) *Statistic {
	if len(xs) == 0 {
		return nil
	}
	s := statistics.Summarize(xs)
	out := &Statistic{
		Mean: s.Mean, Std: s.Stddev, Min: s.Min, Max: s.Max, Median: s.Median,
		CI95Lower: statistics.Known(s.Lo), CI95Upper: statistics.Known(s.Hi), CVPercent: statistics.Known(s.CVPercent),
		Outliers: []int{},
	}
	if len(xs) < 2 {
		out.CVPercent = nil
	}
	if len(xs) < FewestForInterval {
		out.CI95Lower, out.CI95Upper = nil, nil
	} else if out.CI95Lower != nil { // no figure is below 0
		*out.CI95Lower = max(0, *out.CI95Lower)
	}
	for _, i := range s.Outliers {
		out.Outliers = append(out.Outliers, at[i])
	}
	return out
}

// Compare holds each command after the first against it, and says how good the
// energies of all are. The commands are summarized.
func (r *Result) Compare() {
	r.Meta.MeasurementQuality = r.quality()
	for i := range r.Commands {
		if i > 0 {
			r.Commands[i].AgainstFirst = against(r.Commands[0], r.Commands[i])
		}
	}
	if len(r.Commands) > 0 {
		r.grow()
		r.Command = r.Commands[0]
	}
	if len(r.Commands) == 1 {
		r.Commands = nil
	}
}

func against(first, c Command) *Ratio {
	out := &Ratio{Of: "program_energy_j"}
	of := func(m Measurement) float64 {
		if v := report.Value(m.ProgramEnergyJ); v != nil {
			return *v
		}
		return 0
	}
	if first.ProgramEnergyJ == nil || c.ProgramEnergyJ == nil {
		out.Of = "cpu_s"
		of = func(m Measurement) float64 { return m.CPUS }
	}
	base := map[int]float64{}
	for _, m := range first.Measurements {
		if !m.Warmup {
			base[m.Round] = of(m)
		}
	}
	pairs := statistics.NewPairs(statistics.Rule{Alpha: 0.05, Looks: []int{max(1, len(base))}})
	for _, m := range c.Measurements {
		if b, v := base[m.Round], of(m); !m.Warmup && b > 0 && v > 0 {
			pairs.Add(b, v)
		}
	}
	if pairs.N() == 0 {
		return nil
	}
	pairs.Judge()
	change, lo, hi := pairs.Effect()
	out.Change, out.Rounds = change, pairs.N()
	if !math.IsInf(hi, 0) { // else anything may be
		out.Lo, out.Hi = statistics.Known(lo), statistics.Known(hi)
	}
	if out.Lo != nil && pairs.N() == len(base) {
		p := pairs.P()
		out.P = &p
	}
	return out
}

// All are the commands, the only one too.
func (r *Result) All() []Command {
	if len(r.Commands) > 0 {
		return r.Commands
	}
	return []Command{r.Command}
}

// Kind names repeated runs.
func (r *Result) Kind() string { return "repeated runs" }

// JSON encodes what was measured.
func (r *Result) JSON() ([]byte, error) {
	return report.Encode(r)
}

// Line is a command as a shell would take it.
func (c Command) Line() string {
	var out []string
	for _, a := range c.Argv {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`&|;<>()*?[]{}~#!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}

// Mark stands before every energy of the command that was not measured.
func (c Command) Mark() string { return report.Mark(c.Backend.Kind) }

// Spread is the coefficient of variation of the command's energy over runs, with its name on
// the scale of all noise, "" where fewer than three runs count.
func (c Command) Spread() string {
	s := c.ProgramEnergyJ
	if s == nil || s.CVPercent == nil || c.Runs.MeasurementRuns < 3 {
		return ""
	}
	return fmt.Sprintf("%.1f %% (%s)", *s.CVPercent, report.DefaultNoise.Name(*s.CVPercent))
}

// Counted reports whether there is a run that counts.
func (r *Result) Counted() bool {
	return slices.ContainsFunc(r.All(), func(c Command) bool { return c.DurationS != nil })
}

// Interval is the 90 % interval of a change in words, and of what it is.
func (a *Ratio) Interval() string {
	if a.Lo == nil || a.Hi == nil {
		return "too few rounds for an interval"
	}
	return fmt.Sprintf("[%s, %s] of %s", figures.Change(*a.Lo), figures.Change(*a.Hi),
		map[string]string{"program_energy_j": "its energy", "cpu_s": "its processor time"}[a.Of])
}
