package junit

import (
	"io"
	"time"

	"cg/gate"
	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/verdict"
	"cg/statistics"
)

// writeGate writes a check as a suite of tests: one for the program, and for each
// function and budget. What is inconclusive is skipped, unless it is to fail.
func writeGate(w io.Writer, g *verdict.Check, _ format.Options) error {
	at, _ := time.Parse(report.StampLayout, g.Meta.StartedAt)
	s := suite{Name: "cg gate " + g.Metric, At: at, Hostname: g.Meta.Hostname, Properties: [][2]string{
		{"base", g.BaseTitle()}, {"head", g.HeadTitle()}, {"metric", g.Metric}, {"energy_kind", string(g.Backend.Kind)},
		{"seed", g.Seed},
	}}
	judge := func(name string, c gate.Comparison) {
		k := testCase{Class: "cg.gate", Name: name, Message: described(g, c)}
		switch {
		case c.Verdict == statistics.Pass:
		case c.Verdict == statistics.Regression, c.Name == "" && g.Inconclusive == "fail":
			k.State, k.Text = failed, g.Sentence()
		default:
			k.State = skipped
		}
		s.Cases = append(s.Cases, k)
	}
	judge("the program", g.Program)
	for _, f := range g.Functions {
		judge(f.Name, f)
	}
	for _, b := range g.Budgets {
		k := testCase{Class: "cg.gate.budget", Name: verdict.Owner(b.Name), Message: g.BudgetText(b) + " of " +
			figures.Joules(b.BudgetJ)}
		switch {
		case b.Exceeded == nil:
			k.State, k.Message, k.Text = failed, "the energy is not known", k.Message
		case *b.Exceeded:
			k.State, k.Message = failed, "exceeded: "+k.Message
		}
		s.Cases = append(s.Cases, k)
	}
	return writeSuite(w, s)
}

// described is a comparison in a line.
func described(g *verdict.Check, c gate.Comparison) string {
	text := string(c.Verdict) + ": " + g.Change(c)
	if i := g.Interval(c); i != "" {
		text += " " + i
	}
	if c.Note != "" {
		text += " (" + c.Note + ")"
	}
	return text
}
