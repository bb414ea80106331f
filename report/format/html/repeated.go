package html

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"cg/nemb"
	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/frame"
	"cg/report/repeated"
	"cg/shown"
)

// The page of repeated runs: a picture and a table, without a script.
var repeatedBody = frame.New(`<main>
<h1>{{.Title}}</h1>
<p>{{.Where}}</p>
<figure><img alt="The energy of each run of each command, with the mean and its 95 % interval" src="{{.Picture}}"></figure>
<table>
<thead><tr><th>command</th><th>program</th><th>95 % interval</th><th>machine</th><th>time</th><th>power</th><th>runs</th><th>against the first</th></tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
{{if .Units}}<table>
<thead><tr><th>unit of work</th><th>in a run</th><th>program</th><th>95 % interval</th><th>units/J</th><th>machine</th></tr></thead>
<tbody>
{{range .Units}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
{{end}}{{if .Functions}}<table>
<thead><tr><th>function</th><th>calls</th><th>self</th><th>95 % interval</th><th>CV</th><th>inclusive</th><th>share</th><th>verdict</th></tr></thead>
<tbody>
{{range .Functions}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
{{end}}{{range .Growth}}<h2>{{.Title}}</h2>
{{range .Lines}}<p>{{.}}</p>
{{end}}{{end}}{{range .Footprints}}<p>{{.}}</p>
{{end}}<p>Filled dots are runs that count, hollow ones warmed up; the line is the mean, the band its interval.</p>
{{range .Warnings}}<p><b>{{.Slug}}</b> {{.Message}}</p>
{{end}}</main>`)

// repeatedStyle is what the page has besides the frame's.
const repeatedStyle = `main { max-width: 1100px; }
img { width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px; background: #fff; }
td:first-child { font-family: ui-monospace, monospace; }
`

// writeRepeated writes a page that needs no network.
func writeRepeated(w io.Writer, r *repeated.Result, _ format.Options) error {
	picture, err := format.Named("svg", r)
	if err != nil {
		return err
	}
	var svg bytes.Buffer
	if err := picture.Write(&svg, r, format.Options{}); err != nil {
		return err
	}
	var rows [][]string
	for _, c := range r.All() {
		mark := c.Mark()
		mean := func(s *repeated.Statistic, unit string) string {
			if s == nil {
				return "?"
			}
			return figures.Value(&s.Mean, unit, mark)
		}
		row := []string{shown.Line(c.Line()), mean(c.ProgramEnergyJ, "J"), "", mean(c.EnergyJ, "J"),
			mean(c.DurationS, "s"), mean(c.PowerW, "W"), strconv.Itoa(c.Runs.MeasurementRuns), ""}
		if s := c.ProgramEnergyJ; s != nil && s.CI95Lower != nil {
			row[2] = figures.Value(s.CI95Lower, "J", mark) + " to " + figures.Value(s.CI95Upper, "J", mark)
		}
		if a := c.AgainstFirst; a != nil {
			row[7] = figures.Change(a.Change)
		}
		rows = append(rows, row)
	}
	kind := "Energies are " + string(r.All()[0].Backend.Kind)
	if r.All()[0].Backend.Kind == nemb.Estimated {
		kind += ", not measured"
	}
	title := r.All()[0].Line()
	if n := len(r.All()); n > 1 {
		title += fmt.Sprintf(" and %d more", n-1)
	}
	warnings := slices.Clone(r.Warnings)
	for i, w := range warnings {
		warnings[i] = report.Warning{Slug: shown.Line(w.Slug), Message: shown.Line(w.Message)}
	}
	where := slices.DeleteFunc([]string{kind, r.Meta.Hostname, r.Meta.CPUModel, r.Meta.StartedAtLocal},
		func(s string) bool { return s == "" })
	return repeatedBody.Write(w, frame.Page{Title: title + " · energy", Version: r.Meta.CgVersion,
		Style: frame.Style + repeatedStyle, Body: map[string]any{
			"Title": shown.Line(title), "Where": shown.Line(strings.Join(where, " · ")),
			"Picture": template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg.Bytes())),
			"Rows":    rows, "Warnings": warnings, "Functions": repeatedFunctions(r),
			"Footprints": repeatedFootprints(r), "Units": unitRows(r), "Growth": growthOf(r),
		}})
}

// repeatedFootprints are what the energies of commands come to, and the hours of all runs. Where there are several,
// each line names its own.
func repeatedFootprints(r *repeated.Result) (lines []string) {
	all := r.All()
	for _, c := range all {
		facts := report.Lines(c.Footprint, c.Mark())
		if line := c.Hours.Line(); line != "" {
			facts = append(facts, [2]string{"Hours", line})
		}
		for _, line := range facts {
			text := line[0] + ": " + line[1]
			if len(all) > 1 {
				text = c.Line() + ": " + text
			}
			lines = append(lines, shown.Line(text))
		}
	}
	return lines
}

// grown is how a cost grows, in words.
type grown struct {
	Title string
	Lines []string
}

func growthOf(r *repeated.Result) (all []grown) {
	for _, g := range r.Growth {
		of := grown{Title: shown.Line(g.Title())}
		for _, line := range g.Lines() {
			of.Lines = append(of.Lines, shown.Line(line[0]+": "+line[1]))
		}
		all = append(all, of)
	}
	return all
}

// unitRows are what units of the commands' work take.
func unitRows(r *repeated.Result) (rows [][]string) {
	for _, c := range r.All() {
		joules := func(v float64) string { return c.Mark() + figures.SmallJoules(v) }
		for _, u := range c.Units {
			count, title := "?", u.Name
			if u.Count != nil {
				count = figures.Amount(u.Count.Mean)
			}
			if len(r.Commands) > 1 {
				title += ", " + c.Line()
			}
			rows = append(rows, []string{shown.Line(title), count, u.EnergyJ.In(joules), u.EnergyJ.Interval(joules),
				u.PerJ.In(func(v float64) string { return c.Mark() + figures.Amount(v) }), u.MachineJ.In(joules)})
		}
	}
	return rows
}

// repeatedFunctions are the rows of the functions of programs with checkpoints.
func repeatedFunctions(r *repeated.Result) (rows [][]string) {
	for _, c := range r.All() {
		mean := func(s *repeated.Statistic, unit, mark string) string {
			if s == nil {
				return "?"
			}
			return figures.Value(&s.Mean, unit, mark)
		}
		joules := func(v float64) string { return c.Mark() + figures.Joules(v) }
		for _, f := range c.Functions {
			calls := "?"
			if s := f.Calls; s != nil {
				calls = figures.Count(uint64(math.Round(s.Mean)))
			}
			rows = append(rows, []string{shown.Line(f.Name), calls, mean(f.SelfEnergyJ, "J", c.Mark()),
				f.SelfEnergyJ.Interval(joules), figures.Percent(f.SelfEnergyJ.CV()),
				mean(f.InclusiveEnergyJ, "J", c.Mark()), figures.Percent(f.SharePercent), string(f.Verdict)})
		}
	}
	return rows
}
