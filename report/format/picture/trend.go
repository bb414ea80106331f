package picture

import (
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"cg/report/format"
	"cg/report/trend"
)

// mostSeries is how many series of a trend a picture has.
const mostSeries = 20

// trend draws what each commit cost, with its interval, the level between two steps, and the
// steps as vertical lines.
func (on canvas) trend(w io.Writer, t *trend.Trend, _ format.Options) error {
	all := t.Series[:min(mostSeries, len(t.Series))]
	height := vg.Length(2*pictureMargin + len(all)*(seriesTop+seriesHeight))
	canvas := on(pictureWidth, height)
	c := draw.New(canvas)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	top := height - pictureMargin
	for i := range all {
		s := &all[i]
		label(c, lettering("Sans", 12, ink), pictureMargin, top, shorten(clean(s.Title()), 110))
		label(c, lettering("Sans", 9, soft), pictureMargin, top-16,
			shorten(clean(s.Sentence()+" · "+s.Facts()[0][1]), 150))
		p, err := trendPlot(s, lines[i%len(lines)])
		if err != nil {
			return err
		}
		below := top - seriesTop
		p.Draw(draw.Crop(c, pictureMargin, -pictureMargin, below-seriesHeight+6, below-height))
		top -= seriesTop + seriesHeight
	}
	_, err := canvas.WriteTo(w)
	return err
}

func trendPlot(s *trend.Series, tint color.NRGBA) (*plot.Plot, error) {
	p := emptyPlot("commit", map[string]string{"J": "joules", "s": "seconds"}[s.Unit])
	if p.Y.Label.Text == "" {
		p.Y.Label.Text = clean(s.Unit)
	}
	p.X.Min, p.X.Max = 0.5, float64(len(s.Points))+0.5
	p.Add(horizontals())
	least, most := s.Points[0].Value, s.Points[0].Value
	var dots plotter.XYs
	for i, at := range s.Points {
		x := float64(i + 1)
		dots = append(dots, plotter.XY{X: x, Y: at.Value})
		least, most = min(least, at.Value), max(most, at.Value)
		if at.Lo == nil || at.Hi == nil {
			continue
		}
		least, most = min(least, *at.Lo), max(most, *at.Hi)
		between := plotter.XYs{{X: x, Y: *at.Lo}, {X: x, Y: *at.Hi}}
		if err := stroke(p, color.NRGBA{tint.R, tint.G, tint.B, 0x60}, 1, between); err != nil {
			return nil, err
		}
	}
	room := 0.08 * (most - least)
	if room == 0 {
		room = 0.08 * most
	}
	p.Y.Min, p.Y.Max = least-room, most+room
	from := s.Earlier
	for i := 0; i <= len(s.Steps); i++ {
		to := len(s.Points)
		if i < len(s.Steps) {
			to = s.Steps[i].At
			edge := float64(to) + 0.5
			if err := stroke(p, soft, 0.8, plotter.XYs{{X: edge, Y: p.Y.Min}, {X: edge, Y: p.Y.Max}}); err != nil {
				return nil, err
			}
		}
		level := 0.0
		for _, at := range s.Points[from:to] {
			level += at.Value / float64(to-from)
		}
		across := plotter.XYs{{X: float64(from) + 0.5, Y: level}, {X: float64(to) + 0.5, Y: level}}
		if err := stroke(p, tint, 1.2, across); err != nil {
			return nil, err
		}
		from = to
	}
	marks, err := plotter.NewScatter(dots)
	if err != nil {
		return nil, err
	}
	marks.GlyphStyle = draw.GlyphStyle{Color: tint, Radius: 2, Shape: draw.CircleGlyph{}}
	p.Add(marks)
	return p, nil
}

func stroke(p *plot.Plot, tint color.Color, width vg.Length, at plotter.XYs) error {
	line, err := plotter.NewLine(at)
	if err != nil {
		return err
	}
	line.Color, line.Width = tint, width
	p.Add(line)
	return nil
}
