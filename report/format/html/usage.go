package html

import (
	"io"

	"cg/report/format"
	"cg/report/frame"
	"cg/report/usage"
	"cg/shown"
)

// The page of a summary of cg monitor: tables, without a script.
var usageBody = frame.New(`<main>
<h1>{{.Title}}</h1>
<dl>
{{range .Facts}}<dt>{{index . 0}}</dt><dd>{{index . 1}}</dd>
{{end}}</dl>
{{range .Tables}}<h2>{{.Title}}</h2>
<table>
<thead><tr>{{range .Columns}}<th>{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
{{if .More}}<p>and {{.More}} more: cg report -f csv has all</p>
{{end}}{{end}}</main>`)

// usageStyle is what the page has besides the frame's.
const usageStyle = `td:first-child { font-family: ui-monospace, monospace; }
`

// writeUsage writes a page that needs no network.
func writeUsage(w io.Writer, d *usage.Document, _ format.Options) error {
	facts, tables := d.Facts(), d.Tables(mostRows)
	for i := range facts {
		facts[i][1] = shown.Line(facts[i][1])
	}
	for _, t := range tables {
		for _, row := range t.Rows {
			for i := range row {
				row[i] = shown.Line(row[i])
			}
		}
	}
	return usageBody.Write(w, frame.Page{Title: d.Title() + " · energy", Version: d.CgVersion,
		Style: frame.Style + usageStyle,
		Body:  map[string]any{"Title": shown.Line(d.Title()), "Facts": facts, "Tables": tables}})
}
