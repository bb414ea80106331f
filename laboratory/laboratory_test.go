package laboratory

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cg/report"
)

// Each language has a program of each shape, or says what it cannot do.
func TestSources(t *testing.T) {
	for _, c := range Cases() {
		text, file, err := c.Program.source(c.Language)
		if err != nil {
			t.Errorf("%s, %s: %v", c.Language, c.Name, err)
			continue
		}
		if strings.Contains(text, "<no value>") || file == "" || c.Needs() == "" {
			t.Errorf("%s, %s: %s", c.Language, c.Name, text)
		}
	}
	for _, of := range []struct {
		language string
		program  Program
		want     string
	}{
		{"cobol", Program{}, "no programs of"}, {"javascript", Program{Threads: 2}, "no threads"}, {"go", Program{Processes: 2}, "no processes"},
	} {
		if _, _, err := of.program.source(of.language); err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%+v: %v", of, err)
		}
	}
}

// Stack samples are of programs that run without cg, and not of those that cg builds.
func TestSampledPrograms(t *testing.T) {
	for _, c := range Cases() {
		if !c.Sampled {
			continue
		}
		if c.Language == "python" {
			if got, err := c.command(t.Context(), "lab.py"); err != nil || strings.Join(got, " ") != "--sample python3 lab.py" {
				t.Errorf("%s: %q, %v", c.Name, got, err)
			}
		}
		c.Language = "go"
		if _, err := c.command(t.Context(), "main.go"); err == nil || !strings.Contains(err.Error(), "no stack samples of go") {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// The page adds up what workers wrote: by function, and with what it called.
func TestPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page")
	p, err := newPage(path, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write := func(worker, caller, function int, nanojoules, ns float64) {
		at := int64(((worker*3+caller+1)*2 + function) * 16)
		for i, v := range []float64{nanojoules, ns} {
			var b [8]byte
			for k := range b {
				b[k] = byte(math.Float64bits(v) >> (8 * k)) // little endian, as all of cg's machines
			}
			if _, err := f.WriteAt(b[:], at+int64(8*i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(0, -1, 0, 3e9, 1e9)
	write(0, 0, 1, 2e9, 5e8)
	write(1, -1, 1, 1e9, 2e9)
	self, inclusive := p.uses()
	if self[0] != (use{3, 1}) || self[1] != (use{3, 2.5}) || inclusive[0] != (use{5, 1.5}) || inclusive[1] != (use{3, 2.5}) {
		t.Errorf("%v %v", self, inclusive)
	}
	joules := make([]float64, 2)
	if seconds := p.sums(joules); seconds != 3.5 || joules[0] != 5 || joules[1] != 1 {
		t.Errorf("%g s, %v J", seconds, joules)
	}
	p.weigh(true)
	p.count(func(worker int) float64 { return 0.5 + float64(worker) })
	p.count(func(int) float64 { return 9 }) // of nothing
	if self, _ := p.uses(); self[0] != (use{1.5, 1}) || self[1] != (use{2.5, 2.5}) {
		t.Errorf("%v", self)
	}
	if _, err := newPage(path, 2, 2); err == nil {
		t.Error("a page in the place of another")
	}
}

// A neighbour uses one processor in its bursts.
func TestBursts(t *testing.T) {
	b := Neighbour{Watts: 1, Busy: 50 * time.Millisecond, Quiet: 100 * time.Millisecond}.bursts(3)
	if b.until(0) != 0 || b.until(b.from[0]) != 0 || b.until(b.to[0]) != b.to[0]-b.from[0] {
		t.Errorf("%v %v", b.from[0], b.to[0])
	}
	middle := (b.from[1] + b.to[1]) / 2
	if got, want := b.until(middle), b.to[0]-b.from[0]+middle-b.from[1]; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if part := b.until(longest).Seconds() / longest.Seconds(); part < 0.3 || part > 0.37 {
		t.Errorf("it runs for %.2f of the time", part)
	}
	if none := (Neighbour{}).bursts(3); none.until(time.Hour) != 0 {
		t.Error("nobody uses a processor")
	}
}

// A low-passed counter shows a step of power late, and loses no energy.
func TestFilter(t *testing.T) {
	p, err := newPage(filepath.Join(t.TempDir(), "page"), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	b := &board{page: p, machine: Machine{Sockets: 1, Idle: 10, Filter: time.Millisecond}, epoch: time.Now().Add(-time.Second),
		at: []time.Duration{0}, joules: [][]float64{{0}}, filtered: make([]float64, 1), scratch: make([]float64, 1)}
	b.look() // a second of 10 W, a thousand times the time constant
	shown := socket{b, 0}
	if e := shown.Energy(b.at[1]); math.Abs(e/(10*b.at[1].Seconds())-1) > 0.001 {
		t.Errorf("%g J", e)
	}
	if half := shown.Energy(b.at[1] / 2); math.Abs(half/(5*b.at[1].Seconds())-1) > 0.001 {
		t.Errorf("%g J at half of the time", half)
	}
}

// Values are compared with what the report says, by the name's last part.
func TestValues(t *testing.T) {
	joules := func(v float64) *report.Joules { j := report.Joules(v * 1e6); return &j }
	r := &report.Run{Functions: []report.Function{{Name: "__main__.f0", SelfEnergyJ: joules(4), SelfEnergyLoJ: joules(2), SelfEnergyHiJ: joules(6),
		InclusiveEnergyJ: joules(9), Unresolved: "collinear"}, {Name: "f10"}}}
	f := find(r, "f0")
	if f == nil || find(r, "f1") != nil {
		t.Fatal(f)
	}
	v, w := Value{Truth: 5}, Value{Truth: 5}
	v.told(f, f.SelfEnergyJ, f.SelfEnergyLoJ, f.SelfEnergyHiJ)
	w.told(f, f.InclusiveEnergyJ, f.InclusiveEnergyLoJ, f.InclusiveEnergyHiJ)
	if !v.Holds() || v.Unresolved != "collinear" || w.Told || w.Holds() {
		t.Errorf("%+v %+v", v, w)
	}
	row := Row{}
	row.Add(Outcome{Values: []Value{v, w, {Truth: 1, Figure: 2, Lo: 1.5, Hi: 2, Told: true}},
		Program: Value{Truth: 4, Figure: 5, Lo: 3, Hi: 6, Told: true}})
	row.Add(Outcome{Program: Value{Truth: 4, Figure: 3, Lo: 2, Hi: 3.5, Told: true}})
	row.Add(Outcome{Program: Value{Truth: 4}, Untold: "the counter broke"})
	if row.Values != 2 || row.Held != 1 || row.Untold != 1 || row.Unresolved != 1 || row.Worst != 1 || math.Abs(row.Bias-0.4) > 1e-12 {
		t.Errorf("%+v", row)
	}
	if row.Runs != 3 || row.Programs != 2 || row.Whole != 1 || row.WholeOff != 0.25 {
		t.Errorf("%+v", row)
	}
	if len(row.Silent) != 1 || row.Silent[0] != (Silence{3, "the counter broke"}) || len(row.Reasons) != 1 || row.Reasons["collinear"] != 2 {
		t.Errorf("%+v, %v", row.Silent, row.Reasons)
	}
	row = Row{Values: 1000, Held: 880}
	if row.IsKept() {
		t.Error("880 of 1000 are 93 %")
	}
	if row.Held = 925; !row.IsKept() {
		t.Error("925 of 1000 may be 93 %")
	}
	if row.Held = 970; row.IsWide() {
		t.Error("970 of 1000 are not more than 97 %")
	}
	if row.Held = 971; !row.IsWide() || (&Row{}).IsWide() {
		t.Error("971 of 1000 are more than 97 %, and none of none")
	}
}

// A run in which nothing is told says why: what cg says of the run's energy, or else of its functions.
func TestUntold(t *testing.T) {
	fault := &report.Run{Warnings: []report.Warning{{Slug: "energy-unknown", Message: "the counter is stuck"}}}
	for _, of := range []struct {
		run    *report.Run
		values []Value
		want   string
	}{
		{&report.Run{}, []Value{{Unresolved: "no sensor"}, {Told: true}}, ""},
		{&report.Run{}, []Value{{Unresolved: "no sensor"}, {Unresolved: "no sensor"}, {}}, "no reason is told, no sensor"},
		{fault, []Value{{Unresolved: "no sensor"}}, "the counter is stuck"},
		{&report.Run{}, nil, "no function is told"},
		{&report.Run{Warnings: []report.Warning{{Slug: "estimated"}, {Slug: "counter-fault", Message: "it started over"}}},
			[]Value{{Unresolved: "collinear"}}, "it started over"},
	} {
		if got := untold(of.run, of.values); got != of.want {
			t.Errorf("%v: %q, want %q", of.values, got, of.want)
		}
	}
}

// A second of the functions' processor time has what they have together.
func TestUnitOfAnEstimate(t *testing.T) {
	joules := func(v float64) *report.Joules { j := report.Joules(v * 1e6); return &j }
	r := &report.Run{
		Totals: report.Totals{ProgramEnergyJ: joules(9), ProgramEnergyLoJ: joules(4.5), ProgramEnergyHiJ: joules(18)},
		Functions: []report.Function{{Name: "m.f0", SelfEnergyJ: joules(5)}, {Name: "m.f1", SelfEnergyJ: joules(3)},
			{Name: "m.work", SelfEnergyJ: joules(1)}},
	}
	if unit, less, more := estimated(r, []use{{0, 3}, {0, 1}}); unit != 2 || less != 0.5 || more != 2 {
		t.Errorf("%g J, from %g to %g", unit, less, more)
	}
	if unit, less, more := estimated(&report.Run{}, []use{{0, 3}}); unit != 1 || less != 1 || more != 1 {
		t.Errorf("of functions that are not told: %g J, from %g to %g", unit, less, more)
	}
}
