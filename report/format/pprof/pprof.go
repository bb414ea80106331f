// Package pprof writes the call paths of a run as a profile for go tool pprof.
package pprof

import (
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"cg/report"
	"cg/report/cluster"
	"cg/report/format"
	"cg/report/stream"
	"cg/shown"
)

func init() {
	format.Register(format.Format{
		Name: "pprof", Title: "a profile for go tool pprof", Endings: []string{".pb.gz", ".pprof"},
		Writers: []format.Writer{format.Writes(write), stream.AsRun(write), cluster.AsRun(write)},
	})
}

// write writes a profile with a sample for each call path
// (github.com/google/pprof/blob/main/proto/profile.proto). Its values are energy in
// microjoules, processor and wall-clock time in nanoseconds, and calls. Paths
// below a task have it for their label, and a sample the domain that its energy is
// of: where the total has several domains, a path has a sample for each, and times and calls
// in the first. A run without energies has no first value.
func write(w io.Writer, r *report.Run, _ format.Options) error {
	p := &profile.Profile{
		DefaultSampleType: "energy",
		SampleType: []*profile.ValueType{
			{Type: "energy", Unit: "microjoules"}, {Type: "cpu", Unit: "nanoseconds"},
			{Type: "wall", Unit: "nanoseconds"}, {Type: "calls", Unit: "count"},
		},
		DurationNanos: int64(math.Round(r.Totals.WallDurationS * 1e9)),
		Comments: []string{shown.Sprintf("energies are the program's, %s (%s)", r.Totals.Kind, r.Totals.Source),
			shown.Sprintf("%s %s, run %s", r.Meta.Tool, r.Meta.CgVersion, r.Meta.RunID)},
	}
	known := r.Totals.ProgramEnergyJ != nil
	if !known {
		p.SampleType, p.DefaultSampleType = p.SampleType[1:], "cpu"
	}
	if t, err := time.Parse(time.RFC3339Nano, r.Meta.StartedAt); err == nil {
		p.TimeNanos = t.UnixNano()
	}
	places := map[report.Frame]*profile.Location{}
	at := make([]*profile.Location, len(r.Paths))
	for i, f := range r.Frames() {
		l := places[f]
		if l == nil {
			id := uint64(len(places) + 1)
			fn := &profile.Function{ID: id, Name: f.Name, SystemName: f.Name, Filename: f.File,
				StartLine: int64(f.Line)}
			l = &profile.Location{ID: id, Line: []profile.Line{{Function: fn, Line: int64(f.Line)}}}
			places[f] = l
			p.Function, p.Location = append(p.Function, fn), append(p.Location, l)
		}
		at[i] = l
	}
	single := ""
	if ids := inTotal(r); len(ids) == 1 {
		single = ids[0]
	}
	ns := func(s float64) int64 { return int64(math.Round(s * 1e9)) }
	for i, path := range r.Paths {
		var stack []*profile.Location
		labels := map[string][]string{}
		for k := i; k >= 0; k = r.Paths[k].Parent {
			stack = append(stack, at[k])
			if task := r.Paths[k].Task; task != "" && labels["task"] == nil {
				labels["task"] = []string{shown.Line(task)} // the innermost
			}
		}
		rest := []int64{ns(path.CPUTimeS), ns(path.SelfTimeS), int64(path.Calls)}
		if !known {
			p.Sample = append(p.Sample, &profile.Sample{Location: stack, Value: rest, Label: labels})
			continue
		}
		for k, part := range partsOf(path, single) {
			of := maps.Clone(labels)
			if part.domain != "" {
				of["domain"] = []string{shown.Line(part.domain)}
			}
			if k > 0 {
				rest = []int64{0, 0, 0}
			}
			p.Sample = append(p.Sample, &profile.Sample{Location: stack,
				Value: append([]int64{int64(part.energy)}, rest...), Label: of})
		}
	}
	if err := p.CheckValid(); err != nil {
		return err
	}
	return p.Write(w)
}

// part is what a path used in a domain.
type part struct {
	domain string // "" where it is not known which
	energy report.Joules
}

// parts are those of a path's energy, one at least; single is the domain that is the whole
// total, "" where there are several.
func partsOf(p report.Path, single string) []part {
	if len(p.Domains) == 0 {
		return []part{{single, *p.SelfEnergyJ}}
	}
	var out []part
	for _, id := range slices.Sorted(maps.Keys(p.Domains)) {
		out = append(out, part{id, p.Domains[id]})
	}
	return out
}

// inTotal lists the domains that make up the total.
func inTotal(r *report.Run) []string {
	var ids []string
	for id := range r.Totals.Domains {
		if t, ok := r.Meta.DomainTopology[id]; ok && t.TopLevel {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
