package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/gate"
	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
	"cg/statistics"
)

func at(v float64) *float64 { return &v }

// checked is a check with every kind of line.
func checked() *Check {
	yes, no := true, false
	g := &Check{
		Command: []string{"python", "bench <1>.py"}, Build: "make", Metric: "cpu-energy", Unit: "J",
		Counter: "estimate: some machine",
		Backend: report.Backend{Name: "estimate: some machine", Kind: nemb.Estimated, DomainsSeen: []string{"machine"}},
		Base: &gate.Revision{Name: "v1", Commit: "0123456789abcdef0123456789abcdef01234567",
			Subject: "first *change*", Changed: []string{}},
		Head: &gate.Revision{Name: "working tree", Commit: "89abcdef0123456789abcdef0123456789abcdef",
			Subject: "second", Changed: []string{"a", "b"}, WorkingTree: true},
		Alpha: 0.05, Seed: "7", Inconclusive: "warn",
		Warnings: []report.Warning{{Slug: "estimated", Message: "no counter: 50 % more or less"}},
		Result: gate.Result{
			Verdict: statistics.Regression, Interleaved: true, Batch: 4, Pairs: 12, MaxPairs: 30,
			Program: gate.Comparison{Verdict: statistics.Pass, Change: at(0.004), Lo: at(-0.01), Hi: at(0.02),
				Detectable: at(0.03), P: at(0.4), Threshold: 0.05, Pairs: 12, Base: at(1.23), Head: at(1.235)},
			Functions: []gate.Comparison{
				{Name: "shop.stock.fib", Verdict: statistics.Regression, Change: at(0.6), Lo: at(0.5), Hi: at(0.7),
					Detectable: at(0.1), P: at(0.001), Threshold: 0.05, Pairs: 12, Base: at(0.2), Head: at(0.32)},
				{Name: "shop.<lambda>", Verdict: statistics.Inconclusive, Threshold: 0.1, Note: "only in head",
					Head: at(0.01)},
			},
			Budgets: []gate.Budget{
				{Name: "", BudgetJ: 2, MeanJ: at(1.24), LoJ: at(1.2), HiJ: at(1.3), Exceeded: &no},
				{Name: "shop.stock.fib", BudgetJ: 0.3, MeanJ: at(0.33), LoJ: at(0.31), HiJ: at(0.34), Exceeded: &yes},
				{Name: "shop.unknown", BudgetJ: 0.3},
			},
			EnergyBaseJ: at(1.23), EnergyHeadJ: at(1.235), Foreseen: at(0.04),
			Base: []gate.Measurement{{Value: 1.23, EnergyJ: at(1.23), Seconds: 0.5,
				Functions: map[string]*float64{"shop.stock.fib": at(0.2)}}},
			Head: []gate.Measurement{{Value: 1.235, EnergyJ: at(1.235), Seconds: 0.5,
				Functions: map[string]*float64{"shop.stock.fib": at(0.32), "shop.<lambda>": nil}}},
		},
	}
	g.Meta.SchemaVersion, g.Meta.Hostname = report.SchemaVersion, "somewhere"
	g.Meta.Argv, g.Meta.CgEnv, g.Meta.DomainTopology = []string{}, map[string]string{}, map[string]report.Topology{}
	g.Conclude()
	return g
}

// The check that the tests of formats read is saved, and so are its annotations.
func TestCheckIsSaved(t *testing.T) {
	g := checked()
	b, err := g.JSON()
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "../reporttest/testdata/gate.json", b)
	reporttest.Golden(t, "testdata/annotations.txt", []byte(strings.Join(g.Annotations(), "\n")+"\n"))
}

// documentedSchema is the schema in docs, which is that of the type.
func documentedSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const file = "../../docs/gate.schema.json"
	b, err := json.MarshalIndent(report.SchemaOf(reflect.TypeFor[Check](), "A check of a change's cost by cg gate"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, file, append(b, '\n'))
	compiled, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func TestGateSchema(t *testing.T) {
	schema := documentedSchema(t)
	alone := checked()
	alone.Base, alone.Head = nil, nil
	for _, g := range []*Check{checked(), alone} {
		b, err := g.JSON()
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Error(err)
		}
		again, err := Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := again.JSON(); err != nil || !bytes.Equal(b, c) {
			t.Errorf("it changes when it is read and written again: %v", err)
		}
	}
}

func TestGateStatus(t *testing.T) {
	exceeded := true
	for _, c := range []struct {
		verdict      gate.Verdict
		budget       *bool
		inconclusive string
		want         int
		level        string
	}{
		{statistics.Pass, nil, "fail", 0, "notice"}, {statistics.Regression, nil, "pass", 1, "error"},
		{statistics.Pass, &exceeded, "pass", 1, "error"},
		{statistics.Inconclusive, nil, "fail", 1, "error"}, {statistics.Inconclusive, nil, "warn", 3, "warning"},
		{statistics.Inconclusive, nil, "pass", 0, "warning"},
	} {
		g := &Check{Inconclusive: c.inconclusive, Metric: "cpu-time", Unit: "s", BaseFile: "base.json"}
		g.Verdict, g.Program.Verdict, g.Program.Threshold = c.verdict, c.verdict, 0.05
		if c.budget != nil {
			g.Budgets = []gate.Budget{{BudgetJ: 1, MeanJ: at(2), Exceeded: c.budget}}
		}
		g.Conclude()
		if g.ExitStatus != c.want || !strings.HasPrefix(g.Annotations()[0], "::"+c.level+" ") {
			t.Errorf("%+v: status %d, %s", c, g.ExitStatus, g.Annotations()[0])
		}
	}
	for verdict, want := range map[gate.Verdict]int{statistics.Pass: 125, statistics.Inconclusive: 125,
		statistics.Regression: 1} {
		g := &Check{Inconclusive: "pass", Metric: "cpu-time", Unit: "s", BaseFile: "base.json"}
		g.Verdict, g.Program.Verdict, g.Program.Threshold = verdict, verdict, 0.05
		g.Budgets = []gate.Budget{{BudgetJ: 1, MeanJ: at(0)}}
		g.Conclude()
		md := string(reporttest.Write(t, "markdown", g, format.Options{}))
		if g.ExitStatus != want || g.Verdict == statistics.Pass || !strings.HasPrefix(md, "### ❌") ||
			!strings.HasPrefix(g.Annotations()[0], "::error ") ||
			!strings.HasSuffix(g.Sentence(),
				"; of the budget of the program nothing can be said: the energy is not known") {
			t.Errorf("%s: a budget that is not known: status %d, %s, %s, %s", verdict, g.ExitStatus, g.Verdict,
				md[:20], g.Annotations()[0])
		}
	}
	part := &Check{Inconclusive: "warn", Metric: "cpu-time", BaseFile: "base.json"}
	part.Verdict, part.Program.Verdict, part.Program.Threshold = statistics.Inconclusive, statistics.Pass, 0.05
	if got := part.Sentence(); got != "inconclusive: head does not cost 5.0 % more as a whole, and of a function "+
		"with a threshold that is not shown" {
		t.Error(got)
	}
	alone := &Check{Inconclusive: "fail"}
	if alone.Conclude(); alone.ExitStatus != 0 {
		t.Errorf("nothing was compared: status %d", alone.ExitStatus)
	}
	g := &Check{Inconclusive: "fail", Metric: "cpu-time"}
	g.Verdict, g.Program.Verdict = statistics.Inconclusive, statistics.Inconclusive
	if b := string(reporttest.Write(t, "junit", g, format.Options{})); !strings.Contains(b, "<failure") {
		t.Error(b)
	}
	if got := annotation("error", "a: b, c%", "50 %\nmore"); got != "::error title=a%3A b%2C c%25::50 %25%0Amore" {
		t.Error(got)
	}
}

func TestGateSides(t *testing.T) {
	commit := "0123456789abcdef0123456789abcdef01234567"
	for want, r := range map[string]*gate.Revision{
		"the current folder":            nil,
		"v1: 0123456789 s":              {Name: "v1", Commit: commit, Subject: "s"},
		"0123456789 s":                  {Name: commit[:12], Commit: commit, Subject: "s"},
		"working tree, as 0123456789 s": {WorkingTree: true, Commit: commit, Subject: "s"},
		"working tree: 1 file differs from 0123456789 s": {WorkingTree: true, Commit: commit, Subject: "s",
			Changed: []string{"a"}},
		"working tree: 2 files differ from 0123456789 s": {WorkingTree: true, Commit: commit, Subject: "s",
			Changed: []string{"a", "b"}},
	} {
		if got := revision(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	c := gate.Comparison{Change: at(0.00512), Lo: at(0.005), Hi: at(0.0052)}
	g := &Check{Metric: "instructions", Unit: "instructions"}
	if got := g.Change(c) + g.Interval(c) + g.Value(at(1234567)) + g.Value(at(12)) +
		g.Value(nil); got != "+0.512 %[+0.500 %, +0.520 %]1.23 M12.0?" {
		t.Error(got)
	}
}

// Baselines of the schema before are read: what they hold is the same.
func TestReadsOldGate(t *testing.T) {
	b, _ := checked().JSON()
	g, err := Read(bytes.Replace(b, []byte(`"schema_version": "2"`), []byte(`"schema_version": "1"`), 1))
	if err != nil || len(g.Result.Head) != len(checked().Result.Head) {
		t.Error(g, err)
	}
}

func TestReadGateRefuses(t *testing.T) {
	b, _ := checked().JSON()
	replace := func(from, to string) []byte { return bytes.Replace(b, []byte(from), []byte(to), 1) }
	for want, text := range map[string][]byte{
		"not a baseline: it ends in the middle":             b[:len(b)/2],
		"not a baseline: make one with cg gate --save FILE": []byte(`{"meta": {"schema_version": "1"}}`),
		"saved by cg  in schema version 9, and this cg":     replace(`"schema_version": "2"`, `"schema_version": "9"`),
		"head_measurements[0].value: 0 is no measurement":   replace(`"value": 1.235`, `"value": 0`),
		"not a baseline: line ":                             replace(`"alpha": 0.05`, `"alpha": "x"`),
		"it has no measurements":                            []byte(`{"meta": {"schema_version": "1"}, "head_measurements": []}`),
	} {
		if _, err := Read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestGateDiffers(t *testing.T) {
	a, b := checked(), checked()
	if d := a.Differs(b); len(d) != 0 {
		t.Errorf("%q", d)
	}
	b.Meta.Hostname, b.Backend.Kind, b.Backend.Name, b.Command = "elsewhere", nemb.Measured, "powercap",
		[]string{"true"}
	if got, want := fmt.Sprint(a.Differs(b)),
		"[host: elsewhere then, somewhere now command: true then, python 'bench <1>.py' now energies: measured "+
			"then, estimated now sensors: powercap then, estimate: some machine now]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	a, b = checked(), checked()
	a.Metric, a.Counter, b.Counter = "instructions", "perf", "callgrind"
	b.Backend.Name = "another"
	if got := fmt.Sprint(a.Differs(b)); got != "[counter: callgrind then, perf now]" {
		t.Error(got)
	}
}
