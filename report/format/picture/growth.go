package picture

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"cg/report/repeated"
)

// The measures of a picture of a cost by a parameter, in points.
const (
	growthHeight = 260
	growthTop    = 66 // a headline, and what the fit comes to
)

// wideAxis is how many times as much as its least value an axis has to have for a logarithmic scale.
const wideAxis = 8

// drawnGrowth are the growths with a fit, as many as a picture has.
func drawnGrowth(r *repeated.Result) []repeated.Growth {
	fitted := slices.DeleteFunc(slices.Clone(r.Growth), func(g repeated.Growth) bool { return g.Power == nil })
	return fitted[:min(mostSeries, len(fitted))]
}

// drawnSeries are the commands whose runs are drawn. Of many with parameters these are the first.
func drawnSeries(r *repeated.Result) []repeated.Command {
	all := r.All()
	if r.Swept() {
		all = all[:min(mostSeries, len(all))]
	}
	return all
}

// growth draws the cost of each run by a parameter's value, with the fitted law, and gives the place below.
func growth(c draw.Canvas, r *repeated.Result, height, top vg.Length) (vg.Length, error) {
	for i, g := range drawnGrowth(r) {
		label(c, lettering("Sans", 12, ink), pictureMargin, top, shorten(clean(g.Title()), 110))
		for k, line := range g.Lines() {
			label(c, lettering("Sans", 9, soft), pictureMargin, top-16-13*vg.Length(k),
				shorten(clean(line[0]+": "+line[1]), 180))
		}
		p, err := growthPlot(r, g, lines[i%len(lines)])
		if err != nil {
			return top, err
		}
		below := top - growthTop
		p.Draw(draw.Crop(c, pictureMargin, -pictureMargin, below-growthHeight+6, below-height))
		top -= growthTop + growthHeight
	}
	return top, nil
}

func growthPlot(r *repeated.Result, g repeated.Growth, tint color.NRGBA) (*plot.Plot, error) {
	unit := "joules of the program"
	if g.Of == "cpu_s" {
		unit = "seconds of processor time"
	}
	p := emptyPlot(clean(g.Parameter), unit)
	var dots plotter.XYs
	least, most := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{}
	for _, c := range r.Of(g) {
		x, costs := g.Costs(c)
		for _, v := range costs {
			if v <= 0 {
				continue // the counter saw nothing of it, which no logarithm shows
			}
			dots = append(dots, plotter.XY{X: x, Y: v})
			least, most = [2]float64{min(least[0], x), min(least[1], v)}, [2]float64{max(most[0], x), max(most[1], v)}
		}
	}
	if len(dots) == 0 {
		return p, nil
	}
	for i, axis := range []*plot.Axis{&p.X, &p.Y} {
		if most[i] > wideAxis*least[i] {
			axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
			axis.Min, axis.Max = least[i]/1.2, most[i]*1.2
			continue
		}
		room := 0.06 * (most[i] - least[i])
		if room == 0 {
			room = 0.06 * most[i]
		}
		axis.Min, axis.Max = least[i]-room, most[i]+room
	}
	p.Add(horizontals())
	var law plotter.XYs
	for k := range 101 {
		x := least[0] * math.Pow(most[0]/least[0], float64(k)/100)
		if y := g.At(x); y >= p.Y.Min && y <= p.Y.Max {
			law = append(law, plotter.XY{X: x, Y: y})
		}
	}
	if len(law) > 1 && g.Shown {
		if err := stroke(p, tint, 1.2, law); err != nil {
			return nil, err
		}
	}
	marks, err := plotter.NewScatter(dots)
	if err != nil {
		return nil, err
	}
	marks.GlyphStyle = draw.GlyphStyle{Color: color.NRGBA{tint.R, tint.G, tint.B, 0xa0}, Radius: 2.4,
		Shape: draw.CircleGlyph{}}
	p.Add(marks)
	return p, nil
}
