package report

import (
	"io"
	"math"
	"time"

	"github.com/google/pprof/profile"
)

func init() {
	register(Format{
		Name: "pprof", Title: "a profile for go tool pprof", Endings: []string{".pb.gz", ".pprof"}, Write: writePprof,
	})
}

// writePprof writes a profile with a sample for each call path
// (github.com/google/pprof/blob/main/proto/profile.proto). Its values are energy in
// microjoules, processor and wall-clock time in nanoseconds, and calls. Paths
// below a task have it for their label. A run without energies has no first
// value.
func writePprof(w io.Writer, runs []*Run, _ Options) error {
	r := runs[0]
	p := &profile.Profile{
		DefaultSampleType: "energy",
		SampleType: []*profile.ValueType{
			{Type: "energy", Unit: "microjoules"}, {Type: "cpu", Unit: "nanoseconds"},
			{Type: "wall", Unit: "nanoseconds"}, {Type: "calls", Unit: "count"},
		},
		DurationNanos: int64(math.Round(r.Totals.WallDurationS * 1e9)),
		Comments:      []string{"energies are " + string(r.Totals.Kind) + " (" + r.Totals.Source + ")", r.Meta.Tool + " " + r.Meta.CgVersion + ", run " + r.Meta.RunID},
	}
	known := r.Totals.EnergyJ != nil
	if !known {
		p.SampleType, p.DefaultSampleType = p.SampleType[1:], "cpu"
	}
	if t, err := time.Parse(time.RFC3339Nano, r.Meta.StartedAt); err == nil {
		p.TimeNanos = t.UnixNano()
	}
	places := map[frame]*profile.Location{}
	at := make([]*profile.Location, len(r.Paths))
	for i, f := range r.frames() {
		l := places[f]
		if l == nil {
			id := uint64(len(places) + 1)
			fn := &profile.Function{ID: id, Name: f.name, SystemName: f.name, Filename: f.file, StartLine: int64(f.line)}
			l = &profile.Location{ID: id, Line: []profile.Line{{Function: fn, Line: int64(f.line)}}}
			places[f] = l
			p.Function, p.Location = append(p.Function, fn), append(p.Location, l)
		}
		at[i] = l
	}
	ns := func(s float64) int64 { return int64(math.Round(s * 1e9)) }
	for i, path := range r.Paths {
		values := []int64{0, ns(path.CPUTimeS), ns(path.SelfTimeS), int64(path.Calls)}
		if known {
			values[0] = int64(*path.SelfEnergyJ)
		} else {
			values = values[1:]
		}
		s := &profile.Sample{Value: values}
		for k := i; k >= 0; k = r.Paths[k].Parent {
			s.Location = append(s.Location, at[k])
			if task := r.Paths[k].Task; task != "" && s.Label == nil {
				s.Label = map[string][]string{"task": {task}} // the innermost
			}
		}
		p.Sample = append(p.Sample, s)
	}
	if err := p.CheckValid(); err != nil {
		return err
	}
	return p.Write(w)
}
