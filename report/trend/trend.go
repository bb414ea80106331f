package trend

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"

	"cg/gate"
	"cg/nemb"
	"cg/report"
	"cg/report/figures"
	"cg/report/repeated"
	"cg/report/verdict"
	"cg/statistics"
)

// Trend is what cg trend tells of a history: docs/trend.schema.json.
type Trend struct {
	About  About    `json:"trend"`
	Series []Series `json:"series"` // in the order in which the history has them first
}

// About tells where a trend comes from.
type About struct {
	SchemaVersion string  `json:"schema_version"`
	CgVersion     string  `json:"cg_version"`
	Checks        int     `json:"checks"`
	Method        string  `json:"method"` // of the steps
	Alpha         float64 `json:"alpha"`  // part of series without a step that may have one
}

// Series is what one command cost on machines of one kind.
type Series struct {
	Command     []string    `json:"command"`
	Build       string      `json:"build"`
	Granularity string      `json:"granularity"`
	Metric      string      `json:"metric"`
	Unit        string      `json:"unit"`
	Counter     string      `json:"counter"`
	Kind        nemb.Method `json:"energy_kind"`
	Machine     Machine     `json:"machine"` // as the last check has it
	Points      []Point     `json:"points"`
	// Earlier is how many points before these are in no search for steps.
	Earlier int    `json:"earlier"`
	Steps   []Step `json:"steps"`
}

// Point is what the checks of a commit found. Checks of files that differ from their commit
// are points of their own.
type Point struct {
	Commit  string   `json:"commit"`
	Subject string   `json:"subject"`
	Changed bool     `json:"changed"`
	At      string   `json:"at"` // of the first check
	Checks  int      `json:"checks"`
	Pairs   int      `json:"pairs"`
	Value   float64  `json:"value"`
	Lo      *float64 `json:"value_lo"`
	Hi      *float64 `json:"value_hi"`
}

// Step is a change that stays: between the points At-1 and At.
type Step struct {
	At       int     `json:"at"`     // index of the first point after it
	Last     string  `json:"last"`   // commit before it
	First    string  `json:"first"`  // commit after it
	Before   float64 `json:"before"` // mean of the points since the step before
	After    float64 `json:"after"`  // mean of the points up to the next step
	Change   float64 `json:"change"`
	ChangeLo float64 `json:"change_lo"` // 95 % interval
	ChangeHi float64 `json:"change_hi"`
	P        float64 `json:"p"` // of a step so clear if there were none
}

// mostPoints is how many points of a series are searched for steps: the time grows with their
// square.
const mostPoints = 1000

// New makes the trend of a history. Nothing comes before a line but what stands before it in
// the file: the order of the commits is that of their first checks.
func New(lines []Line, cgVersion string) (*Trend, error) {
	if len(lines) == 0 {
		return nil, ErrEmpty
	}
	t := &Trend{About: About{SchemaVersion: report.SchemaVersion, CgVersion: cgVersion, Checks: len(lines),
		Method: "e-divisive", Alpha: statistics.StepAlpha}}
	index := map[string]int{}
	for _, l := range lines {
		i, known := index[l.key()]
		if !known {
			i = len(t.Series)
			index[l.key()] = i
			t.Series = append(t.Series, Series{Command: l.Command, Build: l.Build, Granularity: l.Granularity,
				Metric: l.Metric, Unit: l.Unit, Counter: l.Counter, Kind: l.Kind, Steps: []Step{}})
		}
		t.Series[i].Machine = l.Machine
		t.Series[i].add(l)
	}
	for i := range t.Series {
		t.Series[i].findSteps()
	}
	return t, nil
}

// add puts a check to the point of its commit.
func (s *Series) add(l Line) {
	at := -1
	for i, p := range s.Points {
		if p.Commit == l.Commit && l.Commit != "" && !p.Changed && !l.Changed {
			at = i
		}
	}
	if at < 0 {
		s.Points = append(s.Points, Point{Commit: l.Commit, Subject: l.Subject, Changed: l.Changed, At: l.At, Checks: 1,
			Pairs: l.Pairs, Value: l.Value, Lo: l.Lo, Hi: l.Hi})
		return
	}
	// The mean of all measurements; its interval from those of the parts, which are independent.
	p := &s.Points[at]
	a, b := float64(p.Pairs), float64(max(1, l.Pairs))
	value := (a*p.Value + b*l.Value) / (a + b)
	end := func(mine, other *float64) *float64 {
		if mine == nil || other == nil {
			return nil
		}
		v := value + math.Copysign(math.Hypot(a*(*mine-p.Value), b*(*other-l.Value))/(a+b), *mine-p.Value)
		return &v
	}
	p.Lo, p.Hi = end(p.Lo, l.Lo), end(p.Hi, l.Hi)
	p.Value, p.Checks, p.Pairs = value, p.Checks+1, p.Pairs+l.Pairs
}

func (s *Series) findSteps() {
	s.Earlier = max(0, len(s.Points)-mostPoints)
	var values, logs []float64
	for _, p := range s.Points[s.Earlier:] {
		values, logs = append(values, p.Value), append(logs, math.Log(p.Value))
	}
	steps := statistics.Steps(logs, statistics.StepAlpha)
	for i, step := range steps {
		from, to := 0, len(values)
		if i > 0 {
			from = steps[i-1].At
		}
		if i+1 < len(steps) {
			to = steps[i+1].At
		}
		before, after := values[from:step.At], values[step.At:to]
		r := statistics.CompareMeans(before, after, 0.95)
		at := s.Earlier + step.At
		s.Steps = append(s.Steps, Step{At: at, Last: s.Points[at-1].Commit, First: s.Points[at].Commit,
			Before: mean(before), After: mean(after), Change: r.Change, ChangeLo: r.Lo, ChangeHi: r.Hi, P: step.P})
	}
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}

// Kind names a trend.
func (t *Trend) Kind() string { return "a trend over commits" }

// JSON encodes a trend.
func (t *Trend) JSON() ([]byte, error) { return report.Encode(t) }

// Schema is the JSON Schema of a trend.
func Schema() map[string]any {
	return report.SchemaOf(reflect.TypeFor[Trend](), "The cost of a command over commits by cg trend")
}

// IsSaved reports whether a file holds a trend, and goes back to its beginning.
func IsSaved(f io.ReadSeeker) bool { return report.BeginsWith(f, "trend") }

// ReadFrom reads a saved trend, and refuses what is none.
func ReadFrom(f io.ReadSeeker) (*Trend, error) {
	t := &Trend{}
	if err := report.Decode(f, t); err != nil {
		return nil, fmt.Errorf("not a saved trend: %w", err)
	}
	if v := t.About.SchemaVersion; !report.Reads(v) {
		return nil, report.Unreadable(t.About.CgVersion, v, "make it anew from its history")
	}
	for i, s := range t.Series {
		if len(s.Points) == 0 || s.Earlier < 0 || s.Earlier >= len(s.Points) {
			return nil, fmt.Errorf("not a saved trend: series[%d]: %d points, %d of them earlier", i, len(s.Points),
				s.Earlier)
		}
		for k, step := range s.Steps {
			if step.At <= s.Earlier || step.At >= len(s.Points) || k > 0 && step.At <= s.Steps[k-1].At {
				return nil, fmt.Errorf("not a saved trend: series[%d].steps[%d].at: there is no point %d", i, k,
					step.At)
			}
		}
	}
	if len(t.Series) == 0 {
		return nil, errors.New("not a saved trend: it has no series")
	}
	return t, nil
}

// check has the words of a check's figures for a series.
func (s *Series) check() *verdict.Check {
	return &verdict.Check{Metric: s.Metric, Unit: s.Unit, Backend: report.Backend{Kind: s.Kind}}
}

// Value is a figure of the metric in its unit.
func (s *Series) Value(v float64) string { return s.check().Value(&v) }

// Title is the command as a shell would take it.
func (s *Series) Title() string { return repeated.Command{Argv: s.Command}.Line() }

// Name is how a point is called: its commit, shortened.
func (p Point) Name() string {
	name := fmt.Sprintf("%.10s", p.Commit)
	switch {
	case p.Commit == "":
		return "no commit"
	case p.Changed:
		name += " with changes"
	}
	return name
}

// Sentence says what changed last.
func (s *Series) Sentence() string {
	switch {
	case len(s.Steps) == 0 && len(s.Points) == 1:
		return "no step in one commit"
	case len(s.Steps) == 0:
		return fmt.Sprintf("no step in %d commits", len(s.Points))
	}
	last := s.Steps[len(s.Steps)-1]
	steps := "one step"
	if len(s.Steps) > 1 {
		steps = fmt.Sprintf("%d steps", len(s.Steps))
	}
	return fmt.Sprintf("%s with %s; %s in %d commits", s.check().Change(gate.Comparison{Change: &last.Change}),
		s.Points[last.At].Name(), steps, len(s.Points))
}

// Facts are what was measured, where.
func (s *Series) Facts() [][2]string {
	facts := [][2]string{{"metric", s.Metric + " by " + s.Counter}}
	if whole, _ := gate.Metric(s.Metric).Of(); s.Kind == nemb.Estimated && whole.IsEnergy() {
		facts = append(facts, [2]string{"energies", "estimated, not measured"})
	}
	if s.Build != "" {
		facts = append(facts, [2]string{"build", s.Build})
	}
	facts = append(facts, [2]string{"machine", fmt.Sprintf("%s, %d processors (%s)", s.Machine.CPUModel,
		s.Machine.Processors, s.Machine.Fingerprint)})
	if s.Earlier > 0 {
		facts = append(facts, [2]string{"searched", fmt.Sprintf("the last %d commits", len(s.Points)-s.Earlier)})
	}
	return facts
}

// Table is one of a series. Its first column is a name.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string
	More    int // rows that are left out
}

// Tables are the steps, and the newest commits first, as many as most, or all for 0.
func (s *Series) Tables(most int) []Table {
	steps := Table{Title: "Steps",
		Columns: []string{"with", "after", "change", "interval", "from", "to", "p", "subject"}}
	for _, step := range s.Steps {
		c := gate.Comparison{Change: &step.Change, Lo: &step.ChangeLo, Hi: &step.ChangeHi}
		first := s.Points[step.At]
		steps.Rows = append(steps.Rows, []string{first.Name(), s.Points[step.At-1].Name(), s.check().Change(c),
			s.check().Interval(c), s.Value(step.Before), s.Value(step.After), figures.Digits(step.P), first.Subject})
	}
	points := Table{Title: "Commits", Columns: []string{"commit", "cost of a run", "interval", "pairs", "subject"}}
	for i := len(s.Points) - 1; i >= 0; i-- {
		if most > 0 && len(points.Rows) == most {
			points.More = i + 1
			break
		}
		p, between := s.Points[i], ""
		if p.Lo != nil && p.Hi != nil {
			between = "[" + s.Value(*p.Lo) + ", " + s.Value(*p.Hi) + "]"
		}
		points.Rows = append(points.Rows, []string{p.Name(), s.Value(p.Value), between, fmt.Sprint(p.Pairs),
			p.Subject})
	}
	if len(steps.Rows) == 0 {
		return []Table{points}
	}
	return []Table{steps, points}
}
