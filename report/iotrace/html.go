package iotrace

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"cg/recorder/analysis"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/frame"
	"cg/shown"
)

//go:embed page/page.js
var script string

//go:embed page/page.css
var style string

//go:embed page/page.html
var pageBody string

var page = frame.New(pageBody)

// mostDrawn is how many files a page draws the accesses of.
const mostDrawn = 64

// pageSection is a part of the page: its table, and pictures above it.
type pageSection struct {
	ID, Title string
	Head      []string
	Rows      [][]string
	More      int
	Note      string
	Charts    []template.HTML
	// Canvas names the pictures that the script draws here.
	Canvas []string
}

// pageRows is how many rows a table of the page has.
func pageRows(n int) int { return min(n, 500) }

// WriteHTML writes a page for a browser, in one file that needs no network. What the trace
// tells is put into it as text.
func WriteHTML(w io.Writer, d *Document, _ format.Options) error {
	data, err := d.pageData()
	if err != nil {
		return err
	}
	var notes []string
	for _, n := range d.Analysis.Notes {
		notes = append(notes, shown.Line(n))
	}
	return page.Write(w, frame.Page{Title: d.Title(), Version: d.Version, Style: frame.Style + style, Script: script,
		Data: data, Body: map[string]any{"Title": shown.Line(d.Title()), "Sections": d.pageSections(), "Notes": notes}})
}

// pageData is what the script draws.
func (d *Document) pageData() ([]byte, error) {
	type file struct {
		Name  string  `json:"name"`
		Every uint64  `json:"every"`
		Rank  []int   `json:"rank"`
		From  []Short `json:"from"`
		To    []Short `json:"to"`
		Off   []int64 `json:"off"`
		Count []int64 `json:"count"`
		Read  []int   `json:"read"`
	}
	a := d.Analysis
	out := struct {
		From     int       `json:"from"`
		To       int       `json:"to"`
		BinS     float64   `json:"bin_s"`
		PerRow   int       `json:"per_row"`
		Read     [][]Short `json:"read"`
		Write    [][]Short `json:"write"`
		Files    []file    `json:"files"`
		LeftOver int       `json:"left_over"`
	}{From: d.From, To: d.To, BinS: a.Activity.BinS, PerRow: a.Activity.RanksPerRow, Read: short(a.Activity.ReadS),
		Write: short(a.Activity.WriteS), Files: []file{}, LeftOver: max(0, len(a.Files)-mostDrawn)}
	for _, f := range a.Files[:min(len(a.Files), mostDrawn)] {
		one := file{Name: shown.Line(f.Name), Every: f.Every}
		for _, p := range f.Points {
			one.Rank, one.Off, one.Count = append(one.Rank, p.Rank), append(one.Off, p.Offset), append(one.Count,
				p.Count)
			one.From, one.To = append(one.From, Short(p.From)), append(one.To, Short(p.To))
			read := 0
			if p.Read {
				read = 1
			}
			one.Read = append(one.Read, read)
		}
		out.Files = append(out.Files, one)
	}
	return frame.JSON(out)
}

// Short is a number that is written with seven digits, enough for a picture.
type Short float64

// MarshalJSON writes the number.
func (s Short) MarshalJSON() ([]byte, error) {
	if s == 0 || math.IsNaN(float64(s)) || math.IsInf(float64(s), 0) {
		return []byte("0"), nil
	}
	return fmt.Appendf(nil, "%.7g", float64(s)), nil
}

func short(rows [][]float64) [][]Short {
	out := make([][]Short, len(rows))
	for i, row := range rows {
		out[i] = make([]Short, len(row))
		for k, v := range row {
			out[i][k] = Short(v)
		}
	}
	return out
}

// pageSections are the sections with their pictures.
func (d *Document) pageSections() (out []pageSection) {
	a := d.Analysis
	for i, s := range d.sections(pageRows) {
		p := pageSection{ID: fmt.Sprintf("s%d", i), Title: s.title, More: s.more, Note: shown.Line(s.note)}
		for _, h := range s.head {
			p.Head = append(p.Head, shown.Line(h))
		}
		if strings.Join(p.Head, "") == "" {
			p.Head = nil
		}
		for _, row := range s.rows {
			var cells []string
			for _, c := range row {
				cells = append(cells, shown.Line(c))
			}
			p.Rows = append(p.Rows, cells)
		}
		switch {
		case strings.HasPrefix(s.title, "1 "):
			p.Charts = d.rankCharts()
		case strings.HasPrefix(s.title, "2.1"):
			var parts []part
			for _, l := range a.Layers {
				parts = append(parts, part{l.Name, float64(l.Calls)})
			}
			p.Charts = []template.HTML{stacked("calls of each layer", parts)}
		case strings.HasPrefix(s.title, "2.2"):
			if f := a.Patterns.Files; f != nil {
				p.Charts = append(p.Charts, patternChart("accesses of each file, whatever their rank", *f))
			}
			p.Charts = append(p.Charts, patternChart("accesses of each rank in a file", a.Patterns.Ranks))
		case strings.HasPrefix(s.title, "2.3"):
			p.Charts = d.functionCharts()
		case strings.HasPrefix(s.title, "3.1"):
			p.Title, p.Rows, p.Head, p.Canvas = "3.1 Activity over time", nil, nil, []string{"activity"}
		case strings.HasPrefix(s.title, "3.4"):
			out = append(out, pageSection{ID: "offsets", Title: "3.2, 3.3 Offsets by rank and by time",
				Canvas: []string{"ranks", "times"}})
		case strings.HasPrefix(s.title, "4.2"):
			sizes := a.ReadSizes
			if strings.HasSuffix(s.title, "writes") {
				sizes = a.WriteSizes
			}
			p.Charts = []template.HTML{sizeChart(s.title, sizes)}
		}
		out = append(out, p)
	}
	return out
}

func patternChart(title string, p analysis.Pattern) template.HTML {
	return stacked(title, []part{{"consecutive", float64(p.Consecutive)}, {"sequential", float64(p.Sequential)},
		{"random", float64(p.Random)}})
}

// rankCharts are bars over ranks.
func (d *Document) rankCharts() []template.HTML {
	ranks := d.Analysis.Ranks
	values := func(of func(analysis.Rank) float64) (out []float64) {
		for _, r := range ranks {
			out = append(out, of(r))
		}
		return out
	}
	whole := func(v float64) string { return figures.Count(uint64(v)) }
	charts := []template.HTML{
		bars("records", d.From, values(func(r analysis.Rank) float64 { return float64(r.Records) }), whole),
		bars("files", d.From, values(func(r analysis.Rank) float64 { return float64(r.Accessed) }), whole),
		bars("seconds in calls of I/O", d.From, values(func(r analysis.Rank) float64 { return r.IOS }),
			figures.Seconds),
	}
	if d.energies() {
		charts = append(charts, bars("joules in calls of I/O", d.From, values(func(r analysis.Rank) float64 {
			if r.IOEnergy == nil {
				return 0
			}
			return r.IOEnergy.J
		}), func(v float64) string { return d.mark() + figures.Joules(v) }))
	}
	return charts
}

// functionCharts are a bar for each function.
func (d *Document) functionCharts() []template.HTML {
	const most = 30
	all := d.Analysis.Functions[:min(len(d.Analysis.Functions), most)]
	var calls, seconds, joules []part
	for _, f := range all {
		calls = append(calls, part{f.Name, float64(f.Calls)})
		seconds = append(seconds, part{f.Name, f.Seconds})
		if f.Energy != nil {
			joules = append(joules, part{f.Name, f.Energy.J})
		}
	}
	charts := []template.HTML{lying("calls (logarithmic)", calls, true,
		func(v float64) string { return figures.Count(uint64(v)) }),
		lying("seconds, with what they called", seconds, false, figures.Seconds)}
	if len(joules) > 0 {
		charts = append(charts, lying("joules, with what they called", joules, false,
			func(v float64) string { return d.mark() + figures.Joules(v) }))
	}
	return charts
}

// sizeChart is a bar for each size.
func sizeChart(title string, all []analysis.Size) template.HTML {
	const most = 40
	var parts []part
	for _, s := range all[:min(len(all), most)] {
		parts = append(parts, part{bytesOf(s.Bytes), float64(s.Count)})
	}
	if len(parts) == 0 {
		return ""
	}
	return lying(title+" (count, logarithmic)", parts, true, func(v float64) string { return figures.Count(uint64(v)) })
}
