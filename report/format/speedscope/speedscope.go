// Package speedscope writes the call paths of a run for speedscope.app.
package speedscope

import (
	"encoding/json"
	"io"

	"cg/report"
	"cg/report/cluster"
	"cg/report/format"
	"cg/report/stream"
)

func init() {
	format.Register(format.Format{
		Name: "speedscope", JSON: true, Title: "for speedscope.app and viewers of its format",
		Endings: []string{".speedscope.json"},
		Writers: []format.Writer{format.Writes(write), stream.AsRun(write), cluster.AsRun(write)},
	})
}

// The parts of a speedscope file that are used here
// (github.com/jlfwong/speedscope, file-format-schema.json).
type file struct {
	Schema   string    `json:"$schema"`
	Name     string    `json:"name"`
	Exporter string    `json:"exporter"`
	Shared   shared    `json:"shared"`
	Profiles []profile `json:"profiles"`
}

type shared struct {
	Frames []frame `json:"frames"`
}

type frame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

type profile struct {
	Type       string    `json:"type"`
	Name       string    `json:"name"`
	Unit       string    `json:"unit"`
	StartValue float64   `json:"startValue"`
	EndValue   float64   `json:"endValue"`
	Samples    [][]int   `json:"samples"`
	Weights    []float64 `json:"weights"`
}

// write writes a profile in joules, where they are known, and one in
// seconds: a sample for each call path, weighted with what it used itself.
func write(w io.Writer, r *report.Run, _ format.Options) error {
	f := file{
		Schema: "https://www.speedscope.app/file-format-schema.json", Name: r.Title(), Exporter: r.Meta.Tool + " " +
			r.Meta.CgVersion,
		Shared: shared{Frames: []frame{}}, Profiles: []profile{},
	}
	index := map[report.Frame]int{}
	at := make([]int, len(r.Paths))
	for i, fr := range r.Frames() {
		k, ok := index[fr]
		if !ok {
			k = len(index)
			index[fr] = k
			f.Shared.Frames = append(f.Shared.Frames, frame{fr.Name, fr.File, fr.Line})
		}
		at[i] = k
	}
	add := func(name, unit string, weight func(report.Path) float64) {
		p := profile{Type: "sampled", Name: name, Unit: unit, Samples: [][]int{}, Weights: []float64{}}
		for i, path := range r.Paths {
			v := weight(path)
			if v <= 0 {
				continue
			}
			var stack []int
			for _, k := range r.Stack(i) {
				stack = append(stack, at[k])
			}
			p.Samples, p.Weights, p.EndValue = append(p.Samples, stack), append(p.Weights, v), p.EndValue+v
		}
		f.Profiles = append(f.Profiles, p)
	}
	if r.Totals.ProgramEnergyJ != nil {
		add("energy in microjoules, "+string(r.Totals.Kind), "none",
			func(p report.Path) float64 { return float64(*p.SelfEnergyJ) })
	}
	add("wall-clock time", "seconds", func(p report.Path) float64 { return p.SelfTimeS })
	add("processor time", "seconds", func(p report.Path) float64 { return p.CPUTimeS })
	return json.NewEncoder(w).Encode(f)
}
