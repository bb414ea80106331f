package picture

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"cg/report/figures"
	"cg/report/format"
	"cg/track/merge"
)

// mergedNames is how many logs have a name beside their line.
const mergedNames = 12

// merged draws the power of each log and of all over time. Where a power is not known, its
// line has a hole (addPower).
func (on canvas) merged(w io.Writer, l *merge.Logs, _ format.Options) error {
	const height = pictureTop + pictureMargin + powerHeight
	canvas := on(pictureWidth, height)
	c := draw.New(canvas)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	label(c, lettering("Sans", 13, ink), pictureMargin, height-pictureMargin, "Power of "+clean(l.Title()))
	label(c, lettering("Sans", 9, soft), pictureMargin, height-pictureMargin-17, clean(mergedFacts(l)))
	p := emptyPlot("seconds", "watts")
	p.Legend.TextStyle.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 9}
	p.Legend.TextStyle.Color = ink
	p.Legend.Top, p.Legend.Padding = true, 2
	p.Y.Min = 0
	p.Add(horizontals())
	if len(l.Parts) > 1 {
		for i, s := range l.Parts {
			name := s.Name
			if i >= mergedNames {
				name = ""
			}
			if err := addPower(p, l, s, name, lines[i%len(lines)]); err != nil {
				return err
			}
		}
	}
	if err := addPower(p, l, l.Total, l.Total.Name, ink); err != nil {
		return err
	}
	p.Y.Max *= 1 + float64(min(len(l.Parts), mergedNames)+1)/16 // for the names
	if p.Y.Max == 0 {
		p.Y.Max = 1
	}
	p.Draw(draw.Crop(c, pictureMargin, -pictureMargin, pictureMargin/2, -pictureTop))
	_, err := canvas.WriteTo(w)
	return err
}

// mergedFacts are the figures of all logs in a line.
func mergedFacts(l *merge.Logs) string {
	t := l.Total
	known := func(v float64) *float64 {
		if math.IsNaN(v) {
			return nil
		}
		return &v
	}
	kind, mark := t.Kind, ""
	if t.Kind == "estimated" {
		kind, mark = "estimated, not measured", "~"
	}
	if math.IsNaN(t.EnergyJ) && t.Known == 0 {
		kind = "not known"
	}
	value := func(v float64, unit string) string { return figures.Value(known(v), unit, mark) }
	return fmt.Sprintf("%s · %s · mean %s, min %s, median %s, max %s · from %s", kind, value(t.EnergyJ, "J"),
		value(t.Mean, "W"), value(t.Min, "W"), value(t.Median, "W"), value(t.Max, "W"),
		time.Unix(0, l.Start).Format("2006-01-02 15:04:05 -07:00"))
}

// addPower adds the lines of a power, each step the mean of what is known of some
// moments. A step in which nothing is known is a hole.
func addPower(p *plot.Plot, l *merge.Logs, s merge.Sum, name string, tint color.Color) error {
	per := 1 + (l.Steps-1)/pictureSteps
	var piece plotter.XYs
	end := func() error {
		if len(piece) == 0 {
			return nil
		}
		if len(piece) == 1 { // one moment between two holes
			piece = append(piece, plotter.XY{X: piece[0].X + l.Step.Seconds()/2, Y: piece[0].Y})
		}
		line, err := plotter.NewLine(piece)
		if err != nil {
			return err
		}
		line.Width, line.Color = 1, tint
		p.Add(line)
		if name != "" {
			p.Legend.Add(shorten(clean(name), 60), line)
		}
		piece, name = nil, ""
		return nil
	}
	for i := 0; i < l.Steps; i += per {
		sum, n := 0.0, 0
		for _, w := range s.Power[i:min(i+per, l.Steps)] {
			if !math.IsNaN(w) {
				sum += w
				n++
			}
		}
		if n == 0 {
			if err := end(); err != nil {
				return err
			}
			continue
		}
		p.Y.Max = max(p.Y.Max, 1.1*sum/float64(n))
		piece = append(piece, plotter.XY{X: float64(l.At(i)-l.Start) * 1e-9, Y: sum / float64(n)})
	}
	return end()
}
