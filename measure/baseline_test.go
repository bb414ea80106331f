package measure

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/launcher"
	"cg/nemb"
	"cg/nemb/account"
)

// still is ten seconds of a machine that draws 8 W and 2 W of it in its memory.
func still(power func(i int) float64, busy time.Duration) nemb.Series {
	s := nemb.Series{Domains: []nemb.Domain{
		{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1, Period: time.Millisecond},
		{ID: "machine", Method: nemb.Estimated, InTotal: true, Lo: .5, Hi: 1.5, Base: 5},
		{ID: "memory", Method: nemb.Measured, Program: true, Lo: 1, Hi: 1},
		{ID: "battery", Method: nemb.Measured, Lo: 1, Hi: 1, Period: 30 * time.Second},
		{ID: "dram-0", Method: nemb.Derived, InTotal: true, Lo: .9, Hi: 1.1, Period: time.Millisecond},
	}}
	e := 0.0
	for i := range 1001 {
		if i > 0 {
			e += power(i) * 1e4
		}
		at := time.Duration(i) * 10 * time.Millisecond
		s.Samples = append(s.Samples, nemb.Sample{
			Time: checkpoint.Instant(at), Energy: []nemb.Energy{nemb.Energy(e), 7, 7, nemb.Energy(e), nemb.Energy(e / 4)},
			Usage: account.Usage{Other: busy * time.Duration(i) / 1000, Own: time.Millisecond * time.Duration(i) / 1000}, Failed: i%100 == 50,
		})
	}
	return s
}

// A neighbour uses a processor for a half of each second, and draws 16 W then: without it the machine draws 8 W.
func TestBaselineBesideANeighbour(t *testing.T) {
	s := still(func(i int) float64 { return 8 + 16*float64((i-1)/50&1) }, 0)
	for i := range s.Samples {
		s.Samples[i].Usage.Other = time.Duration(i/100*50+max(0, i%100-50)) * 10 * time.Millisecond
	}
	b := baselineOf(s, 2)
	p := b.Domains[0]
	if b.Idle() || math.Abs(p.Power-8) > 0.5 || p.Lo != 0 || p.Hi < 16 {
		t.Errorf("%+v", b)
	}
}

func TestBaseline(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-3 }
	b := baselineOf(still(func(int) float64 { return 8 }, 0), 2)
	if len(b.Domains) != 2 || b.Span != 10*time.Second || !b.Idle() || !near(b.Busy, .0001) || !near(b.Use, .00005) {
		t.Fatalf("%+v", b)
	}
	if p := b.Domains[0]; p.ID != "package-0" || !near(p.Power, 8) || !near(p.Lo, 8) || !near(p.Hi, 8) {
		t.Errorf("%+v", p)
	}
	if p := b.Domains[1]; p.ID != "dram-0" || !near(p.Power, 2) || !near(p.Lo, 1.8) || !near(p.Hi, 2.2) {
		t.Errorf("%+v", p)
	}
	b = baselineOf(still(func(i int) float64 { return 6 + 4*float64(i/50&1) }, 0), 2)
	if p := b.Domains[0]; !near(p.Power, 8) || p.Lo < 6 || p.Lo > 7.9 || p.Hi < 8.1 || p.Hi > 10 {
		t.Errorf("%+v", p)
	}
	// Two seconds of processor time in ten of two processors: no idle machine.
	b = baselineOf(still(func(int) float64 { return 8 }, 2*time.Second), 2)
	if b.Idle() || !near(b.Use, .10005) || b.Domains[0].Lo != 0 {
		t.Errorf("%+v", b)
	}
	// A fifth of a processor of 64 is no idle machine, either, and what is in use is told with the power.
	b = baselineOf(still(func(int) float64 { return 8 }, 2*time.Second), 64)
	if b.Idle() || !near(b.Use, .05003) {
		t.Errorf("of 64: %+v", b)
	}
	few := still(func(int) float64 { return 8 }, 0).Domains
	if b = baselineOf(still(func(int) float64 { return 8 }, time.Second), 64); !b.Idle() {
		t.Errorf("a tenth of a processor of 64: %+v", b)
	}
	if b.Set(few); !near(few[0].BaseUseHi, .02503) || !near(few[0].BaseUse, .02503-.00075) || // but for three ticks
		few[0].BaseSpan != b.Span {
		t.Errorf("%+v", few[0])
	}
	for name, s := range map[string]nemb.Series{"nothing": {}, "one sample": {Samples: make([]nemb.Sample, 1)}, "no time": {Samples: make([]nemb.Sample, 2)}} {
		if b := baselineOf(s, 2); len(b.Domains) != 0 {
			t.Errorf("%s: %+v", name, b)
		}
	}
	domains := still(func(int) float64 { return 8 }, 0).Domains
	baselineOf(still(func(int) float64 { return 8 }, 0), 2).Set(domains)
	if !near(domains[0].Base, 8) || domains[1].Base != 5 || domains[1].BaseHi != 0 || domains[3].BaseHi != 0 {
		t.Errorf("%+v", domains)
	}
}

// fake is a sensor of one domain that counts real time.
type fake struct {
	method nemb.Method
	start  checkpoint.Instant
}

func (f *fake) Domains() []nemb.Domain {
	return []nemb.Domain{{ID: "package-0", Method: f.method, InTotal: true, Lo: 1, Hi: 1, Period: time.Millisecond}}
}

func (f *fake) Read(dst []nemb.Energy) error {
	dst[0] = nemb.Energy(10 * (checkpoint.Monotime() - f.start) / 1000)
	return nil
}

func (f *fake) Close() error { return nil }

func TestWait(t *testing.T) {
	sensor := &fake{method: nemb.Measured, start: checkpoint.Monotime()}
	b, err := MeasureIdle(t.Context(), []nemb.Sensor{sensor}, 10*time.Millisecond, time.Second)
	if err != nil || len(b.Domains) != 1 || math.Abs(b.Domains[0].Power-10) > 2 {
		t.Errorf("%+v, %v", b, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := MeasureIdle(ctx, []nemb.Sensor{sensor}, 10*time.Millisecond, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if b, err := MeasureIdle(t.Context(), []nemb.Sensor{&fake{method: nemb.Estimated}}, 10*time.Millisecond, time.Hour); b != nil || err != nil {
		t.Errorf("%+v, %v", b, err)
	}
}

// A run books the idle power that was measured before it on the idle line.
func TestRunWithBaseline(t *testing.T) {
	sensor := &fake{method: nemb.Measured, start: checkpoint.Monotime()}
	account := account.New()
	defer account.Close()
	o, err := Run(Config{
		Command: launcher.Cmd{Args: []string{"sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"}, Pty: launcher.Never},
		Sensors: []nemb.Sensor{sensor}, Account: account, Interval: 10 * time.Millisecond,
		Baseline: &Baseline{Span: time.Second, Domains: []IdlePower{{ID: "package-0", Power: 4, Lo: 3, Hi: 5, InTotal: true}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	l := o.Attributed.Total
	want := nemb.Energy(4e6 * o.Attributed.Wall.Seconds())
	if o.Baseline == nil || o.Domains[0].Base != 4 || !l.Balanced() || l.Idle < want*95/100 || l.Idle > want*150/100 {
		t.Errorf("%+v of %v, want %d uJ idle", l, o.Attributed.Wall, want)
	}
	if l.ProgramLo >= l.Program() || l.ProgramHi <= l.Program() {
		t.Errorf("the interval of the idle power is not in the program's: %+v", l)
	}
}
