// Package verdict holds what a check of a change found (cg gate): what was compared, the
// figures, and the verdict in words.
//
// The figures come from the package gate. A Check is saved as JSON, and is the baseline of
// a later one by its measurements of head.
package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"cg/gate"
	"cg/nemb"
	"cg/report"
	"cg/report/figures"
	"cg/report/repeated"
	"cg/shown"
	"cg/statistics"
)

// Check is what a check of a change found: the meta of one of its runs of head,
// what was compared, and the result. It is also the baseline of a later check,
// by its measurements of head.
type Check struct {
	Meta    report.Meta `json:"meta"`
	Command []string    `json:"command"`
	Build   string      `json:"build"`
	Metric  string      `json:"metric"`
	Unit    string      `json:"unit"`
	// Counter is what told the metric: the sensors, perf or callgrind.
	Counter string         `json:"counter"`
	Backend report.Backend `json:"backend"` // of energies
	Base    *gate.Revision `json:"base"`    // null where there is none, or a file
	Head    *gate.Revision `json:"head"`    // null outside of a repository
	// BaseFile is the baseline that was compared with, "" for none.
	BaseFile     string  `json:"base_file"`
	Alpha        float64 `json:"alpha"`
	Seed         string  `json:"seed"`
	Inconclusive string  `json:"inconclusive"` // fail, warn or pass: what becomes of it
	ExitStatus   int     `json:"exit_status"`
	gate.Result
	Warnings []report.Warning `json:"warnings"`
}

// Conclude sets the exit status: 0 for a pass or where nothing was compared, 1 for a
// regression or an exceeded budget, 125 where nothing can be said of a budget, and
// what inconclusive says otherwise. Without a word on each budget there is no pass.
func (g *Check) Conclude() {
	if g.Verdict == statistics.Pass && g.Unknown() {
		g.Verdict = statistics.Inconclusive
	}
	switch {
	case g.Verdict == statistics.Regression || g.Exceeded():
		g.ExitStatus = 1
	case g.Unknown():
		g.ExitStatus = 125
	case g.Verdict == statistics.Pass || g.Alone():
		g.ExitStatus = 0
	default:
		g.ExitStatus = map[string]int{"fail": 1, "warn": 3, "pass": 0}[g.Inconclusive]
	}
}

// Alone says that nothing was compared.
func (g *Check) Alone() bool { return g.Base == nil && g.BaseFile == "" }

// CommandLine is the command that was checked as a shell would take it.
func (g *Check) CommandLine() string { return repeated.Command{Argv: g.Command}.Line() }

// Kind names a check of a change.
func (g *Check) Kind() string { return "a check of a change" }

// JSON encodes a check.
func (g *Check) JSON() ([]byte, error) {
	return report.Encode(g)
}

// IsSaved reports whether a file holds a check, and goes back to its beginning.
func IsSaved(f io.ReadSeeker) bool {
	var head struct {
		Metric *string         `json:"metric"`
		Head   json.RawMessage `json:"head_measurements"`
	}
	err := report.Decode(f, &head)
	_, back := f.Seek(0, io.SeekStart)
	return err == nil && back == nil && head.Metric != nil && head.Head != nil
}

// ReadFrom reads a check to be shown, and refuses what is none.
func ReadFrom(f io.ReadSeeker) (*Check, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return decode(b, "not a saved check")
}

// Read reads a check that others are compared with, and refuses what is none, and one
// without measurements.
func Read(b []byte) (*Check, error) {
	g, err := decode(b, "not a baseline")
	if err != nil {
		return nil, err
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

func decode(b []byte, not string) (*Check, error) {
	var head struct {
		Meta *struct {
			SchemaVersion *string `json:"schema_version"`
			CgVersion     string  `json:"cg_version"`
		} `json:"meta"`
		Head *[]json.RawMessage `json:"head_measurements"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("%s: %w", not, report.Located(b, err))
	}
	if head.Meta == nil || head.Meta.SchemaVersion == nil || head.Head == nil {
		return nil, fmt.Errorf("%s: make one with cg gate --save FILE", not)
	}
	if v := *head.Meta.SchemaVersion; !report.Reads(v) {
		return nil, report.Unreadable(head.Meta.CgVersion, v, "save it anew")
	}
	g := &Check{}
	if err := json.Unmarshal(b, g); err != nil {
		return nil, fmt.Errorf("%s: %w", not, report.Located(b, err))
	}
	return g, nil
}

// Differs names what makes a baseline another thing than this check.
func (g *Check) Differs(base *Check) []string {
	var out []string
	say := func(what, was, is string) {
		if was != is {
			out = append(out, fmt.Sprintf("%s: %s then, %s now", what, was, is))
		}
	}
	say("host", base.Meta.Hostname, g.Meta.Hostname)
	say("processor", base.Meta.CPUModel, g.Meta.CPUModel)
	say("command", base.CommandLine(), g.CommandLine())
	say("checkpoints", base.Meta.Granularity, g.Meta.Granularity) // which cost, too
	if whole, _ := gate.Metric(g.Metric).Of(); whole.IsEnergy() {
		say("energies", string(base.Backend.Kind), string(g.Backend.Kind))
		say("sensors", base.Backend.Name, g.Backend.Name)
	}
	if g.Metric == string(gate.Instructions) {
		say("counter", base.Counter, g.Counter)
	}
	return out
}

// Warn adds a warning.
func (g *Check) Warn(slug, message string) {
	g.Warnings = append(g.Warnings, report.Warning{Slug: slug, Message: message})
}

// NotInterleaved warns of a baseline.
func (g *Check) NotInterleaved(base *Check) {
	text := "so that what changed on the machine since then counts as a change of the program: the promise of at " +
		"most 5 % false alarms holds for --base REV only"
	if g.Deterministic {
		text = "so that another version of an interpreter or a library counts as a change of the program"
	}
	g.Warn("not-interleaved", fmt.Sprintf("base was measured at another time (%s), %s", base.Meta.StartedAt, text))
}

// Different warns of a baseline that --allow-different lets pass.
func (g *Check) Different(differences []string) {
	g.Warn("different-baseline", "base is of something else: "+strings.Join(differences, "; "))
}

// Row is what a run used on both sides, as medians, with their units and marks.
type Row struct {
	// Name is Program or Machine of energies, CPU of processor time, Per run of instructions: the
	// words of every document, in their order.
	Name       string
	Base, Head string
	Judged     bool // whether it is the metric
}

// Rows are what a run used: the program's energy first where it is known, and then the metric, where that is
// another figure.
func (g *Check) Rows() []Row {
	metric, _ := gate.Metric(g.Metric).Of()
	judged := Row{Name: map[gate.Metric]string{gate.CPUEnergy: "Program", gate.Energy: "Machine",
		gate.CPUTime: "CPU"}[metric], Base: g.Value(g.Program.Base), Head: g.Value(g.Program.Head), Judged: true}
	if judged.Name == "" {
		judged.Name = "Per run"
	}
	if metric == gate.CPUEnergy || g.EnergyBaseJ == nil || g.EnergyHeadJ == nil {
		return []Row{judged}
	}
	return []Row{{Name: "Program", Base: g.Joules(g.EnergyBaseJ), Head: g.Joules(g.EnergyHeadJ)}, judged}
}

// Whole names what the comparison of whole runs is of.
func (g *Check) Whole() string {
	if metric, _ := gate.Metric(g.Metric).Of(); metric == gate.Energy {
		return "the machine"
	}
	return "the program"
}

// Value is a figure of the metric in its unit.
func (g *Check) Value(v *float64) string {
	switch {
	case v == nil:
		return "?"
	case g.Unit == "J":
		return g.Joules(v)
	case strings.HasPrefix(g.Unit, "J/"):
		mark := ""
		if g.Backend.Kind == nemb.Estimated {
			mark = "~"
		}
		return figures.Value(v, g.Unit, mark)
	case g.Unit == "s":
		return figures.Seconds(*v)
	case *v >= 1e6:
		return figures.Digits(*v/1e6) + " M"
	}
	return figures.Digits(*v)
}

// Joules is an energy, marked where it is estimated.
func (g *Check) Joules(v *float64) string {
	if v == nil {
		return "?"
	}
	if g.Backend.Kind == nemb.Estimated {
		return "~" + figures.Joules(*v)
	}
	return figures.Joules(*v)
}

// Change is that of a comparison, "?" where it is not known.
func (g *Check) Change(c gate.Comparison) string {
	if c.Change == nil {
		return "?"
	}
	return parts(g.Metric, *c.Change, true)
}

// Interval is that of a change, "" where there is none.
func (g *Check) Interval(c gate.Comparison) string {
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

// Threshold is the smallest change that counts in a comparison.
func (g *Check) Threshold(c gate.Comparison) string { return parts(g.Metric, c.Threshold, false) }

// Detectable is what a comparison could have found, or "".
func (g *Check) Detectable(c gate.Comparison) string {
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

// HeadTitle names the side of the change.
func (g *Check) HeadTitle() string { return revision(g.Head) }

// BaseTitle names what head is compared with.
func (g *Check) BaseTitle() string {
	if g.BaseFile != "" {
		return g.BaseFile + ", measured at another time"
	}
	return revision(g.Base)
}

// Sentence is the verdict in words.
func (g *Check) Sentence() string {
	threshold := g.Threshold(g.Program)
	var worse []string
	for _, c := range g.Functions {
		if c.Verdict == statistics.Regression {
			worse = append(worse, fmt.Sprintf("%s %s", c.Name, g.Change(c)))
		}
	}
	text := ""
	switch g.Verdict {
	case statistics.Regression:
		text = "regression: head costs more"
		if g.Program.Verdict != statistics.Regression {
			text = "regression in functions"
		} else if c := g.Program; c.Change != nil {
			text = fmt.Sprintf("regression: head costs %s more %s", parts(g.Metric, *c.Change, false), g.Interval(c))
		}
		if len(worse) > 0 {
			text += ": " + strings.Join(worse, ", ")
		}
	case statistics.Pass:
		text = "pass: head does not cost " + threshold + " more"
	default:
		text = "inconclusive: neither a change of " + threshold + " nor its absence is shown"
		if d := g.Detectable(g.Program); d != "" {
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
			text += fmt.Sprintf("; of the budget of %s nothing can be said: the energy is not known", Owner(b.Name))
		} else if *b.Exceeded {
			text += fmt.Sprintf("; the budget of %s is exceeded: %s, and %s were allowed", Owner(b.Name),
				g.BudgetText(b), figures.Joules(b.BudgetJ))
		}
	}
	return strings.TrimSpace(text)
}

// Owner names what a budget is of.
func Owner(name string) string {
	if name == "" {
		return "the program"
	}
	return name
}

// BudgetText is what was used of a budget.
func (g *Check) BudgetText(b gate.Budget) string {
	text := g.Joules(b.MeanJ)
	if b.LoJ != nil && b.HiJ != nil {
		text += " [" + g.Joules(b.LoJ) + ", " + g.Joules(b.HiJ) + "]"
	}
	return text
}

// Annotations are workflow commands of GitHub Actions
// (docs.github.com/actions/reference/workflow-commands), one a line.
func (g *Check) Annotations() []string {
	level := "notice"
	switch {
	case g.ExitStatus == 1 || g.ExitStatus == 125:
		level = "error"
	case g.Verdict != statistics.Pass:
		level = "warning"
	}
	out := []string{annotation(level, "cg gate: "+g.Metric, g.Sentence())}
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
