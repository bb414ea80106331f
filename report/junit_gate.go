package report

import (
	"io"
	"time"

	"cg/gate"
	"cg/report/figures"
	"cg/report/format"
	"cg/statistics"
)

// junitGate writes a check as a suite of tests: one for the program, and for each
// function and budget. What is inconclusive is skipped, unless it is to fail.
func junitGate(w io.Writer, g *Gate, _ format.Options) error {
	at, _ := time.Parse(StampLayout, g.Meta.StartedAt)
	s := Suite{Name: "cg gate " + g.Metric, At: at, Hostname: g.Meta.Hostname, Properties: [][2]string{
		{"base", g.BaseTitle()}, {"head", g.HeadTitle()}, {"metric", g.Metric}, {"energy_kind", string(g.Backend.Kind)},
		{"seed", g.Seed},
	}}
	judge := func(name string, c gate.Comparison) {
		k := Case{Class: "cg.gate", Name: name, Message: g.described(c)}
		switch {
		case c.Verdict == statistics.Pass:
		case c.Verdict == statistics.Regression, c.Name == "" && g.Inconclusive == "fail":
			k.State, k.Text = Failed, g.Sentence()
		default:
			k.State = Skipped
		}
		s.Cases = append(s.Cases, k)
	}
	judge("the program", g.Program)
	for _, f := range g.Functions {
		judge(f.Name, f)
	}
	for _, b := range g.Budgets {
		k := Case{Class: "cg.gate.budget", Name: Owner(b.Name), Message: g.BudgetText(b) + " of " +
			figures.Joules(b.BudgetJ)}
		switch {
		case b.Exceeded == nil:
			k.State, k.Message, k.Text = Failed, "the energy is not known", k.Message
		case *b.Exceeded:
			k.State, k.Message = Failed, "exceeded: "+k.Message
		}
		s.Cases = append(s.Cases, k)
	}
	return writeSuite(w, s)
}

// described is a comparison in a line.
func (g *Gate) described(c gate.Comparison) string {
	text := string(c.Verdict) + ": " + g.Change(c)
	if i := g.Interval(c); i != "" {
		text += " " + i
	}
	if c.Note != "" {
		text += " (" + c.Note + ")"
	}
	return text
}
