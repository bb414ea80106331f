package codegreen

import (
	"math"
	"testing"
)

// What is pruned tells the same energies between the edges that were named.
func TestPruneKeepsEnergies(t *testing.T) {
	s := newSamples([]domain{{ID: "d", PeriodNs: 1e6, Lo: 1, Hi: 1}})
	for i := range int64(20000) {
		s.add(i*1e6+(i*i)%1000, 0, []uint64{uint64(i*20000 + (i%7)*10)})
	}
	edges := []int64{50e6, 3000e6, 9000e6 + 300e3, 9001e6, 19000e6}
	type answer struct {
		joules, slack float64
		method        string
	}
	ask := func() (all []answer) {
		for i, a := range edges {
			for _, b := range edges[i+1:] {
				joules, slack, method, ok := s.between(0, a, b)
				if !ok {
					t.Fatal("not known")
				}
				all = append(all, answer{joules, slack, method})
			}
		}
		return all
	}
	before := ask()
	s.prune(edges, 5*aroundNs)
	if n := len(s.times); n > 3000 || len(s.knots[0]) > 3000 {
		t.Errorf("%d samples and %d knots are left", n, len(s.knots[0]))
	}
	for i, now := range ask() {
		if now != before[i] {
			t.Errorf("%v, before %v", now, before[i])
		}
	}
}

// Tasks that overlap have together what there is.
func TestPartsAddUp(t *testing.T) {
	s := newSamples([]domain{{ID: "d", InTotal: true, PeriodNs: 1e6, Lo: 1, Hi: 1}})
	for i := range int64(1000) {
		s.add(i*1e6, 0, []uint64{uint64(i * 20000)}) // 20 W
	}
	var all crowd
	ms := func(v float64) int64 { return int64(v * 1e6) }
	type span struct{ from, to int64 }
	spans := []span{{ms(100), ms(400)}, {ms(200), ms(300)}, {ms(250), ms(600)}}
	for _, e := range []change{{ms(100), 1}, {ms(200), 1}, {ms(250), 1}, {ms(300), -1}, {ms(400), -1}, {ms(600), -1}} {
		all.step(e.at, e.n)
	}
	want := []float64{2 + 0.5 + 1.0/3 + 1, 0.5 + 1.0/3, 1.0/3 + 1 + 4} // J
	sum := int64(0)
	for i, sp := range spans {
		e, _ := energyOf(s, sp.from, sp.to, partsOf(sp.from, sp.to, []*crowd{&all}))
		if got := float64(e.total) / 1e6; math.Abs(got-want[i]) > 1e-3 || e.method != methodShared {
			t.Errorf("task %d: %v J by %s, want %v", i, got, e.method, want[i])
		}
		sum += e.total
	}
	if sum > 10_000_000 {
		t.Errorf("%d uJ in all, of 10 J", sum)
	}
	if partsOf(ms(400), ms(600), []*crowd{&all}) != nil {
		t.Error("it was alone, and has parts")
	}
}

func BenchmarkTask(b *testing.B) {
	s, err := Start("bench", WithoutFile(), OnWarning(func(slug, message string) {}))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_, t := s.Task(ctx, "pair")
		t.End()
	}
	b.StopTimer()
	b.ReportMetric(float64(len(s.Tasks())), "tasks")
}

// What no reading tells is no energy of 0: a counter that has not moved, that is
// stuck or could not be read, and a moment between two updates.
func TestUnknown(t *testing.T) {
	const ms = int64(1e6)
	defer func(before int64) { still = before }(still)
	still = 50 * ms
	series := func(watts float64, from, to int64, failing bool) *samples {
		s := newSamples([]domain{{ID: "d", InTotal: true, Method: "measured", PeriodNs: ms, StepUj: 500, Lo: 1, Hi: 1}})
		for at := int64(0); at <= 600; at++ {
			flags, shown := uint64(0), at
			if at > from && at < to {
				if shown = from; failing {
					flags = flagGap | flagFailed
				}
			}
			s.add(at*ms, flags, []uint64{uint64(watts * float64(shown) * 1e3)})
		}
		return s
	}
	for _, tt := range []struct {
		name       string
		s          *samples
		start, end int64
		why        string
		unmoved    bool
	}{
		{"it counts", series(20, 0, 0, false), 100, 500, "", false},
		{"it never moves", series(0, 0, 0, false), 100, 500, "the counter of d has not moved", true},
		{"stuck to the end", series(20, 200, 1000, false), 100, 500, "the counter of d is stuck: it has not moved for 0.4 s", false},
		{"before that", series(20, 200, 1000, false), 50, 150, "", false},
		{"stuck for a while", series(20, 200, 400, false), 250, 300, "the counter of d is stuck: it has not moved for 0.2 s", false},
		{"behind that", series(20, 200, 400, false), 450, 550, "", false},
		{"stuck for a moment", series(20, 200, 230, false), 100, 500, "", false},
		{"not read to the end", series(20, 200, 1000, true), 100, 500, "the counter of d could not be read to the end", false},
		{"not read for a while", series(20, 200, 400, true), 100, 500, "", false},
	} {
		if got := tt.s.unknown(tt.start*ms, tt.end*ms); got != tt.why || tt.s.unmoved() != tt.unmoved {
			t.Errorf("%s: %q, %v", tt.name, got, tt.s.unmoved())
		}
		e, _ := energyOf(tt.s, tt.start*ms, tt.end*ms, nil)
		if (e == nil) != (tt.why != "") {
			t.Errorf("%s: %+v", tt.name, e)
		}
		if want := 20 * float64(tt.end-tt.start) * 1e3; e != nil && (math.Abs(float64(e.total)-want) > 0.02*want || e.hi-e.total < 500 || e.total-e.lo < 500) {
			t.Errorf("%s: %+v, want %g uJ", tt.name, e, want)
		}
	}
	if late := series(20, 200, 400, true).late; late != 200*ms {
		t.Errorf("a sum alone has the energy of %d ns", late)
	}
	s := newSamples([]domain{{ID: "d", InTotal: true, PeriodNs: 10 * ms, Lo: 1, Hi: 1}})
	for at := int64(0); at < 100; at++ {
		s.add(at*ms, 0, []uint64{uint64(at / 10 * 200000)})
	}
	if e, _ := energyOf(s, 93*ms, 95*ms, nil); e == nil || e.total != 0 || e.lo != 0 || e.hi < 40000 {
		t.Errorf("between two updates: %+v", e)
	}
}
