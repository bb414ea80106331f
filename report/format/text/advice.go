package text

import (
	"io"

	"cg/report/advice"
	"cg/report/figures"
	"cg/report/format"
)

// writeAdvice lays out what a run shows that could save energy.
func writeAdvice(w io.Writer, d *advice.Document, o format.Options) error {
	p := newPrinter(o.Terminal)
	p.line("%s  %s", p.paint(bold, "Advice"), p.cut(d.Advice.Title, p.Width-8))
	p.note(dim, "energy", d.Energies())
	p.line("")
	for _, f := range d.Findings {
		head := string(f.Kind)
		if f.Function != nil {
			head += "  " + shorten(f.Function.Name, 60)
		}
		p.line("%s  %s, of which removing it saves %s", p.paint(bold, head), d.Mark()+figures.Joules(f.EnergyJ.Float()),
			d.Saves(f))
		p.note(dim, "seen", f.Seen)
		if f.Function != nil {
			p.note(dim, "at", f.Function.At())
		}
		p.note(dim, "bounds", f.Bounds)
		p.line("")
	}
	if len(d.Findings) == 0 {
		p.line("%s", advice.Nothing)
	}
	for _, u := range d.Unseen {
		p.note(dim, string(u.Kind), "cannot be told: "+u.Why)
	}
	return p.print(w)
}
