package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"cg/gate"
	"cg/nemb"
	"cg/shown"
	"cg/statistics"
)

// Gate is what a check of a change found: the meta of one of its runs of head,
// what was compared, and the result. It is also the baseline of a later check,
// by its measurements of head.
type Gate struct {
	Meta    Meta     `json:"meta"`
	Command []string `json:"command"`
	Build   string   `json:"build"`
	Metric  string   `json:"metric"`
	Unit    string   `json:"unit"`
	// Counter is what told the metric: the sensors, perf or callgrind.
	Counter string         `json:"counter"`
	Backend Backend        `json:"backend"` // of energies
	Base    *gate.Revision `json:"base"`    // null where there is none, or a file
	Head    *gate.Revision `json:"head"`    // null outside of a repository
	// BaseFile is the baseline that was compared with, "" for none.
	BaseFile     string  `json:"base_file"`
	Alpha        float64 `json:"alpha"`
	Seed         string  `json:"seed"`
	Inconclusive string  `json:"inconclusive"` // fail, warn or pass: what becomes of it
	ExitStatus   int     `json:"exit_status"`
	gate.Result
	Warnings []Warning `json:"warnings"`
}

// GateSchema is the JSON Schema of a check: docs/gate.schema.json.
func GateSchema() map[string]any {
	s := schemaOf(reflect.TypeFor[Gate]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "A check of a change's cost by cg gate, schema version " + SchemaVersion
	return s
}

// Conclude sets the exit status: 0 for a pass or where nothing was compared, 1 for a
// regression or an exceeded budget, 125 where nothing can be said of a budget, and
// what inconclusive says otherwise. Without a word on each budget there is no pass.
func (g *Gate) Conclude() {
	if g.Verdict == statistics.Pass && g.Unknown() {
		g.Verdict = statistics.Inconclusive
	}
	switch {
	case g.Verdict == statistics.Regression || g.Exceeded():
		g.ExitStatus = 1
	case g.Unknown():
		g.ExitStatus = 125
	case g.Verdict == statistics.Pass || g.alone():
		g.ExitStatus = 0
	default:
		g.ExitStatus = map[string]int{"fail": 1, "warn": 3, "pass": 0}[g.Inconclusive]
	}
}

// alone says that nothing was compared.
func (g *Gate) alone() bool { return g.Base == nil && g.BaseFile == "" }

// JSON encodes a check.
func (g *Gate) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(g)
	return shown.JSON(b.Bytes()), err
}

// ReadGate reads a check, and refuses what is none, and one without measurements.
func ReadGate(b []byte) (*Gate, error) {
	var head struct {
		Meta *struct {
			SchemaVersion *string `json:"schema_version"`
			CgVersion     string  `json:"cg_version"`
		} `json:"meta"`
		Head *[]json.RawMessage `json:"head_measurements"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("not a baseline: %w", located(b, err))
	}
	if head.Meta == nil || head.Meta.SchemaVersion == nil || head.Head == nil {
		return nil, errors.New("not a baseline: make one with cg gate --save FILE")
	}
	if v := *head.Meta.SchemaVersion; v != SchemaVersion {
		return nil, fmt.Errorf("saved by cg %s in schema version %s, and this cg reads %s: save it anew", head.Meta.CgVersion, v, SchemaVersion)
	}
	g := &Gate{}
	if err := json.Unmarshal(b, g); err != nil {
		return nil, fmt.Errorf("not a baseline: %w", located(b, err))
	}
	if len(g.Result.Head) == 0 {
		return nil, errors.New("it has no measurements")
	}
	for i, m := range g.Result.Head {
		if m.Value <= 0 || math.IsInf(m.Value, 0) {
			return nil, fmt.Errorf("head_measurements[%d].value: %g is no measurement", i, m.Value)
		}
	}
	return g, nil
}

// Differs names what makes a baseline another thing than this check.
func (g *Gate) Differs(base *Gate) []string {
	var out []string
	say := func(what, was, is string) {
		if was != is {
			out = append(out, fmt.Sprintf("%s: %s then, %s now", what, was, is))
		}
	}
	say("host", base.Meta.Hostname, g.Meta.Hostname)
	say("processor", base.Meta.CPUModel, g.Meta.CPUModel)
	say("command", Command{Argv: base.Command}.line(), Command{Argv: g.Command}.line())
	say("checkpoints", base.Meta.Granularity, g.Meta.Granularity) // which cost, too
	if g.Metric == string(gate.Energy) || g.Metric == string(gate.CPUEnergy) {
		say("energies", string(base.Backend.Kind), string(g.Backend.Kind))
		say("sensors", base.Backend.Name, g.Backend.Name)
	}
	if g.Metric == string(gate.Instructions) {
		say("counter", base.Counter, g.Counter)
	}
	return out
}

// Warn adds a warning.
func (g *Gate) Warn(slug, message string) {
	g.Warnings = append(g.Warnings, Warning{slug, message})
}

// NotInterleaved warns of a baseline.
func (g *Gate) NotInterleaved(base *Gate) {
	text := "so that what changed on the machine since then counts as a change of the program: the promise of at most 5 % false alarms holds for --base REV only"
	if g.Deterministic {
		text = "so that another version of an interpreter or a library counts as a change of the program"
	}
	g.Warn("not-interleaved", fmt.Sprintf("base was measured at another time (%s), %s", base.Meta.StartedAt, text))
}

// Different warns of a baseline that --allow-different lets pass.
func (g *Gate) Different(differences []string) {
	g.Warn("different-baseline", "base is of something else: "+strings.Join(differences, "; "))
}

// value is one of the metric.
func (g *Gate) value(v *float64) string {
	switch {
	case v == nil:
		return "?"
	case g.Unit == "J":
		return g.joule(v)
	case g.Unit == "s":
		return seconds(*v)
	case *v >= 1e6:
		return digits(*v/1e6) + " M"
	}
	return digits(*v)
}

// exactly is an energy that somebody chose.
func exactly(v float64) string {
	j := Joules(math.Round(v * 1e6))
	return energy(&j)
}

// joule is an energy, marked where it is estimated.
func (g *Gate) joule(v *float64) string {
	if v == nil {
		return "?"
	}
	j := Joules(math.Round(max(0, *v) * 1e6))
	if g.Backend.Kind == nemb.Estimated {
		return "~" + energy(&j)
	}
	return energy(&j)
}

func (g *Gate) change(c gate.Comparison) string {
	if c.Change == nil {
		return "?"
	}
	return parts(g.Metric, *c.Change, true)
}

func (g *Gate) interval(c gate.Comparison) string {
	if c.Lo == nil || c.Hi == nil {
		return ""
	}
	return "[" + parts(g.Metric, *c.Lo, true) + ", " + parts(g.Metric, *c.Hi, true) + "]"
}

// parts is a relative change in per cent: instructions are counted finely enough
// for more digits.
func parts(metric string, v float64, signed bool) string {
	format := "%.1f %%"
	if metric == string(gate.Instructions) {
		format = "%.3f %%"
	}
	if signed {
		format = "%+" + format[1:]
	}
	return fmt.Sprintf(format, 100*v)
}

// detectable is what a comparison could have found, or "".
func (g *Gate) detectable(c gate.Comparison) string {
	if c.Detectable == nil {
		return ""
	}
	return parts(g.Metric, *c.Detectable, false)
}

// revision names a side.
func revision(r *gate.Revision) string {
	switch {
	case r == nil:
		return "the current folder"
	case r.WorkingTree && len(r.Changed) == 0:
		return fmt.Sprintf("working tree, as %.10s %s", r.Commit, r.Subject)
	case r.WorkingTree && len(r.Changed) == 1:
		return fmt.Sprintf("working tree: 1 file differs from %.10s %s", r.Commit, r.Subject)
	case r.WorkingTree:
		return fmt.Sprintf("working tree: %d files differ from %.10s %s", len(r.Changed), r.Commit, r.Subject)
	case strings.HasPrefix(r.Commit, r.Name):
		return fmt.Sprintf("%.10s %s", r.Commit, r.Subject)
	}
	return fmt.Sprintf("%s: %.10s %s", r.Name, r.Commit, r.Subject)
}

func (g *Gate) base() string {
	if g.BaseFile != "" {
		return g.BaseFile + ", measured at another time"
	}
	return revision(g.Base)
}

// sentence is the verdict in words.
func (g *Gate) sentence() string {
	threshold := parts(g.Metric, g.Program.Threshold, false)
	var worse []string
	for _, c := range g.Functions {
		if c.Verdict == statistics.Regression {
			worse = append(worse, fmt.Sprintf("%s %s", c.Name, g.change(c)))
		}
	}
	text := ""
	switch g.Verdict {
	case statistics.Regression:
		text = "regression: head costs more"
		if g.Program.Verdict != statistics.Regression {
			text = "regression in functions"
		} else if c := g.Program; c.Change != nil {
			text = fmt.Sprintf("regression: head costs %s more %s", parts(g.Metric, *c.Change, false), g.interval(c))
		}
		if len(worse) > 0 {
			text += ": " + strings.Join(worse, ", ")
		}
	case statistics.Pass:
		text = "pass: head does not cost " + threshold + " more"
	default:
		text = "inconclusive: neither a change of " + threshold + " nor its absence is shown"
		if d := g.detectable(g.Program); d != "" {
			text += "; these measurements could have found " + d
		}
		if g.Program.Verdict == statistics.Pass {
			text = "inconclusive: head does not cost " + threshold + " more as a whole"
			if !g.Unknown() {
				text += ", and of a function with a threshold that is not shown"
			}
		}
	}
	for _, b := range g.Budgets {
		if b.Exceeded == nil {
			text += fmt.Sprintf("; of the budget of %s nothing can be said: the energy is not known", owner(b.Name))
		} else if *b.Exceeded {
			text += fmt.Sprintf("; the budget of %s is exceeded: %s, and %s were allowed", owner(b.Name), g.budgetText(b), exactly(b.BudgetJ))
		}
	}
	return strings.TrimSpace(text)
}

func owner(name string) string {
	if name == "" {
		return "the program"
	}
	return name
}

func (g *Gate) budgetText(b gate.Budget) string {
	text := g.joule(b.MeanJ)
	if b.LoJ != nil && b.HiJ != nil {
		text += " [" + g.joule(b.LoJ) + ", " + g.joule(b.HiJ) + "]"
	}
	return text
}

// Text lays out a check for people.
func (g *Gate) Text(t Terminal) string {
	if t.Width <= 0 {
		t.Width = 80
	}
	p := &printer{Terminal: t}
	row := func(name, text string) { p.line("  %s  %s", pad(name, 8), p.cut(text, p.Width-12)) }
	p.line("%s  %s", p.paint(bold, "Gate"), p.cut(Command{Argv: g.Command}.line(), p.Width-6))
	row("Metric", g.Metric+" by "+g.Counter)
	c := g.Program
	if g.alone() {
		row("Measured", fmt.Sprintf("%s per run, median of %d", g.value(c.Head), g.Pairs))
	} else {
		row("Base", g.base())
		row("Head", revision(g.Head))
		row("Per run", fmt.Sprintf("%s in base, %s in head", g.value(c.Base), g.value(c.Head)))
		if g.Unit != "J" && g.EnergyBaseJ != nil && g.EnergyHeadJ != nil {
			row("Energy", fmt.Sprintf("%s in base, %s in head (by %s; not what is judged)", g.joule(g.EnergyBaseJ), g.joule(g.EnergyHeadJ), g.Backend.Kind))
		}
		row("Change", strings.TrimSpace(g.change(c)+"  "+g.interval(c)))
		what := fmt.Sprintf("%d pairs of at most %d", g.Pairs, g.MaxPairs)
		if !g.Interleaved {
			what = fmt.Sprintf("%d runs, with %d of the baseline", g.Pairs, len(g.Result.Base))
		}
		if g.Batch > 1 {
			what += fmt.Sprintf(", each of %d runs", g.Batch)
		}
		if d := g.detectable(c); d != "" && !g.Deterministic {
			what += "; could have found " + d
		}
		row("Seen by", what)
	}
	for _, b := range g.Budgets {
		verdict := shown.Laid("kept")
		if b.Exceeded == nil {
			verdict = "not known"
		} else if *b.Exceeded {
			verdict = p.paint(yellow, "exceeded")
		}
		text := fmt.Sprintf("%s: %s of %s", owner(b.Name), g.budgetText(b), exactly(b.BudgetJ))
		p.line("  %s  %s, %s", pad("Budget", 8), p.cut(text, p.Width-24), verdict)
	}
	if len(g.Functions) > 0 && !g.alone() {
		width := 0
		for _, f := range g.Functions {
			width = max(width, min(48, len(f.Name)))
		}
		p.line("  %s", p.paint(bold, "Functions, without what they call"))
		for _, f := range g.Functions {
			p.line("    %s  %s  %s  %s  %s", pad(shorten(f.Name, width), width), left(g.change(f), 9), pad(g.interval(f), 20), pad(string(f.Verdict), 12), f.Note)
		}
	}
	if !g.alone() {
		style := ""
		if g.ExitStatus != 0 {
			style = yellow
		}
		p.line("  %s  %s", pad("Verdict", 8), p.paint(style, g.sentence()))
	}
	for _, w := range g.Warnings {
		p.note(yellow, w.Slug, w.Message)
	}
	return p.b.String()
}

// Markdown writes what a step summary shows.
func (g *Gate) Markdown(w io.Writer) error {
	m := &markdown{}
	mark := map[statistics.Verdict]string{statistics.Pass: "✅", statistics.Regression: "❌", statistics.Inconclusive: "⚠️"}[g.Verdict]
	if g.Exceeded() || g.Unknown() {
		mark = "❌"
	}
	m.line("### %s Energy check of %s\n", mark, name(Command{Argv: g.Command}.line()))
	m.line("%s\n", escape.Replace(g.sentence()))
	m.head("", "base", "head", "change", "interval", "could have found", "threshold", "verdict")
	row := func(title string, c gate.Comparison) {
		m.row(title, g.value(c.Base), g.value(c.Head), g.change(c), g.interval(c), g.detectable(c), parts(g.Metric, c.Threshold, false), escape.Replace(string(c.Verdict))+noted(c))
	}
	row("the program", g.Program)
	for _, f := range g.Functions {
		row(name(f.Name), f)
	}
	m.line("")
	if len(g.Budgets) > 0 {
		m.head("budget of", "allowed", "used", "")
		for _, b := range g.Budgets {
			verdict := "kept"
			if b.Exceeded == nil {
				verdict = "not known"
			} else if *b.Exceeded {
				verdict = "**exceeded**"
			}
			title := "the program"
			if b.Name != "" {
				title = name(b.Name)
			}
			m.row(title, exactly(b.BudgetJ), g.budgetText(b), verdict)
		}
		m.line("")
	}
	m.line("- base: %s", escape.Replace(g.base()))
	m.line("- head: %s", escape.Replace(revision(g.Head)))
	m.line("- metric: %s by %s", escape.Replace(g.Metric), escape.Replace(g.Counter))
	if g.Unit != "J" && g.EnergyBaseJ != nil && g.EnergyHeadJ != nil {
		m.line("- energy of a run, %s: %s in base, %s in head", escape.Replace(string(g.Backend.Kind)), g.joule(g.EnergyBaseJ), g.joule(g.EnergyHeadJ))
	}
	m.line("- %d pairs of at most %d; alpha %g; seed %s", g.Pairs, g.MaxPairs, g.Alpha, escape.Replace(g.Seed))
	for _, w := range g.Warnings {
		m.line("- %s: %s", escape.Replace(w.Slug), escape.Replace(w.Message))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

func noted(c gate.Comparison) string {
	if c.Note == "" {
		return ""
	}
	return " (" + escape.Replace(c.Note) + ")"
}

// Annotations are workflow commands of GitHub Actions
// (docs.github.com/actions/reference/workflow-commands), one a line.
func (g *Gate) Annotations() []string {
	level := "notice"
	switch {
	case g.ExitStatus == 1 || g.ExitStatus == 125:
		level = "error"
	case g.Verdict != statistics.Pass:
		level = "warning"
	}
	out := []string{annotation(level, "cg gate: "+g.Metric, g.sentence())}
	for _, w := range g.Warnings {
		if !slices.Contains([]string{"estimated"}, w.Slug) { // which the text says, each time
			out = append(out, annotation("warning", "cg gate: "+w.Slug, w.Message))
		}
	}
	return out
}

func annotation(level, title, text string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return shown.Sprintf("::%s title=%s::%s", level, property.Replace(title), data.Replace(text))
}

// OpenMetrics writes the figures for GitLab's metrics report and for Prometheus
// (openmetrics.io, version 1.0).
func (g *Gate) OpenMetrics(w io.Writer) error {
	var b strings.Builder
	label := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	family := func(metric, help string, of func(gate.Comparison) *float64) {
		fmt.Fprintf(&b, "# TYPE %s gauge\n# HELP %s %s\n", metric, metric, help)
		for _, c := range append([]gate.Comparison{g.Program}, g.Functions...) {
			if v := of(c); v != nil {
				fmt.Fprintf(&b, "%s{metric=\"%s\",function=\"%s\"} %g\n", metric, label.Replace(shown.Line(g.Metric)), label.Replace(shown.Line(c.Name)), *v)
			}
		}
	}
	family("cg_gate_change_ratio", "head relative to base: 0.05 is 5 percent more", func(c gate.Comparison) *float64 { return c.Change })
	family("cg_gate_base", "median of a run of base in "+shown.Line(g.Unit), func(c gate.Comparison) *float64 { return c.Base })
	family("cg_gate_head", "median of a run of head in "+shown.Line(g.Unit), func(c gate.Comparison) *float64 { return c.Head })
	family("cg_gate_detectable_ratio", "the smallest change that would have been found in four of five cases", func(c gate.Comparison) *float64 { return c.Detectable })
	b.WriteString("# EOF\n")
	_, err := io.WriteString(w, b.String())
	return err
}
