package regression

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// site is the column of a function.
func site(n int) Column { return First + Column(n) }

// watts has, per column, a power and the mean of its time in a window of 10 ms.
type watts map[Column][2]float64

// windows makes windows of 10 ms in which columns run for random times, under a
// counter that is always up to date. Columns of bound run as long as each other,
// in one proportion.
func windows(n int, powers watts, bound ...Column) *Data {
	d := NewData([]Counter{{Domain: 1, Period: 1e6}}, nil)
	random := rand.New(rand.NewPCG(1, 2))
	var columns []Column
	for k := range powers {
		columns = append(columns, k)
	}
	slices.Sort(columns)
	for range n {
		var times []Entry
		energy := 0.0
		together := random.Float64()
		for _, k := range columns {
			part := random.Float64()
			if slices.Contains(bound, k) {
				part = together
			}
			t := powers[k][1] * 2e6 * part
			times = append(times, Entry{k, float32(t)})
			energy += t * powers[k][0] * 1e-3
		}
		d.Add(Window{Wall: 10e6, Spent: []float64{-1, energy}, Moved: []bool{false, true}, Times: times})
	}
	return d
}

// Powers that differ are found from sums over windows alone, and the energies are
// power times time. A domain without a counter has no fit.
func TestPowers(t *testing.T) {
	powers := watts{Background(0): {3, 1}, Outside: {15, 1}, site(7): {5, 3}, site(8): {20, 3}, site(9): {40, 2}}
	d := windows(400, powers)
	fits := d.Fits(make([]float64, 2), nil)
	if fits[0] != nil || fits[1] == nil {
		t.Fatalf("%v", fits)
	}
	whole := 0.0
	for k, want := range powers {
		e := fits[1].Columns[k]
		if !e.IsResolved() || math.Abs(e.Power/want[0]-1) > 0.02 {
			t.Errorf("column %d: %+v, want %g W", k, e, want[0])
			continue
		}
		energy := want[0] * want[1] * 400 * 1e3
		if math.Abs(e.Energy/energy-1) > 0.1 || len(e.Replicas) != Replicas || e.HalfWidth < e.Edges ||
			e.Shared != e.Energy {
			t.Errorf("column %d: %g +- %g uJ, of edges %g, want %g uJ", k, e.Energy, e.HalfWidth, e.Edges, energy)
		}
		whole += e.Energy
	}
	sum := 0.0
	for _, b := range d.collectors[0].blocks {
		sum += b.energy[0]
	}
	if math.Abs(whole/sum-1) > 1e-9 {
		t.Errorf("the columns have %g of %g uJ", whole, sum)
	}
}

// Columns that run in one proportion have a power together and none of their own:
// each has its part of the time, and the group is named.
func TestCollinearColumns(t *testing.T) {
	f := windows(400, watts{site(1): {10, 2}, site(2): {30, 2}, site(3): {20, 4}}, site(1), site(2)).Fits(make([]float64, 2), nil)[1]
	for _, k := range []Column{site(1), site(2)} {
		e := f.Columns[k]
		if e.Reason != Collinear || !slices.Equal(e.Group, []Column{site(1), site(2)}) && !slices.Equal(e.Group, []Column{site(2), site(1)}) {
			t.Errorf("column %d: %+v", k, e)
		}
		if math.Abs(e.Energy/(e.Shared/2)-1) > 0.01 || math.Abs(e.Power/20-1) > 0.05 {
			t.Errorf("column %d: %g of %g uJ, %g W, want half at 20 W", k, e.Energy, e.Shared, e.Power)
		}
	}
	if e := f.Columns[site(3)]; e.Reason != Resolved || math.Abs(e.Power/20-1) > 0.05 {
		t.Errorf("%+v", e)
	}
}

// The power of the runtime's own work is the mean, whatever the data say.
func TestOwnWorkHasTheMean(t *testing.T) {
	own := Runtime
	f := windows(400, watts{site(1): {10, 3}, site(2): {30, 3}, own: {40, 1}}).Fits(make([]float64, 2), nil)[1]
	if e := f.Columns[own]; e.IsResolved() || e.Reason != Noisy || math.Abs(e.Power/22.9-1) > 0.05 {
		t.Errorf("%+v, want 22.9 W and no answer", e)
	}
}

// Too few blocks, and no energy, show nothing.
func TestNothingToFit(t *testing.T) {
	if f := windows(minBlocks-1, watts{site(1): {10, 5}}).Fits(make([]float64, 2), nil)[1]; f != nil {
		t.Errorf("%d blocks: %+v", minBlocks-1, f)
	}
	if f := windows(100, watts{site(1): {0, 5}}).Fits(make([]float64, 2), nil)[1]; f != nil {
		t.Errorf("no energy: %+v", f)
	}
	if NewData(nil, nil).HasCounters() {
		t.Error("a counter out of nothing")
	}
	var e *Estimate
	if e.IsResolved() {
		t.Error("no estimate is resolved")
	}
}

// Counters of one period share their blocks; one of no known period has its own.
// A period that turns out to be longer makes the blocks longer.
func TestCountersOfOnePeriod(t *testing.T) {
	d := NewData([]Counter{{0, 1e6}, {2, 0}, {3, 1e6}, {4, 0}}, nil)
	if len(d.collectors) != 3 || !slices.Equal(d.collectors[0].domains, []int{0, 3}) {
		t.Fatalf("%+v", d.collectors)
	}
	add := func(windows int) {
		for range windows {
			d.Add(Window{Wall: 10e6, Spent: []float64{1, 0, 2, 3, 4}, Moved: []bool{true, false, true, true, false}, Times: []Entry{{site(1), 5e6}}})
		}
	}
	add(4)
	d.Lengthen(3, 20e6)
	d.Lengthen(0, 5e6) // never shorter
	add(40)
	// Four blocks of 10 ms, then two of 200 ms.
	if b := d.collectors[0].blocks; len(b) != 6 || b[0].energy[0] != 1 || b[5].energy[1] != 60 || b[5].span != 200e6 {
		t.Errorf("%+v", b)
	}
	if b := d.collectors[1].blocks; len(b) != 4 || b[0].energy[0] != 20 {
		t.Errorf("%+v", b)
	}
	if b := d.collectors[2].blocks; len(b) != 0 {
		t.Errorf("a counter that stands makes blocks: %+v", b)
	}
}

// A sum of groups is the sum of their columns, and the order of groups is kept.
func TestMerge(t *testing.T) {
	g := grouping{of: []int{0, 1, 2, 3}, n: 4, reason: make([]Reason, 4)}
	g.merge(3, 1)
	g.mark(2, Noisy)
	if !slices.Equal(g.of, []int{0, 1, 2, 1}) || g.n != 3 ||
		!slices.Equal(g.reason, []Reason{Resolved, Collinear, Noisy, Collinear}) {
		t.Errorf("%+v", g)
	}
	g.merge(0, 1)
	if !slices.Equal(g.of, []int{0, 0, 1, 0}) || g.n != 2 {
		t.Errorf("%+v", g)
	}
}

// The goes of a line are its own where it has a column. What is left of its function then goes on as often as a line
// with a column ends, and a function without such lines from its call on.
func TestGoesWithin(t *testing.T) {
	const line, other = First + 2, First + 3 // of the first of two functions
	outer := func(k Column) Column {
		if k == line || k == other {
			return First
		}
		return Outside
	}
	d := NewData([]Counter{{Domain: 0, Period: 1e6}}, outer)
	for range minBlocks {
		d.Add(Window{Wall: 20e6, Spent: []float64{1}, Moved: []bool{true},
			Times: []Entry{{First + 1, 10e6}, {line, 6e6}, {other, 4e6}}})
	}
	d.collectors[0].endBlock()
	runs := map[Column]Run{First: {Count: 10}, First + 1: {Time: 80e6, Count: 20},
		line: {Time: 48e6, Within: 40}, other: {Time: 32e6, Within: 150}}
	for _, of := range []struct {
		columns []Column
		want    []float64 // ms
	}{
		{[]Column{First, First + 1}, []float64{8, 4}},
		{[]Column{First, First + 1, line}, []float64{32. / 50, 4, 48. / 40}},
		{[]Column{First, First + 1, line, other}, []float64{math.Inf(1), 4, 48. / 40, 32. / 150}},
	} {
		r := d.collectors[0].begin(0, runs, false)
		r.use(of.columns)
		for i, want := range of.want {
			if got := r.stretch[i]; got != want && math.Abs(got/want-1) > 1e-9 {
				t.Errorf("%v: column %d runs for %g ms in a go, want %g", of.columns, of.columns[i], got, want)
			}
		}
	}
}
