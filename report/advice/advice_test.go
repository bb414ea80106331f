package advice_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/nemb"
	"cg/nemb/condition"
	"cg/report"
	"cg/report/advice"
	"cg/report/format"
	_ "cg/report/format/all"
	"cg/report/reporttest"
)

// joules are whole.
func joules(v float64) *report.Joules {
	j := report.Joules(math.Round(v * 1e6))
	return &j
}

// run is one of 10 s in which the machine draws 20 W, 10 of them idle, and the program uses so many processors of 4.
func run(t *testing.T, processors func(second int) float64) *report.Run {
	r := reporttest.Example(t, nemb.Measured)
	r.Functions, r.Sites, r.LongCalls, r.Process.IO = nil, nil, nil, nil
	r.Totals.EnergyJ, r.Totals.HiJ, r.Totals.LoJ = joules(200), joules(220), joules(180)
	r.Totals.ProgramEnergyJ, r.Totals.ProgramEnergyHiJ = joules(90), joules(99)
	r.Idle = &report.Idle{PowerW: 10, PowerLoW: 9, PowerHiW: 11}
	r.MachineState = &report.MachineState{Before: condition.State{CPUSet: "0-2,7"}}
	r.Ledger = []report.Line{{Name: report.LineFunctions, EnergyJ: *joules(90)}, {Name: report.LineIdle, EnergyJ: *joules(110)}}
	r.Samples = nil
	cpu := 0.0
	for i := range 101 {
		r.Samples = append(r.Samples, report.Sample{TNs: int64(i) * 1e8, EnergyJ: joules(2 * float64(i)), ProgramCPUS: cpu})
		cpu += processors(i/10) * 0.1
	}
	r.Process.UserS, r.Process.SystemS = cpu, 0
	return r
}

func all(int) float64 { return 4 }

func TestFindings(t *testing.T) {
	function := func(name string, self, cpu, suspended float64) report.Function {
		return report.Function{Name: name, File: name + ".py", Line: 7, SelfTimeS: self, CPUTimeS: cpu, SuspendedS: suspended}
	}
	for _, c := range []struct {
		name    string
		make    func() *report.Run
		kind    advice.Kind
		at      string
		lo, hi  float64
		energy  float64
		seen    []string
		bounds  string
		unheard bool // there is no such finding
	}{
		{name: "it waits", kind: advice.Waiting, at: "poll", energy: 80, hi: 88, seen: []string{"for 4.00 s of 10.00 s", "used 80.0 J (20.0 W)",
			"idle it draws 10.0 W", "poll waited for 3.90 s"}, make: func() *report.Run {
			r := run(t, func(second int) float64 { return map[bool]float64{true: 0.01, false: 4}[second < 4] })
			r.Functions = []report.Function{function("work", 6, 6, 0), function("poll", 1, 0.1, 3)}
			return r
		}},
		{name: "it waits nowhere that is told", kind: advice.Waiting, energy: 80, hi: 88, make: func() *report.Run {
			r := run(t, func(second int) float64 { return map[bool]float64{true: 0, false: 4}[second < 4] })
			r.Functions = []report.Function{function("work", 6, 6, 0)}
			return r
		}},
		{name: "others have the processors", kind: advice.Waiting, unheard: true, make: func() *report.Run {
			r := run(t, func(int) float64 { return 0.01 })
			for i := range r.Samples {
				r.Samples[i].OtherCPUS = 3.9 * 0.1 * float64(i)
			}
			return r
		}},
		{name: "it does not wait", kind: advice.Waiting, unheard: true, make: func() *report.Run { return run(t, all) }},
		{name: "garbage collection", kind: advice.Background, energy: 30, hi: 33, seen: []string{"garbage collection used 30.0 J, 33.3 %"},
			make: func() *report.Run {
				r := run(t, all)
				r.Ledger = append(r.Ledger, report.Line{Name: "garbage collection", EnergyJ: *joules(30)},
					report.Line{Name: "JIT compilation", EnergyJ: *joules(1)}) // too little to be told
				return r
			}},
		{name: "one of four", kind: advice.OneProcessor, at: "crunch", energy: 80, hi: 66, seen: []string{"for 8.00 s of 10.00 s", "3 more idled",
			"crunch was on it for 8.00 s"}, make: func() *report.Run {
			r := run(t, func(second int) float64 { return map[bool]float64{true: 1, false: 4}[second < 8] })
			r.Functions = []report.Function{function("crunch", 8, 8, 0)}
			return r
		}},
		{name: "kept on one", kind: advice.OneProcessor, unheard: true, make: func() *report.Run {
			r := run(t, func(int) float64 { return 1 })
			r.MachineState.Before.Cores = "7"
			return r
		}},
		{name: "one of one", kind: advice.OneProcessor, unheard: true, make: func() *report.Run {
			r := run(t, func(int) float64 { return 1 })
			r.MachineState.Before.CPUSet = "3"
			return r
		}},
		{name: "one of what a limit leaves", kind: advice.OneProcessor, energy: 100, hi: 55, make: func() *report.Run {
			r := run(t, func(int) float64 { return 1 })
			limit := 1.5
			r.MachineState.Before.CPULimit = &limit
			return r
		}},
		{name: "a limit below one", kind: advice.OneProcessor, unheard: true, make: func() *report.Run {
			r := run(t, func(int) float64 { return 1 })
			limit := 0.9
			r.MachineState.Before.CPUSet, r.MachineState.Before.CPULimit = "", &limit
			return r
		}},
		{name: "small pieces", kind: advice.SmallIO, energy: 45, hi: 49.5, seen: []string{"10 000 reads and 30 000 writes moved 2 bytes each",
			"the kernel had 50.0 %"}, bounds: "in the kernel alone", make: func() *report.Run {
			r := run(t, all)
			r.Process.UserS, r.Process.SystemS = 5, 5
			r.Process.IO = &report.IO{Reads: 10_000, Writes: 30_000, ReadBytes: 50_000, WrittenBytes: 50_000}
			return r
		}},
		{name: "large pieces", kind: advice.SmallIO, unheard: true, make: func() *report.Run {
			r := run(t, all)
			r.Process.UserS, r.Process.SystemS = 5, 5
			r.Process.IO = &report.IO{Reads: 10_000, Writes: 30_000, ReadBytes: 5e9, WrittenBytes: 5e9}
			return r
		}},
	} {
		d, err := advice.Of(c.make(), "1")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range d.Findings {
			if f.Kind != c.kind {
				continue
			}
			found = true
			at := ""
			if f.Function != nil {
				at = f.Function.Name
			}
			if at != c.at || f.EnergyJ != *joules(c.energy) || f.SavesLoJ != *joules(c.lo) || f.SavesHiJ != *joules(c.hi) || f.Bounds == "" ||
				!strings.Contains(f.Bounds, c.bounds) {
				t.Errorf("%s: %+v", c.name, f)
			}
			for _, want := range c.seen {
				if !strings.Contains(f.Seen, want) {
					t.Errorf("%s: no %q in %q", c.name, want, f.Seen)
				}
			}
		}
		if found == c.unheard {
			t.Errorf("%s: %+v", c.name, d.Findings)
		}
	}
}

// growing is a run with one function of so many calls, each slope seconds longer than the one before.
func growing(t *testing.T, calls int, slope, noise float64, seed uint64) *report.Run {
	r := run(t, all)
	rng := rand.New(rand.NewPCG(seed, 1))
	r.Sites = []report.Site{{ID: 5, Name: "append", File: "a.py", Line: 3}}
	at, sum := int64(0), 0.0
	for i := range calls {
		took := 0.05 + slope*float64(i) + noise*rng.NormFloat64()
		r.LongCalls = append(r.LongCalls, report.LongCall{Site: 5, StartedAtMonoNs: at, EndedAtMonoNs: at + int64(took*1e9)})
		at, sum = at+int64(took*1e9)+1e6, sum+took
	}
	r.Functions = []report.Function{{Name: "append", File: "a.py", Line: 3, Calls: uint64(calls), InclusiveTimeS: sum,
		InclusiveEnergyJ: joules(10 * sum), InclusiveEnergyLoJ: joules(9 * sum), InclusiveEnergyHiJ: joules(11 * sum)}}
	return r
}

func TestGrowingCalls(t *testing.T) {
	d, err := advice.Of(growing(t, 40, 0.01, 0.002, 1), "1")
	if err != nil || len(d.Findings) == 0 || d.Findings[0].Kind != advice.GrowingCalls {
		t.Fatalf("%v: %+v", err, d)
	}
	// 780 steps of 10 ms at 10 W.
	if f := d.Findings[0]; math.Abs(f.EnergyJ.Float()-78) > 2 || f.SavesLoJ.Float() > 78 || f.SavesLoJ.Float() < 65 || f.SavesHiJ.Float() < 78 ||
		f.SavesHiJ.Float() > 90 || f.Function.Line != 3 || !strings.Contains(f.Seen, "the 40 calls of append tended to take longer: from") {
		t.Errorf("%+v", f)
	}
	// A line that begins far below 0: no more than all that the function used.
	late := growing(t, 40, 0, 0, 1)
	total := 0.0
	for i := range late.LongCalls {
		c := &late.LongCalls[i]
		took := int64(1e6 * math.Pow(1.3, float64(i)))
		c.EndedAtMonoNs, total = c.StartedAtMonoNs+took, total+float64(took)*1e-9
	}
	f := &late.Functions[0]
	f.InclusiveTimeS = total
	f.InclusiveEnergyJ, f.InclusiveEnergyLoJ, f.InclusiveEnergyHiJ = joules(10*total), joules(9*total), joules(11*total)
	d, err = advice.Of(late, "1")
	if err != nil || len(d.Findings) == 0 {
		t.Fatalf("%v: %+v", err, d)
	}
	if g := d.Findings[0]; g.EnergyJ > *f.InclusiveEnergyJ || g.SavesLoJ > *f.InclusiveEnergyLoJ || g.SavesHiJ > *f.InclusiveEnergyHiJ {
		t.Errorf("more than %v J in [%v, %v]: %+v", f.InclusiveEnergyJ.Float(), f.InclusiveEnergyLoJ.Float(), f.InclusiveEnergyHiJ.Float(), g)
	}
	few := growing(t, 40, 0.01, 0.002, 1)
	few.Functions[0].Calls = 100 // most were too short to be told
	d, err = advice.Of(few, "1")
	if err != nil || len(d.Findings) != 0 {
		t.Errorf("%v: %+v", err, d.Findings)
	}
	// Where nothing grows, next to nothing is found.
	false_ := 0
	for seed := range uint64(300) {
		d, err := advice.Of(growing(t, 20, 0, 0.02, seed), "1")
		if err != nil {
			t.Fatal(err)
		}
		false_ += len(d.Findings)
	}
	if false_ > 9 {
		t.Errorf("found in %d of 300 runs without", false_)
	}
}

func TestUnseen(t *testing.T) {
	r := run(t, all)
	r.MachineState, r.Samples = nil, nil
	d, err := advice.Of(r, "1")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(d.Unseen)
	for _, want := range []string{"{waiting the run has no samples", "{one-processor not checked: the report does not say how many", "{small-io ", "{growing-calls "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if _, err := advice.Of(reporttest.Example(t, nemb.Unavailable), "1"); err == nil || !strings.Contains(err.Error(), "the energies of the run are not known") {
		t.Error(err)
	}
}

func TestFormats(t *testing.T) {
	r := growing(t, 40, 0.01, 0.002, 1)
	d, err := advice.Of(r, "1")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"text": "growing-calls  append  ", "markdown": "| growing-calls | <code>append</code> | "} {
		if text := string(reporttest.Write(t, name, d, format.Options{Terminal: format.Terminal{Width: 100}})); !strings.Contains(text, want) ||
			!strings.Contains(text, "small-io") {
			t.Errorf("%s: no %q in\n%s", name, want, text)
		}
	}
	b, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err == nil {
		err = reporttest.Documented(t, "advice", advice.Schema()).Validate(v)
	}
	if err != nil {
		t.Error(err)
	}
	f, _ := format.Named("json", d)
	if again, err := f.Read(bytes.NewReader(b)); err != nil {
		t.Error(err)
	} else if same, err := again.(*advice.Document).JSON(); err != nil || !bytes.Equal(b, same) {
		t.Errorf("%v\n%s", err, same)
	}
	d.Findings = nil
	d.Advice.Title = "\x1b[31m\nfake"
	for _, name := range []string{"text", "markdown"} {
		text := string(reporttest.Write(t, name, d, format.Options{Terminal: format.Terminal{Width: 100}}))
		if !strings.Contains(text, advice.Nothing[:40]) || strings.Contains(text, "\x1b") || strings.Contains(text, "\nfake") {
			t.Errorf("%q", text)
		}
	}
}
