// Package markdown writes documents as tables for comments on a change.
package markdown

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"cg/nemb"
	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/iotrace"
	"cg/report/stream"
	"cg/shown"
)

func init() {
	format.Register(format.Format{
		Name: "markdown", Title: "for comments on a change", Endings: []string{".md", ".markdown"}, Top: true,
		Parts: true,
		Writers: []format.Writer{report.Alone(write), format.Writes(write), format.Writes(writeRepeated),
			format.Writes(writeComparison), format.Writes(writeGate),
			format.Writes(iotrace.WriteMarkdown),
			stream.AsRun(func(w io.Writer, r *report.Run, o format.Options) error {
				return write(w, report.Several{r}, o)
			}), format.Writes(writeCluster), format.Writes(writeUsage), format.Writes(writeTrend),
			format.Writes(writeAdvice), format.Writes(writeBisection)},
	})
}

// write writes tables as GitHub's Markdown has them
// (github.github.com/gfm, tables). Names cannot break out of their cells.
func write(w io.Writer, runs report.Several, o format.Options) error {
	m := &page{}
	if len(runs) == 1 {
		m.single(runs[0], o)
	} else {
		m.several(runs, o)
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

type page struct{ b strings.Builder }

// line writes a line. Control characters in arguments are escaped; what Markdown
// and HTML understand is the caller's.
func (m *page) line(format string, args ...any) { shown.Fprintf(&m.b, format+"\n", args...) }

// row writes a row of a table; what stands in code is marked by the caller.
func (m *page) row(cells ...string) { m.line("| %s |", strings.Join(cells, " | ")) }

// head writes a table's first two rows: names to the left, figures to the right.
func (m *page) head(cells ...string) {
	m.row(cells...)
	m.line("|---|%s", strings.Repeat("---:|", len(cells)-1))
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "`", "&#96;", "\n", " ", "\r",
	" ",
	"*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;", "~", "&#126;", "\\", "&#92;", "@", "&#64;", "#", "&#35;")

// name is a name of the program's in a cell, as code: only HTML is understood in
// it, and a name of an author is not called.
func name(s string) string { return "<code>" + escape.Replace(s) + "</code>" }

func (m *page) single(r *report.Run, o format.Options) {
	t := r.Totals
	kind := escape.Replace(string(t.Kind))
	if t.Kind == nemb.Estimated {
		kind = "**estimated, not measured**"
	}
	m.line("### Energy of %s\n", name(r.Title()))
	if t.EnergyJ == nil {
		m.line("The energies are not known: %s.\n", r.WhyUnknown())
	}
	m.head("", "energy", "interval", "kind")
	mark := r.Mark()
	if !r.Undivided() {
		m.row("program", mark+figures.Energy(t.ProgramEnergyJ),
			figures.Interval(t.ProgramEnergyLoJ, t.ProgramEnergyHiJ), kind)
	}
	m.row("machine", mark+figures.Energy(t.EnergyJ), figures.Interval(t.LoJ, t.HiJ), kind)
	ended := fmt.Sprintf("exit status %d", r.Process.ExitStatus)
	if r.Part() == report.PartSession {
		ended = figures.Seconds(t.TaskDurationS) + " of it in tasks"
	}
	m.line("\n%s, %s on average, %s. Source: %s\n", figures.Seconds(t.WallDurationS),
		figures.Watts(t.AvgPowerW), ended, escape.Replace(t.Source))
	if line := t.Hours.Line(); line != "" {
		m.line("Hours: %s\n", escape.Replace(line))
	}
	if r.Baseline != nil {
		m.line("Baseline: %s\n", escape.Replace(r.Baseline.Line()))
	}
	if line := r.GPUs.Line(mark); line != "" {
		m.line("GPU: %s\n", escape.Replace(line))
	}
	if line := r.GPUs.CounterLine(); line != "" {
		m.line("%s\n", escape.Replace(line))
	}
	if r.Idle.IsWorthTelling() {
		m.line("Idle power: %s\n", escape.Replace(r.Idle.Line()))
	}
	m.footprint(r.Footprint, mark)
	for _, of := range r.PerCall {
		for _, line := range of.Lines() {
			m.line("%s: %s\n", line[0], escape.Replace(line[1]))
		}
	}
	if t.Noise != nil {
		m.line("Noise: %s\n", escape.Replace(t.Noise.Line(mark)))
	}
	shown := o.Rows(len(r.Functions))
	m.functions(r, shown, mark, o)
	m.places(r, o, mark)
	m.inner(r, o, mark)
	m.kernels(r, o, mark)
	m.gpuMetrics(r, o)
	m.tasks(r, o, mark)
	m.taskGPUs(r, o, mark)
	m.counted(r, o, mark)
	if len(r.Ledger) > 0 {
		m.head("of the machine's energy", "", "share")
		for _, l := range r.Ledger {
			what := l.Name
			if l.Source != "" {
				what += " (" + l.Source + ")"
			}
			m.row(escape.Replace(what), mark+figures.Energy(&l.EnergyJ), fmt.Sprintf("%.1f %%", l.SharePercent))
		}
		m.line("")
	}
	for _, f := range r.Functions[:shown] {
		if f.Unresolved != "" && f.SelfEnergyJ != nil {
			m.line("- %s is not resolvable: %s", name(f.Name), escape.Replace(f.Why()))
		}
	}
	for _, w := range r.Warnings {
		m.line("- %s: %s", escape.Replace(w.Slug), escape.Replace(w.Message))
	}
}

// functions writes those that are shown.
func (m *page) functions(r *report.Run, shown int, mark string, o format.Options) {
	if shown == 0 {
		return
	}
	counted, count := "calls", func(f report.Function) uint64 { return f.Calls }
	if r.StackSampling != nil { // which tells no calls
		counted, count = "samples", func(f report.Function) uint64 { return f.StackSamples }
	}
	m.head("function", counted, "self", "interval", "inclusive", "share")
	for _, f := range r.Functions[:shown] {
		m.row(name(f.Name)+" "+escape.Replace(fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)),
			figures.Count(count(f)), mark+figures.Energy(f.SelfEnergyJ),
			figures.Interval(f.SelfEnergyLoJ, f.SelfEnergyHiJ), mark+figures.Energy(f.InclusiveEnergyJ),
			figures.Percent(f.SharePercent))
	}
	if n := len(r.Functions) - shown; n > 0 {
		m.line("\nand %d more", n)
	}
	m.line("")
	m.durations(r.Functions[:shown], o)
}

// places writes the lines or blocks of functions, the dearest first.
func (m *page) places(r *report.Run, o format.Options, mark string) {
	all := r.DearestPlaces()
	if len(all) == 0 {
		return
	}
	what := r.PlaceWord()
	shown := o.Rows(len(all))
	m.head(what, "count", "self", "time")
	for _, p := range all[:shown] {
		code, count := name(p.Text), figures.Count(p.Count)
		switch {
		case p.IsRest():
			code, count = "the rest of "+name(p.Function.Name), ""
		case p.Text == "":
			code = ""
		}
		where := escape.Replace(fmt.Sprintf("%s:%d", filepath.Base(p.Function.File), p.Line))
		m.row(strings.TrimSpace(code+" "+where), count,
			mark+figures.Energy(p.SelfEnergyJ), figures.Seconds(p.SelfTimeS))
	}
	if n := len(all) - shown; n > 0 {
		m.line("\nand %d more", n)
	}
	m.line("\n%s\n", escape.Replace(r.PlacesNote()))
}

// inner writes the functions without checkpoints below those that have them, the dearest first.
func (m *page) inner(r *report.Run, o format.Options, mark string) {
	all := r.DearestInner()
	if len(all) == 0 {
		return
	}
	shown := o.Rows(len(all))
	m.head("sampled", "samples", "self", "interval", "inclusive", "in")
	for _, f := range all[:shown] {
		m.row(name(f.Name), figures.Count(uint64(f.StackSamples)), mark+figures.Energy(f.SelfEnergyJ),
			figures.Interval(f.SelfEnergyLoJ, f.SelfEnergyHiJ), mark+figures.Energy(f.InclusiveEnergyJ),
			name(f.Function.Name))
	}
	if n := len(all) - shown; n > 0 {
		m.line("\nand %d more", n)
	}
	m.line("\n%s\n", escape.Replace(r.InnerNote()))
}

// tasks writes the tests of a run, or the tasks of a session.
func (m *page) tasks(r *report.Run, o format.Options, mark string) {
	if len(r.Tasks) < 2 {
		return
	}
	tests := r.Tasks[1:]
	shown := o.Rows(len(tests))
	m.head(r.TaskWord(), "energy", "time")
	for _, t := range tests[:shown] {
		e, _, _ := t.Used()
		m.row(name(t.Name), mark+figures.Energy(e), figures.Seconds(t.DurationS))
	}
	if n := len(tests) - shown; n > 0 {
		m.line("\nand %d more", n)
	}
	m.line("")
}

// counted writes what units of work take that tasks of a session counted.
func (m *page) counted(r *report.Run, o format.Options, mark string) {
	all := r.CountedUnits()
	if len(all) == 0 {
		return
	}
	show := func(v *float64, of func(float64) string) string {
		if v == nil {
			return "?"
		}
		return mark + of(*v)
	}
	rows := o.Rows(len(all))
	m.head("units of", "unit", "count", "energy", "least", "most", "units/J")
	for _, u := range all[:rows] {
		e, lo, hi := r.UnitUsed()(u.Unit)
		m.row(name(u.Task), name(u.Unit.Name), figures.Amount(u.Count), show(e, figures.SmallJoules),
			show(lo, figures.SmallJoules), show(hi, figures.SmallJoules), show(u.PerJ, figures.Amount))
	}
	if n := len(all) - rows; n > 0 {
		m.line("\nand %d more", n)
	}
	m.line("")
}

// durations writes how long calls took, of the functions that are shown, where everything was asked for.
func (m *page) durations(functions []report.Function, o format.Options) {
	known := slices.DeleteFunc(slices.Clone(functions), func(f report.Function) bool { return f.CallsTime == nil })
	if !o.Verbose || len(known) == 0 {
		return
	}
	m.head("duration of a call", "timed", "shortest", "median", "bounds", "95th percentile", "bounds", "longest")
	bounds := func(lo float64, hi *float64) string {
		if hi == nil {
			return figures.Seconds(lo) + " to ?"
		}
		return figures.Seconds(lo) + " to " + figures.Seconds(*hi)
	}
	for _, f := range known {
		t := f.CallsTime
		m.row(name(f.Name), figures.Count(t.N), figures.Seconds(t.MinS), figures.Seconds(t.MedianS),
			bounds(t.MedianLoS, t.MedianHiS), figures.Seconds(t.P95S), bounds(t.P95LoS, t.P95HiS),
			figures.Seconds(t.MaxS))
	}
	m.line("")
}

func (m *page) several(runs report.Several, o format.Options) {
	heads := []string{""}
	for _, n := range runs.Names(o) {
		heads = append(heads, escape.Replace(n))
	}
	heads = append(heads, "change")
	m.head(heads...)
	for _, r := range runs.Totals() {
		if r.Name == "kind" { // a word of the file's
			for i, c := range r.Cells {
				r.Cells[i] = escape.Replace(c)
			}
		}
		m.row(append(append([]string{r.Name}, r.Cells...), r.Change)...)
	}
	all := runs.Functions()
	shown := o.Rows(len(all))
	if shown > 0 {
		m.line("")
		heads[0] = "self energy of function"
		m.head(heads...)
		for _, r := range all[:shown] {
			m.row(append(append([]string{name(r.Name)}, r.Cells...), r.Change)...)
		}
		if n := len(all) - shown; n > 0 {
			m.line("\nand %d more", n)
		}
	}
	for i, d := range runs.Different() {
		if i == 0 {
			m.line("")
		}
		m.line("- %s", d)
	}
}
