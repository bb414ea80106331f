package html

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"cg/nemb"
	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/repeated"
	"cg/shown"
)

// The page of repeated runs: a picture and a table, without a script.
var repeatedPage = template.Must(template.New("runs").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{{.Hash}}'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="cg {{.Version}}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{{.Title}} · energy</title>
<style>{{.Style}}</style>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
<p>{{.Where}}</p>
<img alt="The energy of each run of each command, with the mean and its 95 % interval" src="{{.Picture}}">
<table>
<thead><tr><th>command</th><th>energy</th><th>95 % interval</th><th>machine</th><th>time</th><th>power</th><th>runs</th><th>against the first</th></tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
<p>Filled dots are runs that count, hollow ones warmed up; the line is the mean, the band its interval.</p>
{{range .Warnings}}<p><b>{{.Slug}}</b> {{.Message}}</p>
{{end}}</main>
</body>
</html>
`))

const repeatedStyle = `:root { color-scheme: light dark; }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; background: light-dark(#fafaf8, #14171a); color: light-dark(#1f2326, #e4e6e3); font-variant-numeric: tabular-nums; }
main { max-width: 1100px; margin: 0 auto; padding: 24px; }
h1 { font-size: 22px; overflow-wrap: anywhere; }
p { color: light-dark(#667077, #98a2a8); font-size: 13px; overflow-wrap: anywhere; }
img { width: 100%; height: auto; border: 1px solid light-dark(#e3e4df, #2d3338); border-radius: 8px; background: #fff; }
table { border-collapse: collapse; width: 100%; margin: 20px 0; font-size: 14px; }
th { font-weight: 400; color: light-dark(#667077, #98a2a8); }
th, td { text-align: right; padding: 6px 10px; border-bottom: 1px solid light-dark(#e3e4df, #2d3338); }
th:first-child, td:first-child { text-align: left; padding-left: 0; font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
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
	return repeatedPage.Execute(w, map[string]any{
		"Hash": policyHash(repeatedStyle), "Style": template.CSS(repeatedStyle),
		"Version": shown.Line(r.Meta.CgVersion), "Title": shown.Line(title),
		"Where": shown.Line(strings.Join(slices.DeleteFunc([]string{kind, r.Meta.Hostname, r.Meta.CPUModel,
			r.Meta.StartedAtLocal}, func(s string) bool { return s == "" }), " · ")),
		"Picture": template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg.Bytes())),
		"Rows":    rows, "Warnings": warnings,
	})
}
