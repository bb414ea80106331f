package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"cg/nemb"
	"cg/shown"
)

// The measures of a picture of repeated runs, in points: of each command a
// headline, its runs' energies and, beside them, their powers.
const (
	seriesHeight = 190
	seriesTop    = 40
	seriesPart   = 0.64 // of the width, for the energies
)

// Draw writes a picture of repeated runs: svg, png, or html, a page that needs no
// network. Of each run it shows the command's energy (the processor time, where no energy
// is known) and the machine's power, with the mean and its interval; commands have one scale.
func (r *Repeated) Draw(w io.Writer, format string) error {
	switch format {
	case "svg":
		return r.draw(w, vgsvg.New(pictureWidth, r.pictureHeight()))
	case "png":
		return r.draw(w, vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(pictureWidth, r.pictureHeight()), vgimg.UseDPI(144))})
	case "html":
		return r.page(w)
	}
	return fmt.Errorf("repeated runs are drawn as html, svg or png, not as %s", format)
}

func (r *Repeated) pictureHeight() vg.Length {
	return vg.Length(2*pictureMargin + len(r.all())*(seriesTop+seriesHeight))
}

func (r *Repeated) draw(w io.Writer, canvas vg.CanvasWriterTo) error {
	c := draw.New(canvas)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	height := r.pictureHeight()
	known := r.energiesKnown()
	top, most := height-pictureMargin, [2]float64{}
	for _, command := range r.all() {
		for i, of := range figuresOf(known) {
			for _, m := range command.Measurements {
				if v := of.value(m); v != nil {
					most[i] = max(most[i], *v)
				}
			}
		}
	}
	for k, command := range r.all() {
		label(c, lettering("Sans", 12, ink), pictureMargin, top, shorten(clean(command.line()), 110))
		label(c, lettering("Sans", 9, soft), pictureMargin, top-16, clean(command.summary()))
		below := top - seriesTop
		for i, of := range figuresOf(known) {
			p, err := command.series(of, most[i], lines[k%len(lines)])
			if err != nil {
				return err
			}
			left, right := vg.Length(pictureMargin), vg.Length(-pictureMargin)
			split := vg.Length(seriesPart * pictureWidth)
			if i == 0 {
				right = split - pictureWidth
			} else {
				left = split + pictureMargin
			}
			p.Draw(draw.Crop(c, left, right, below-seriesHeight+6, below-height))
		}
		top -= seriesTop + seriesHeight
	}
	_, err := canvas.WriteTo(w)
	return err
}

func (r *Repeated) energiesKnown() bool {
	return !slices.ContainsFunc(r.all(), func(c Command) bool { return c.ProgramEnergyJ == nil })
}

// figureOf is what is drawn of each run.
type figureOf struct {
	title     string
	value     func(Measurement) *float64
	statistic func(Command) *Statistic
}

func figuresOf(known bool) []figureOf {
	first := figureOf{"joules", func(m Measurement) *float64 { return float(m.ProgramEnergyJ) }, func(c Command) *Statistic { return c.ProgramEnergyJ }}
	second := figureOf{"watts of the machine", func(m Measurement) *float64 { return m.PowerW }, func(c Command) *Statistic { return c.PowerW }}
	if !known {
		first = figureOf{"seconds of processor time", func(m Measurement) *float64 { return &m.CPUS }, func(c Command) *Statistic { return c.CPUS }}
		second = figureOf{"seconds", func(m Measurement) *float64 { return &m.DurationS }, func(c Command) *Statistic { return c.DurationS }}
	}
	return []figureOf{first, second}
}

// summary is a command's figures in a line.
func (c Command) summary() string {
	mark := ""
	kind := string(c.Backend.Kind)
	if c.Backend.Kind == nemb.Estimated {
		mark, kind = "~", "estimated, not measured"
	}
	out := "no energy known"
	if s := c.ProgramEnergyJ; s != nil {
		out = kind + " · mean " + figure(&s.Mean, "J", mark)
		if s.CI95Lower != nil {
			out += ", between " + figure(s.CI95Lower, "J", mark) + " and " + figure(s.CI95Upper, "J", mark)
		}
		if s.CVPercent != nil && c.Runs.MeasurementRuns >= 3 {
			out += fmt.Sprintf(" · CV %.1f %% (%s)", *s.CVPercent, noiseLabel(*s.CVPercent))
		}
	}
	out += fmt.Sprintf(" · %d runs", c.Runs.MeasurementRuns)
	if a := c.AgainstFirst; a != nil {
		out += " · " + times(a.Change) + " against the first"
	}
	return out + " · " + shorten(c.Backend.Name, 60)
}

// series draws a figure of a command's runs: filled dots, hollow ones for those
// that warm up, the mean as a line in the band of its interval.
func (c Command) series(of figureOf, most float64, tint color.NRGBA) (*plot.Plot, error) {
	p := plot.New()
	p.BackgroundColor = color.White
	p.X.Label.Text, p.Y.Label.Text = "run", of.title
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Label.TextStyle.Color, a.Tick.Label.Color = soft, soft, soft
		a.LineStyle.Width, a.Tick.LineStyle.Color = 0, rule
		for _, s := range []*draw.TextStyle{&a.Label.TextStyle, &a.Tick.Label} {
			s.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 9}
		}
	}
	n := float64(len(c.Measurements))
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0.5, n+0.5, 0, 1.08*most
	if most <= 0 {
		p.Y.Max = 1
	}
	p.X.Tick.Marker = plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		var out []plot.Tick
		step := max(1, int(math.Ceil(n/12)))
		for i := 1; i <= len(c.Measurements); i += step {
			out = append(out, plot.Tick{Value: float64(i), Label: strconv.Itoa(i)})
		}
		return out
	})
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, rule
	p.Add(grid)
	if s := of.statistic(c); s != nil {
		if s.CI95Lower != nil {
			band, err := plotter.NewPolygon(plotter.XYs{{X: p.X.Min, Y: *s.CI95Lower}, {X: p.X.Max, Y: *s.CI95Lower}, {X: p.X.Max, Y: *s.CI95Upper}, {X: p.X.Min, Y: *s.CI95Upper}})
			if err != nil {
				return nil, err
			}
			band.Color, band.LineStyle.Width = color.NRGBA{tint.R, tint.G, tint.B, 0x2a}, 0
			p.Add(band)
		}
		mean, err := plotter.NewLine(plotter.XYs{{X: p.X.Min, Y: s.Mean}, {X: p.X.Max, Y: s.Mean}})
		if err != nil {
			return nil, err
		}
		mean.Color, mean.Width = tint, 1
		p.Add(mean)
	}
	var counted, warm plotter.XYs
	for i, m := range c.Measurements {
		v := of.value(m)
		switch {
		case v == nil:
		case m.Warmup && !c.Runs.WarmupIncludedInStats:
			warm = append(warm, plotter.XY{X: float64(i + 1), Y: *v})
		default:
			counted = append(counted, plotter.XY{X: float64(i + 1), Y: *v})
		}
	}
	for _, dots := range []struct {
		at    plotter.XYs
		shape draw.GlyphDrawer
	}{{counted, draw.CircleGlyph{}}, {warm, draw.RingGlyph{}}} {
		if len(dots.at) == 0 {
			continue
		}
		s, err := plotter.NewScatter(dots.at)
		if err != nil {
			return nil, err
		}
		s.GlyphStyle = draw.GlyphStyle{Color: tint, Radius: 2.6, Shape: dots.shape}
		p.Add(s)
	}
	return p, nil
}

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

func (r *Repeated) page(w io.Writer) error {
	var svg bytes.Buffer
	if err := r.Draw(&svg, "svg"); err != nil {
		return err
	}
	var rows [][]string
	for _, c := range r.all() {
		mark := ""
		if c.Backend.Kind == nemb.Estimated {
			mark = "~"
		}
		mean := func(s *Statistic, unit string) string {
			if s == nil {
				return "?"
			}
			return figure(&s.Mean, unit, mark)
		}
		row := []string{shown.Line(c.line()), mean(c.ProgramEnergyJ, "J"), "", mean(c.EnergyJ, "J"), mean(c.DurationS, "s"), mean(c.PowerW, "W"), strconv.Itoa(c.Runs.MeasurementRuns), ""}
		if s := c.ProgramEnergyJ; s != nil && s.CI95Lower != nil {
			row[2] = figure(s.CI95Lower, "J", mark) + " to " + figure(s.CI95Upper, "J", mark)
		}
		if a := c.AgainstFirst; a != nil {
			row[7] = times(a.Change)
		}
		rows = append(rows, row)
	}
	kind := "Energies are " + string(r.all()[0].Backend.Kind)
	if r.all()[0].Backend.Kind == nemb.Estimated {
		kind += ", not measured"
	}
	title := r.all()[0].line()
	if n := len(r.all()); n > 1 {
		title += fmt.Sprintf(" and %d more", n-1)
	}
	warnings := slices.Clone(r.Warnings)
	for i, w := range warnings {
		warnings[i] = Warning{shown.Line(w.Slug), shown.Line(w.Message)}
	}
	return repeatedPage.Execute(w, map[string]any{
		"Hash": policyHash(repeatedStyle), "Style": template.CSS(repeatedStyle), "Version": shown.Line(r.Meta.CgVersion), "Title": shown.Line(title),
		"Where":   shown.Line(strings.Join(slices.DeleteFunc([]string{kind, r.Meta.Hostname, r.Meta.CPUModel, r.Meta.StartedAtLocal}, func(s string) bool { return s == "" }), " · ")),
		"Picture": template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg.Bytes())),
		"Rows":    rows, "Warnings": warnings,
	})
}
