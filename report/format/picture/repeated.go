package picture

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"cg/nemb"
	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/repeated"
)

// The measures of a picture of repeated runs, in points: of each command a
// headline, its runs' energies and, beside them, their powers.
const (
	seriesHeight = 190
	seriesTop    = 40
	seriesPart   = 0.64 // of the width, for the energies
)

func heightOf(r *repeated.Result) vg.Length {
	return vg.Length(2*pictureMargin + len(drawnGrowth(r))*(growthTop+growthHeight) +
		len(drawnSeries(r))*(seriesTop+seriesHeight))
}

// repeated draws of each run the command's energy (the processor time, where no energy
// is known) and the machine's power, with the mean and its interval; commands have one scale. Costs by a parameter
// stand above.
func (on canvas) repeated(w io.Writer, r *repeated.Result, _ format.Options) error {
	canvas := on(pictureWidth, heightOf(r))
	c := draw.New(canvas)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	height := heightOf(r)
	known := energiesKnown(r)
	top, most := height-pictureMargin, [2]float64{}
	for _, command := range r.All() {
		for i, of := range figuresOf(known) {
			for _, m := range command.Measurements {
				if v := of.value(m); v != nil {
					most[i] = max(most[i], *v)
				}
			}
		}
	}
	top, err := growth(c, r, height, top)
	if err != nil {
		return err
	}
	for k, command := range drawnSeries(r) {
		label(c, lettering("Sans", 12, ink), pictureMargin, top, shorten(clean(command.Line()), 110))
		label(c, lettering("Sans", 9, soft), pictureMargin, top-16, clean(summary(command)))
		below := top - seriesTop
		for i, of := range figuresOf(known) {
			p, err := series(command, of, most[i], lines[k%len(lines)])
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
	_, err = canvas.WriteTo(w)
	return err
}

func energiesKnown(r *repeated.Result) bool {
	return !slices.ContainsFunc(r.All(), func(c repeated.Command) bool { return c.ProgramEnergyJ == nil })
}

// figureOf is what is drawn of each run.
type figureOf struct {
	title     string
	value     func(repeated.Measurement) *float64
	statistic func(repeated.Command) *repeated.Statistic
}

func figuresOf(known bool) []figureOf {
	first := figureOf{"joules of the program",
		func(m repeated.Measurement) *float64 { return joules(m.ProgramEnergyJ) },
		func(c repeated.Command) *repeated.Statistic { return c.ProgramEnergyJ }}
	second := figureOf{"watts of the machine", func(m repeated.Measurement) *float64 { return m.PowerW },
		func(c repeated.Command) *repeated.Statistic { return c.PowerW }}
	if !known {
		first = figureOf{"seconds of processor time", func(m repeated.Measurement) *float64 { return &m.CPUS },
			func(c repeated.Command) *repeated.Statistic { return c.CPUS }}
		second = figureOf{"seconds", func(m repeated.Measurement) *float64 { return &m.DurationS },
			func(c repeated.Command) *repeated.Statistic { return c.DurationS }}
	}
	return []figureOf{first, second}
}

// joules are those of an energy, nil where it is not known.
func joules(e *report.Joules) *float64 {
	if e == nil {
		return nil
	}
	v := e.Float()
	return &v
}

// summary is a command's figures in a line.
func summary(c repeated.Command) string {
	mark, kind := c.Mark(), string(c.Backend.Kind)
	if c.Backend.Kind == nemb.Estimated {
		kind = "estimated, not measured"
	}
	out := "no energy known"
	if s := c.ProgramEnergyJ; s != nil {
		out = kind + " · mean " + figures.Value(&s.Mean, "J", mark)
		if s.CI95Lower != nil {
			out += ", between " + figures.Value(s.CI95Lower, "J", mark) + " and " +
				figures.Value(s.CI95Upper, "J", mark)
		}
		if spread := c.Spread(); spread != "" {
			out += " · CV " + spread
		}
	}
	out += fmt.Sprintf(" · %d runs", c.Runs.MeasurementRuns)
	if a := c.AgainstFirst; a != nil {
		out += " · " + figures.Change(a.Change) + " against the first"
	}
	return out + " · " + shorten(c.Backend.Name, 60)
}

// series draws a figure of a command's runs: filled dots, hollow ones for those
// that warm up, the mean as a line in the band of its interval.
func series(c repeated.Command, of figureOf, most float64, tint color.NRGBA) (*plot.Plot, error) {
	p := emptyPlot("run", of.title)
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
	p.Add(horizontals())
	if s := of.statistic(c); s != nil {
		if s.CI95Lower != nil {
			band, err := plotter.NewPolygon(plotter.XYs{{X: p.X.Min, Y: *s.CI95Lower}, {X: p.X.Max, Y: *s.CI95Lower},
				{X: p.X.Max, Y: *s.CI95Upper}, {X: p.X.Min, Y: *s.CI95Upper}})
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
