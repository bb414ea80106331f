// Package text lays documents out as tables for a terminal.
package text

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"cg/measure"
	"cg/nemb"
	"cg/nemb/attribute"
	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/iotrace"
	"cg/shown"
	"cg/track/merge"
)

func init() {
	format.Register(format.Format{
		Name: format.Default, Title: "tables for a terminal", Endings: []string{".txt"}, Parts: true, Top: true,
		Writers: []format.Writer{format.Writes(writeRun), format.Writes(writeRuns), format.Writes(writeRepeated),
			format.Writes(writeComparison), format.Writes(writeGate), format.Writes(writeStream),
			format.Writes(iotrace.WriteText), format.Writes(writeCluster), format.Writes(writeMerged),
			format.Writes(writeUsage), format.Writes(writeTrend),
			format.Writes(writeBisection), format.Writes(writeAdvice)},
	})
}

// writeRun lays a run out for people.
func writeRun(w io.Writer, r *report.Run, o format.Options) error {
	p := newPrinter(o.Terminal)
	if r.Part() == report.PartSession {
		p.session(r)
		return p.print(w)
	}
	p.headline(r)
	p.functions(r)
	p.places(r)
	p.inner(r)
	p.kernels(r)
	p.ranges(r)
	p.gpuMetrics(r)
	p.tests(r)
	p.counted(r, r.Mark())
	p.ledger(r)
	p.notes(r)
	return p.print(w)
}

type printer struct {
	format.Terminal
	b strings.Builder
}

func newPrinter(t format.Terminal) *printer {
	if t.Width <= 0 {
		t.Width = 80
	}
	return &printer{Terminal: t}
}

// print writes what was laid out.
func (p *printer) print(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

const (
	bold   = "1"
	dim    = "2"
	yellow = "33"
	cyan   = "36"
)

// paint gives a text a style; "" is none.
func (p *printer) paint(style, s string) shown.Safe {
	s = shown.Line(s)
	if !p.Color || s == "" || style == "" {
		return shown.Safe(s)
	}
	return shown.Safe("\x1b[" + style + "m" + s + "\x1b[0m")
}

// line writes a line; arguments that are not painted are escaped.
func (p *printer) line(format string, args ...any) {
	shown.Fprintf(&p.b, format+"\n", args...)
}

// energies are the program's, which is what a report is about, and then the machine's; why
// is why none is known. Without a share there is only the machine's.
func (p *printer) energies(r *report.Run, why string, share bool) {
	t := r.Totals
	line := func(name string, e, lo, hi *report.Joules, note shown.Safe, heavy string) {
		p.line("%s  %s  [%s, %s]  %s", p.paint(heavy, name), p.paint(heavy, figures.Energy(e)), figures.Energy(lo),
			figures.Energy(hi), note)
	}
	switch {
	case t.EnergyJ == nil && share:
		p.line("%s  ?  %s", p.paint(bold, "Program"), p.paint(yellow, why))
	case t.EnergyJ == nil:
		p.line("%s  ?  %s", p.paint(bold, "Machine"), p.paint(yellow, why))
	case !share:
		line("Machine", t.EnergyJ, t.LoJ, t.HiJ, p.kind(t.Kind), bold)
	case t.ProgramEnergyJ == nil:
		p.line("Program  ?  %s", p.paint(yellow, r.WhyNoShare()))
		line("Machine", t.EnergyJ, t.LoJ, t.HiJ, p.kind(t.Kind), bold)
	default:
		how := "the program's part of it is by processor time"
		if r.GPUs.Line("") != "" {
			how += ", of GPUs by their drivers"
		}
		line("Program", t.ProgramEnergyJ, t.ProgramEnergyLoJ, t.ProgramEnergyHiJ, p.kind(t.Kind), bold)
		line("Machine", t.EnergyJ, t.LoJ, t.HiJ, p.paint(dim, how), "")
	}
}

func (p *printer) headline(r *report.Run) {
	t := r.Totals
	foreign := r.Part() != "" && r.Process.CPUMethod == "" // from a file that another program wrote
	why := "the file tells none"
	if !foreign {
		why = r.WhyUnknown()
	}
	p.energies(r, why, true)
	if e, ok := t.Domains["memory"]; ok {
		p.line("Memory   %s  %s", r.Mark()+figures.Energy(&e),
			p.paint(dim, "of the program's memory (its resident set), part of the machine's energy"))
	}
	for _, id := range slices.Sorted(maps.Keys(t.Domains)) {
		if outside, ok := r.Outside(id); ok {
			wall := t.Domains[id]
			p.line("%s  %s  %s", pad(shorten(id, 7), 7), figures.Energy(&wall), p.paint(dim, fmt.Sprintf(
				"the whole machine; %s of it is outside of the energies above", figures.Energy(&outside))))
		}
	}
	power := "?"
	if t.AvgPowerW != nil {
		power = fmt.Sprintf("%.2f W", *t.AvgPowerW)
	}
	cpu := figures.Seconds(r.Process.UserS + r.Process.SystemS)
	if foreign {
		cpu = "?"
	}
	p.line("Time     %s   Power  %s   CPU  %s", figures.Seconds(t.DurationS), power, cpu)
	p.hours(t.Hours, "", 9)
	if how := ended(r.Process); how != "" {
		p.line("Ended    %s", p.paint(yellow, how))
	}
	if t.Noise != nil {
		p.line("Noise    %s", p.paint(dim, t.Noise.Line(r.Mark())))
	}
	if r.Baseline != nil {
		p.line("Baseline %s", p.paint(dim, r.Baseline.Line()))
	}
	if line := r.GPUs.Line(r.Mark()); line != "" {
		p.line("GPU      %s", p.paint(dim, line))
	}
	if line := r.GPUs.CounterLine(); line != "" {
		p.line("         %s", p.paint(dim, line))
	}
	if r.Idle.IsWorthTelling() {
		p.line("Idle     %s", p.paint(dim, r.Idle.Line()))
	}
	p.footprint(r.Footprint, r.Mark(), "")
	for _, of := range r.PerCall {
		for _, line := range of.Lines() {
			p.line("%s %s", pad(line[0], 8), p.cut(line[1], p.Width-9))
		}
	}
	if t.Source != "" {
		p.line("Source   %s", p.paint(dim, p.cut(t.Source, p.Width-9)))
	}
}

// hours shows core-hours and GPU-hours, behind an indent.
func (p *printer) hours(h *report.Hours, indent string, width int) {
	if line := h.Line(); line != "" {
		head := indent + pad("Hours", width)
		p.line("%s%s", head, p.paint(dim, p.cut(line, p.Width-len(head))))
	}
}

// ended says how a program ended that did not end well, "" for one that did.
func ended(p report.Process) string {
	switch {
	case p.Running:
		return "not yet: the program is still running"
	case p.TimedOut:
		return fmt.Sprintf("by --timeout, with status %d", p.ExitStatus)
	case p.Signal != nil:
		return fmt.Sprintf("by signal %s, with status %d", *p.Signal, p.ExitStatus)
	case p.ExitStatus != 0:
		return fmt.Sprintf("with status %d", p.ExitStatus)
	}
	return ""
}

// kind says in words and colour whether a figure was measured.
func (p *printer) kind(k nemb.Method) shown.Safe {
	switch k {
	case nemb.Measured:
		return p.paint(cyan, "measured")
	case nemb.Estimated:
		return p.paint(yellow, "ESTIMATED, not measured")
	}
	return shown.Safe(shown.Line(string(k)))
}

func (p *printer) functions(r *report.Run) {
	mark := r.Mark()
	counted := column[report.Function]{"calls", 0, func(f report.Function) string { return figures.Count(f.Calls) }}
	doubt := column[report.Function]{"a call", 136, func(f report.Function) string { return mark + perCall(f) }}
	if r.StackSampling != nil { // which tells no calls
		counted.head = "samples"
		counted.cell = func(f report.Function) string { return figures.Count(f.StackSamples) }
		doubt = column[report.Function]{"± by chance", 0, samplingDoubt}
	}
	table(p, "function", r.Functions, func(f report.Function) string { return f.Name }, []column[report.Function]{
		counted,
		{"self", 0, func(f report.Function) string { return mark + figures.Energy(f.SelfEnergyJ) }},
		{"interval", 104, func(f report.Function) string { return figures.Interval(f.SelfEnergyLoJ, f.SelfEnergyHiJ) }},
		{"incl", 60, func(f report.Function) string { return mark + figures.Energy(f.InclusiveEnergyJ) }},
		{"share", 0, func(f report.Function) string { return figures.Percent(f.SharePercent) }},
		{"power", 72, func(f report.Function) string { return figures.Watts(f.AvgPowerW) }},
		{"time", 88, func(f report.Function) string { return figures.Seconds(f.SelfTimeS) }},
		doubt,
		{"where", 120, func(f report.Function) string { return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line) }},
	})
}

// places shows the lines or blocks of functions, the dearest first.
func (p *printer) places(r *report.Run) {
	all := r.DearestPlaces()
	if len(all) == 0 {
		return
	}
	mark, what := r.Mark(), r.PlaceWord()
	where := func(l report.PlaceIn) string {
		text := l.Text
		if l.IsRest() {
			text = "(rest of " + l.Function.Name + ")"
		}
		return fmt.Sprintf("%s:%d %s", filepath.Base(l.Function.File), l.Line, text)
	}
	table(p, what, all, where, []column[report.PlaceIn]{
		{"count", 60, func(l report.PlaceIn) string {
			if l.IsRest() {
				return ""
			}
			return figures.Count(l.Count)
		}},
		{"self", 0, func(l report.PlaceIn) string { return mark + figures.Energy(l.SelfEnergyJ) }},
		{"time", 0, func(l report.PlaceIn) string { return figures.Seconds(l.SelfTimeS) }},
	})
	p.note(dim, what+"s", r.PlacesNote())
}

// inner shows the functions without checkpoints below those that have them, the dearest first.
func (p *printer) inner(r *report.Run) {
	mark := r.Mark()
	table(p, "sampled", r.DearestInner(), func(f report.InnerIn) string { return f.Name }, []column[report.InnerIn]{
		{"samples", 0, func(f report.InnerIn) string { return figures.Count(uint64(f.StackSamples)) }},
		{"self", 0, func(f report.InnerIn) string { return mark + figures.Energy(f.SelfEnergyJ) }},
		{"interval", 72, func(f report.InnerIn) string { return figures.Interval(f.SelfEnergyLoJ, f.SelfEnergyHiJ) }},
		{"incl", 104, func(f report.InnerIn) string { return mark + figures.Energy(f.InclusiveEnergyJ) }},
		{"in", 0, func(f report.InnerIn) string { return f.Function.Name }},
	})
	if r.InnerSampling != nil && r.InnerSampling.Samples > 0 {
		p.note(dim, "inner", r.InnerNote())
	}
}

// samplingDoubt is by how much a function's energy may be off as its stack samples are few.
func samplingDoubt(f report.Function) string {
	switch d := f.SamplingDoubtPercent; {
	case d == nil:
		return ""
	case *d >= 100:
		return "all of it"
	default:
		return fmt.Sprintf("%.2g %%", *d)
	}
}

// tests shows the spans of a test runner, the dearest first.
func (p *printer) tests(r *report.Run) {
	if len(r.Tasks) < 2 {
		return
	}
	mark := r.Mark()
	tests := slices.Clone(r.Tasks[1:])
	slices.SortStableFunc(tests, func(a, b report.Task) int {
		of, _, _ := a.Used()
		than, _, _ := b.Used()
		if of == nil || than == nil {
			return cmp.Compare(b.DurationS, a.DurationS)
		}
		return cmp.Compare(*than, *of)
	})
	columns := []column[report.Task]{
		{"energy", 0, func(t report.Task) string {
			e, _, _ := t.Used()
			return mark + figures.Energy(e)
		}},
		{"interval", 72, func(t report.Task) string {
			_, lo, hi := t.Used()
			return figures.Interval(lo, hi)
		}},
		{"power", 60, func(t report.Task) string { return figures.Watts(t.UsedPowerW()) }},
		{"time", 0, func(t report.Task) string { return figures.Seconds(t.DurationS) }},
	}
	good := func(t report.Task) bool { return t.Status == "" || t.Status == "passed" }
	if slices.ContainsFunc(tests, func(t report.Task) bool { return !good(t) }) {
		columns = append(columns, column[report.Task]{"ended", 0, func(t report.Task) string {
			if good(t) {
				return ""
			}
			return t.Status
		}})
	}
	table(p, r.TaskWord(), tests, func(t report.Task) string { return t.Name }, columns)
}

// always are the lines of the ledger that are shown when there is nothing on them.
var always = map[string]bool{report.LineFunctions: true, report.LineUninstrumented: true, report.LineOther: true,
	report.LineIdle: true, report.LineOwn: true}

func (p *printer) ledger(r *report.Run) {
	if len(r.Ledger) == 0 {
		return
	}
	p.line("")
	mark := r.Mark()
	width := 0
	for _, l := range r.Ledger {
		width = max(width, len(l.Name))
	}
	for _, l := range r.Ledger {
		if l.EnergyJ == 0 && !always[l.Name] && !p.Verbose {
			continue
		}
		e, source := l.EnergyJ, ""
		if l.Source != "" {
			source = "  (" + l.Source + ")"
		}
		p.line("%s  %s  %s%s", pad(l.Name, width), left(mark+figures.Energy(&e), 10),
			left(fmt.Sprintf("%.1f %%", l.SharePercent), 7), source)
	}
	if r.Totals.EnergyJ != nil {
		p.line("%s  %s  %s", pad("total", width), left(mark+figures.Energy(r.Totals.EnergyJ), 10), left("100 %", 7))
	}
}

func (p *printer) notes(r *report.Run) {
	if len(r.Warnings) > 0 || len(r.Skipped) > 0 || len(r.Functions) > 0 || r.Sampler.Samples > 0 || r.Part() != "" {
		p.line("")
	}
	if r.Part() != "" {
		p.note(dim, r.Part(), "the file has tasks and samples; functions, call paths and the ledger are not in it")
	}
	if len(r.Functions) > 0 {
		p.note(dim, "method", methods(r))
		p.unresolved(r)
		p.durations(r.Functions)
		listVerdicts(p, r.Functions, func(f report.Function) (string, report.Verdict) { return f.Name, f.Verdict })
	}
	if s := r.Sampler; s.Samples > 0 {
		text := fmt.Sprintf("%d samples, one each %v (%s); %d missed, %d gaps, %d slower than 50 µs; %s of "+
			"processor time",
			s.Samples, time.Duration(s.IntervalMs*1e6), s.Mechanism, s.MissedDeadlines, s.Gaps, s.SlowReads,
			figures.Seconds(s.OwnCPUS))
		if s.EnergyJ != nil {
			text += ", " + r.Mark() + figures.Energy(s.EnergyJ)
		}
		p.note(dim, "sampler", text)
	}
	if s := r.StackSampling; s != nil && s.Samples > 0 {
		p.note(dim, "sampled", stackSampling(s)+"; no calls are known, and time is an estimate, too")
	}
	if s := r.InnerSampling; s != nil && s.Samples > 0 {
		p.note(dim, "sampled", stackSampling(s)+fmt.Sprintf("; %s were in no function with checkpoints, "+
			"%s in cg's own code",
			figures.Count(uint64(s.Outside)), figures.Count(uint64(s.Own))))
	}
	if line := r.StateLine(); line != "" {
		p.note(dim, "state", line)
	}
	if c := r.Channel.Cost; c != nil {
		text := fmt.Sprintf("cg's code where functions begin and end ran %s times, %s each: %s",
			figures.Count(r.Channel.Events), figures.Seconds(c.EventNs*1e-9), figures.Seconds(c.TimeS))
		if c.EnergyJ != nil {
			text += " and " + r.Mark() + figures.Energy(c.EnergyJ)
		}
		text += " in all, counted for no function"
		if c.Counted > 0 && r.Channel.Events > 0 {
			text += fmt.Sprintf("; %.0f %% of them read no clock: the times of short calls are estimates from the "+
				"others",
				100*min(1, float64(c.Counted)/float64(r.Channel.Events)))
		}
		p.note(dim, "checkpoints", text)
	}
	for _, w := range r.Warnings {
		p.note(yellow, w.Slug, w.Message)
	}
	for i, s := range r.Skipped {
		if i == 5 && !p.Verbose {
			p.note(dim, "skipped", fmt.Sprintf("and %d more files (--verbose)", len(r.Skipped)-i))
			break
		}
		p.note(dim, "skipped", s.File+": "+s.Reason)
	}
}

// stackSampling says in words how stacks were sampled.
func stackSampling(s *report.StackSampling) string {
	var readers []string
	for _, p := range s.Processes {
		if p.Reader != "" && !slices.Contains(readers, p.Reader) {
			readers = append(readers, p.Reader)
		}
	}
	text := fmt.Sprintf("%s stacks", figures.Count(uint64(s.Samples)))
	if len(readers) > 0 {
		text += " of " + strings.Join(readers, ", ")
	}
	text += fmt.Sprintf(", read from outside each %.3g ms; in %s of them the thread was on no processor; %d torn; ",
		s.ReachedMs, figures.Count(uint64(s.Waiting)), s.Torn)
	if s.Lost > 0 {
		text += figures.Count(uint64(s.Lost)) + " without room; "
	}
	return text + figures.Seconds(s.OwnCPUS) + " of processor time"
}

// methods says in words how the functions' energies were found.
func methods(r *report.Run) string {
	const share = "time-share: the energy of each sampling window is divided by processor time, within a thread by " +
		"time in function"
	if slices.ContainsFunc(r.Functions, func(f report.Function) bool { return f.EnergyMethod == measure.MethodBlock }) {
		return "result block: what the joules that the program read rose by between its checkpoints"
	}
	if !slices.ContainsFunc(r.Functions,
		func(f report.Function) bool { return f.EnergyMethod == attribute.Regression }) {
		return share
	}
	return "regression: the power of each function that best explains the counter over blocks of sampling windows, " +
		"times its time; functions that this does not resolve, by time-share"
}

// unresolved lists the functions that are not resolved, the dearest first.
func (p *printer) unresolved(r *report.Run) {
	names, n := "", 0
	for _, f := range r.Functions {
		if f.Unresolved == "" || f.SelfEnergyJ == nil || f.SharePercent == nil || *f.SharePercent < 1 && !p.Verbose {
			continue
		}
		if n++; n > 5 && !p.Verbose {
			continue
		}
		if names != "" {
			names += "; "
		}
		names += f.Name + " (" + f.Why() + ")"
	}
	if n > 5 && !p.Verbose {
		names += fmt.Sprintf("; and %d more (--verbose)", n-5)
	}
	if n > 0 {
		p.note(dim, "not resolvable", names)
	}
}

// listVerdicts lists the functions that something is said of, by verdict.
func listVerdicts[T any](p *printer, functions []T, of func(T) (name string, v report.Verdict)) {
	for _, v := range report.Verdicts {
		var names []string
		for _, f := range functions {
			if name, its := of(f); its == v && v.Meaning() != "" {
				names = append(names, name)
			}
		}
		if n := len(names); n > 5 && !p.Verbose {
			names = append(names[:5], fmt.Sprintf("and %d more (--verbose)", n-5))
		}
		if len(names) > 0 {
			p.note(dim, string(v), strings.Join(names, ", ")+" ("+v.Meaning()+")")
		}
	}
}

// perCall is the mean energy of a call.
func perCall(f report.Function) string {
	if f.CallsEnergy == nil {
		return "?"
	}
	switch v := f.CallsEnergy.MeanJ; {
	case v == 0:
		return "0 J"
	case v < 1e-3:
		return figures.Digits(v*1e6) + " µJ"
	case v < 1:
		return figures.Digits(v*1e3) + " mJ"
	default:
		return figures.Digits(v) + " J"
	}
}

// wordsOf are the words of a text between which a line may end: the groups of digits of a number are one.
func wordsOf(text string) (words []string) {
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	for _, w := range strings.Fields(text) {
		if n := len(words); n > 0 && len(w) >= 3 && digits(w[:3]) && (len(w) == 3 || !digits(w[3:4])) {
			if last := words[n-1]; digits(last[strings.LastIndexByte(last, ' ')+1:]) && len(last) < 40 {
				words[n-1] += " " + w
				continue
			}
		}
		words = append(words, w)
	}
	return words
}

func (p *printer) note(style, slug, message string) {
	message = shown.Line(strings.Join(strings.Fields(message), " "))
	head := shown.Line(slug) + ": "
	width := max(p.Width, 40)
	at, out := len(head), string(p.paint(style, head))
	for i, word := range wordsOf(message) {
		if i > 0 && at+1+runewidth.StringWidth(word) > width {
			out += "\n  "
			at = 2
		} else if i > 0 {
			out += " "
			at++
		}
		out += word
		at += runewidth.StringWidth(word)
	}
	p.line("%s", shown.Safe(out))
}

func (p *printer) cut(s string, width int) string {
	return runewidth.Truncate(shown.Line(s), max(width, 12), "…")
}

// shorten keeps the end of a qualified name, which tells more.
func shorten(s string, width int) string {
	s = shown.Line(s)
	if n := runewidth.StringWidth(s); n > width {
		return runewidth.TruncateLeft(s, n-width+1, "…")
	}
	return s
}

func pad(s string, width int) string  { return runewidth.FillRight(s, width) }
func left(s string, width int) string { return runewidth.FillLeft(s, width) }

func writeMerged(w io.Writer, l *merge.Logs, _ format.Options) error { return l.WriteText(w) }
