package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"cg/nemb"
	"cg/report/format"
	"cg/shown"
)

// Part names what a run was read from that told tasks and samples and nothing else:
// "session" for the file of a session, else a format. It is "" for a whole run.
func (r *Run) Part() string { return r.part }

// PartSession is the Part of a session's run.
const PartSession = "session"

// PartOf makes a run of a file in a format that tells tasks and samples only. They are
// filled in by whoever reads the file.
func PartOf(format string) *Run {
	return &Run{part: format, Tasks: []Task{}, Functions: []Function{}, Sites: []Site{}, Paths: []Path{},
		Ledger: []Line{}, Samples: []Sample{}, Skipped: []Skip{}}
}

// Kind names a run.
func (r *Run) Kind() string { return "a run" }

// Fits is nil where a format shows a run that is whole, or what there is of one that
// was read from a file with tasks and samples only.
func (r *Run) Fits(f format.Format) error {
	shows := func(f format.Format) bool { return f.Parts || f.Picture }
	if r.part == "" || shows(f) {
		return nil
	}
	others := slices.DeleteFunc(format.Of(r), func(f format.Format) bool { return !shows(f) })
	return fmt.Errorf("a %s file has tasks and samples and nothing else, which %s cannot show: use %s", r.part,
		f.Name, format.Alternatives(others))
}

// Several are runs side by side, two at least. Options.Names has what they are called.
type Several []*Run

// Kind names several runs.
func (Several) Kind() string { return "several runs" }

// Domains are those of any of the runs, by name.
func (runs Several) Domains() []string {
	ids := map[string]bool{}
	for _, r := range runs {
		for id := range r.Totals.Domains {
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// Fits is nil where a format can lay the runs side by side.
func (runs Several) Fits(f format.Format) error {
	for _, r := range runs {
		if r.part == "" || f.Table {
			continue
		}
		tables := slices.DeleteFunc(format.Of(runs), func(f format.Format) bool { return !f.Table })
		return fmt.Errorf("runs of a %s file have no functions to lay side by side: use %s, or one at a time",
			r.part, format.Alternatives(tables))
	}
	return nil
}

// Together makes one document of runs: several side by side, or the only one.
func Together(runs []*Run) format.Document {
	if len(runs) == 1 {
		return runs[0]
	}
	return Several(runs)
}

// Alone is the Writer of a run for a format that writes several.
func Alone(write func(w io.Writer, runs Several, o format.Options) error) format.Writer {
	return format.Writes(func(w io.Writer, r *Run, o format.Options) error { return write(w, Several{r}, o) })
}

// Encode is a document as it is saved: indented JSON in which no character means anything
// to a terminal.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return shown.JSON(b.Bytes()), err
}

// Backend is where the energies come from.
type Backend struct {
	Name        string      `json:"name"`
	Kind        nemb.Method `json:"energy_kind"`
	DomainsSeen []string    `json:"domains_seen"`
}
