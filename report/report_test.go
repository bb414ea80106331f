package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/checkpoint"
	"cg/launcher"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
	"cg/nemb/sampler"
)

var update = flag.Bool("update", false, "write the golden files")

// documented holds a schema against the one in docs, and gives it compiled.
func documented(t *testing.T, name string, schema map[string]any) *jsonschema.Schema {
	t.Helper()
	b, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "docs", name+".schema.json")
	golden(t, file, append(b, '\n'))
	compiled, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test ./report -update writes it, read the difference):\n%s", name, got)
	}
}

func TestSchema(t *testing.T) { documented(t, "report", Schema()) }

func validate(t *testing.T, b []byte) {
	t.Helper()
	if err := Validate(b); err != nil {
		t.Error(err)
	}
}

// example is a run of two functions on a machine of 20 W, on virtual time.
func example(kind nemb.Method, faults ...sampler.Faults) *Run {
	const ms = 1_000_000
	d := nemb.Domain{ID: "package-0", Kind: "cpu_package", Source: "powercap", Method: kind, InTotal: true, Lo: 1,
		Hi: 1}
	if kind == nemb.Estimated {
		d = nemb.Domain{ID: "cpu", Kind: "cpu_package", Source: "estimate: a processor", Method: kind, InTotal: true,
			Lo: 0.5, Hi: 1.5, Base: 5}
	}
	domains := []nemb.Domain{d}
	if kind == nemb.Unavailable {
		domains = nil
	}
	a := attribute.New(domains, 2)
	sample := func(t int64) nemb.Sample {
		s := nemb.Sample{At: checkpoint.Tick(t + 1), Time: checkpoint.Instant(t + 1),
			Usage: account.Usage{Program: time.Duration(t), Own: time.Duration(t / 50), Other: time.Duration(t / 5)}}
		for range domains {
			s.Energy = append(s.Energy, nemb.Energy(20*t/1000))
		}
		return s
	}
	series := nemb.Series{Domains: domains, Samples: []nemb.Sample{sample(0)}}
	a.Close(sample(0))
	run := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1}
	words := []checkpoint.Word{
		checkpoint.Pack(100*ms, checkpoint.Enter, 1), checkpoint.Pack(300*ms, checkpoint.Enter, 2),
		checkpoint.Pack(900*ms, checkpoint.Exit, 2), checkpoint.Pack(1000*ms, checkpoint.Exit, 1),
	}
	for t := int64(10 * ms); t <= 1100*ms; t += 10 * ms {
		run.Words = words
		words = words[a.Fold(run, checkpoint.Tick(t+ms), checkpoint.Tick(t+1)):]
		series.Samples = append(series.Samples, sample(t))
		if t == 1100*ms {
			a.Last(sample(t))
		} else {
			a.Close(sample(t))
		}
	}
	r := &Run{Skipped: []Skip{}, Warnings: []Warning{}}
	r.Meta = Meta{SchemaVersion: SchemaVersion, Tool: "cg", CgVersion: "test", RunID: "0123456789ab",
		Language: "python", Argv: []string{"cg"}, CgEnv: map[string]string{}}
	r.started = time.Unix(1000, 0)
	r.Finish(Facts{
		Outcome: &measure.Outcome{
			PID: 7, Domains: domains, Series: series, Faults: faults, Attributed: a.Finish(),
			Result: launcher.Result{Exited: true, User: time.Second},
			Sampler: sampler.Stats{Samples: 111, Missed: 2, Gaps: 1, SlowReads: 3, OwnCPU: 3 * time.Millisecond,
				Realtime: true},
		},
		Sites: []checkpoint.Site{
			{ID: 1, Language: "python", Func: "shop.stock.Stock.refill", File: "/home/u/shop/stock.py", Line: 30,
				Col: 5, EndLine: 40, Kind: checkpoint.Method},
			{ID: 2, Language: "python", Func: "shop.stock.prüfsumme", File: "/home/u/shop/stock.py", Line: 50, Col: 1,
				EndLine: 60, Kind: checkpoint.Function},
			{ID: 3, Language: "python", Func: "shop.stock.never", File: "/home/u/shop/stock.py", Line: 70, Col: 1,
				EndLine: 71, Kind: checkpoint.Function},
		},
		Skipped:  []Skip{{"/home/u/shop/odd.py", "not parsed: the grammar does not place the text at line 3"}},
		CPUModel: "a processor", CPUKnown: true, CPUMethod: "test", Clock: checkpoint.Monotonic,
		LanguageVersion: "3.11.7", Program: "main.py", Interval: 10 * time.Millisecond,
	})
	return r
}

// suite is the example with its second function called by a test.
func suite(kind nemb.Method) *Run {
	r, _ := suiteWith(kind, nil)
	return r
}

// suiteWith is the suite whose program told of spans; tests are its tasks but
// for the program.
func suiteWith(kind nemb.Method, spans map[checkpoint.SiteID]Span) (r *Run, tests []Task) {
	const ms = 1_000_000
	r = example(kind)
	d := nemb.Domain{ID: "package-0", Kind: "cpu_package", Source: "powercap", Method: kind, InTotal: true, Lo: 1,
		Hi: 1}
	a := attribute.New([]nemb.Domain{d}, 2)
	sample := func(t int64) nemb.Sample {
		return nemb.Sample{
			At: checkpoint.Tick(t + 1), Time: checkpoint.Instant(t + 1),
			Energy: []nemb.Energy{nemb.Energy(20 * t / 1000)},
			Usage:  account.Usage{Program: time.Duration(t)},
		}
	}
	a.Close(sample(0))
	a.Fold(checkpoint.Run{
		Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1,
		Words: []checkpoint.Word{
			checkpoint.Pack(100*ms, checkpoint.Enter, 2), checkpoint.Pack(200*ms, checkpoint.Enter, 1),
			checkpoint.Pack(400*ms, checkpoint.Exit, 1), checkpoint.Pack(500*ms, checkpoint.Exit, 2),
			checkpoint.Pack(500*ms, checkpoint.Enter, 3), checkpoint.Pack(600*ms, checkpoint.Exit, 3),
		},
	}, 1000*ms, 1000*ms)
	a.Last(sample(1000 * ms))
	sites := []checkpoint.Site{
		{ID: 1, Language: "python", Func: "shop.work", File: "/home/u/shop.py", Line: 3, Col: 1, EndLine: 4,
			Kind: checkpoint.Function},
		{ID: 2, Language: "python", Func: "test_shop.py::test_work[1]", File: "/home/u/test_shop.py", Line: 7, Col: 1,
			EndLine: 7, Kind: checkpoint.Task},
		{ID: 3, Language: "python", Func: "test_shop.py::test_none", File: "/home/u/test_shop.py", Line: 9, Col: 1,
			EndLine: 9, Kind: checkpoint.Task},
	}
	result := a.Finish()
	r.Functions, r.Sites, r.Ledger, r.Tasks, r.Skipped = nil, nil, nil, nil, []Skip{}
	r.Attributed([]nemb.Domain{d}, result, sites)
	often := d
	often.Period = ms
	series := nemb.Series{Domains: []nemb.Domain{often}, Samples: []nemb.Sample{sample(0), sample(500 * ms), sample(1000 * ms)}}
	r.sampled(series)
	outcome := &measure.Outcome{Attributed: result, Domains: []nemb.Domain{d}, Begin: 1, End: 1000 * ms}
	r.Program("-m pytest", outcome, time.Unix(1000, 0), time.Unix(1001, 0))
	r.Tests(result, sites, map[checkpoint.SiteID]checkpoint.Instant{2: 100 * ms, 3: 500 * ms}, spans)
	r.machineInTasks(series, nil)
	return r, r.Tasks[1:]
}

// The spans of a test runner are tasks and no functions; what they use outside
// functions is booked as uninstrumented.
func TestTasks(t *testing.T) {
	r := suite(nemb.Measured)
	b, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	validate(t, b)
	if faults := r.Check(); len(faults) > 0 {
		t.Error(faults)
	}
	if len(r.Functions) != 1 || len(r.Sites) != 1 || len(r.Tasks) != 3 || r.Totals.NTasks != 3 ||
		r.Totals.NTopLevelTasks != 1 {
		t.Fatalf("%d functions, %d sites, %d tasks", len(r.Functions), len(r.Sites), len(r.Tasks))
	}
	test, function := r.Tasks[1], r.Functions[0]
	if test.Name != "test_shop.py::test_work[1]" || test.Depth != 1 || *test.Parent != "-m pytest" ||
		test.DurationS != 0.4 || test.StartedAtMonoNs != 100*1_000_000 {
		t.Errorf("%+v", test)
	}
	// Twice the function's time at the same power. Nothing else used the machine.
	if e := test.ProgramEnergyJ; *e != 2**function.SelfEnergyJ || *e < 1e6 || *e != *r.Tasks[0].ProgramEnergyJ*2/5 {
		t.Errorf("the program used %v in the test, in its function %v", *e, *function.SelfEnergyJ)
	}
	if e := *test.EnergyJ; test.Domains["package-0"] != e || math.Abs(e.Float()-8) > 0.02 || *r.Tasks[0].EnergyJ != *r.Totals.EnergyJ {
		t.Errorf("the machine used %v, %v", e, test.Domains)
	}
	if r.Ledger[0].EnergyJ != *function.SelfEnergyJ {
		t.Errorf("the ledger books %v for functions", r.Ledger[0].EnergyJ)
	}
}

func TestExampleValidates(t *testing.T) {
	for _, kind := range []nemb.Method{nemb.Measured, nemb.Estimated, nemb.Unavailable} {
		r := example(kind)
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
		if faults := r.Check(); len(faults) > 0 {
			t.Error(kind, faults)
		}
		again, err := Read(b)
		if err != nil {
			t.Fatal(err)
		}
		c, err := again.JSON()
		if err != nil || !bytes.Equal(b, c) {
			t.Errorf("%s: reading and writing changes the report: %v", kind, err)
		}
	}
}

func TestCheckFindsAChangedDigit(t *testing.T) {
	r := example(nemb.Measured)
	r.Ledger[1].EnergyJ++
	if len(r.Check()) == 0 {
		t.Error("a ledger that does not add up passes")
	}
	r = example(nemb.Measured)
	*r.Functions[0].SelfEnergyJ--
	if len(r.Check()) == 0 {
		t.Error("functions that do not add up pass")
	}
}

// An older cg counted calls that are on no path, and said how many threads added up.
func TestRunOfAnOlderCg(t *testing.T) {
	for _, demoted := range []bool{false, true} {
		r := example(nemb.Measured)
		r.Functions[0].Demoted, r.Channel.Adders = demoted, 1
		r.Functions[0].Calls, r.Functions[0].CallsEnergy = r.Functions[0].Calls+5, nil
		for i, s := range r.Sites {
			if s.Name == r.Functions[0].Name {
				r.Sites[i].Calls += 5
			}
		}
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
		if r, err = Read(b); err != nil {
			t.Fatal(err)
		}
		if faults := r.Check(); (len(faults) == 0) != demoted {
			t.Errorf("demoted %v: %v", demoted, faults)
		}
	}
}

// After a failed reading, or anything else that no counter does, no energy is
// measured, and what is not known has no upper bound.
func TestFaultsAreNotMeasured(t *testing.T) {
	tests := []struct {
		name    string
		faults  sampler.Faults
		kind    nemb.Method
		bounded bool
		says    string
	}{
		{"none", sampler.Faults{Wraps: 3}, nemb.Measured, true, ""},
		{"bridged", sampler.Faults{Failed: 2}, nemb.Derived, true, "2 readings failed; the energy is complete"},
		{"lost", sampler.Faults{Failed: 2, Unknown: time.Second}, nemb.Derived, false,
			"the energy of 1 s is not known"},
		{"reset", sampler.Faults{Resets: 1, Unknown: time.Second}, nemb.Derived, false, "started over elsewhere"},
		{"lapped", sampler.Faults{Laps: 1, Unknown: time.Minute}, nemb.Derived, false, "gone round more than once"},
		{"stuck", sampler.Faults{Still: 3 * time.Second}, nemb.Derived, false, "stood still for 3.0 s"},
	}
	for _, test := range tests {
		method := nemb.Measured
		test.faults.Domain = "package-0"
		if test.faults.Any() { // as the sampler says it
			method = nemb.Derived
		}
		r := example(method, test.faults)
		if r.Totals.Kind != test.kind || (r.Totals.HiJ != nil) != test.bounded ||
			(r.Totals.ProgramEnergyHiJ != nil) != test.bounded {
			t.Errorf("%s: %s, bounds %v, %v", test.name, r.Totals.Kind, r.Totals.HiJ, r.Totals.ProgramEnergyHiJ)
		}
		for _, f := range r.Functions {
			if f.EnergyKind != test.kind || (f.SelfEnergyHiJ != nil) != test.bounded ||
				(f.InclusiveEnergyHiJ != nil) != test.bounded {
				t.Errorf("%s: %+v", test.name, f)
			}
		}
		if r.Tasks[0].Kind != test.kind || (r.Tasks[0].HiJ != nil) != test.bounded {
			t.Errorf("%s: %+v", test.name, r.Tasks[0])
		}
		text := ""
		for _, w := range r.Warnings {
			if w.Slug == "counter-fault" {
				text = w.Message
			}
		}
		if (text != "") != (test.says != "") || !strings.Contains(text, test.says) {
			t.Errorf("%s: warning %q", test.name, text)
		}
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
	}
}

func TestUnknownIsNotZero(t *testing.T) {
	r := example(nemb.Unavailable)
	if r.Totals.EnergyJ != nil || r.Functions[0].SelfEnergyJ != nil || r.Meta.MeasurementQuality != QualityOnlyCalls {
		t.Errorf("%+v", r.Totals)
	}
}

func FuzzJoules(f *testing.F) {
	f.Add(uint64(1234567))
	f.Fuzz(func(t *testing.T, n uint64) {
		j := Joules(n % (1 << 52))
		b, err := j.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var back Joules
		if err := back.UnmarshalJSON(b); err != nil || back != j {
			t.Errorf("%d -> %s -> %d, %v", j, b, back, err)
		}
	})
}
