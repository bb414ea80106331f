package html

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"

	"cg/docs"
	"cg/report/cluster"
	"cg/report/format"
	"cg/report/frame"
	"cg/shown"
)

// Sizes of the heat map, in pixels of the page.
const (
	heatRows   = 400 // rows of cells at most; more ranks share a row
	heatColumn = 20  // width of a function
	heatHeight = 400
	heatLabels = 170 // above the map
)

// The page of a run of many ranks: tables and pictures, without a script.
var clusterBody = frame.New(`<main>
<h1>{{.Title}}</h1>
<dl>
{{range .Facts}}<dt>{{index . 0}}</dt><dd>{{index . 1}}</dd>
{{end}}</dl>
{{range .Warnings}}<p class="warning"><b>{{.Slug}}</b> {{.Message}} <i>{{.Advice}}</i></p>
{{end}}
{{with .Heat}}<h2>Ranks and functions</h2>
<p>{{.Text}}</p>
<div class="maps">
{{range .Maps}}<figure><figcaption>{{.Title}}</figcaption>
<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" role="img">
{{range .Labels}}<text x="{{.X}}" y="{{.Y}}" transform="rotate(-55 {{.X}} {{.Y}})">{{.Text}}<title>{{.Full}}</title></text>
{{end}}{{range .Ticks}}<text x="{{.X}}" y="{{.Y}}" text-anchor="end">{{.Text}}</text>
{{end}}<image x="{{.Left}}" y="{{.Top}}" width="{{.MapWidth}}" height="{{.MapHeight}}" preserveAspectRatio="none" href="{{.Picture}}"/>
</svg></figure>
{{end}}</div>
{{end}}{{if .Power}}<h2>Power of the nodes over time</h2>
<div class="maps">
{{range .Power}}<figure><figcaption>{{.Title}}</figcaption>
<svg xmlns="http://www.w3.org/2000/svg" width="340" height="90" viewBox="0 0 340 90" role="img"><polyline points="{{.Points}}"/></svg></figure>
{{end}}</div>
{{end}}{{range .Tables}}<h2>{{.Title}}</h2>
<table>
<thead><tr>{{range .Columns}}<th>{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
{{if .More}}<p>and {{.More}} more: cg report -f csv and -o FOLDER.parquet have all</p>
{{end}}{{end}}</main>`)

// clusterStyle is what the page has besides the frame's.
const clusterStyle = `.maps { display: flex; flex-wrap: wrap; gap: 16px; overflow-x: auto; }
svg { overflow: visible; }
svg text { font-size: 11px; fill: currentColor; }
svg image { image-rendering: pixelated; }
svg polyline { fill: none; stroke: #2a78c8; stroke-width: 1.5; }
table { font-size: 13px; }
`

// mostRows is how many rows a table of the page has.
const mostRows = 200

// writeCluster writes a page that needs no network.
func writeCluster(w io.Writer, d *cluster.Run, _ format.Options) error {
	type warning struct{ Slug, Message, Advice string }
	var warnings []warning
	for _, v := range d.Warnings {
		warnings = append(warnings, warning{shown.Line(v.Slug), shown.Line(v.Message), docs.Advice(v.Slug)})
	}
	var facts [][2]string
	for _, f := range d.Facts() {
		facts = append(facts, [2]string{f[0], shown.Line(f[1])})
	}
	tables := d.Tables(mostRows)
	for _, t := range tables {
		for _, row := range t.Rows {
			for i := range row {
				row[i] = shown.Line(row[i])
			}
		}
	}
	heat, err := heatOf(d)
	if err != nil {
		return err
	}
	return clusterBody.Write(w, frame.Page{Title: d.Title() + " · energy", Version: d.Meta.CgVersion,
		Style: frame.Style + clusterStyle, Body: map[string]any{"Title": shown.Line(d.Title()), "Facts": facts,
			"Warnings": warnings, "Heat": heat, "Power": powersOf(d), "Tables": tables}})
}

// heatMap is a picture of ranks and functions, with its labels.
type heatMap struct {
	Title                          string
	Labels, Ticks                  []label
	Width, Height                  int
	Left, Top, MapWidth, MapHeight int
	Picture                        template.URL
}

type label struct {
	X, Y       int
	Text, Full string
}

// heatMaps are the pictures of a page.
type heatMaps struct {
	Text string
	Maps []heatMap
}

// heatOf draws ranks as rows and functions as columns; nil without ranks. Where a row has
// several ranks there are two maps: of their means, and of the largest.
func heatOf(d *cluster.Run) (*heatMaps, error) {
	if len(d.Heat) == 0 || len(d.Ranks) == 0 {
		return nil, nil
	}
	per := (len(d.Ranks) + heatRows - 1) / heatRows
	what := "energy"
	if d.Heat[0].EnergyUj[firstReport(d)] == nil {
		what = "time"
	}
	out := &heatMaps{Text: fmt.Sprintf("Each row is a rank, each column a function without what it calls: the darker, "+
		"the nearer to the most %s that a rank used in the function. Grey: no report.", what)}
	titles := []string{"every rank"}
	if per > 1 {
		out.Text = strings.Replace(out.Text, "a rank, each", fmt.Sprintf("%d ranks, each", per), 1)
		titles = []string{"mean of the ranks of a row", "largest of the ranks of a row"}
	}
	for i, title := range titles {
		m, err := mapOf(d, per, i == 1)
		if err != nil {
			return nil, err
		}
		m.Title = title
		out.Maps = append(out.Maps, m)
	}
	return out, nil
}

// firstReport is the index of the first rank with a report, 0 for none.
func firstReport(d *cluster.Run) int {
	for i, r := range d.Ranks {
		if r.Report {
			return i
		}
	}
	return 0
}

// mapOf draws one map, with so many ranks in a row.
func mapOf(d *cluster.Run, per int, largest bool) (heatMap, error) {
	rows := (len(d.Ranks) + per - 1) / per
	picture := image.NewRGBA(image.Rect(0, 0, len(d.Heat), rows))
	for column, h := range d.Heat {
		values := h.EnergyUj
		if values[firstReport(d)] == nil {
			values = h.TimeUs
		}
		most := uint64(1)
		for _, v := range values {
			if v != nil {
				most = max(most, *v)
			}
		}
		for row := range rows {
			sum, top, n := 0.0, 0.0, 0.0
			for _, v := range values[row*per : min(len(values), (row+1)*per)] {
				if v != nil {
					sum, top, n = sum+float64(*v), max(top, float64(*v)), n+1
				}
			}
			shade := color.RGBA{128, 128, 128, 90}
			if n > 0 {
				part := sum / n / float64(most)
				if largest {
					part = top / float64(most)
				}
				shade = heatColor(part)
			}
			picture.Set(column, row, shade)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return heatMap{}, err
	}
	m := heatMap{Left: 60, Top: heatLabels, MapWidth: heatColumn * len(d.Heat), MapHeight: min(heatHeight, 16*rows),
		Picture: template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()))}
	m.Width, m.Height = m.Left+m.MapWidth+120, m.Top+m.MapHeight+8
	for i, h := range d.Heat {
		full := shown.Line(d.Functions[h.Function].Name)
		text := []rune(full)
		if len(text) > 26 {
			text = append([]rune("…"), text[len(text)-25:]...)
		}
		m.Labels = append(m.Labels, label{X: m.Left + heatColumn*i + heatColumn/2, Y: m.Top - 4, Text: string(text),
			Full: full})
	}
	for i := range 5 {
		row := (rows - 1) * i / 4
		if i > 0 && row == (rows-1)*(i-1)/4 {
			continue
		}
		m.Ticks = append(m.Ticks, label{X: m.Left - 6, Y: m.Top + 4 + m.MapHeight*(2*row+1)/(2*rows),
			Text: fmt.Sprint(d.Ranks[min(row*per, len(d.Ranks)-1)].Rank)})
	}
	return m, nil
}

// heatColor is from nearly white by orange to dark red.
func heatColor(part float64) color.RGBA {
	stops := [][3]float64{{255, 247, 236}, {253, 187, 132}, {227, 74, 51}, {90, 0, 0}}
	at := min(max(part, 0), 1) * float64(len(stops)-1)
	i := min(int(at), len(stops)-2)
	f := at - float64(i)
	mix := func(k int) uint8 { return uint8(stops[i][k] + f*(stops[i+1][k]-stops[i][k]) + 0.5) }
	return color.RGBA{mix(0), mix(1), mix(2), 255}
}

// nodePower is the power of a node over time, as the points of a line.
type nodePower struct{ Title, Points string }

// powersOf draws the nodes with the most energy, at most twelve.
func powersOf(d *cluster.Run) (all []nodePower) {
	most := 0.0
	for _, n := range d.Nodes {
		for _, s := range n.Samples {
			most = max(most, s.PowerW)
		}
	}
	for _, n := range d.Nodes {
		if len(n.Samples) < 2 || len(all) == 12 || most == 0 {
			continue
		}
		first, last := n.Samples[0].UnixNs, n.Samples[len(n.Samples)-1].UnixNs
		var points strings.Builder
		for _, s := range n.Samples {
			fmt.Fprintf(&points, "%.1f,%.1f ", 340*float64(s.UnixNs-first)/float64(max(1, last-first)),
				88-86*s.PowerW/most)
		}
		all = append(all, nodePower{fmt.Sprintf("%s (0 to %.3g W, %d ranks)", shown.Line(n.Name), most, n.Ranks),
			points.String()})
	}
	return all
}
