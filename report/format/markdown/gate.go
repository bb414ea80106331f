package markdown

import (
	"io"
	"strings"

	"cg/gate"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/verdict"
	"cg/statistics"
)

// writeGate writes what a step summary shows.
func writeGate(w io.Writer, g *verdict.Check, _ format.Options) error {
	m := &page{}
	mark := map[statistics.Verdict]string{statistics.Pass: "✅", statistics.Regression: "❌",
		statistics.Inconclusive: "⚠️"}[g.Verdict]
	if g.Exceeded() || g.Unknown() {
		mark = "❌"
	}
	m.line("### %s Energy check of %s\n", mark, name(g.CommandLine()))
	m.line("%s\n", escape.Replace(g.Sentence()))
	m.head("", "base", "head", "change", "interval", "could have found", "threshold", "verdict")
	row := func(title string, c gate.Comparison) {
		m.row(title, g.Value(c.Base), g.Value(c.Head), g.Change(c), g.Interval(c), g.Detectable(c),
			g.Threshold(c), escape.Replace(string(c.Verdict))+noted(c))
	}
	for _, r := range g.Rows() {
		if !r.Judged {
			m.row(strings.ToLower(r.Name)+", "+escape.Replace(string(g.Backend.Kind)), r.Base, r.Head, "", "", "", "",
				"not judged")
		}
	}
	row(g.Whole(), g.Program)
	for _, f := range g.Functions {
		row(name(f.Name), f)
	}
	m.line("")
	if len(g.Budgets) > 0 {
		m.head("budget of", "allowed", "used", "")
		for _, b := range g.Budgets {
			verdict := "kept"
			if b.Exceeded == nil {
				verdict = "not known"
			} else if *b.Exceeded {
				verdict = "**exceeded**"
			}
			title := "the program"
			if b.Name != "" {
				title = name(b.Name)
			}
			m.row(title, figures.Joules(b.BudgetJ), g.BudgetText(b), verdict)
		}
		m.line("")
	}
	m.line("- base: %s", escape.Replace(g.BaseTitle()))
	m.line("- head: %s", escape.Replace(g.HeadTitle()))
	m.line("- metric: %s by %s", escape.Replace(g.Metric), escape.Replace(g.Counter))
	m.line("- %d pairs of at most %d; alpha %g; seed %s", g.Pairs, g.MaxPairs, g.Alpha, escape.Replace(g.Seed))
	for _, w := range g.Warnings {
		m.line("- %s: %s", escape.Replace(w.Slug), escape.Replace(w.Message))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

func noted(c gate.Comparison) string {
	if c.Note == "" {
		return ""
	}
	return " (" + escape.Replace(c.Note) + ")"
}
