// Package picture draws runs as SVG and as PNG: power over time, call paths, the runs of a command,
// and its cost over commits.
package picture

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"image/color"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/stream"
	"cg/shown"
)

// plots are the parts that a picture can have.
var plots = format.Choice{Flag: "plot", Usage: "`WHAT` to draw", Values: []string{"all", "power", "flame"}}

func init() {
	for _, f := range []struct {
		name, title string
		canvas      canvas
	}{
		{"svg", "power over time and call paths as a picture (--plot)",
			func(width, height vg.Length) vg.CanvasWriterTo { return vgsvg.New(width, height) }},
		{"png", "the same in pixels (--plot)", func(width, height vg.Length) vg.CanvasWriterTo {
			return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))}
		}},
	} {
		format.Register(format.Format{
			Name: f.name, Title: f.title, Endings: []string{"." + f.name}, Picture: true,
			Choices: []format.Choice{plots},
			Writers: []format.Writer{format.Writes(f.canvas.run), format.Writes(f.canvas.repeated),
				stream.AsRun(f.canvas.run), format.Writes(f.canvas.merged),
				format.Writes(f.canvas.trend)},
		})
	}
}

// canvas makes what is drawn on, of a size in points.
type canvas func(width, height vg.Length) vg.CanvasWriterTo

// The measures of a picture, in points.
const (
	pictureWidth  = 960
	pictureMargin = 16
	pictureTop    = 44
	powerHeight   = 240
	boxHeight     = 15
	boxRows       = 48 // deeper calls are left out
)

var (
	ink  = color.NRGBA{0x1f, 0x23, 0x26, 0xff}
	soft = color.NRGBA{0x66, 0x70, 0x77, 0xff}
	rule = color.NRGBA{0xec, 0xed, 0xe8, 0xff}
	// Domains have the colours of the page.
	lines = []color.NRGBA{{0x1f, 0x6f, 0x8b, 0xff}, {0xc9, 0x70, 0x2b, 0xff}, {0x6b, 0x5c, 0xa5, 0xff},
		{0x3b, 0x8f, 0x5c, 0xff}, {0xb0, 0x41, 0x6b, 0xff}, {0x7d, 0x7d, 0x2b, 0xff}}
	// And so have boxes, by the file of their function, or by its name where
	// there is but one file.
	tints = []color.NRGBA{
		{0xe7, 0xca, 0xb1, 0xff}, {0xe7, 0xdb, 0xb1, 0xff}, {0xcc, 0xe7, 0xb1, 0xff}, {0xb1, 0xe7, 0xcc, 0xff},
		{0xb1, 0xe5, 0xe7, 0xff},
		{0xb1, 0xd3, 0xe7, 0xff}, {0xb1, 0xbe, 0xe7, 0xff}, {0xc5, 0xb1, 0xe7, 0xff}, {0xe7, 0xb1, 0xd7, 0xff},
		{0xe7, 0xb1, 0xbc, 0xff},
	}
	grey = color.NRGBA{0xe2, 0xe3, 0xdf, 0xff}
)

// run draws a headline, the power over time and the call paths.
func (on canvas) run(w io.Writer, r *report.Run, o format.Options) error {
	what, err := o.Choose(plots)
	if err != nil {
		return err
	}
	power := what != "flame" && r.Totals.EnergyJ != nil && len(r.Samples) > 1
	if what == "power" && !power {
		return fmt.Errorf("the run tells no power over time: use --plot flame")
	}
	var boxes []box
	if what != "power" {
		boxes = boxesOf(r, pictureWidth-2*pictureMargin)
	}
	height := vg.Length(pictureTop + pictureMargin)
	if power {
		height += powerHeight
	}
	rows := 0
	for _, b := range boxes {
		rows = max(rows, b.depth+1)
	}
	if rows > 0 {
		height += vg.Length(rows*boxHeight) + 30
	}
	canvas := on(pictureWidth, height)
	c := draw.New(canvas)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	top := height - pictureMargin
	label(c, lettering("Sans", 13, ink), pictureMargin, top,
		"Energy of "+clean(r.Title())+"  "+r.Mark()+figures.Energy(r.Totals.ProgramEnergyJ))
	label(c, lettering("Sans", 9, soft), pictureMargin, top-17, strings.Join(facts(r), " · "))
	top = height - pictureTop
	if power {
		p, err := powerPlot(r)
		if err != nil {
			return err
		}
		p.Draw(draw.Crop(c, pictureMargin, -pictureMargin, top-powerHeight, top-height))
		top -= powerHeight
	}
	if rows > 0 {
		unit := "energy"
		if r.Totals.ProgramEnergyJ == nil {
			unit = "wall-clock time"
		}
		label(c, lettering("Sans", 9, soft), pictureMargin, top-8,
			"Call paths, as wide as their "+unit+" with all that they called")
		top -= 24
		for _, b := range boxes {
			drawBox(c, b, top)
		}
	}
	_, err = canvas.WriteTo(w)
	return err
}

// facts are what the headline says beside the energy.
func facts(r *report.Run) []string {
	t := r.Totals
	all := []string{"no energy known"}
	switch t.Kind {
	case "estimated":
		all = []string{"estimated, not measured"}
	case "measured", "derived":
		all = []string{string(t.Kind)}
	}
	if t.ProgramEnergyLoJ != nil && t.ProgramEnergyHiJ != nil && *t.ProgramEnergyLoJ != *t.ProgramEnergyHiJ {
		all = append(all, "between "+figures.Energy(t.ProgramEnergyLoJ)+" and "+figures.Energy(t.ProgramEnergyHiJ))
	}
	if t.EnergyJ != nil {
		all = append(all, "machine "+r.Mark()+figures.Energy(t.EnergyJ), r.Mark()+figures.Watts(t.AvgPowerW))
	}
	all = append(all, figures.Seconds(t.WallDurationS))
	for _, s := range []string{r.Meta.Hostname, r.Meta.CPUModel, t.Source} {
		if s != "" {
			all = append(all, shorten(clean(s), 70))
		}
	}
	return all
}

func lettering(variant font.Variant, size vg.Length, c color.Color) draw.TextStyle {
	f := font.Font{Typeface: "Liberation", Variant: variant, Size: size}
	return draw.TextStyle{Color: c, Font: f, Handler: plot.DefaultTextHandler, YAlign: draw.YTop}
}

func label(c draw.Canvas, s draw.TextStyle, x, y vg.Length, text string) {
	c.FillText(s, vg.Point{X: x, Y: y}, text)
}

// shorten keeps the end of a name, which tells more.
func shorten(s string, width int) string {
	s = shown.Line(s)
	if n := runewidth.StringWidth(s); n > width {
		return runewidth.TruncateLeft(s, n-width+1, "…")
	}
	return s
}

// clean leaves nothing in a name that a picture cannot show: XML knows no
// control characters, and a line break would begin a second line.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '\uFFFD'
		}
		return c
	}, s)
}

// The samples that a line has at most; energies are cumulative, so each step is
// the mean over its time.
const pictureSteps = 480

// emptyPlot is a plot with axes and nothing on it.
func emptyPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Label.TextStyle.Color, a.Tick.Label.Color, a.Tick.Color = soft, soft, soft, rule
		a.LineStyle.Width = 0
		a.Tick.LineStyle.Color = rule
		for _, s := range []*draw.TextStyle{&a.Label.TextStyle, &a.Tick.Label} {
			s.Font.Typeface, s.Font.Variant, s.Font.Size = "Liberation", "Sans", 9
		}
	}
	return p
}

// horizontals are the lines of a grid at the marks of the vertical axis.
func horizontals() *plotter.Grid {
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, rule
	return grid
}

func powerPlot(r *report.Run) (*plot.Plot, error) {
	p := emptyPlot("seconds", "watts")
	p.Legend.TextStyle.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 9}
	p.Legend.TextStyle.Color = ink
	p.Legend.Top, p.Legend.Padding = true, 2
	p.Y.Min = 0
	p.Add(horizontals())

	first, last := r.Samples[0], len(r.Samples)-1
	step := 1 + (last-1)/pictureSteps
	add := func(name string, c color.Color, dashed bool, of func(report.Sample) report.Joules) error {
		var xys plotter.XYs
		prev := 0
		for i := 1; i <= last; i++ {
			if i%step != 0 && i != last {
				continue
			}
			from, to := r.Samples[prev], r.Samples[i]
			span := float64(to.TNs-from.TNs) * 1e-9
			prev = i
			if span <= 0 {
				continue
			}
			w := (of(to).Float() - of(from).Float()) / span
			xys = append(xys, plotter.XY{X: float64(from.TNs-first.TNs) * 1e-9, Y: w},
				plotter.XY{X: float64(to.TNs-first.TNs) * 1e-9, Y: w})
			p.Y.Max = max(p.Y.Max, 1.1*w)
		}
		if len(xys) == 0 {
			return nil
		}
		l, err := plotter.NewLine(xys)
		if err != nil {
			return err
		}
		l.Width, l.Color = 1, c
		if dashed {
			l.Dashes = []vg.Length{3, 2}
		}
		p.Add(l)
		p.Legend.Add(name, l)
		return nil
	}
	ids := slices.Sorted(maps.Keys(r.Samples[last].DomainJ))
	slices.SortStableFunc(ids, func(a, b string) int {
		top := map[bool]int{true: 0, false: 1}
		return cmp.Compare(top[r.Meta.DomainTopology[a].TopLevel], top[r.Meta.DomainTopology[b].TopLevel])
	})
	tops := 0
	for _, id := range ids {
		if r.Meta.DomainTopology[id].TopLevel {
			tops++
		}
	}
	if tops > 1 {
		if err := add("machine", ink, false, func(s report.Sample) report.Joules { return *s.EnergyJ }); err != nil {
			return nil, err
		}
	}
	for i, id := range ids {
		if err := add(clean(id), lines[i%len(lines)], !r.Meta.DomainTopology[id].TopLevel,
			func(s report.Sample) report.Joules { return s.DomainJ[id] }); err != nil {
			return nil, err
		}
	}
	if p.Y.Max == 0 {
		p.Y.Max = 1
	}
	return p, nil
}

// box is a call path in a picture: x and width in points.
type box struct {
	name     string
	tint     string // what has the same has the same colour
	depth    int
	x, width float64
}

// boxes lays the call paths out below each other, the dearest first; what is
// narrower than half a point is left out.
func boxesOf(r *report.Run, width float64) []box {
	if len(r.Paths) == 0 {
		return nil
	}
	sum := make([]float64, len(r.Paths))
	below := make([][]int, len(r.Paths))
	for i := len(r.Paths) - 1; i >= 0; i-- {
		p := r.Paths[i]
		if p.SelfEnergyJ != nil {
			sum[i] += p.SelfEnergyJ.Float()
		} else {
			sum[i] += p.SelfTimeS
		}
		if i > 0 {
			sum[p.Parent] += sum[i]
			below[p.Parent] = append(below[p.Parent], i)
		}
	}
	if sum[0] <= 0 {
		return nil
	}
	frames := r.Frames()
	files := map[string]bool{}
	for _, f := range frames {
		files[f.File] = files[f.File] || f.File != ""
	}
	delete(files, "")
	tint := func(f report.Frame) string {
		if len(files) == 1 && f.File != "" {
			return f.Name
		}
		return f.File
	}
	var out []box
	var put func(i, depth int, x float64)
	put = func(i, depth int, x float64) {
		w := sum[i] / sum[0] * width
		out = append(out, box{clean(frames[i].Name), tint(frames[i]), depth, x, w})
		if depth+1 == boxRows {
			return
		}
		slices.SortStableFunc(below[i], func(a, b int) int { return cmp.Compare(sum[b], sum[a]) })
		for _, k := range below[i] {
			kw := sum[k] / sum[0] * width
			if kw < 0.5 {
				break
			}
			put(k, depth+1, x)
			x += kw
		}
	}
	put(0, 0, 0)
	return out
}

// drawBox draws a box with as much of its name as it has room for.
func drawBox(c draw.Canvas, b box, top vg.Length) {
	y := top - vg.Length(b.depth*boxHeight)
	x, width := pictureMargin+vg.Length(b.x), max(0.4, vg.Length(b.width)-0.6)
	fill := grey
	if b.tint != "" {
		h := fnv.New32a()
		io.WriteString(h, b.tint)
		fill = tints[h.Sum32()%uint32(len(tints))]
	}
	c.FillPolygon(fill, []vg.Point{{X: x, Y: y}, {X: x + width, Y: y}, {X: x + width, Y: y - boxHeight + 1},
		{X: x, Y: y - boxHeight + 1}})
	style := lettering("Mono", 8, ink)
	letter := style.Font.Size * 0.602 // of a monospaced letter
	if room := int((width - 6) / letter); room >= 3 {
		name := []rune(b.name)
		if len(name) > room {
			name = append(name[:room-1], '…')
		}
		label(c, style, x+3, y-3, string(name))
	}
}
