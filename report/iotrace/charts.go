package iotrace

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"cg/shown"
)

// part is a figure with its name.
type part struct {
	name  string
	value float64
}

// picture collects an SVG. Colours are classes of the page's style.
type picture struct {
	b             strings.Builder
	width, height float64
}

func (p *picture) add(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

// rectangle is a place in a picture.
type rectangle struct{ x, y, width, height float64 }

func (p *picture) rect(r rectangle, class, title string) {
	p.add(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`, class, r.x, r.y,
		max(r.width, 0.5), max(r.height, 0), text(title))
}

func (p *picture) text(x, y float64, class, s string) {
	p.add(`<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x, y, text(s))
}

// text is a text in which nothing means anything to HTML.
func text(s string) string { return template.HTMLEscapeString(shown.Line(s)) }

func (p *picture) html(title string) template.HTML {
	return template.HTML(fmt.Sprintf(`<figure><figcaption>%s</figcaption><svg viewBox="0 0 %.0f %.0f" role="img" `+
		`aria-label="%s">%s</svg></figure>`, text(title), p.width, p.height, text(title), p.b.String()))
}

// stacked is one bar of parts, with a legend.
func stacked(title string, parts []part) template.HTML {
	p := &picture{width: 640, height: 58}
	sum := 0.0
	for _, one := range parts {
		sum += one.value
	}
	x, at := 0.0, 0.0
	for i, one := range parts {
		share := 0.0
		if sum > 0 {
			share = one.value / sum
		}
		label := fmt.Sprintf("%s %.1f %%", one.name, 100*share)
		class := fmt.Sprintf("c%d", i%7)
		if share > 0 {
			p.rect(rectangle{x, 0, 640 * share, 24}, class, label)
		}
		x += 640 * share
		p.rect(rectangle{at, 38, 12, 12}, class, label)
		p.text(at+17, 48, "left", label)
		at += 30 + 7.2*float64(len([]rune(label)))
	}
	p.width = max(p.width, at)
	return p.html(title)
}

// lying is a bar for each part, with its figure.
func lying(title string, parts []part, logarithmic bool, show func(float64) string) template.HTML {
	const row, names, room = 20.0, 220.0, 320.0
	p := &picture{width: 640, height: row*float64(len(parts)) + 4}
	most := 0.0
	scale := func(v float64) float64 {
		if logarithmic {
			return math.Log10(1 + v)
		}
		return v
	}
	for _, one := range parts {
		most = max(most, scale(one.value))
	}
	for i, one := range parts {
		y, length := row*float64(i), 0.0
		if most > 0 {
			length = room * scale(one.value) / most
		}
		name := []rune(shown.Line(one.name))
		if len(name) > 30 {
			name = append([]rune("…"), name[len(name)-29:]...)
		}
		p.text(names-6, y+14, "right", string(name))
		p.rect(rectangle{names, y + 3, length, row - 6}, "c0", one.name+": "+show(one.value))
		p.text(names+length+6, y+14, "left", show(one.value))
	}
	return p.html(title)
}

// bars is a bar for each rank, or the mean of neighbours where there are many.
func bars(title string, first int, values []float64, show func(float64) string) template.HTML {
	const most, height = 320, 120.0
	per := max(1, (len(values)+most-1)/most)
	p := &picture{width: 640, height: height + 34}
	highest := 0.0
	for _, v := range values {
		highest = max(highest, v)
	}
	n := (len(values) + per - 1) / per
	for i := range n {
		group := values[i*per : min((i+1)*per, len(values))]
		sum, top := 0.0, 0.0
		for _, v := range group {
			sum, top = sum+v, max(top, v)
		}
		mean := sum / float64(len(group))
		name := fmt.Sprintf("rank %d: %s", first+i*per, show(mean))
		if len(group) > 1 {
			name = fmt.Sprintf("ranks %d to %d: mean %s, most %s", first+i*per, first+i*per+len(group)-1,
				show(mean), show(top))
		}
		if highest > 0 {
			width := 600 / float64(n)
			x := 40 + float64(i)*width
			if top > mean {
				p.rect(rectangle{x, 14 + height*(1-top/highest), width * 0.9, height * (top - mean) / highest}, "faint",
					name)
			}
			p.rect(rectangle{x, 14 + height*(1-mean/highest), width * 0.9, height * mean / highest}, "c0", name)
		}
	}
	p.text(0, 10, "left", show(highest))
	p.text(40, height+30, "left", fmt.Sprintf("rank %d", first))
	p.text(640, height+30, "right", fmt.Sprint(first+len(values)-1))
	if per > 1 {
		title += fmt.Sprintf(" (a bar for %d ranks: mean, and the most of one)", per)
	}
	return p.html(title + " by rank")
}
