package compare_test

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/nemb"
	"cg/report"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
	"cg/report/saved"
)

// scaledRun is a run of the example with every energy times a factor.
func scaledRun(t testing.TB, kind nemb.Method, id string, factor float64) *report.Run {
	r := reporttest.Example(t, kind)
	r.Meta.RunID, r.Meta.StartedAt, r.Meta.Hostname, r.Meta.CPUModel, r.Meta.Granularity = id,
		"2026-01-02T03:04:05.000000+00:00", "host", "a processor", "fine"
	times := func(all ...*report.Joules) {
		for _, j := range all {
			if j != nil {
				*j = report.Joules(math.Round(float64(*j) * factor))
			}
		}
	}
	total := &r.Totals
	times(total.EnergyJ, total.LoJ, total.HiJ, total.ProgramEnergyJ, total.ProgramEnergyLoJ, total.ProgramEnergyHiJ)
	for id, e := range total.Domains {
		total.Domains[id] = report.Joules(math.Round(float64(e) * factor))
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		times(f.SelfEnergyJ, f.SelfEnergyLoJ, f.SelfEnergyHiJ)
	}
	return r
}

// runsSide is a side of single runs.
func runsSide(name string, runs ...*report.Run) compare.Side {
	var s compare.Side
	for i, r := range runs {
		s.Names, s.Saved = append(s.Names, fmt.Sprintf("%s%d", name, i+1)), append(s.Saved, saved.Document{Run: r})
	}
	return s
}

// severalRuns are runs whose energies are the example's times these factors.
func severalRuns(t testing.TB, kind nemb.Method, name string, factors ...float64) compare.Side {
	var runs []*report.Run
	for i, f := range factors {
		runs = append(runs, scaledRun(t, kind, fmt.Sprintf("%s-%d", name, i), f))
	}
	return runsSide(name, runs...)
}

func repeatedSide(name string, r *repeated.Result) compare.Side {
	r.Meta.RunID, r.Meta.Hostname, r.Meta.Granularity = name, "host", "coarse"
	return compare.Side{Names: []string{name}, Saved: []saved.Document{{Repeated: r}}}
}

func compared(t *testing.T, base, head compare.Side, o compare.Options) *compare.Result {
	t.Helper()
	c, err := compare.Compare(base, head, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCompareVerdicts(t *testing.T) {
	steady := []float64{1, 1.01, 0.99, 1.005}
	more := func(f float64) []float64 {
		var out []float64
		for _, s := range steady {
			out = append(out, f*s)
		}
		return out
	}
	for _, test := range []struct {
		name       string
		base, head compare.Side
		threshold  float64
		want       compare.Verdict
		worse      int // energies that are higher
		weak       bool
	}{
		{"a half more", severalRuns(t, nemb.Measured, "a", steady...), severalRuns(t, nemb.Measured, "b", more(1.5)...),
			0.05, compare.Higher, 5, false},
		{"a half less", severalRuns(t, nemb.Measured, "a", more(1.5)...), severalRuns(t, nemb.Measured, "b", steady...),
			0.05, compare.Lower, 0, false},
		{"the same", severalRuns(t, nemb.Measured, "a", steady...),
			severalRuns(t, nemb.Measured, "b", 1.002, 0.998, 1.01, 0.995), 0, compare.NoneShown, 0, false},
		{"below the threshold", severalRuns(t, nemb.Measured, "a", steady...),
			severalRuns(t, nemb.Measured, "b", more(1.1)...), 0.2, compare.Within, 0, false},
		{"an estimate repeated", severalRuns(t, nemb.Estimated, "a", steady...),
			severalRuns(t, nemb.Estimated, "b", more(1.5)...), 0.05, compare.Higher, 5, false},
		// Intervals of single runs that touch tell nothing, and those that do not tell something weak.
		{"single estimates", severalRuns(t, nemb.Estimated, "a", 1), severalRuns(t, nemb.Estimated, "b", 1.5), 0.05,
			compare.NoneShown, 0, true},
		{"single runs far apart", severalRuns(t, nemb.Measured, "a", 1), severalRuns(t, nemb.Measured, "b", 50), 0.05,
			compare.Higher, 5, true},
		{"one against several", severalRuns(t, nemb.Measured, "a", steady...), severalRuns(t, nemb.Measured, "b", 1.5),
			0.05, compare.Higher, 5, true},
		{"one against two", severalRuns(t, nemb.Measured, "a", 1, 1.01), severalRuns(t, nemb.Measured, "b", 1.5), 0.05,
			compare.NotComparable, 0, true},
		{"two against one", severalRuns(t, nemb.Measured, "a", 1), severalRuns(t, nemb.Measured, "b", 1.5, 1.51), 0.05,
			compare.NotComparable, 0, true},
		{"unknown", severalRuns(t, nemb.Unavailable, "a", steady...), severalRuns(t, nemb.Unavailable, "b", steady...),
			0.05, compare.NotComparable, 0, false},
		{"repeated", repeatedSide("a", reporttest.Repeated(t, nemb.Measured, 13)), repeatedSide("b", reporttest.Repeated(t, nemb.Measured, 13)),
			0.05, compare.NoneShown, 0, false},
	} {
		c := compared(t, test.base, test.head, compare.Options{Threshold: test.threshold})
		if c.Verdict != test.want || len(c.Worse) != test.worse || c.Totals[0].Weak != test.weak {
			t.Errorf("%s: %s, %q worse, weak %v; %+v", test.name, c.Verdict, c.Worse, c.Totals[0].Weak, c.Totals[0])
		}
		if fails := c.Fault() != ""; fails != (test.worse > 0 || test.want == compare.NotComparable) {
			t.Errorf("%s: %q", test.name, c.Fault())
		}
		if nothing := c.Nothing() != ""; nothing != (test.want == compare.NotComparable) {
			t.Errorf("%s: %q", test.name, c.Nothing())
		}
	}
}

// What is 0, null or missing is never compared, and never passes.
func TestCompareNeverPassesOnNothing(t *testing.T) {
	for name, spoil := range map[string]func(a, b *report.Run){
		"it is 0 in BASE":         func(a, b *report.Run) { *a.Totals.ProgramEnergyJ, *a.Totals.ProgramEnergyLoJ = 0, 0 },
		"it is 0 in HEAD":         func(a, b *report.Run) { *b.Totals.ProgramEnergyJ, *b.Totals.ProgramEnergyLoJ = 0, 0 },
		"it is 0 in both":         func(a, b *report.Run) { *a.Totals.ProgramEnergyJ, *b.Totals.ProgramEnergyJ = 0, 0 },
		"it is not known of BASE": func(a, b *report.Run) { a.Totals.ProgramEnergyJ = nil },
		"it is not known of HEAD": func(a, b *report.Run) { b.Totals.ProgramEnergyJ = nil },
		"it is known of neither":  func(a, b *report.Run) { a.Totals.ProgramEnergyJ, b.Totals.ProgramEnergyJ = nil, nil },
	} {
		a, b := scaledRun(t, nemb.Measured, "a", 1), scaledRun(t, nemb.Measured, "b", 1)
		spoil(a, b)
		c := compared(t, runsSide("a", a), runsSide("b", b), compare.Options{})
		if c.Verdict != compare.NotComparable || c.Totals[0].Why != name || c.Totals[0].Change != nil ||
			!strings.Contains(c.Fault(), name) {
			t.Errorf("%s: %s, %q, fault %q", name, c.Verdict, c.Totals[0].Why, c.Fault())
		}
	}
	// One of several runs without a figure makes the figure unknown.
	side := severalRuns(t, nemb.Measured, "a", 1, 1.1, 1.2)
	side.Saved[1].Run.Totals.ProgramEnergyJ = nil
	if c := compared(t, side, severalRuns(t, nemb.Measured, "b", 1, 1.1),
		compare.Options{}); c.Totals[0].Why != "it is not known of BASE" {
		t.Errorf("%+v", c.Totals[0])
	}
	// A domain that one side lacks.
	a, b := scaledRun(t, nemb.Measured, "a", 1), scaledRun(t, nemb.Measured, "b", 1)
	b.Totals.Domains["gpu0"] = 1_000_000
	c := compared(t, runsSide("a", a), runsSide("b", b), compare.Options{})
	at := slices.IndexFunc(c.Totals, func(c compare.Change) bool { return c.Name == "domain gpu0" })
	if at < 0 || c.Totals[at].Verdict != compare.NotComparable || c.Totals[at].Why != "it is not known of BASE" {
		t.Errorf("%+v", c.Totals)
	}
}

func TestCompareRefuses(t *testing.T) {
	for want, spoil := range map[string]func(a, b *report.Run){
		"machines: host and other":                            func(a, b *report.Run) { b.Meta.Hostname = "other" },
		"processors: a processor and none":                    func(a, b *report.Run) { b.Meta.CPUModel = "" },
		"sources of energy: powercap and nvml":                func(a, b *report.Run) { b.Totals.Source = "nvml" },
		"kinds of figures: measured and estimated":            func(a, b *report.Run) { b.Totals.Kind = nemb.Estimated },
		"granularities: fine and coarse":                      func(a, b *report.Run) { b.Meta.Granularity = "coarse" },
		"schema versions: 2 and 0":                            func(a, b *report.Run) { b.Meta.SchemaVersion = "0" },
		"exit statuses: 0 and 3":                              func(a, b *report.Run) { b.Process.ExitStatus = 3 },
		"a1 and b1 are the same run (a): there is nothing to": func(a, b *report.Run) { b.Meta.RunID = "a" },
	} {
		a, b := scaledRun(t, nemb.Measured, "a", 1), scaledRun(t, nemb.Measured, "b", 1)
		spoil(a, b)
		if _, err := compare.Compare(runsSide("a", a), runsSide("b", b), compare.Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		c, err := compare.Compare(runsSide("a", a), runsSide("b", b), compare.Options{Allow: true})
		if strings.Contains(want, "same run") {
			if err == nil {
				t.Error("a run is compared with itself")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		// Then every output says so.
		what, _, _ := strings.Cut(want, ":")
		b1, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"text": string(reporttest.Write(t, "text", c, format.Options{})), "json": string(b1),
			"markdown": string(reporttest.Write(t, "markdown", c, format.Options{})),
			"junit":    string(reporttest.Write(t, "junit", c, format.Options{}))} {
			if !strings.Contains(text, what) {
				t.Errorf("%s does not tell that %s differ:\n%s", name, what, text)
			}
		}
	}
	// compare.Within a side, too, and the same run twice on one.
	side := runsSide("a", scaledRun(t, nemb.Measured, "a", 1), scaledRun(t, nemb.Measured, "c", 1))
	side.Saved[1].Run.Meta.Hostname = "other"
	if _, err := compare.Compare(side, runsSide("b", scaledRun(t, nemb.Measured, "b", 1)), compare.Options{}); err == nil {
		t.Error("a side of two machines is compared")
	}
	side = runsSide("a", scaledRun(t, nemb.Measured, "a", 1), scaledRun(t, nemb.Measured, "a", 1))
	if _, err := compare.Compare(side, runsSide("b", scaledRun(t, nemb.Measured, "b", 1)), compare.Options{}); err == nil ||
		!strings.Contains(err.Error(), "a1 and a2 are the same run") {
		t.Error(err)
	}
	if _, err := compare.Compare(repeatedSide("a", reporttest.Repeated(t, nemb.Measured, 4)), repeatedSide("b", reporttest.Repeated(t, nemb.Measured, 4)),
		compare.Options{Command: 2}); err == nil || err.Error() != "a has 2 commands, and no number 3" {
		t.Error(err)
	}
	warm := reporttest.Repeated(t, nemb.Measured, 1)
	if _, err := compare.Compare(repeatedSide("a", warm), repeatedSide("b", reporttest.Repeated(t, nemb.Measured, 4)),
		compare.Options{}); err == nil || err.Error() != "a has no run that counts: all of them warm up" {
		t.Error(err)
	}
}

// A function is found again by its name, else by its text, else where it stood;
// one that could be several is none of them.
func TestCompareMatches(t *testing.T) {
	type spec struct {
		name, text string
		line       int
	}
	run := func(id string, all ...spec) *report.Run {
		r := scaledRun(t, nemb.Measured, id, 1)
		r.Functions, r.Sites, r.Meta.Cwd = nil, nil, "/home/"+id
		for i, s := range all {
			e := report.Joules(1_000_000 * (i + 1))
			file := "/home/" + id + "/shop.py"
			r.Functions = append(r.Functions, report.Function{Name: s.name, Language: "python", Kind: "function", File: file,
				Line: s.line, Calls: 2, SelfEnergyJ: &e, SelfEnergyLoJ: &e, SelfEnergyHiJ: &e})
			r.Sites = append(r.Sites, report.Site{ID: uint32(i + 1), Name: s.name, File: file, Line: s.line, TextID: s.text})
		}
		return r
	}
	for _, test := range []struct {
		name       string
		base, head []spec
		want       string // base > head by how, then what is only in base | only in head
	}{
		{"by name", []spec{{"f", "1", 1}, {"g", "2", 9}}, []spec{{"g", "3", 1}, {"f", "4", 9}}, "f>f name,g>g name,|"},
		{"renamed", []spec{{"f", "1", 1}}, []spec{{"h", "1", 20}}, "f>h text,|"},
		{"two of one text", []spec{{"f", "1", 1}, {"g", "1", 5}}, []spec{{"h", "1", 20}}, "|f,g|h"},
		{"no texts, one place", []spec{{"f", "", 1}}, []spec{{"h", "", 1}}, "f>h place,|"},
		{"no texts, no place", []spec{{"f", "", 1}}, []spec{{"h", "", 2}}, "|f|h"},
		{"rewritten in its place", []spec{{"f", "1", 1}}, []spec{{"h", "2", 1}}, "|f|h"},
		{"a name before a text", []spec{{"f", "1", 1}, {"g", "2", 5}}, []spec{{"f", "2", 1}, {"h", "1", 5}},
			"f>f name,|g|h"},
	} {
		c := compared(t, runsSide("a", run("a", test.base...)), runsSide("b", run("b", test.head...)), compare.Options{})
		var pairs, left, right []string
		for _, f := range c.Functions {
			was := f.Was
			if was == "" {
				was = f.Name
			}
			pairs = append(pairs, was+">"+f.Name+" "+f.MatchedBy+",")
		}
		slices.Sort(pairs)
		for _, o := range c.OnlyInBase {
			left = append(left, o.Name)
		}
		for _, o := range c.OnlyInHead {
			right = append(right, o.Name)
		}
		slices.Sort(left)
		got := strings.Join(pairs, "") + "|" + strings.Join(left, ",")
		if len(right) > 0 {
			got += "|" + strings.Join(right, ",")
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	// Those of one name are one.
	c := compared(t, runsSide("a", run("a", spec{"f", "1", 1}, spec{"f", "2", 5})),
		runsSide("b", run("b", spec{"f", "1", 1})), compare.Options{})
	if len(c.Functions) != 1 || *c.Functions[0].Base.Value != 3 ||
		math.Abs(*c.Functions[0].Change.Change+2./3) > 1e-12 || c.Functions[0].BaseCalls != 4 {
		t.Errorf("%+v", c.Functions)
	}
	// A run that did not call a function used nothing in it.
	c = compared(t, runsSide("a", run("a", spec{"f", "1", 1}), run("c")),
		runsSide("b", run("b", spec{"f", "1", 1}), run("d", spec{"f", "1", 1})), compare.Options{})
	if f := c.Functions[0]; *f.Base.Value != 0.5 || *f.Head.Value != 1 || f.BaseCalls != 1 {
		t.Errorf("%+v", f)
	}
	c = compared(t, runsSide("a", run("a", spec{"f", "1", 1}, spec{"g", "2", 2})),
		runsSide("b", run("b", spec{"f", "1", 1})),
		compare.Options{Function: func(name string) bool { return name == "f" }})
	if len(c.Functions) != 1 || len(c.OnlyInBase) != 0 {
		t.Errorf("%+v", c)
	}
}

// Of functions that do not differ hardly any is called changed, however many
// there are.
func TestCompareManyFunctions(t *testing.T) {
	side := func(name string, shift float64) compare.Side {
		var runs []*report.Run
		for k := range 6 {
			r := scaledRun(t, nemb.Measured, fmt.Sprintf("%s%d", name, k), 1)
			r.Functions = nil
			for i := range 300 {
				e := report.Joules(1_000_000 + 100_000*((i*7919+k*104729+int(shift)*31337)%1000)/1000)
				if i == 5 && shift > 0 {
					e *= 3
				}
				r.Functions = append(r.Functions, report.Function{Name: "f" + strconv.Itoa(i), Language: "go",
					SelfEnergyJ: &e})
			}
			runs = append(runs, r)
		}
		return runsSide(name, runs...)
	}
	c := compared(t, side("a", 0), side("b", 1), compare.Options{Threshold: 0})
	if len(c.Worse) != 1 || c.Worse[0] != "f5" || c.Functions[0].Name != "f5" {
		t.Errorf("%q are worse", c.Worse)
	}
}

func comparisons(t *testing.T) map[string]*compare.Result {
	t.Helper()
	renamed := severalRuns(t, nemb.Measured, "head", 1.21, 1.2, 1.19)
	for _, s := range renamed.Saved {
		r := s.Run
		for i := range r.Functions {
			if r.Functions[i].Name == "shop.stock.prüfsumme" {
				r.Functions[i].Name, r.Sites[1].Name, r.Sites[1].TextID = "shop.stock.checksum",
					"shop.stock.checksum", "1"
			}
		}
		e := report.Joules(2_000_000)
		r.Functions = append(r.Functions, report.Function{Name: "shop.stock.new", Language: "python",
			File: "/home/u/shop/stock.py", Line: 80, Calls: 1234, SelfEnergyJ: &e})
		*r.Functions[0].SelfEnergyJ *= 2
	}
	base := severalRuns(t, nemb.Measured, "base", 1, 1.01, 0.99)
	for _, s := range base.Saved {
		s.Run.Sites[1].TextID = "1"
	}
	evil := severalRuns(t, nemb.Measured, "a", 1)
	evil.Saved[0].Run = reporttest.Hostile(t)
	evil.Saved[0].Run.Meta.RunID = "evil"
	evil.Names[0] = "</testcase>]]>&<script>alert(1)</script>\x01\n|`@u"
	evilToo := runsSide("b", reporttest.Hostile(t))
	for _, f := range evilToo.Saved[0].Run.Functions {
		*f.SelfEnergyLoJ, *f.SelfEnergyJ, *f.SelfEnergyHiJ = 900_000_000, 900_000_000, 900_000_000
	}
	zero := severalRuns(t, nemb.Measured, "zero", 1)
	*zero.Saved[0].Run.Totals.ProgramEnergyJ = 0
	plain := reporttest.Repeated(t, nemb.Measured, 13)
	plain.Meta.Granularity, plain.Meta.RunID = "coarse", "a"
	return map[string]*compare.Result{
		"several": compared(t, base, renamed, compare.Options{Threshold: 0.05, Version: "test"}),
		"single": compared(t, severalRuns(t, nemb.Estimated, "base", 1), severalRuns(t, nemb.Estimated, "head", 1.3),
			compare.Options{Threshold: 0.05, Version: "test"}),
		"different": compared(t, severalRuns(t, nemb.Measured, "base", 1), severalRuns(t, nemb.Estimated, "head", 1),
			compare.Options{Allow: true, Version: "test"}),
		"hostile": compared(t, evil, evilToo, compare.Options{Version: "test"}),
		"zero":    compared(t, zero, severalRuns(t, nemb.Measured, "head", 1), compare.Options{Version: "test"}),
		"unknown": compared(t, severalRuns(t, nemb.Unavailable, "base", 1), severalRuns(t, nemb.Unavailable, "head", 1),
			compare.Options{Version: "test"}),
		"repeated": compared(t, repeatedSide("base", reporttest.Repeated(t, nemb.Measured, 13)),
			repeatedSide("head", reporttest.Repeated(t, nemb.Measured, 9)), compare.Options{Command: 1, Version: "test"}),
	}
}

func TestCompareGolden(t *testing.T) {
	schema := reporttest.Documented(t, "comparison", report.SchemaOf(reflect.TypeFor[compare.Result](), "Saved runs compared by cg"))
	for name, c := range comparisons(t) {
		b, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Error(name, err)
		}
		reporttest.Golden(t, filepath.Join("..", "reporttest", "testdata", "compare-"+name+".json"), b)
	}
}

// Sessions are compared by their program's share, and by the machine's energy where one
// has none.
func TestCompareSessions(t *testing.T) {
	session := func(name, share string) compare.Side {
		r, err := report.Read(fmt.Appendf(nil, `{"meta": {"schema_version": "2", "tool": "codegreen.Session", "run_id": %q}, "tasks": [
{"name": "a", "depth": 0, "energy_j": 20, "energy_lo_j": 20, "energy_hi_j": 20, "duration_s": 1, "ended_at_mono_ns": 1000000000, "energy_kind": "measured"%s}],
"totals": {"energy_j": 20, "energy_lo_j": 20, "energy_hi_j": 20, "duration_s": 1, "energy_kind": "measured"%s}, "warnings": []}`, name, share, share))
		if err != nil {
			t.Fatal(err)
		}
		return runsSide(name, r)
	}
	share := func(j int) string {
		return fmt.Sprintf(`, "program_energy_j": %d, "program_energy_lo_j": %d, "program_energy_hi_j": %d`, j, j, j)
	}
	const note = "some of the sessions have no share of the program: the program's energy is the machine's"
	for _, test := range []struct {
		base, head string
		want       compare.Verdict
		noted      bool
	}{
		{share(5), share(8), compare.Higher, false},
		{share(5), "", compare.NoneShown, true},
		{"", "", compare.NoneShown, false},
	} {
		c := compared(t, session("a", test.base), session("b", test.head), compare.Options{})
		if got := c.Totals[0]; got.Verdict != test.want || slices.Contains(c.Notes, note) != test.noted {
			t.Errorf("%q, %q: %+v, %q", test.base, test.head, got, c.Notes)
		}
	}
}

// Whatever the values are: exchanging the sides turns a verdict round, an
// interval holds its change, and what is 0 or not bounded is never more than it is.
func FuzzCompare(f *testing.F) {
	f.Add(uint32(10), uint32(9), uint32(11), uint32(20), uint32(18), uint32(22))
	f.Add(uint32(0), uint32(0), uint32(0), uint32(20), uint32(18), uint32(22))
	f.Add(uint32(10), uint32(0), uint32(4_000_000_000), uint32(1), uint32(1), uint32(1))
	f.Fuzz(func(t *testing.T, a, alo, ahi, b, blo, bhi uint32) {
		side := func(name string, v, lo, hi uint32) compare.Side {
			r := &report.Run{Meta: report.Meta{RunID: name}}
			value, least, most := report.Joules(v), report.Joules(min(v, lo)), report.Joules(max(v, hi))
			r.Totals.EnergyJ, r.Totals.ProgramEnergyJ, r.Totals.ProgramEnergyLoJ, r.Totals.ProgramEnergyHiJ,
				r.Totals.Kind = &value, &value, &least, &most, nemb.Measured
			return runsSide(name, r)
		}
		there := compared(t, side("a", a, alo, ahi), side("b", b, blo, bhi), compare.Options{})
		back := compared(t, side("b", b, blo, bhi), side("a", a, alo, ahi), compare.Options{})
		turned := map[compare.Verdict]compare.Verdict{compare.Higher: compare.Lower, compare.Lower: compare.Higher, compare.NoneShown: compare.NoneShown, compare.NotComparable: compare.NotComparable}
		if back.Verdict != turned[there.Verdict] {
			t.Errorf("%s there and %s back", there.Verdict, back.Verdict)
		}
		c := there.Totals[0]
		if (c.Verdict == compare.NotComparable) != (a == 0 || b == 0) {
			t.Errorf("%d and %d are %s", a, b, c.Verdict)
		}
		if c.Change != nil && (c.Lo != nil && *c.Lo > *c.Change+1e-9 || c.Hi != nil && *c.Hi < *c.Change-1e-9) {
			t.Errorf("%g is not in [%v, %v]", *c.Change, *c.Lo, *c.Hi)
		}
		if (there.Verdict == compare.Higher && b <= a) || (there.Verdict == compare.Lower && b >= a) {
			t.Errorf("%d is %s than %d", b, there.Verdict, a)
		}
	})
}

// What was used at least is no figure to compare.
func TestCompareLeavesOutWhatIsTheLeast(t *testing.T) {
	base, head := reporttest.Saved[report.Run](t, "faults-none"), reporttest.Saved[report.Run](t, "faults-part")
	c, err := compare.Compare(compare.Side{[]string{"base"}, []saved.Document{{Run: base}}},
		compare.Side{[]string{"head"}, []saved.Document{{Run: head}}}, compare.Options{Threshold: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range c.Totals {
		if change.Unit == "J" && (change.Verdict != compare.NotComparable || change.Why != "it is not known of HEAD") {
			t.Errorf("%s: %s, %s", change.Name, change.Verdict, change.Why)
		}
	}
	for _, f := range c.Functions {
		if f.Verdict != compare.NotComparable {
			t.Errorf("%s: %s", f.Name, f.Verdict)
		}
	}
	if c.Fault() == "" {
		t.Error("a reason to let it pass")
	}
}
