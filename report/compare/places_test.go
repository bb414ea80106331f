package compare_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cg/nemb"
	"cg/nemb/attribute"
	"cg/report"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
	"cg/report/saved"
)

// linedRun is a run of one function, work at line 10, whose lines have these texts, from line 11 on, and energies: "t=1"
// has 1 J, and is come to once for each joule. A text "-" is a line that the run did not come to, "?=1" one whose text
// is not known.
func linedRun(t testing.TB, id, textID string, lines ...string) *report.Run {
	r := scaledRun(t, nemb.Measured, id, 1)
	r.Meta.Granularity = "line"
	f := r.Functions[0]
	f.Name, f.File, f.Line = "work", "/src/main.py", 10
	sum := report.Joules(0)
	for i, l := range lines {
		text, joules, ok := strings.Cut(l, "=")
		if !ok {
			continue
		}
		var j float64
		if _, err := fmt.Sscan(joules, &j); err != nil {
			t.Fatal(err)
		}
		e, lo, hi := report.Joules(j*1e6), report.Joules(j*0.99e6), report.Joules(j*1.01e6)
		sum += e
		f.Places = append(f.Places, report.Place{Kind: "line", Line: 11 + i, EndLine: 11 + i, Count: uint64(j),
			SelfTimeS: j, SelfEnergyJ: &e, SelfEnergyLoJ: &lo, SelfEnergyHiJ: &hi, EnergyMethod: report.MethodShare,
			Text: strings.TrimPrefix(text, "?")})
	}
	f.Places = append(f.Places, report.Place{Kind: "rest", Line: 10, EndLine: 11 + len(lines),
		SelfEnergyJ: new(report.Joules)})
	f.SelfEnergyJ, f.SelfEnergyLoJ, f.SelfEnergyHiJ = &sum, &sum, &sum
	r.Functions = []report.Function{f}
	r.Sites = []report.Site{{ID: 1, Name: f.Name, File: f.File, Line: f.Line, Kind: f.Kind, Language: f.Language,
		TextID: textID}}
	return r
}

// paired are the lines that were found, as BASE:HEAD by how, and those of one side.
func paired(c *compare.Result) string {
	var out []string
	f := c.Functions[0]
	for _, p := range f.Places {
		if p.Kind != "rest" {
			out = append(out, fmt.Sprintf("%d:%d %s", p.BaseLine, p.Line, p.MatchedBy))
		}
	}
	for _, p := range f.PlacesOnlyInBase {
		out = append(out, fmt.Sprintf("%d gone", p.Line))
	}
	for _, p := range f.PlacesOnlyInHead {
		out = append(out, fmt.Sprintf("%d new", p.Line))
	}
	return strings.Join(out, ", ")
}

// TestLinesAreFound: by their text, whatever was put in or taken out; by where they stand in a function that is the
// same, or whose text is not known.
func TestLinesAreFound(t *testing.T) {
	for _, c := range []struct {
		name, baseID, headID string
		base, head           []string
		want                 string
	}{
		{"a line was put in", "1", "2", []string{"a=1", "b=2", "c=3"}, []string{"a=1", "new=5", "b=2", "c=3"},
			"11:11 text, 12:13 text, 13:14 text, 12 new"},
		{"a line was taken out", "1", "2", []string{"a=1", "b=2", "c=3"}, []string{"a=1", "c=3"},
			"11:11 text, 13:12 text, 12 gone"},
		{"a line has changed", "1", "2", []string{"a=1", "b=2", "c=3"}, []string{"a=1", "B=1", "c=3"},
			"11:11 text, 12:12 neighbours, 13:13 text"},
		{"the runs came to other lines", "1", "2", []string{"set(1)=1", "if m:=1", "a()=2"},
			[]string{"set(2)=1", "if m:=1", "-", "-", "b()=3"}, "11:11 neighbours, 12:12 text, 13 gone, 15 new"},
		{"nothing is the same", "1", "2", []string{"a=1"}, []string{"b=1"}, "11 gone, 11 new"},
		{"two lines have changed", "1", "2", []string{"a=1", "b=2", "b2=2", "c=3"}, []string{"a=1", "B=1", "B2=1", "c=3"},
			"11:11 text, 14:14 text, 12 gone, 13 gone, 12 new, 13 new"},
		{"equal lines keep their order", "1", "2", []string{"i += 1=1", "f()=2", "i += 1=3"},
			[]string{"g()=9", "i += 1=1", "f()=2", "i += 1=3"}, "11:12 text, 12:13 text, 13:14 text, 11 new"},
		{"the same function", "1", "1", []string{"a=1", "x=2", "x=3"}, []string{"a=1", "-", "x=3"},
			"11:11 text, 13:13 text, 12 gone"},
		{"no texts", "", "", []string{"?=1", "?=2"}, []string{"?=1", "?=2", "?=3"},
			"11:11 place, 12:12 place, 13 new"},
		{"texts of one side", "", "2", []string{"?=1", "?=2"}, []string{"a=1", "b=2"}, "11:11 place, 12:12 place"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := compared(t, runsSide("a", linedRun(t, "a", c.baseID, c.base...)),
				runsSide("b", linedRun(t, "b", c.headID, c.head...)), compare.Options{Threshold: 0.05})
			if p := paired(got); p != c.want {
				t.Errorf("%s\nwant %s", p, c.want)
			}
			placed := slices.ContainsFunc(got.Notes, func(n string) bool { return strings.Contains(n, "whose text is not in the files") })
			if placed != strings.Contains(c.want, "place") {
				t.Errorf("%q", got.Notes)
			}
		})
	}
}

// TestLineVerdicts: bounds of single runs and the spread of several judge lines as they do functions, and a dearer line
// is in every format but in no exit status.
func TestLineVerdicts(t *testing.T) {
	base := runsSide("a", linedRun(t, "a", "1", "a=1", "b=2", "c=3"))
	head := runsSide("b", linedRun(t, "b", "2", "a=1", "n=5", "b=4", "C=3", "d=1"))
	c := compared(t, base, head, compare.Options{Threshold: 0.05})
	verdicts := map[int]compare.Verdict{}
	for _, p := range c.Functions[0].Places {
		verdicts[p.Line] = p.Verdict
	}
	if verdicts[11] != compare.NoneShown || verdicts[13] != compare.Higher {
		t.Errorf("%v", verdicts)
	}
	if all := c.DearestPlaces(); len(all) != 2 || all[0].Line != 13 || *all[0].Difference != 2 ||
		all[0].Where() != "main.py:13 b (was line 12)" {
		t.Errorf("%+v", all)
	}
	if slices.Contains(c.Worse, "main.py:13 b") || len(c.Worse) > 1 {
		t.Errorf("%q", c.Worse)
	}
	for name, wants := range map[string][]string{
		"text": {"self energy of line", "main.py:13 b (was line 12)", "higher?", "line that only HEAD came to", "main.py:12 n",
			"line that only BASE came to", "main.py:13 c"},
		"markdown": {"| self energy of line |", "line that only head came to", "main.py:12 n"},
		"html":     {"Lines, energy of their own", "main.py:13 b (was line 12)", "Lines that only head came to"},
		"json":     {`"base_line": 12`, `"places_only_in_head"`, `"matched_by": "text"`},
	} {
		b := reporttest.Write(t, name, c, format.Options{Terminal: format.Terminal{Width: 140}, Top: 0})
		for _, want := range wants {
			if !bytes.Contains(b, []byte(want)) {
				t.Errorf("%s lacks %q:\n%s", name, want, b)
			}
		}
	}
}

// TestLinesOverRuns: several runs on each side, saved one by one or together, and in how many of them a line has a power
// of its own.
func TestLinesOverRuns(t *testing.T) {
	side := func(name string, factor float64, head bool) (single, together compare.Side) {
		r := &repeated.Result{Commands: []repeated.Command{{Measurements: []repeated.Measurement{}}}}
		var runs []*report.Run
		for k, f := range []float64{1, 1.01, 0.99, 1.005} {
			lines := []string{"a=1", fmt.Sprintf("b=%.3f", 2*f*factor), "c=3"}
			if head {
				lines = slices.Insert(lines, 1, "n=5")
			}
			run := linedRun(t, fmt.Sprintf("%s-%d", name, k), name, lines...)
			if k < 3 {
				run.Functions[0].Places[0].EnergyMethod = attribute.Regression
			}
			runs = append(runs, run)
			r.Add(0, k, false, run)
		}
		r.Commands[0].Summarize(false)
		r.Compare()
		r.Meta = runs[0].Meta
		r.Meta.RunID = name
		return runsSide(name, runs...), compare.Side{Names: []string{name}, Saved: []saved.Document{{Repeated: r}}}
	}
	base, baseTogether := side("a", 1, false)
	head, headTogether := side("b", 1.5, true)
	for name, sides := range map[string][2]compare.Side{"one by one": {base, head}, "together": {baseTogether, headTogether}} {
		t.Run(name, func(t *testing.T) {
			c := compared(t, sides[0], sides[1], compare.Options{Threshold: 0.05})
			if p := paired(c); p != "11:11 text, 12:13 text, 13:14 text, 12 new" {
				t.Fatal(p)
			}
			a, b := c.Functions[0].Places[0], c.Functions[0].Places[1]
			if b.Verdict != compare.Higher || b.Weak || b.P == nil || b.Lo == nil || *b.Lo <= 0.4 || *b.Hi >= 0.6 {
				t.Errorf("a half more: %+v", b)
			}
			if a.Verdict != compare.NoneShown || a.BaseOwnPowerRuns != 3 || a.HeadOwnPowerRuns != 3 || b.HeadOwnPowerRuns != 0 {
				t.Errorf("%+v", a)
			}
			if !slices.ContainsFunc(c.Notes, func(n string) bool { return strings.Contains(n, "but for 1 of 3") }) {
				t.Errorf("%q", c.Notes)
			}
		})
	}
}

// TestLinesOfOneSide: a function whose lines one side tells, and a side with blocks, have no lines that are gone or new.
func TestLinesOfOneSide(t *testing.T) {
	plain := linedRun(t, "b", "1", "a=1")
	plain.Functions[0].Places = nil
	c := compared(t, runsSide("a", linedRun(t, "a", "1", "a=1")), runsSide("b", plain), compare.Options{})
	if paired(c) != "" || !slices.ContainsFunc(c.Notes, func(n string) bool {
		return strings.HasPrefix(n, "of functions that both sides have, 1 have lines on one side only")
	}) {
		t.Errorf("%s %q", paired(c), c.Notes)
	}
	blocks := linedRun(t, "b", "1", "a=1")
	blocks.Meta.Granularity = "block"
	c = compared(t, runsSide("a", linedRun(t, "a", "1", "a=1")), runsSide("b", blocks), compare.Options{Allow: true})
	if paired(c) != "" || !slices.Contains(c.Notes, "line and block tell different parts of functions: these are not compared") {
		t.Errorf("%s %q", paired(c), c.Notes)
	}
}

// TestLinesTooDearOnOneSide: runs whose lines --lines auto found too dear are compared with runs that have lines, by
// their functions, and a note says so. Others of -g fine are not, nor is a side of both.
func TestLinesTooDearOnOneSide(t *testing.T) {
	lined := func(id string) *report.Run { return linedRun(t, id, "1", "a=1") }
	fell := func(id string) *report.Run {
		r, times := linedRun(t, id, "1", "a=2"), 9.0
		r.Meta.Granularity, r.Functions[0].Places = "fine", nil
		r.PlacesOf = &report.PlacesOf{Chosen: "auto", TooDear: []string{"work"}, Times: &times}
		return r
	}
	for name, sides := range map[string][2]compare.Side{
		"HEAD": {runsSide("a", lined("a")), runsSide("b", fell("b"))},
		"BASE": {runsSide("a", fell("a")), runsSide("b", lined("b"))},
		"all":  {runsSide("a", lined("a"), lined("c")), runsSide("b", fell("b"), fell("d"))},
	} {
		c := compared(t, sides[0], sides[1], compare.Options{})
		want := strings.Replace(name, "all", "HEAD", 1) + " has no lines, which --lines auto found too dear there"
		if len(c.Functions) != 1 || c.Functions[0].Difference == nil || paired(c) != "" ||
			!slices.ContainsFunc(c.Notes, func(n string) bool { return strings.HasPrefix(n, want) }) ||
			slices.ContainsFunc(c.Notes, func(n string) bool { return strings.Contains(n, "on one side only") }) {
			t.Errorf("%s: %+v %q", name, c.Functions, c.Notes)
		}
		if fault := c.Fault(); !strings.Contains(fault, "have lines of different functions") { // neither passes nor fails a change
			t.Errorf("%s: fault %q", name, fault)
		}
		junit := string(reporttest.Write(t, "junit", c, format.Options{}))
		if !strings.Contains(junit, "<error") || !strings.Contains(junit, "have lines of different functions") {
			t.Errorf("%s: %s", name, junit)
		}
	}
	same := compared(t, runsSide("a", lined("a")), runsSide("b", lined("b")), compare.Options{})
	if same.Fault() != "" {
		t.Error(same.Fault())
	}
	block := lined("a")
	block.Meta.Granularity = "block"
	c := compared(t, runsSide("a", block), runsSide("b", fell("b")), compare.Options{})
	if !slices.ContainsFunc(c.Notes, func(n string) bool { return strings.HasPrefix(n, "HEAD has no blocks, ") }) {
		t.Errorf("%q", c.Notes)
	}
	fine := fell("b")
	fine.PlacesOf = nil
	for name, sides := range map[string][2]compare.Side{
		"no lines were asked": {runsSide("a", lined("a")), runsSide("b", fine)},
		"some have lines":     {runsSide("a", lined("a")), runsSide("b", fell("b"), lined("d"))},
	} {
		if _, err := compare.Compare(sides[0], sides[1], compare.Options{}); err == nil ||
			!strings.Contains(err.Error(), "granularities: line and fine") ||
			strings.Contains(err.Error(), "--lines FILE.json") != (name == "some have lines") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLinesOfSomeRuns: a run that tells no lines of a function, as --lines auto chose, does not tell that they used 0 J.
// One in which the function was not called does.
func TestLinesOfSomeRuns(t *testing.T) {
	without := linedRun(t, "c", "1", "a=2")
	without.Functions[0].Places = nil
	uncalled := linedRun(t, "c", "1", "a=2")
	uncalled.Functions = nil
	for _, test := range []struct {
		run  *report.Run
		runs int
		want float64
	}{{without, 2, 2}, {uncalled, 3, 4.0 / 3}} {
		c := compared(t, runsSide("a", linedRun(t, "a", "1", "a=2"), linedRun(t, "b", "1", "a=2"), test.run),
			runsSide("d", linedRun(t, "d", "1", "a=2")), compare.Options{})
		p := c.Functions[0].Places[0]
		if p.Base.Runs != test.runs || p.Base.Value == nil || math.Abs(*p.Base.Value-test.want) > 1e-9 ||
			math.Abs(p.BaseCount-test.want) > 1e-9 {
			t.Errorf("%+v of %d runs, %v times, want %v J", p.Base.Value, p.Base.Runs, p.BaseCount, test.want)
		}
	}
}

// TestLinesOfManyFolders: the runs of a side were made in folders of their own.
func TestLinesOfManyFolders(t *testing.T) {
	side := func(name, id string, more float64) compare.Side {
		var runs []*report.Run
		for k := range 4 {
			r := linedRun(t, fmt.Sprintf("%s-%d", name, k), id, "a=1", fmt.Sprintf("b=%g", 2+more+float64(k)/1000))
			folder := fmt.Sprintf("/ci/%s/%d", name, k)
			r.Meta.Cwd, r.Functions[0].File, r.Sites[0].File = folder, folder+"/main.py", folder+"/main.py"
			runs = append(runs, r)
		}
		return runsSide(name, runs...)
	}
	c := compared(t, side("a", "1", 0), side("b", "1", 1), compare.Options{Threshold: 0.05})
	if p := paired(c); p != "11:11 text, 12:12 text" {
		t.Fatal(p)
	}
	if a, b := c.Functions[0].Places[0], c.Functions[0].Places[1]; a.Verdict != compare.NoneShown || b.Verdict != compare.Higher {
		t.Errorf("%+v\n%+v", a, b)
	}
}
