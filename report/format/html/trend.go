package html

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"io"

	"cg/report/format"
	"cg/report/frame"
	"cg/report/trend"
	"cg/shown"
)

// The page of a trend over commits: a picture and tables for each series, without a script.
var trendBody = frame.New(`<main>
<h1>{{.Title}}</h1>
{{range .Series}}<section>
<h2>{{.Title}}</h2>
<p class="lead">{{.Lead}}</p>
<dl>
{{range .Facts}}<dt>{{index . 0}}</dt><dd>{{index . 1}}</dd>
{{end}}</dl>
{{range .Tables}}<h3>{{.Title}}</h3>
<table>
<thead><tr>{{range .Columns}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
{{if .More}}<p>and {{.More}} earlier: cg trend --json has all</p>
{{end}}{{end}}</section>
{{end}}{{with .Picture}}<figure><img alt="What each commit cost, with its interval; vertical lines are steps" src="{{.}}"></figure>
{{end}}</main>`)

// trendStyle is what the page has besides the frame's.
const trendStyle = `img { width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px; background: #fff; }
h3 { font-size: 14px; margin: 20px 0 4px; }
td:first-child { font-family: ui-monospace, monospace; }
.lead { font-size: 17px; color: inherit; }
`

// writeTrend writes a page that needs no network.
func writeTrend(w io.Writer, t *trend.Trend, _ format.Options) error {
	picture, err := format.Named("svg", t)
	if err != nil {
		return err
	}
	var svg bytes.Buffer
	if err := picture.Write(&svg, t, format.Options{}); err != nil {
		return err
	}
	type series struct {
		Title, Lead string
		Facts       [][2]string
		Tables      []table
	}
	var all []series
	for i := range t.Series {
		s := &t.Series[i]
		one := series{Title: shown.Line(s.Title()), Lead: shown.Line(s.Sentence())}
		for _, f := range s.Facts() {
			one.Facts = append(one.Facts, [2]string{f[0], shown.Line(f[1])})
		}
		for _, of := range s.Tables(mostRows) {
			of.Columns = lines(of.Columns)
			for k, row := range of.Rows {
				of.Rows[k] = lines(row)
			}
			one.Tables = append(one.Tables, table(of))
		}
		all = append(all, one)
	}
	title := "Trend over commits"
	return trendBody.Write(w, frame.Page{Title: title + " · energy", Version: t.About.CgVersion,
		Style: frame.Style + trendStyle, Body: map[string]any{"Title": title, "Series": all,
			"Picture": template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg.Bytes()))}})
}
