package text

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"cg/report"
	"cg/report/figures"
)

// session shows the tasks of a session in the order in which they began.
func (p *printer) session(r *report.Run) {
	t := r.Totals
	p.energies(r, strings.ReplaceAll(r.Meta.MeasurementQuality, "_", " "), !r.Undivided())
	overlap := ""
	if t.ConcurrentOverlapS > 0 {
		overlap = "   Overlap  " + figures.Seconds(t.ConcurrentOverlapS)
	}
	p.line("Time     %s   in tasks  %s%s   Power  %s", figures.Seconds(t.WallDurationS),
		figures.Seconds(t.TaskDurationS), overlap, figures.Watts(t.AvgPowerW))
	if t.Source != "" {
		p.line("Source   %s", p.paint(dim, p.cut(t.Source, p.Width-9)))
	}
	mark := r.Mark()
	energy := func(e *report.Joules) string {
		if e == nil {
			return "?"
		}
		return mark + figures.Energy(e)
	}
	columns := []column[report.Task]{{"energy", 0, func(t report.Task) string { return energy(t.EnergyJ) }}}
	if !r.Undivided() {
		columns = append(columns, column[report.Task]{"program", 0, func(t report.Task) string {
			e, _, _ := t.Used()
			return energy(e)
		}})
	}
	table(p, "task", r.Tasks[1:], func(t report.Task) string { return strings.Repeat("  ", t.Depth-1) + t.Name },
		append(columns, []column[report.Task]{
			{"interval", 72, func(t report.Task) string { return figures.Interval(t.LoJ, t.HiJ) }},
			{"power", 60, func(t report.Task) string { return figures.Watts(t.AvgPowerW) }},
			{"time", 0, func(t report.Task) string { return figures.Seconds(t.DurationS) }},
			{"method", 100, func(t report.Task) string { return t.Method }},
		}...))
	p.taskGPUs(r, energy)
	p.counted(r, mark)
	p.gauges(r.Tasks[1:])
	p.line("")
	if s := r.Sampler; s.Samples > 0 {
		p.note(dim, "sampler", fmt.Sprintf("%s: %s samples, one each %g ms; %d lost, %d gaps", s.Mechanism,
			figures.Count(uint64(s.Samples)), s.IntervalMs, s.Dropped, s.Gaps))
	}
	for _, w := range r.Warnings {
		p.note(yellow, w.Slug, w.Message)
	}
}

// counted shows what units of work take, of the whole session and of tasks. Those of a run are requests, which have the
// program's energy alone.
func (p *printer) counted(r *report.Run, mark string) {
	rows := r.CountedUnits()
	if len(rows) == 0 {
		return
	}
	known := func(v *float64, show func(float64) string) string {
		if v == nil {
			return "?"
		}
		return mark + show(*v)
	}
	interval := func(lo, hi *float64, show func(float64) string) string {
		if lo == nil || hi == nil {
			return "?"
		}
		return "[" + show(*lo) + ", " + show(*hi) + "]"
	}
	columns := []column[report.CountedUnit]{
		{"unit", 0, func(u report.CountedUnit) string { return u.Unit.Name }},
		{"count", 60, func(u report.CountedUnit) string { return figures.Amount(u.Count) }},
		{"energy", 0, func(u report.CountedUnit) string { return known(u.EnergyJ, figures.SmallJoules) }},
		{"interval", 90, func(u report.CountedUnit) string { return interval(u.LoJ, u.HiJ, figures.SmallJoules) }},
	}
	if r.Part() != report.PartSession {
		table(p, "units of", rows, func(u report.CountedUnit) string { return u.Task }, append(columns[:2],
			column[report.CountedUnit]{"each", 0, func(u report.CountedUnit) string {
				return known(u.ProgramJ, figures.SmallJoules)
			}}, column[report.CountedUnit]{"interval", 72, func(u report.CountedUnit) string {
				return interval(u.ProgramLo, u.ProgramHi, figures.SmallJoules)
			}}))
		return
	}
	if !r.Undivided() {
		columns = append(columns, column[report.CountedUnit]{"program", 72, func(u report.CountedUnit) string {
			return known(u.ProgramJ, figures.SmallJoules)
		}})
	}
	table(p, "units of", rows, func(u report.CountedUnit) string { return strings.Repeat("  ", u.Depth) + u.Task },
		append(columns, []column[report.CountedUnit]{
			{"units/J", 0, func(u report.CountedUnit) string { return known(u.PerJ, figures.Amount) }},
			{"bounds", 110, func(u report.CountedUnit) string { return interval(u.PerLoJ, u.PerHiJ, figures.Amount) }},
		}...))
}

// gauges shows what gauges showed during tasks.
func (p *printer) gauges(tasks []report.Task) {
	type row struct {
		task, name string
		report.Gauge
	}
	var rows []row
	for _, t := range tasks {
		for _, name := range slices.Sorted(maps.Keys(t.Gauges)) {
			rows = append(rows, row{strings.Repeat("  ", t.Depth-1) + t.Name, name, t.Gauges[name]})
		}
	}
	if len(rows) == 0 {
		return
	}
	short := func(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
	table(p, "task", rows, func(r row) string { return r.task }, []column[row]{
		{"gauge", 0, func(r row) string { return r.name }},
		{"mean", 0, func(r row) string { return short(r.Mean) }},
		{"least", 72, func(r row) string { return short(r.Min) }},
		{"most", 0, func(r row) string { return short(r.Max) }},
		{"readings", 90, func(r row) string { return figures.Count(uint64(max(r.Readings, 0))) }},
	})
}
