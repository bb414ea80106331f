// Package bisection holds what a search for the first commit with a regression came to (cg gate bisect): the
// commit, or those that it can be, and what each check found.
//
// The figures come from the package gate. A Result is saved as JSON.
package bisection

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"cg/gate"
	"cg/report"
	"cg/report/figures"
	"cg/report/repeated"
	"cg/statistics"
)

// Result is what a search came to.
type Result struct {
	Bisection Search      `json:"bisection"`
	Meta      report.Meta `json:"meta"`
	gate.Found
	Warnings []report.Warning `json:"warnings"`
}

// Search is what was searched for.
type Search struct {
	Command   []string      `json:"command"`
	Build     string        `json:"build"`
	Metric    string        `json:"metric"`
	Counter   string        `json:"counter"`
	Threshold float64       `json:"threshold"` // 0.05 is 5 %
	Good      gate.Revision `json:"good"`
	Bad       gate.Revision `json:"bad"`
	Commits   int           `json:"commits"` // behind good, up to bad
	// Alpha is the limit of false regressions in all checks together, CheckAlpha that of each.
	Alpha      float64 `json:"alpha"`
	CheckAlpha float64 `json:"alpha_of_check"`
	Attempts   int     `json:"attempts"` // of a check that is inconclusive
	ExitStatus int     `json:"exit_status"`
}

// Conclude sets the exit status: 0 where the commit is known, 1 where bad does not cost more than good, 3 where
// checks were inconclusive.
func (r *Result) Conclude() {
	switch {
	case r.First != nil:
		r.Bisection.ExitStatus = 0
	case len(r.Candidates) == 0 && len(r.Trials) > 0 && r.Trials[0].Verdict == statistics.Pass:
		r.Bisection.ExitStatus = 1
	default:
		r.Bisection.ExitStatus = 3
	}
}

// Kind names a search.
func (r *Result) Kind() string { return "a bisection" }

// JSON encodes a search.
func (r *Result) JSON() ([]byte, error) { return report.Encode(r) }

// Schema is the JSON Schema of a search.
func Schema() map[string]any {
	return report.SchemaOf(reflect.TypeFor[Result](), "The first commit with a regression by cg gate bisect")
}

// IsSaved reports whether a file holds a search, and goes back to its beginning.
func IsSaved(f io.ReadSeeker) bool { return report.BeginsWith(f, "bisection") }

// Read reads a saved search, and refuses what is none.
func Read(f io.ReadSeeker) (*Result, error) {
	r := &Result{}
	if err := report.Decode(f, r); err != nil {
		return nil, fmt.Errorf("not a saved bisection: %w", err)
	}
	if v := r.Meta.SchemaVersion; !report.Reads(v) {
		return nil, report.Unreadable(r.Meta.CgVersion, v, "search anew")
	}
	return r, nil
}

// Line is the command as a shell would take it.
func (r *Result) Line() string { return repeated.Command{Argv: r.Bisection.Command}.Line() }

// Sentence says what was found.
func (r *Result) Sentence() string {
	s := r.Bisection
	switch {
	case r.First != nil:
		return fmt.Sprintf("the first commit that costs more is %s", named(*r.First))
	case len(r.Candidates) > 0:
		return fmt.Sprintf("the first commit that costs more is one of %d, which could not be told apart",
			len(r.Candidates))
	case len(r.Trials) > 0 && r.Trials[0].Verdict == statistics.Pass:
		return fmt.Sprintf("%s does not cost %s more than %s: there is nothing to search for", s.Bad.Name,
			figures.Change(s.Threshold), s.Good.Name)
	}
	return fmt.Sprintf("it could not be told whether %s costs more than %s", s.Bad.Name, s.Good.Name)
}

// Names are the commits that can be the first, where it is not known.
func (r *Result) Names() (names []string) {
	for _, c := range r.Candidates {
		names = append(names, named(c))
	}
	return names
}

func named(v gate.Revision) string {
	return strings.TrimSpace(fmt.Sprintf("%.10s %s", v.Commit, v.Subject))
}

// Facts are what was searched, and how.
func (r *Result) Facts() [][2]string {
	s := r.Bisection
	return [][2]string{
		{"from", fmt.Sprintf("%s (%.10s) costs what it should, %s (%.10s) more; %d commits", s.Good.Name, s.Good.Commit,
			s.Bad.Name, s.Bad.Commit, s.Commits)},
		{"metric", fmt.Sprintf("%s, by %s; the smallest change that matters is %s", s.Metric, s.Counter,
			figures.Change(s.Threshold))},
		{"false alarms", fmt.Sprintf("a check wrongly calls a commit bad in at most %.2g %% of cases, all checks "+
			"together in at most %.3g %%", 100*s.CheckAlpha, 100*s.Alpha)},
	}
}

// Name is the commit of a trial.
func Name(t gate.Trial) string { return named(gate.Revision{Commit: t.Commit, Subject: t.Subject}) }

// Change is what the commit costs against good, with its interval, "?" where that is not known.
func Change(t gate.Trial) (change, interval string) {
	if t.Change == nil {
		return "?", ""
	}
	if t.Lo != nil && t.Hi != nil {
		interval = fmt.Sprintf("[%s, %s]", figures.Change(*t.Lo), figures.Change(*t.Hi))
	}
	return figures.Change(*t.Change), interval
}

// Mark is what git bisect was told of the commit.
func Mark(t gate.Trial) string {
	switch t.Verdict {
	case statistics.Pass:
		return "good"
	case statistics.Regression:
		return "bad"
	}
	return "skip"
}

// Skipped says of each commit that was skipped why.
func (r *Result) Skipped() (lines []string) {
	for _, t := range r.Trials {
		switch {
		case t.Why != "":
			lines = append(lines, fmt.Sprintf("%.10s: %s", t.Commit, firstLine(t.Why)))
		case Mark(t) == "skip":
			lines = append(lines, fmt.Sprintf("%.10s: inconclusive in %d checks, the last of %d pairs (--attempts, "+
				"--max-pairs)", t.Commit, t.Attempts, t.Pairs))
		}
	}
	return lines
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
