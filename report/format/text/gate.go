package text

import (
	"fmt"
	"io"
	"strings"

	"cg/report/figures"
	"cg/report/format"
	"cg/report/verdict"
	"cg/shown"
)

// writeGate lays out a check for people.
func writeGate(w io.Writer, g *verdict.Check, o format.Options) error {
	p := newPrinter(o.Terminal)
	row := func(name, text string) { p.line("  %s  %s", pad(name, 8), p.cut(text, p.Width-12)) }
	p.line("%s  %s", p.paint(bold, "Gate"), p.cut(g.CommandLine(), p.Width-6))
	row("Metric", g.Metric+" by "+g.Counter)
	c := g.Program
	if g.Alone() {
		rows := g.Rows()
		row(rows[len(rows)-1].Name, fmt.Sprintf("%s per run, median of %d", g.Value(c.Head), g.Pairs))
	} else {
		row("Base", g.BaseTitle())
		row("Head", g.HeadTitle())
		for _, r := range g.Rows() {
			text := fmt.Sprintf("%s in base, %s in head", r.Base, r.Head)
			if !r.Judged {
				text += fmt.Sprintf(" (%s; not what is judged)", g.Backend.Kind)
			}
			row(r.Name, text)
		}
		row("Change", strings.TrimSpace(g.Change(c)+"  "+g.Interval(c)))
		what := fmt.Sprintf("%d pairs of at most %d", g.Pairs, g.MaxPairs)
		if !g.Interleaved {
			what = fmt.Sprintf("%d runs, with %d of the baseline", g.Pairs, len(g.Result.Base))
		}
		if g.Batch > 1 {
			what += fmt.Sprintf(", each of %d runs", g.Batch)
		}
		if d := g.Detectable(c); d != "" && !g.Deterministic {
			what += "; could have found " + d
		}
		row("Seen by", what)
	}
	for _, b := range g.Budgets {
		outcome := shown.Safe("kept")
		if b.Exceeded == nil {
			outcome = "not known"
		} else if *b.Exceeded {
			outcome = p.paint(yellow, "exceeded")
		}
		text := fmt.Sprintf("%s: %s of %s", verdict.Owner(b.Name), g.BudgetText(b), figures.Joules(b.BudgetJ))
		p.line("  %s  %s, %s", pad("Budget", 8), p.cut(text, p.Width-24), outcome)
	}
	if len(g.Functions) > 0 && !g.Alone() {
		width := 0
		for _, f := range g.Functions {
			width = max(width, min(48, len(f.Name)))
		}
		p.line("  %s", p.paint(bold, "Functions, without what they call"))
		for _, f := range g.Functions {
			p.line("    %s  %s  %s  %s  %s", pad(shorten(f.Name, width), width), left(g.Change(f), 9),
				pad(g.Interval(f), 20), pad(string(f.Verdict), 12), f.Note)
		}
	}
	if !g.Alone() {
		style := ""
		if g.ExitStatus != 0 {
			style = yellow
		}
		p.line("  %s  %s", pad("Verdict", 8), p.paint(style, g.Sentence()))
	}
	for _, w := range g.Warnings {
		p.note(yellow, w.Slug, w.Message)
	}
	return p.print(w)
}
