package report

import (
	"encoding/xml"
	"io"

	"cg/gate"
	"cg/shown"
	"cg/statistics"
)

type gateSuites struct {
	XMLName xml.Name    `xml:"testsuites"`
	Suites  []gateSuite `xml:"testsuite"`
}

type gateSuite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Cases    []gateCase `xml:"testcase"`
}

type gateCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Failure *gateReason `xml:"failure"`
	Skipped *gateReason `xml:"skipped"`
	Out     string      `xml:"system-out,omitempty"`
}

type gateReason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the check as a suite of tests, as Jenkins' and GitLab's readers take
// it: one for the program, and for each function and budget. What is inconclusive
// is skipped, unless it is to fail.
func (g *Gate) JUnit(w io.Writer) error {
	suite := gateSuite{Name: "cg gate " + shown.Line(g.Metric)}
	add := func(c gateCase) {
		c.Class, c.Name, c.Out = shown.Line(c.Class), shown.Line(c.Name), shown.Lines(c.Out)
		for _, r := range []*gateReason{c.Failure, c.Skipped} {
			if r != nil {
				r.Message, r.Text = shown.Line(r.Message), shown.Lines(r.Text)
			}
		}
		suite.Tests++
		if c.Failure != nil {
			suite.Failures++
		}
		if c.Skipped != nil {
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	comparison := func(name string, c gate.Comparison, text string) {
		out := gateCase{Class: "cg.gate", Name: name, Out: text}
		switch {
		case c.Verdict == statistics.Regression:
			out.Failure = &gateReason{Message: text, Text: g.sentence()}
		case c.Verdict == statistics.Pass:
		case c.Name == "" && g.Inconclusive == "fail":
			out.Failure = &gateReason{Message: text, Text: g.sentence()}
		default:
			out.Skipped = &gateReason{Message: text}
		}
		add(out)
	}
	describe := func(c gate.Comparison) string {
		text := string(c.Verdict) + ": " + g.change(c)
		if i := g.interval(c); i != "" {
			text += " " + i
		}
		if c.Note != "" {
			text += " (" + c.Note + ")"
		}
		return text
	}
	comparison("the program", g.Program, describe(g.Program))
	for _, f := range g.Functions {
		comparison(f.Name, f, describe(f))
	}
	for _, b := range g.Budgets {
		c := gateCase{Class: "cg.gate.budget", Name: owner(b.Name), Out: g.budgetText(b) + " of " + exactly(b.BudgetJ)}
		switch {
		case b.Exceeded == nil:
			c.Failure = &gateReason{Message: "the energy is not known"}
		case *b.Exceeded:
			c.Failure = &gateReason{Message: "exceeded: " + c.Out}
		}
		add(c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(gateSuites{Suites: []gateSuite{suite}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
