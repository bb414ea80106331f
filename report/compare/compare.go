// Package compare holds the saved runs of one side against those of another: what changed in energy, time and
// functions, and how sure that is.
package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"cg/nemb"
	"cg/report"
	"cg/report/saved"
	"cg/statistics"
)

// Verdict says what a change comes to.
type Verdict string

const (
	Higher        Verdict = "higher"
	Lower         Verdict = "lower"
	Within        Verdict = "within threshold" // a change is shown, and it is smaller than the threshold
	NoneShown     Verdict = "no change shown"  // which is not to say that there is none
	NotComparable Verdict = "not comparable"
)

// All are the verdicts there are.
func (Verdict) All() []string {
	return []string{string(Higher), string(Lower), string(Within), string(NoneShown), string(NotComparable)}
}

// Result is what saved runs say of a change from BASE to HEAD.
type Result struct {
	linesCost string // LinesCost

	Comparison Meta     `json:"comparison"`
	Base       SideMeta `json:"base"`
	Head       SideMeta `json:"head"`
	// Different is what makes the sides hard to compare. There is none unless it
	// was allowed.
	Different []Difference `json:"different"`
	// Verdict is that of the program's energy; Worse are the energies that are
	// higher by the threshold at least.
	Verdict    Verdict          `json:"verdict"`
	Worse      []string         `json:"worse"`
	Totals     []Change         `json:"totals"`
	Functions  []FunctionChange `json:"functions"` // the largest difference first
	OnlyInBase []OneSided       `json:"only_in_base"`
	OnlyInHead []OneSided       `json:"only_in_head"`
	Notes      []string         `json:"notes"`
}

// Meta says how it was made.
type Meta struct {
	SchemaVersion string  `json:"schema_version"`
	CgVersion     string  `json:"cg_version"`
	Threshold     float64 `json:"threshold"` // 0.05 is 5 %
	Confidence    float64 `json:"confidence"`
}

// SideMeta is where the figures of a side come from.
type SideMeta struct {
	Name        string      `json:"name"`
	Files       []string    `json:"files"`
	Runs        int         `json:"runs"` // that count
	Failed      int         `json:"runs_failed"`
	Command     string      `json:"command"`
	Hostname    string      `json:"hostname"`
	CPUModel    string      `json:"cpu_model"`
	Source      string      `json:"energy_source"`
	Kind        nemb.Method `json:"energy_kind"`
	Granularity string      `json:"granularity"`
	StartedAt   string      `json:"started_at"`
}

// Difference is a property in which runs differ that are to be compared.
type Difference struct {
	What string `json:"what"`
	Base string `json:"base"`
	Head string `json:"head"`
}

// Sides are what BASE and HEAD have, for people.
func (d Difference) Sides() string { return orNone(d.Base) + " and " + orNone(d.Head) }

// Value is a figure of one side: of one run with its bounds, or the mean of
// several with its 95 % interval.
type Value struct {
	Value *float64 `json:"value"`
	Lo    *float64 `json:"lo"`
	Hi    *float64 `json:"hi"`
	Runs  int      `json:"runs"`
}

// Change is how a figure of HEAD differs from that of BASE.
type Change struct {
	Of         string   `json:"of"` // the field of a saved run
	Name       string   `json:"name"`
	Unit       string   `json:"unit"` // J, s or W
	Base       Value    `json:"base"`
	Head       Value    `json:"head"`
	Difference *float64 `json:"difference"`
	Change     *float64 `json:"change"` // 0.05 is 5 % more
	Lo         *float64 `json:"change_lo"`
	Hi         *float64 `json:"change_hi"`
	// P is the chance of so large a change if there were none, of functions after
	// Holm's adjustment; null for single runs.
	P       *float64 `json:"p"`
	Verdict Verdict  `json:"verdict"`
	Why     string   `json:"why,omitempty"` // it is not comparable
	// Weak is set where a side has one run: what is known of each value then bounds
	// the change of these two runs, and how much runs differ by themselves is not known.
	Weak bool `json:"weak"`

	samples [2][]float64
}

// Options are what is left to choose.
type Options struct {
	Threshold float64             // the smallest change that matters: 0.05 is 5 %
	Allow     bool                // compare what differs, and say so
	Function  func(f string) bool // leaves functions out by their name; nil takes all
	Command   int                 // of files with several commands, from 0
	Version   string              // of cg
}

// ZeroInBoth is why a figure is not comparable that nothing was used of.
const ZeroInBoth = "it is 0 in both"

// fewRuns is why a figure is not comparable whose spread is not known.
const fewRuns = "one run against two has no interval: measure one more"

// rounding is a change that comes from adding up numbers and from nothing else.
const rounding = 1e-9

// confidence is that of intervals of changes.
const confidence = 0.95

// Side is what Compare gets of a side: at least one file.
type Side struct {
	Names []string
	Saved []saved.Document
}

// Compare holds HEAD against BASE. Refused are runs that stand on both sides or
// twice on one, and, unless that is allowed, those whose figures differ for
// other reasons than the program: another machine, other sensors, another kind of figures.
func Compare(base, head Side, o Options) (*Result, error) {
	if benchmarks, err := areBenchmarks(base, head); benchmarks || err != nil {
		if err != nil {
			return nil, err
		}
		return compareBenchmarks(base, head, o)
	}
	sides := [2]*sideRuns{}
	for i, s := range []Side{base, head} {
		var err error
		if sides[i], err = sideOf(s, o); err != nil {
			return nil, err
		}
	}
	if err := distinct(sides); err != nil {
		return nil, err
	}
	c := &Result{
		Comparison: Meta{SchemaVersion: report.SchemaVersion, CgVersion: o.Version, Threshold: o.Threshold,
			Confidence: confidence},
		Base: sides[0].described(), Head: sides[1].described(),
		Different: differences(sides), Worse: []string{}, Notes: []string{},
		Totals: []Change{}, Functions: []FunctionChange{}, OnlyInBase: []OneSided{}, OnlyInHead: []OneSided{},
	}
	if err := c.refused(o, howAlike(sides)); err != nil {
		return nil, err
	}
	c.undivided(sides)
	c.totals(sides, o.Threshold)
	c.functions(sides, o)
	c.linesCost = c.costOfLines(sides)
	c.notes(sides, o)
	for _, t := range c.Totals {
		if t.Verdict == Higher && t.IsEnergy() {
			c.Worse = append(c.Worse, t.Name)
		}
	}
	for _, f := range c.Functions {
		if f.Verdict == Higher {
			c.Worse = append(c.Worse, f.Name)
		}
	}
	return c, nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// sideRuns are the runs of one side.
type sideRuns struct {
	name  string
	files []string
	runs  []comparedRun
	some  int // commands that a file has beside the one that is compared
}

// comparedRun is one run, saved by itself or among others.
type comparedRun struct {
	file, id, command string
	meta              report.Meta
	source            string
	kind              nemb.Method
	status            int
	woven             bool // it has checkpoints
	machine, program  bound
	domains           map[string]bound
	duration          float64
	cpu               float64
	power             *float64
	units             map[string]bound // the program's energy for a unit of its work
	run               *report.Run      // nil for one of several in a file
	state             *report.MachineState
}

// bound is a figure and what is known of it.
type bound struct{ value, lo, hi *float64 }

func bounded(value, lo, hi *report.Joules) bound {
	return bound{report.Value(value), report.Value(lo), report.Value(hi)}
}

func sideOf(s Side, o Options) (*sideRuns, error) {
	out := &sideRuns{name: strings.Join(s.Names, ", "), files: s.Names}
	for i, saved := range s.Saved {
		if saved.Run != nil {
			out.runs = append(out.runs, comparedOf(s.Names[i], saved.Run))
			continue
		}
		all := saved.Repeated.All()
		if o.Command >= len(all) {
			return nil, fmt.Errorf("%s has %d commands, and no number %d", s.Names[i], len(all), o.Command+1)
		}
		out.some = max(out.some, len(all)-1)
		c := all[o.Command]
		units := unitsOf(c)
		for at, m := range c.Measurements {
			if m.Warmup && !c.Runs.WarmupIncludedInStats {
				continue
			}
			r := comparedRun{
				file: s.Names[i], id: saved.Repeated.Meta.RunID, command: c.Line(), meta: saved.Repeated.Meta,
				source: c.Backend.Name, kind: c.Backend.Kind,
				status: m.ExitStatus, machine: bounded(m.EnergyJ, nil, nil),
				program: bounded(m.ProgramEnergyJ, nil, nil),
				domains: map[string]bound{}, duration: m.DurationS, cpu: m.CPUS, power: m.PowerW,
				run: c.OfRun(m, saved.Repeated.Meta), woven: len(c.Functions) > 0, units: units[at],
				state: stateOf(saved.Repeated.MachineState, m),
			}
			for id, e := range m.Domains {
				r.domains[id] = bounded(&e, nil, nil)
			}
			out.runs = append(out.runs, r)
		}
	}
	if len(out.runs) == 0 {
		return nil, fmt.Errorf("%s has no run that counts: all of them warm up", out.name)
	}
	return out, nil
}

func comparedOf(file string, r *report.Run) comparedRun {
	t := r.Totals
	if !r.Whole() {
		t.EnergyJ, t.LoJ, t.HiJ, t.ProgramEnergyJ, t.ProgramEnergyLoJ, t.ProgramEnergyHiJ, t.AvgPowerW,
			t.Domains = nil, nil, nil, nil, nil, nil, nil, nil
	}
	out := comparedRun{
		file: file, id: r.Meta.RunID, command: r.Title(), meta: r.Meta, source: t.Source,
		kind: cmp.Or(t.Kind, nemb.Unavailable), status: r.Process.ExitStatus,
		woven:   len(r.Sites) > 0,
		machine: bounded(t.EnergyJ, t.LoJ, t.HiJ),
		program: bounded(t.ProgramEnergyJ, t.ProgramEnergyLoJ, t.ProgramEnergyHiJ),
		domains: map[string]bound{}, duration: t.WallDurationS, cpu: r.Process.UserS + r.Process.SystemS,
		power: t.AvgPowerW, run: r, state: r.MachineState, units: unitsOfSession(r, r.UnitUsed()),
	}
	// What bounds the machine's energy bounds each domain of one and the same source.
	scale := func(end *report.Joules, e report.Joules) *report.Joules {
		if end == nil || t.EnergyJ == nil || *t.EnergyJ == 0 {
			return nil
		}
		j := report.Joules(math.Round(float64(e) * float64(*end) / float64(*t.EnergyJ)))
		return &j
	}
	alone := !strings.Contains(t.Source, ";")
	for id, e := range t.Domains {
		if alone {
			out.domains[id] = bounded(&e, scale(t.LoJ, e), scale(t.HiJ, e))
		} else {
			out.domains[id] = bounded(&e, nil, nil)
		}
	}
	return out
}

func (s *sideRuns) described() SideMeta {
	r := s.runs[0]
	out := SideMeta{
		Name: s.name, Files: s.files, Runs: len(s.runs), Command: r.command, Hostname: r.meta.Hostname,
		CPUModel: r.meta.CPUModel,
		Source:   r.source, Kind: cmp.Or(r.kind, nemb.Unavailable), Granularity: r.meta.Granularity,
		StartedAt: r.meta.StartedAt,
	}
	for _, r := range s.runs {
		if r.status != 0 {
			out.Failed++
		}
	}
	return out
}

// totals compares what whole runs used.
func (c *Result) totals(sides [2]*sideRuns, threshold float64) {
	add := func(of, name, unit string, figure func(comparedRun) bound) {
		change := Change{Of: of, Name: name, Unit: unit}
		for i, s := range sides {
			var all []bound
			for _, r := range s.runs {
				all = append(all, figure(r))
			}
			change.value(i, all)
		}
		if change.Base.Value == nil && change.Head.Value == nil && unit != "J" {
			return
		}
		change.compute()
		change.judge(threshold)
		c.Totals = append(c.Totals, change)
	}
	add("program_energy_j", "program", "J", func(r comparedRun) bound { return r.program })
	add("energy_j", "machine", "J", func(r comparedRun) bound { return r.machine })
	domains := map[string]bool{}
	for _, s := range sides {
		for _, r := range s.runs {
			for id := range r.domains {
				domains[id] = true
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(domains)) {
		add("domains."+id, "domain "+id, "J", func(r comparedRun) bound { return r.domains[id] })
	}
	for _, name := range unitsOfBoth(sides) {
		add("units."+name, "program/"+name, "J/"+name, func(r comparedRun) bound { return r.units[name] })
	}
	one := func(v float64) bound { return bound{value: &v} }
	add("wall_duration_s", "time", "s", func(r comparedRun) bound { return one(r.duration) })
	add("cpu_s", "processor time", "s", func(r comparedRun) bound { return one(r.cpu) })
	add("avg_power_w", "power of the machine", "W", func(r comparedRun) bound { return bound{value: r.power} })
	c.Verdict = c.Totals[0].Verdict
}

// value sums up the figures of a side. One that is not known makes the whole
// not known: what is left would be of other runs.
func (c *Change) value(i int, all []bound) {
	v := &c.Base
	if i == 1 {
		v = &c.Head
	}
	v.Runs = len(all)
	var xs []float64
	for _, b := range all {
		if b.value == nil {
			return
		}
		xs = append(xs, *b.value)
	}
	c.samples[i] = xs
	if len(xs) == 1 {
		v.Value, v.Lo, v.Hi = all[0].value, all[0].lo, all[0].hi
		return
	}
	s := statistics.Summarize(xs)
	v.Value, v.Lo, v.Hi = statistics.Known(s.Mean), statistics.Known(s.Lo), statistics.Known(s.Hi)
}

// compute finds the change and its interval.
func (c *Change) compute() {
	b, h := c.Base, c.Head
	c.Weak = b.Runs < 2 || h.Runs < 2
	switch {
	case b.Value == nil && h.Value == nil:
		c.Why = "it is known of neither"
	case b.Value == nil:
		c.Why = "it is not known of BASE"
	case h.Value == nil:
		c.Why = "it is not known of HEAD"
	case *b.Value <= 0 && *h.Value <= 0:
		c.Why = ZeroInBoth
	case *b.Value <= 0:
		c.Why = "it is 0 in BASE"
	case *h.Value <= 0:
		c.Why = "it is 0 in HEAD"
	}
	if b.Value != nil && h.Value != nil {
		c.Difference = statistics.Known(*h.Value - *b.Value)
	}
	if c.Why != "" {
		return
	}
	r := statistics.CompareMeans(c.samples[0], c.samples[1], confidence)
	if b.Runs > 1 || h.Runs > 1 {
		if c.P = statistics.Known(r.P); c.P == nil {
			c.Why = fewRuns
			return
		}
		c.Change, c.Lo, c.Hi = statistics.Known(r.Change), statistics.Known(r.Lo), statistics.Known(r.Hi)
		return
	}
	c.Change = statistics.Known(r.Change)
	c.Lo, c.Hi = quotient(h.Lo, b.Hi), quotient(h.Hi, b.Lo)
}

// quotient is by how much one value is above another: 0.05 is 5 %.
func quotient(over, under *float64) *float64 {
	if over == nil || under == nil || *under <= 0 {
		return nil
	}
	return statistics.Known(*over / *under - 1)
}

// judge says what a computed change comes to.
func (c *Change) judge(threshold float64) {
	up, down := false, false
	switch {
	case c.Why != "":
		c.Verdict = NotComparable
		return
	case c.P != nil:
		up, down = *c.P <= 1-confidence && *c.Change > 0, *c.P <= 1-confidence && *c.Change < 0
	default:
		up, down = c.Lo != nil && *c.Lo > 0, c.Hi != nil && *c.Hi < 0
	}
	switch {
	case !up && !down || math.Abs(*c.Change) < rounding:
		c.Verdict = NoneShown
	case math.Abs(*c.Change) < threshold:
		c.Verdict = Within
	case up:
		c.Verdict = Higher
	default:
		c.Verdict = Lower
	}
}

// notes say what the verdicts are worth.
func (c *Result) notes(sides [2]*sideRuns, o Options) {
	note := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	energies := c.Totals[0]
	base, head := sides[0].runs, sides[1].runs
	switch {
	case len(base) == 1 && len(head) == 1:
		note("one run on each side: a verdict is about these two runs only, because how much runs differ by " +
			"themselves is not known. Measure several: cg measure --repeat 5, or cg gate, which measures both " +
			"sides in turns")
		if c.Base.Kind == nemb.Estimated {
			note("most of an estimate's interval is a factor that both sides share")
		}
	case len(base) == 1 || len(head) == 1:
		note("one run on one side: it is taken to differ from others as the runs of the other side do among themselves")
	default:
		note("the sides were measured apart: what happened to the machine in between looks like a change (cg gate " +
			"takes turns)")
	}
	if energies.Verdict == NotComparable {
		note("the energy of the program cannot be compared: %s", energies.Why)
	}
	if a, b := sides[0].runs[0].command, sides[1].runs[0].command; a != b {
		note("the sides ran different commands: %s and %s", a, b)
	}
	if a, b := sides[0].runs[0].meta.CgVersion, sides[1].runs[0].meta.CgVersion; a != b {
		note("the sides were measured by different versions of cg, %s and %s", a, b)
	}
	if a, b := sides[0].runs[0].woven, sides[1].runs[0].woven; a != b {
		note("one side ran with checkpoints and the other without: what they cost is in the difference")
	}
	for _, s := range sides {
		failed := 0
		for _, r := range s.runs {
			if r.status != 0 {
				failed++
			}
		}
		if failed > 0 {
			note("of %d runs of %s %d failed, and they count", len(s.runs), s.name, failed)
		}
	}
	if n := max(sides[0].some, sides[1].some); n > 0 {
		note("a file has %d commands: number %d is compared (--command)", n+1, o.Command+1)
	}
	c.Notes = append(c.Notes, machineNotes(sides)...)
	c.Notes = append(c.Notes, c.placeNotes(sides)...)
	tested := 0
	for _, f := range c.Functions {
		if f.P != nil {
			tested++
		}
	}
	if tested > 1 {
		note("%d functions are judged at once: their p-values are adjusted (Holm), so that none is called changed "+
			"by chance in 95 of 100 comparisons", tested)
	}
}

// Fault is why a comparison is no reason to let a change pass, "" where nothing
// is higher than the threshold allows, the program's energy could be compared, and what lines cost is in both sides.
func (c *Result) Fault() string {
	var out []string
	if c.Verdict == NotComparable {
		out = append(out, "the energy of the program cannot be compared: "+c.Totals[0].Why)
	}
	if c.linesCost != "" {
		out = append(out, c.linesCost)
	}
	if len(c.Worse) > 0 {
		text := c.Worse[0]
		if n := len(c.Worse) - 1; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		out = append(out, fmt.Sprintf("higher by %.3g %% or more: %s", 100*c.Comparison.Threshold, text))
	}
	return strings.Join(out, "; ")
}

// Nothing says why no energy at all could be compared, "" where one could.
func (c *Result) Nothing() string {
	for _, t := range c.Totals {
		if (t.Unit == "J" || t.isOfBenchmark()) && t.Verdict != NotComparable {
			return ""
		}
	}
	return "no energy of BASE and HEAD can be compared: " + c.Totals[0].Why
}

// Kind names a comparison.
func (c *Result) Kind() string { return "a comparison" }
