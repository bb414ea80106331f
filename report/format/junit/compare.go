package junit

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cg/report"
	"cg/report/compare"
	"cg/report/figures"
	"cg/report/format"
)

// writeComparison writes a comparison as tests, one for each energy that was compared: a
// failure where it is higher, an error where the program's cannot be compared or each
// side has lines of other functions, skipped where another cannot.
func writeComparison(w io.Writer, c *compare.Result, _ format.Options) error {
	at, _ := time.Parse(report.StampLayout, c.Head.StartedAt)
	s := suite{Name: "cg compare", At: at, Hostname: c.Head.Hostname, Properties: [][2]string{
		{"base", c.Base.Name}, {"head", c.Head.Name}, {"energy_kind", string(c.Head.Kind)},
		{"threshold_percent", fmt.Sprintf("%.4g", 100*c.Comparison.Threshold)},
	}}
	for _, d := range c.Different {
		s.Properties = append(s.Properties, [2]string{"different " + d.What, d.Sides()})
	}
	mark := c.Mark()
	check := func(class string, named string, change compare.Change) {
		k := testCase{Class: class, Name: named}
		figures := []string{figures.Value(change.Base.Value, change.Unit, mark), "→",
			figures.Value(change.Head.Value, change.Unit, mark), change.Signed(), change.Interval()}
		k.Message = strings.Join(slices.DeleteFunc(figures, func(s string) bool { return s == "" }), " ") + ": " +
			change.InWords()
		k.Text = strings.Join(c.Notes, "\n")
		switch {
		case c.LinesCost() != "" && change.Of == c.Totals[0].Of:
			k.State, k.Message = errored, c.LinesCost()
		case change.Verdict == compare.Higher:
			k.State = failed
		case change.Verdict == compare.NotComparable && change.Of == c.Totals[0].Of:
			k.State = errored
		case change.Verdict == compare.NotComparable:
			k.State = skipped
		default:
			k.Text = ""
		}
		s.Cases = append(s.Cases, k)
	}
	for _, t := range c.Totals {
		if t.IsEnergy() {
			check("energy.total", t.Name, t)
		}
	}
	for _, f := range c.Functions {
		check("energy."+f.Language, f.Title(), f.Change)
	}
	return writeSuite(w, s)
}
