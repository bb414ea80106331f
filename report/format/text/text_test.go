package text

import (
	"path/filepath"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
	"cg/report/verdict"
)

func TestEstimatedOnEveryLine(t *testing.T) {
	text := string(reporttest.Write(t, "text", reporttest.Example(t, nemb.Estimated), format.Options{Terminal: format.Terminal{Width: 120}}))
	body := text[strings.Index(text, "function"):strings.Index(text, "method:")]
	for _, line := range strings.Split(strings.TrimSpace(body), "\n")[1:] {
		if line != "" && !strings.Contains(line, "~") {
			t.Errorf("a line without the mark of an estimate: %q", line)
		}
	}
	if !strings.Contains(text, "ESTIMATED") {
		t.Error("the headline does not say that it is estimated")
	}
}

func TestUnknownIsNotZero(t *testing.T) {
	if text := string(reporttest.Write(t, "text", reporttest.Example(t, nemb.Unavailable), format.Options{Terminal: format.Terminal{Width: 120}})); !strings.Contains(text, "?") ||
		strings.Contains(text, "0 J") {
		t.Errorf("%s", text)
	}
}

// What measures the whole machine beside its parts shows what lies outside of them.
func TestOutside(t *testing.T) {
	for _, test := range []struct {
		what  string
		more  int64 // microjoules, than the total
		place report.Topology
		want  string
	}{
		{"fans and losses", 40e6, report.Topology{Kind: "psys", Includes: []string{"package-0", "dram"}}, "the whole machine; 40.0 J of it is outside of the energies above"},
		{"less than its parts", -1, report.Topology{Kind: "psys", Includes: []string{"package-0", "dram"}}, ""},
		{"without the memory", 40e6, report.Topology{Kind: "psys", Includes: []string{"package-0"}}, ""},
		{"the total itself", 40e6, report.Topology{Kind: "psys", TopLevel: true}, ""},
		{"a part", 40e6, report.Topology{Kind: "nested", Includes: []string{"package-0", "dram"}}, ""},
	} {
		r := reporttest.Example(t, nemb.Measured)
		r.Totals.Domains = map[string]report.Joules{"package-0": 1, "dram": 1, "wall": report.Joules(int64(*r.Totals.EnergyJ) + test.more)}
		r.Meta.DomainTopology = map[string]report.Topology{"package-0": {TopLevel: true}, "dram": {TopLevel: true}, "wall": test.place}
		text := string(reporttest.Write(t, "text", r, format.Options{Terminal: format.Terminal{Width: 120}}))
		if is := strings.Contains(text, "\nwall     "); is != (test.want != "") || !strings.Contains(text, test.want) {
			t.Errorf("%s: %s", test.what, text)
		}
	}
}

func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		kind nemb.Method
		t    format.Terminal
	}{
		"measured-120":    {nemb.Measured, format.Terminal{Width: 120}},
		"measured-80":     {nemb.Measured, format.Terminal{Width: 80}},
		"measured-40":     {nemb.Measured, format.Terminal{Width: 40}},
		"estimated-100":   {nemb.Estimated, format.Terminal{Width: 100}},
		"estimated-color": {nemb.Estimated, format.Terminal{Width: 100, Color: true, Verbose: true}},
		"unknown-100":     {nemb.Unavailable, format.Terminal{Width: 100}},
	} {
		got := string(reporttest.Write(t, "text", reporttest.Example(t, c.kind), format.Options{Terminal: c.t}))
		for _, line := range strings.Split(got, "\n") {
			if n := len([]rune(line)); n > c.t.Width && c.t.Width >= 80 && !c.t.Color {
				t.Errorf("%s: a line of %d columns: %q", name, n, line)
			}
		}
		reporttest.Golden(t, filepath.Join("testdata", name+".txt"), []byte(got))
	}
	reporttest.GoldenKinds(t, "text", "txt", format.Options{Terminal: format.Terminal{Width: 100, Verbose: true}})
	reporttest.Golden(t, filepath.Join("testdata", "inner-100.txt"), reporttest.Write(t, "text", reporttest.Inner(t), format.Options{Terminal: format.Terminal{Width: 100}}))
	reporttest.Golden(t, filepath.Join("testdata", "tests-100.txt"), []byte(string(reporttest.Write(t, "text", reporttest.Suite(t, nemb.Estimated), format.Options{Terminal: format.Terminal{Width: 100}}))))
}

func TestSeveral(t *testing.T) {
	o := format.Options{Terminal: format.Terminal{Width: 100}, Names: []string{"before", "after"}}
	both := report.Several{reporttest.Example(t, nemb.Estimated), reporttest.Faster(t)}
	reporttest.Golden(t, "testdata/several.txt", reporttest.Write(t, "text", both, o))
}

func TestRepeated(t *testing.T) {
	for _, name := range []string{"measured", "estimated", "unavailable"} {
		b := reporttest.Write(t, "text", reporttest.Saved[repeated.Result](t, "repeated-"+name),
			format.Options{Terminal: format.Terminal{Width: 100}})
		reporttest.Golden(t, filepath.Join("testdata", "repeated-"+name+".txt"), b)
		if name == "unavailable" && strings.Contains(string(b), " 0 J") {
			t.Error("what is not known is shown as 0")
		}
	}
}

func TestComparisons(t *testing.T) {
	top := func(c *compare.Result, terminal format.Terminal, rows int) []byte {
		return reporttest.Write(t, "text", c, format.Options{Terminal: terminal, Top: rows})
	}
	for _, name := range []string{"several", "single", "different", "hostile", "zero", "unknown", "repeated"} {
		c := reporttest.Saved[compare.Result](t, "compare-"+name)
		reporttest.Golden(t, filepath.Join("testdata", "compare-"+name+".txt"), top(c, format.Terminal{Width: 100}, 15))
		for _, width := range []int{60, 80, 120} {
			for _, line := range strings.Split(string(top(c, format.Terminal{Width: width}, 0)), "\n") {
				if n := len([]rune(line)); n > max(width, 80) && name != "hostile" {
					t.Errorf("%s: a line of %d columns where there are %d: %q", name, n, width, line)
				}
			}
		}
	}
	reporttest.Golden(t, filepath.Join("testdata", "compare-several-60.txt"),
		top(reporttest.Saved[compare.Result](t, "compare-several"), format.Terminal{Width: 60, Color: true}, 1))
}

func TestGate(t *testing.T) {
	reporttest.Golden(t, "testdata/gate.txt", reporttest.Write(t, "text", reporttest.Saved[verdict.Check](t, "gate"),
		format.Options{Terminal: format.Terminal{Width: 100}}))
}

// The hours of a command stand in its block as the other figures do.
func TestHoursOfRepeated(t *testing.T) {
	r := reporttest.Saved[repeated.Result](t, "repeated-measured")
	h := &report.Hours{Core: 1536}
	if r.Hours = h; len(r.Commands) > 0 {
		r.Commands[0].Hours = h
	}
	reporttest.Golden(t, filepath.Join("testdata", "repeated-hours.txt"), reporttest.Write(t, "text", r,
		format.Options{Terminal: format.Terminal{Width: 100}}))
}

// A run with ranges of NVTX among its tasks has no table of tests.
func TestTasksOfRanges(t *testing.T) {
	n, r := uint64(2), reporttest.Suite(t, nemb.Measured)
	head := func() string {
		b := string(reporttest.Write(t, "text", r, format.Options{Terminal: format.Terminal{Width: 100}}))
		for line := range strings.Lines(b) {
			if words := strings.Fields(line); len(words) > 1 && words[1] == "energy" {
				return words[0]
			}
		}
		return b
	}
	if got := head(); got != "test" {
		t.Error(got)
	}
	r.Tasks = append(r.Tasks, report.Task{Name: "step", Iterations: &n})
	if got := head(); got != "task" {
		t.Error(got)
	}
}

// Where commands have parameters, hours stand below the table with the setting that they are of.
func TestHoursOfSettings(t *testing.T) {
	r := reporttest.Repeated(t, nemb.Measured, 3)
	for i := range r.Commands {
		r.Commands[i].Template, r.Commands[i].Parameters = []string{"work", "{n}"}, map[string]string{"n": []string{"1", "2"}[i]}
	}
	r.Commands[1].Hours = &report.Hours{Core: 12.34}
	b := string(reporttest.Write(t, "text", r, format.Options{Terminal: format.Terminal{Width: 100}}))
	if !strings.Contains(b, "\nn 2\n  Hours     12.3 core-hours of processor time\n") || strings.Count(b, "Hours") != 1 {
		t.Error(b)
	}
}
