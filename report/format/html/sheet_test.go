package html

import (
	"fmt"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/reporttest"
	"cg/report/saved"
	"cg/report/verdict"
)

// compared is a comparison of two runs that differ by a factor.
func compared(t *testing.T, factor float64) *compare.Result {
	t.Helper()
	before, after := reporttest.Scaled(t, nemb.Measured, "before", 1), reporttest.Scaled(t, nemb.Measured, "after", factor)
	c, err := compare.Compare(compare.Side{Names: []string{"before"}, Saved: []saved.Document{{Run: before}}},
		compare.Side{Names: []string{"after"}, Saved: []saved.Document{{Run: after}}}, compare.Options{Threshold: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// known counts the changes that a document tells.
func known(d format.Document) (n int) {
	switch d := d.(type) {
	case *verdict.Check:
		for _, c := range append(d.Functions, d.Program) {
			if c.Change != nil {
				n++
			}
		}
	case *compare.Result:
		for _, c := range d.Totals {
			if c.Change != nil {
				n++
			}
		}
		for _, c := range d.Functions {
			if c.Change.Change != nil {
				n++
			}
		}
	}
	return n
}

// Checks and comparisons have a page with a chart of changes, and what is no change is
// grey.
func TestSheets(t *testing.T) {
	b := browserOf(t)
	check := reporttest.Saved[verdict.Check](t, "gate")
	evil := reporttest.Poisoned(reporttest.Saved[verdict.Check](t, "gate"))
	for name, k := range map[string]struct {
		document format.Document
		colors   string
	}{
		"gate":      {check, ""},
		"poisoned":  {evil, ""},
		"higher":    {compared(t, 1.5), worse},
		"lower":     {compared(t, 0.5), better},
		"no change": {compared(t, 1.01), unsure},
	} {
		content := strings.Replace(string(reporttest.Write(t, "html", k.document, format.Options{})), `<html lang="en">`,
			`<html lang="en" data-ready="true">`, 1)
		p := open(t, b, strings.ReplaceAll(name, " ", "-"), []byte(content), 1200, 900)
		p.is(`document.scripts.length+','+window.pwned`, "0,undefined")
		p.is(`document.querySelectorAll('.changes:not(.narrow) circle').length`, fmt.Sprint(known(k.document)))
		if k.colors != "" {
			p.is(`[...document.querySelectorAll('.changes:not(.narrow) circle')].filter((c) => c.getAttribute('fill') === '`+k.colors+`').length > 1`, "true")
			for _, other := range []string{worse, better} {
				if other != k.colors {
					p.is(`[...document.querySelectorAll('.changes:not(.narrow) circle')].filter((c) => c.getAttribute('fill') === '`+other+`').length`, "0")
				}
			}
		}
		// Every mark is on the axis, and the interval holds its change.
		p.is(`[...document.querySelectorAll('.changes:not(.narrow) circle')].every((c) => +c.getAttribute('cx') >= 270 && +c.getAttribute('cx') <= 990)`, "true")
		p.is(`[...document.querySelectorAll('.changes line[stroke]')].every((l) => +l.getAttribute('x1') <= +l.getAttribute('x2'))`, "true")
		p.shot("sheet-" + strings.ReplaceAll(name, " ", "-"))
		p.quiet()
	}
}

// The chart holds every change, cuts what is far outside, and stands without any.
func TestChartOfChanges(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	if chartsOf(nil) != nil || chartsOf([]change{{name: "a"}}) != nil {
		t.Error("a chart of no known change")
	}
	changes := []change{{name: "none", at: v(0), lo: v(0), hi: v(0)}, {name: "unknown"},
		{name: strings.Repeat("package.", 10) + "Last", at: v(0.1), lo: v(-5), hi: v(5), threshold: 0.05}}
	for _, size := range []chartSize{wideChart, narrowChart} {
		c := chartOf(changes, size)
		if len(c.Rows) != 3 || c.Rows[1].Dot || c.Rows[1].Band || !c.Rows[2].Dot {
			t.Fatalf("%+v", c.Rows)
		}
		if !strings.HasSuffix(c.Rows[2].Name, "package.Last") || len([]rune(c.Rows[2].Name)) != size.name {
			t.Errorf("the name is %q", c.Rows[2].Name)
		}
		if zero, at := c.Rows[0].At, c.Rows[2].At; zero != float64(size.left+10+size.width/2) || at <= zero {
			t.Errorf("none is at %g, 10 %% at %g", zero, at)
		}
		if r := c.Rows[2]; r.From < float64(size.left) || r.To > float64(size.left+size.width+11) || r.Allowed <= c.Rows[0].At || r.Allowed >= r.At {
			t.Errorf("the interval is from %g to %g, the threshold at %g", r.From, r.To, r.Allowed)
		}
	}
	many := make([]change, changeRows+7)
	for i := range many {
		many[i].at = v(float64(i))
	}
	if c := chartOf(many, wideChart); len(c.Rows) != changeRows || c.More != 7 {
		t.Errorf("%d rows and %d more", len(c.Rows), c.More)
	}
}
