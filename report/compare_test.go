package report

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/nemb"
	"cg/report/format"
)

// scaledRun is a run of the example with every energy times a factor.
func scaledRun(kind nemb.Method, id string, factor float64) *Run {
	r := example(kind)
	r.Meta.RunID, r.Meta.StartedAt, r.Meta.Hostname, r.Meta.CPUModel, r.Meta.Granularity = id,
		"2026-01-02T03:04:05.000000+00:00", "host", "a processor", "fine"
	times := func(all ...*Joules) {
		for _, j := range all {
			if j != nil {
				*j = Joules(math.Round(float64(*j) * factor))
			}
		}
	}
	t := &r.Totals
	times(t.EnergyJ, t.LoJ, t.HiJ, t.ProgramEnergyJ, t.ProgramEnergyLoJ, t.ProgramEnergyHiJ)
	for id, e := range t.Domains {
		t.Domains[id] = Joules(math.Round(float64(e) * factor))
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		times(f.SelfEnergyJ, f.SelfEnergyLoJ, f.SelfEnergyHiJ)
	}
	return r
}

// runsSide is a side of single runs.
func runsSide(name string, runs ...*Run) CompareSide {
	var s CompareSide
	for i, r := range runs {
		s.Names, s.Saved = append(s.Names, fmt.Sprintf("%s%d", name, i+1)), append(s.Saved, Saved{Run: r})
	}
	return s
}

// severalRuns are runs whose energies are the example's times these factors.
func severalRuns(kind nemb.Method, name string, factors ...float64) CompareSide {
	var runs []*Run
	for i, f := range factors {
		runs = append(runs, scaledRun(kind, fmt.Sprintf("%s-%d", name, i), f))
	}
	return runsSide(name, runs...)
}

func repeatedSide(name string, r *Repeated) CompareSide {
	r.Meta.RunID, r.Meta.Hostname, r.Meta.Granularity = name, "host", "coarse"
	return CompareSide{Names: []string{name}, Saved: []Saved{{Repeated: r}}}
}

func compared(t *testing.T, base, head CompareSide, o CompareOptions) *Comparison {
	t.Helper()
	c, err := Compare(base, head, o)
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
		base, head CompareSide
		threshold  float64
		want       Verdict
		worse      int // energies that are higher
		weak       bool
	}{
		{"a half more", severalRuns(nemb.Measured, "a", steady...), severalRuns(nemb.Measured, "b", more(1.5)...),
			0.05, Higher, 5, false},
		{"a half less", severalRuns(nemb.Measured, "a", more(1.5)...), severalRuns(nemb.Measured, "b", steady...),
			0.05, Lower, 0, false},
		{"the same", severalRuns(nemb.Measured, "a", steady...),
			severalRuns(nemb.Measured, "b", 1.002, 0.998, 1.01, 0.995), 0, NoneShown, 0, false},
		{"below the threshold", severalRuns(nemb.Measured, "a", steady...),
			severalRuns(nemb.Measured, "b", more(1.1)...), 0.2, Within, 0, false},
		{"an estimate repeated", severalRuns(nemb.Estimated, "a", steady...),
			severalRuns(nemb.Estimated, "b", more(1.5)...), 0.05, Higher, 5, false},
		// Intervals of single runs that touch tell nothing, and those that do not tell something weak.
		{"single estimates", severalRuns(nemb.Estimated, "a", 1), severalRuns(nemb.Estimated, "b", 1.5), 0.05,
			NoneShown, 0, true},
		{"single runs far apart", severalRuns(nemb.Measured, "a", 1), severalRuns(nemb.Measured, "b", 50), 0.05,
			Higher, 5, true},
		{"one against several", severalRuns(nemb.Measured, "a", steady...), severalRuns(nemb.Measured, "b", 1.5),
			0.05, Higher, 5, true},
		{"one against two", severalRuns(nemb.Measured, "a", 1, 1.01), severalRuns(nemb.Measured, "b", 1.5), 0.05,
			NotComparable, 0, true},
		{"two against one", severalRuns(nemb.Measured, "a", 1), severalRuns(nemb.Measured, "b", 1.5, 1.51), 0.05,
			NotComparable, 0, true},
		{"unknown", severalRuns(nemb.Unavailable, "a", steady...), severalRuns(nemb.Unavailable, "b", steady...),
			0.05, NotComparable, 0, false},
		{"repeated", repeatedSide("a", repeated(nemb.Measured, 13)), repeatedSide("b", repeated(nemb.Measured, 13)),
			0.05, NoneShown, 0, false},
	} {
		c := compared(t, test.base, test.head, CompareOptions{Threshold: test.threshold})
		if c.Verdict != test.want || len(c.Worse) != test.worse || c.Totals[0].Weak != test.weak {
			t.Errorf("%s: %s, %q worse, weak %v; %+v", test.name, c.Verdict, c.Worse, c.Totals[0].Weak, c.Totals[0])
		}
		if fails := c.Fault() != ""; fails != (test.worse > 0 || test.want == NotComparable) {
			t.Errorf("%s: %q", test.name, c.Fault())
		}
		if nothing := c.Nothing() != ""; nothing != (test.want == NotComparable) {
			t.Errorf("%s: %q", test.name, c.Nothing())
		}
	}
}

// What is 0, null or missing is never compared, and never passes.
func TestCompareNeverPassesOnNothing(t *testing.T) {
	for name, spoil := range map[string]func(a, b *Run){
		"it is 0 in BASE":         func(a, b *Run) { *a.Totals.ProgramEnergyJ, *a.Totals.ProgramEnergyLoJ = 0, 0 },
		"it is 0 in HEAD":         func(a, b *Run) { *b.Totals.ProgramEnergyJ, *b.Totals.ProgramEnergyLoJ = 0, 0 },
		"it is 0 in both":         func(a, b *Run) { *a.Totals.ProgramEnergyJ, *b.Totals.ProgramEnergyJ = 0, 0 },
		"it is not known of BASE": func(a, b *Run) { a.Totals.ProgramEnergyJ = nil },
		"it is not known of HEAD": func(a, b *Run) { b.Totals.ProgramEnergyJ = nil },
		"it is known of neither":  func(a, b *Run) { a.Totals.ProgramEnergyJ, b.Totals.ProgramEnergyJ = nil, nil },
	} {
		a, b := scaledRun(nemb.Measured, "a", 1), scaledRun(nemb.Measured, "b", 1)
		spoil(a, b)
		c := compared(t, runsSide("a", a), runsSide("b", b), CompareOptions{})
		if c.Verdict != NotComparable || c.Totals[0].Why != name || c.Totals[0].Change != nil ||
			!strings.Contains(c.Fault(), name) {
			t.Errorf("%s: %s, %q, fault %q", name, c.Verdict, c.Totals[0].Why, c.Fault())
		}
	}
	// One of several runs without a figure makes the figure unknown.
	side := severalRuns(nemb.Measured, "a", 1, 1.1, 1.2)
	side.Saved[1].Run.Totals.ProgramEnergyJ = nil
	if c := compared(t, side, severalRuns(nemb.Measured, "b", 1, 1.1),
		CompareOptions{}); c.Totals[0].Why != "it is not known of BASE" {
		t.Errorf("%+v", c.Totals[0])
	}
	// A domain that one side lacks.
	a, b := scaledRun(nemb.Measured, "a", 1), scaledRun(nemb.Measured, "b", 1)
	b.Totals.Domains["gpu-0"] = 1_000_000
	c := compared(t, runsSide("a", a), runsSide("b", b), CompareOptions{})
	at := slices.IndexFunc(c.Totals, func(c Change) bool { return c.Name == "domain gpu-0" })
	if at < 0 || c.Totals[at].Verdict != NotComparable || c.Totals[at].Why != "it is not known of BASE" {
		t.Errorf("%+v", c.Totals)
	}
}

func TestCompareRefuses(t *testing.T) {
	for want, spoil := range map[string]func(a, b *Run){
		"machines: host and other":                            func(a, b *Run) { b.Meta.Hostname = "other" },
		"processors: a processor and none":                    func(a, b *Run) { b.Meta.CPUModel = "" },
		"sources of energy: powercap and nvml":                func(a, b *Run) { b.Totals.Source = "nvml" },
		"kinds of figures: measured and estimated":            func(a, b *Run) { b.Totals.Kind = nemb.Estimated },
		"granularities: fine and coarse":                      func(a, b *Run) { b.Meta.Granularity = "coarse" },
		"schema versions: 1 and 0":                            func(a, b *Run) { b.Meta.SchemaVersion = "0" },
		"exit statuses: 0 and 3":                              func(a, b *Run) { b.Process.ExitStatus = 3 },
		"a1 and b1 are the same run (a): there is nothing to": func(a, b *Run) { b.Meta.RunID = "a" },
	} {
		a, b := scaledRun(nemb.Measured, "a", 1), scaledRun(nemb.Measured, "b", 1)
		spoil(a, b)
		if _, err := Compare(runsSide("a", a), runsSide("b", b), CompareOptions{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		c, err := Compare(runsSide("a", a), runsSide("b", b), CompareOptions{Allow: true})
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
		var md, ju bytes.Buffer
		if err := errors.Join(writeIn("markdown", &md, c, format.Options{}),
			writeIn("junit", &ju, c, format.Options{})); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"text": textOf(t, c, format.Terminal{}), "json": string(b1),
			"markdown": md.String(), "junit": ju.String()} {
			if !strings.Contains(text, what) {
				t.Errorf("%s does not tell that %s differ:\n%s", name, what, text)
			}
		}
	}
	// Within a side, too, and the same run twice on one.
	side := runsSide("a", scaledRun(nemb.Measured, "a", 1), scaledRun(nemb.Measured, "c", 1))
	side.Saved[1].Run.Meta.Hostname = "other"
	if _, err := Compare(side, runsSide("b", scaledRun(nemb.Measured, "b", 1)), CompareOptions{}); err == nil {
		t.Error("a side of two machines is compared")
	}
	side = runsSide("a", scaledRun(nemb.Measured, "a", 1), scaledRun(nemb.Measured, "a", 1))
	if _, err := Compare(side, runsSide("b", scaledRun(nemb.Measured, "b", 1)), CompareOptions{}); err == nil ||
		!strings.Contains(err.Error(), "a1 and a2 are the same run") {
		t.Error(err)
	}
	if _, err := Compare(repeatedSide("a", repeated(nemb.Measured, 4)), repeatedSide("b", repeated(nemb.Measured, 4)),
		CompareOptions{Command: 2}); err == nil || err.Error() != "a has 2 commands, and no number 3" {
		t.Error(err)
	}
	warm := repeated(nemb.Measured, 1)
	if _, err := Compare(repeatedSide("a", warm), repeatedSide("b", repeated(nemb.Measured, 4)),
		CompareOptions{}); err == nil || err.Error() != "a has no run that counts: all of them warm up" {
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
	run := func(id string, all ...spec) *Run {
		r := scaledRun(nemb.Measured, id, 1)
		r.Functions, r.Sites, r.Meta.Cwd = nil, nil, "/home/"+id
		for i, s := range all {
			e := Joules(1_000_000 * (i + 1))
			file := "/home/" + id + "/shop.py"
			r.Functions = append(r.Functions, Function{Name: s.name, Language: "python", Kind: "function", File: file,
				Line: s.line, Calls: 2, SelfEnergyJ: &e, SelfEnergyLoJ: &e, SelfEnergyHiJ: &e})
			r.Sites = append(r.Sites, Site{ID: uint32(i + 1), Name: s.name, File: file, Line: s.line, TextID: s.text})
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
		c := compared(t, runsSide("a", run("a", test.base...)), runsSide("b", run("b", test.head...)), CompareOptions{})
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
		runsSide("b", run("b", spec{"f", "1", 1})), CompareOptions{})
	if len(c.Functions) != 1 || *c.Functions[0].Base.Value != 3 ||
		math.Abs(*c.Functions[0].Change.Change+2./3) > 1e-12 || c.Functions[0].BaseCalls != 4 {
		t.Errorf("%+v", c.Functions)
	}
	// A run that did not call a function used nothing in it.
	c = compared(t, runsSide("a", run("a", spec{"f", "1", 1}), run("c")),
		runsSide("b", run("b", spec{"f", "1", 1}), run("d", spec{"f", "1", 1})), CompareOptions{})
	if f := c.Functions[0]; *f.Base.Value != 0.5 || *f.Head.Value != 1 || f.BaseCalls != 1 {
		t.Errorf("%+v", f)
	}
	c = compared(t, runsSide("a", run("a", spec{"f", "1", 1}, spec{"g", "2", 2})),
		runsSide("b", run("b", spec{"f", "1", 1})),
		CompareOptions{Function: func(name string) bool { return name == "f" }})
	if len(c.Functions) != 1 || len(c.OnlyInBase) != 0 {
		t.Errorf("%+v", c)
	}
}

func TestTextID(t *testing.T) {
	id := func(name, text string) string { return textID(bytes.Split([]byte(text), []byte("\n")), name) }
	first := id("shop.fib", "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)")
	for _, same := range [][2]string{
		{"shop.fibonacci", "def fibonacci(n):\n    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)"},
		{"shop.Stock.fib", "    def fib(n):\n        return n if n < 2 else fib(n - 1) + fib(n - 2)"},
		{"shop.fib", "def fib(n):  \r\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\r"},
	} {
		if got := id(same[0], same[1]); got != first {
			t.Errorf("%q is %s and not %s", same[1], got, first)
		}
	}
	for _, other := range [][2]string{
		{"shop.fib", "def fib(n):\n    return n if n < 3 else fib(n - 1) + fib(n - 2)"},
		{"shop.fib", "def fib(n):\nreturn n if n < 2 else fib(n - 1) + fib(n - 2)"},
		{"shop.fib", "def fib(n):\n    return n if n < 2 else refib(n - 1) + fib(n - 2)"},
		{"shop.<lambda>", "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)"},
	} {
		if got := id(other[0], other[1]); got == first {
			t.Errorf("%q has the digest of another text", other[1])
		}
	}
	// Only what was called and can be read as it was when the run began has one.
	r := example(nemb.Measured)
	r.identify(func(file string) ([]byte, time.Time, error) {
		return []byte(strings.Repeat("line\n", 55)), r.started, nil
	})
	if r.Sites[0].TextID == "" || r.Sites[1].TextID != "" || r.Sites[2].TextID != "" {
		t.Errorf("%+v", r.Sites) // the second ends beyond the file, the third never ran
	}
	for _, read := range []func(string) ([]byte, time.Time, error){
		func(string) ([]byte, time.Time, error) { return nil, time.Time{}, os.ErrNotExist },
		func(string) ([]byte, time.Time, error) {
			return []byte(strings.Repeat("line\n", 55)), r.started.Add(time.Second), nil
		},
		func(string) ([]byte, time.Time, error) { return make([]byte, MostSource+1), r.started, nil },
	} {
		r := example(nemb.Measured)
		if r.identify(read); r.Sites[0].TextID != "" {
			t.Errorf("%+v", r.Sites[0])
		}
	}
}

// Of functions that do not differ hardly any is called changed, however many
// there are.
func TestCompareManyFunctions(t *testing.T) {
	side := func(name string, shift float64) CompareSide {
		var runs []*Run
		for k := range 6 {
			r := scaledRun(nemb.Measured, fmt.Sprintf("%s%d", name, k), 1)
			r.Functions = nil
			for i := range 300 {
				e := Joules(1_000_000 + 100_000*((i*7919+k*104729+int(shift)*31337)%1000)/1000)
				if i == 5 && shift > 0 {
					e *= 3
				}
				r.Functions = append(r.Functions, Function{Name: "f" + strconv.Itoa(i), Language: "go",
					SelfEnergyJ: &e})
			}
			runs = append(runs, r)
		}
		return runsSide(name, runs...)
	}
	c := compared(t, side("a", 0), side("b", 1), CompareOptions{Threshold: 0})
	if len(c.Worse) != 1 || c.Worse[0] != "f5" || c.Functions[0].Name != "f5" {
		t.Errorf("%q are worse", c.Worse)
	}
}

func comparisons(t *testing.T) map[string]*Comparison {
	t.Helper()
	renamed := severalRuns(nemb.Measured, "head", 1.21, 1.2, 1.19)
	for _, s := range renamed.Saved {
		r := s.Run
		for i := range r.Functions {
			if r.Functions[i].Name == "shop.stock.prüfsumme" {
				r.Functions[i].Name, r.Sites[1].Name, r.Sites[1].TextID = "shop.stock.checksum",
					"shop.stock.checksum", "1"
			}
		}
		e := Joules(2_000_000)
		r.Functions = append(r.Functions, Function{Name: "shop.stock.new", Language: "python",
			File: "/home/u/shop/stock.py", Line: 80, Calls: 1234, SelfEnergyJ: &e})
		*r.Functions[0].SelfEnergyJ *= 2
	}
	base := severalRuns(nemb.Measured, "base", 1, 1.01, 0.99)
	for _, s := range base.Saved {
		s.Run.Sites[1].TextID = "1"
	}
	evil := severalRuns(nemb.Measured, "a", 1)
	evil.Saved[0].Run = hostile()
	evil.Saved[0].Run.Meta.RunID = "evil"
	evil.Names[0] = "</testcase>]]>&<script>alert(1)</script>\x01\n|`@u"
	evilToo := runsSide("b", hostile())
	for _, f := range evilToo.Saved[0].Run.Functions {
		*f.SelfEnergyLoJ, *f.SelfEnergyJ, *f.SelfEnergyHiJ = 900_000_000, 900_000_000, 900_000_000
	}
	zero := severalRuns(nemb.Measured, "zero", 1)
	*zero.Saved[0].Run.Totals.ProgramEnergyJ = 0
	plain := repeated(nemb.Measured, 13)
	plain.Meta.Granularity, plain.Meta.RunID = "coarse", "a"
	return map[string]*Comparison{
		"several": compared(t, base, renamed, CompareOptions{Threshold: 0.05, Version: "test"}),
		"single": compared(t, severalRuns(nemb.Estimated, "base", 1), severalRuns(nemb.Estimated, "head", 1.3),
			CompareOptions{Threshold: 0.05, Version: "test"}),
		"different": compared(t, severalRuns(nemb.Measured, "base", 1), severalRuns(nemb.Estimated, "head", 1),
			CompareOptions{Allow: true, Version: "test"}),
		"hostile": compared(t, evil, evilToo, CompareOptions{Version: "test"}),
		"zero":    compared(t, zero, severalRuns(nemb.Measured, "head", 1), CompareOptions{Version: "test"}),
		"unknown": compared(t, severalRuns(nemb.Unavailable, "base", 1), severalRuns(nemb.Unavailable, "head", 1),
			CompareOptions{Version: "test"}),
		"repeated": compared(t, repeatedSide("base", repeated(nemb.Measured, 13)),
			repeatedSide("head", repeated(nemb.Measured, 9)), CompareOptions{Command: 1, Version: "test"}),
	}
}

func TestCompareGolden(t *testing.T) {
	schema := documented(t, "comparison", SchemaOf(reflect.TypeFor[Comparison](), "Saved runs compared by cg"))
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
		golden(t, filepath.Join("reporttest", "testdata", "compare-"+name+".json"), b)
	}
}

func TestReadSaved(t *testing.T) {
	run, err := example(nemb.Measured).JSON()
	if err != nil {
		t.Fatal(err)
	}
	rep, err := repeated(nemb.Measured, 3).JSON()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := ReadSavedFrom(bytes.NewReader(run)); err != nil || s.Run == nil || s.Repeated != nil {
		t.Error(s, err)
	}
	s, err := ReadSavedFrom(bytes.NewReader(rep))
	if err != nil || s.Repeated == nil || s.Run != nil || len(s.Repeated.Commands) != 2 {
		t.Fatal(s, err)
	}
	if again, err := s.Repeated.JSON(); err != nil || !bytes.Equal(again, rep) {
		t.Errorf("reading and writing changes repeated runs: %v", err)
	}
	c, err := comparisons(t)["single"].JSON()
	if err != nil {
		t.Fatal(err)
	}
	for want, b := range map[string][]byte{
		"it ends in the middle, after 300 bytes": rep[:300],
		"saved by cg 9.0 in schema version " +
			"7": []byte(`{"meta": {"schema_version": "7", "cg_version": "9.0"}, "measurements": []}`),
		"it has no meta.schema_version": []byte(`{"a": 1}`),
		"it is what cg compare wrote":   c,
		"it has no measurement":         []byte(`{"meta": {"schema_version": "1"}, "measurements": []}`),
		"the functions of cg measure and the measurements of cg " +
			"run": []byte(`{"meta": {"schema_version": "1"}, "measurements": [], "functions": []}`),
		"measurements.round: a text stands where a whole number " +
			"belongs": []byte(`{"meta": {"schema_version": "1"}, "measurements": [{"round": "x"}]}`),
	} {
		if _, err := ReadSavedFrom(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Read(rep); err == nil || !strings.Contains(err.Error(), "it is what cg run saved") {
		t.Error(err)
	}
}

// Whatever the values are: exchanging the sides turns a verdict round, an
// interval holds its change, and what is 0 or not bounded is never more than it is.
func FuzzCompare(f *testing.F) {
	f.Add(uint32(10), uint32(9), uint32(11), uint32(20), uint32(18), uint32(22))
	f.Add(uint32(0), uint32(0), uint32(0), uint32(20), uint32(18), uint32(22))
	f.Add(uint32(10), uint32(0), uint32(4_000_000_000), uint32(1), uint32(1), uint32(1))
	f.Fuzz(func(t *testing.T, a, alo, ahi, b, blo, bhi uint32) {
		side := func(name string, v, lo, hi uint32) CompareSide {
			r := &Run{Meta: Meta{RunID: name}}
			value, least, most := Joules(v), Joules(min(v, lo)), Joules(max(v, hi))
			r.Totals.EnergyJ, r.Totals.ProgramEnergyJ, r.Totals.ProgramEnergyLoJ, r.Totals.ProgramEnergyHiJ,
				r.Totals.Kind = &value, &value, &least, &most, nemb.Measured
			return runsSide(name, r)
		}
		there := compared(t, side("a", a, alo, ahi), side("b", b, blo, bhi), CompareOptions{})
		back := compared(t, side("b", b, blo, bhi), side("a", a, alo, ahi), CompareOptions{})
		turned := map[Verdict]Verdict{Higher: Lower, Lower: Higher, NoneShown: NoneShown, NotComparable: NotComparable}
		if back.Verdict != turned[there.Verdict] {
			t.Errorf("%s there and %s back", there.Verdict, back.Verdict)
		}
		c := there.Totals[0]
		if (c.Verdict == NotComparable) != (a == 0 || b == 0) {
			t.Errorf("%d and %d are %s", a, b, c.Verdict)
		}
		if c.Change != nil && (c.Lo != nil && *c.Lo > *c.Change+1e-9 || c.Hi != nil && *c.Hi < *c.Change-1e-9) {
			t.Errorf("%g is not in [%v, %v]", *c.Change, *c.Lo, *c.Hi)
		}
		if (there.Verdict == Higher && b <= a) || (there.Verdict == Lower && b >= a) {
			t.Errorf("%d is %s than %d", b, there.Verdict, a)
		}
	})
}
