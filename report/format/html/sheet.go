package html

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"

	"cg/report"
	"cg/report/format"
	"cg/report/frame"
	"cg/report/usage"
	"cg/shown"
)

// A sheet is a page of facts, a picture and tables, without a script. Its texts may be of
// anybody: write makes them harmless.
type sheet struct {
	title, version string
	lead           string // one sentence
	facts          [][2]string
	warnings       []report.Warning
	picture        []byte // SVG
	pictured       string // what the picture shows
	changes        []change
	tables         []table
	notes          []string
}

// table is one of a sheet's. Its first column is a name.
type table struct {
	Title   string
	Columns []string
	Rows    [][]string
	More    int // rows that are left out
}

// change is a row of the chart of changes: what changed, by how much (0.05 is 5 % more),
// the interval, and the colour of the verdict. A change that is not known has no mark, an
// end of the interval that is not known none.
type change struct {
	name       string
	at, lo, hi *float64
	threshold  float64 // the smallest change that counts; 0 for none
	color      string
}

// The colours of verdicts.
const (
	worse, better, unsure = "#c8402e", "#1c7c54", "#8a9298"
)

var sheetBody = frame.New(`<main>
<h1>{{.Title}}</h1>
{{with .Lead}}<p class="lead">{{.}}</p>
{{end}}<dl>
{{range .Facts}}<dt>{{index . 0}}</dt><dd>{{index . 1}}</dd>
{{end}}</dl>
{{range .Warnings}}<p class="warning"><b>{{index . 0}}</b> {{index . 1}}</p>
{{end}}{{with .Picture}}<figure><img alt="{{$.Pictured}}" src="{{.}}"></figure>
{{end}}{{range $chart := .Charts}}<figure class="changes{{if .Above}} narrow{{end}}"><svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" role="img" aria-label="Changes with their intervals">
{{range .Ticks}}<line x1="{{.X}}" x2="{{.X}}" y1="0" y2="{{$chart.Bottom}}" class="{{.Class}}"/><text x="{{.X}}" y="{{$chart.Below}}" text-anchor="middle">{{.Text}}</text>
{{end}}{{range .Rows}}<text x="{{.Left}}" y="{{.Text}}" text-anchor="{{.Anchor}}">{{.Name}}<title>{{.Full}}</title></text>
{{if .Allowed}}<line x1="{{.Allowed}}" x2="{{.Allowed}}" y1="{{.Top}}" y2="{{.End}}" class="allowed"/>
{{end}}{{if .Band}}<line x1="{{.From}}" x2="{{.To}}" y1="{{.Y}}" y2="{{.Y}}" stroke="{{.Color}}" stroke-width="3" stroke-linecap="round" opacity=".45"/>
{{end}}{{if .Dot}}<circle cx="{{.At}}" cy="{{.Y}}" r="4.5" fill="{{.Color}}"/>
{{end}}{{end}}</svg><figcaption>The change of each, with its interval{{if .Limits}}; a dashed line is the threshold{{end}}.{{with .More}} {{.}} more are in the table.{{end}}</figcaption></figure>
{{end}}{{range .Tables}}{{with .Title}}<h2>{{.}}</h2>
{{end}}<table>
<thead><tr>{{range .Columns}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
{{if .More}}<p>and {{.More}} more: other formats have all</p>
{{end}}{{end}}{{range .Notes}}<p>{{.}}</p>
{{end}}</main>`)

// sheetStyle is what a sheet has besides the frame's.
const sheetStyle = `td:first-child { font-family: ui-monospace, monospace; }
.lead { font-size: 17px; color: inherit; margin-bottom: 12px; }
figure { margin: 20px 0; }
img { width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px; background: #fff; }
.changes { margin: 20px 0; overflow-x: auto; }
svg { max-width: 100%; height: auto; }
.changes.narrow { display: none; }
.changes svg { display: block; }
@media (max-width: 700px) {
  .changes { display: none; }
  .changes.narrow { display: block; }
}
svg text { font-size: 12px; fill: currentColor; dominant-baseline: middle; }
svg .tick { stroke: var(--line); }
svg .zero { stroke: var(--soft); }
svg .allowed { stroke: var(--soft); stroke-dasharray: 3 3; }
`

// write writes a page that needs no network.
func (s sheet) write(w io.Writer) error {
	facts, warnings := make([][2]string, 0, len(s.facts)), make([][2]string, 0, len(s.warnings))
	for _, f := range s.facts {
		facts = append(facts, [2]string{shown.Line(f[0]), shown.Line(f[1])})
	}
	for _, v := range s.warnings {
		warnings = append(warnings, [2]string{shown.Line(v.Slug), shown.Line(v.Message)})
	}
	tables := slices.DeleteFunc(slices.Clone(s.tables), func(t table) bool { return len(t.Rows) == 0 })
	for i, t := range tables {
		tables[i].Rows = make([][]string, len(t.Rows))
		for k, row := range t.Rows {
			tables[i].Rows[k] = lines(row)
		}
		tables[i].Columns = lines(t.Columns)
	}
	var picture template.URL
	if len(s.picture) > 0 {
		picture = template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(s.picture))
	}
	return sheetBody.Write(w, frame.Page{Title: s.title + " · energy", Version: s.version,
		Style: frame.Style + sheetStyle, Body: map[string]any{
			"Title": shown.Line(s.title), "Lead": shown.Line(s.lead), "Facts": facts, "Warnings": warnings,
			"Picture": picture, "Pictured": shown.Line(s.pictured),
			"Charts": chartsOf(s.changes), "Tables": tables, "Notes": lines(s.notes),
		}})
}

func lines(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = shown.Line(t)
	}
	return out
}

// chartSize is the size of a chart of changes, in pixels of the page.
type chartSize struct {
	row   int
	left  int     // names stand there
	width int     // the axis
	name  int     // letters of a name
	above bool    // names stand above their marks, and not beside them
	ticks float64 // at most, on each side of none
}

var wideChart, narrowChart = chartSize{row: 24, left: 260, width: 720, name: 36, ticks: 5},
	chartSize{row: 42, width: 290, name: 40, above: true, ticks: 2}

// changeRows is how many changes a chart has at most.
const changeRows = 30

type changeChart struct {
	Width, Height, Bottom, Below int
	Rows                         []changeMark
	Ticks                        []changeTick
	More                         int
	Limits                       bool // a row has a threshold
	Above                        bool
}

type changeMark struct {
	Name, Full, Color, Anchor string
	Left, Y, Text, Top, End   int
	At, From, To              float64
	Dot, Band                 bool
	Allowed                   float64 // 0 for none: the axis begins behind that
}

type changeTick struct {
	X           float64
	Text, Class string
}

// chartsOf are the charts of changes: that for a screen, and that for a telephone. There are none where no change is
// known.
func chartsOf(changes []change) (charts []*changeChart) {
	for _, size := range []chartSize{wideChart, narrowChart} {
		if c := chartOf(changes, size); c != nil {
			charts = append(charts, c)
		}
	}
	return charts
}

// chartOf draws changes on one axis, nil where none is known. The axis holds all changes
// and as much of their intervals as three times that; ends beyond it are cut.
func chartOf(changes []change, size chartSize) *changeChart {
	most := 0.0
	for _, c := range changes {
		if c.at != nil {
			most = math.Max(most, math.Max(math.Abs(*c.at), 1.5*c.threshold))
		}
	}
	if most == 0 && !slices.ContainsFunc(changes, func(c change) bool { return c.at != nil }) {
		return nil
	}
	wide := most
	for _, c := range changes {
		for _, end := range []*float64{c.lo, c.hi} {
			if end != nil && c.at != nil {
				wide = math.Max(wide, math.Min(math.Abs(*end), 3*most))
			}
		}
	}
	span := cmp.Or(wide, 0.01) * 1.1
	at := func(v float64) float64 {
		v = math.Max(-span, math.Min(span, v))
		return math.Round(10*(float64(size.left)+10+(v+span)/(2*span)*float64(size.width))) / 10
	}
	out := &changeChart{Width: size.left + size.width + 40, Above: size.above}
	out.More = max(0, len(changes)-changeRows)
	for i, c := range changes[:len(changes)-out.More] {
		y := i*size.row + size.row/2
		m := changeMark{Name: short(shown.Line(c.name), size.name), Full: shown.Line(c.name), Color: c.color,
			Left: size.left, Y: y, Text: y, Anchor: "end", Top: y - size.row/2, End: y + size.row/2}
		if size.above {
			m.Left, m.Text, m.Y, m.Anchor = 10, m.Top+14, m.Top+32, "start"
		}
		if c.at != nil {
			m.Dot, m.At = true, at(*c.at)
		}
		if c.lo != nil && c.hi != nil {
			m.Band, m.From, m.To = true, at(*c.lo), at(*c.hi)
		}
		if c.threshold > 0 {
			m.Allowed, out.Limits = at(c.threshold), true
		}
		out.Rows = append(out.Rows, m)
	}
	out.Bottom = len(out.Rows) * size.row
	out.Below, out.Height = out.Bottom+12, out.Bottom+24
	step := math.Pow(10, math.Floor(math.Log10(span)))
	for span/step < min(2, size.ticks) {
		step /= 2
	}
	for span/step > size.ticks { // so that their labels have room
		step *= 2
	}
	for k := math.Ceil(-span / step); k*step <= span; k++ {
		tick := changeTick{at(k * step), fmt.Sprintf("%+.4g %%", 100*k*step), "tick"}
		if k == 0 {
			tick.Text, tick.Class = "0", "zero"
		}
		out.Ticks = append(out.Ticks, tick)
	}
	return out
}

// short cuts the front of a long name.
func short(name string, most int) string {
	if r := []rune(name); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return name
}

// writeUsage writes the page of a summary of cg monitor.
func writeUsage(w io.Writer, d *usage.Document, _ format.Options) error {
	s := sheet{title: d.Title(), version: d.CgVersion, facts: d.Facts()}
	for _, t := range d.Tables(mostRows) {
		s.tables = append(s.tables, table(t))
	}
	return s.write(w)
}
