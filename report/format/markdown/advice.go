package markdown

import (
	"io"

	"cg/report/advice"
	"cg/report/figures"
	"cg/report/format"
)

// writeAdvice writes a table of what a run shows that could save energy.
func writeAdvice(w io.Writer, d *advice.Document, _ format.Options) error {
	m := &page{}
	m.line("### What %s shows\n", name(d.Advice.Title))
	m.line("%s.\n", escape.Replace(d.Energies()))
	if len(d.Findings) == 0 {
		m.line("%s.", escape.Replace(advice.Nothing))
	} else {
		m.head("what", "function", "used", "removing it saves", "seen")
		for _, f := range d.Findings {
			at := ""
			if f.Function != nil {
				at = name(f.Function.Name)
			}
			m.row(escape.Replace(string(f.Kind)), at, d.Mark()+figures.Joules(f.EnergyJ.Float()), d.Saves(f),
				escape.Replace(f.Seen))
		}
	}
	for _, u := range d.Unseen {
		m.line("\n%s cannot be told: %s", escape.Replace(string(u.Kind)), escape.Replace(u.Why))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}
