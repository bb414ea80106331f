package regression

import (
	"math"
	"math/rand/v2"
	"testing"
)

// callers is functions 0 to 2 and contexts of function 0: as called by 1, by 2, and by 2
// as called by each of two others.
func callers(k Column) Column {
	return map[Column]Column{site(11): site(0), site(12): site(0), site(13): site(12), site(14): site(12)}[k]
}

// contexts makes windows of 1 ms in which columns run for random times, in pieces of
// 100 us, at these powers.
func contexts(windows int, powers map[Column]float64, noise float64) *Data {
	d := NewData([]Counter{{Domain: 0, Period: 1e6}}, callers)
	random := rand.New(rand.NewPCG(3, 4))
	var columns []Column
	for k := range Column(20) {
		if _, has := powers[First+k]; has {
			columns = append(columns, First+k)
		}
	}
	for range windows {
		sums := map[Column]float32{}
		energy := 0.0
		for range 10 {
			k := columns[random.IntN(len(columns))]
			sums[k] += 1e5
			energy += 1e5 * 1e-3 * powers[k] * (1 + noise*random.NormFloat64())
		}
		var times []Entry
		for _, k := range columns {
			if sums[k] > 0 {
				times = append(times, Entry{k, sums[k]})
			}
		}
		d.Add(Window{Wall: 1e6, Spent: []float64{energy}, Moved: []bool{true}, Times: times})
	}
	return d
}

// runs says that columns run for 100 us in one go.
func runs(powers map[Column]float64) map[Column]Run {
	all := map[Column]Run{}
	for k := range powers {
		all[k] = Run{Time: 1e8, Count: 1e3}
	}
	return all
}

// A context that draws another power has one of its own; what is left of its function has
// the rest. The function's estimate is that of both.
func TestContextsArePartsOfTheirFunction(t *testing.T) {
	powers := map[Column]float64{site(1): 12, site(2): 9, site(11): 24, site(13): 6, site(14): 6}
	f := contexts(8000, powers, 0.05).Fits(make([]float64, 1), runs(powers))[0]
	near, of := f.Part(site(11))
	if of == nil {
		t.Fatal("no context has a power of its own")
	}
	_, other := f.Part(site(13))
	if last, same := f.Part(site(14)); other == nil || same != other || near == last {
		t.Fatalf("%+v and %+v are not one part", other, same)
	}
	if math.Abs(of.Power/24-1) > 0.03 || math.Abs(other.Power/6-1) > 0.05 {
		t.Errorf("%.2f and %.2f W, want 24 and 6 W", of.Power, other.Power)
	}
	e := f.Columns[site(0)]
	if e == nil || e.Reason != Resolved || math.Abs(e.Energy/(of.Energy+other.Energy)-1) > 1e-9 ||
		math.Abs(e.Power/12-1) > 0.03 || len(e.Replicas) != Replicas {
		t.Errorf("%+v", e)
	}
	for k, want := range map[Column]float64{site(1): 12, site(2): 9} {
		if _, part := f.Part(k); part != nil || math.Abs(f.Columns[k].Power/want-1) > 0.03 {
			t.Errorf("%d: %+v", k, f.Columns[k])
		}
	}
	if f.Columns[site(11)] != nil || f.Columns[site(12)] != nil {
		t.Error("a context is among the functions")
	}
}

// A context within another is found where it alone differs.
func TestContextsOfContexts(t *testing.T) {
	powers := map[Column]float64{site(1): 12, site(11): 8, site(13): 8, site(14): 22}
	f := contexts(8000, powers, 0.05).Fits(make([]float64, 1), runs(powers))[0]
	if _, e := f.Part(site(14)); e == nil || math.Abs(e.Power/22-1) > 0.03 {
		t.Fatalf("%+v, want 22 W", e)
	}
	for _, k := range []Column{site(11), site(13)} {
		if _, e := f.Part(k); math.Abs(e.Power/8-1) > 0.05 {
			t.Errorf("%d: %.2f W, want 8 W", k, e.Power)
		}
	}
}

// Contexts of one power stay one, and the fit says by how much they may differ: the less,
// the more it has seen.
func TestContextsOfOnePower(t *testing.T) {
	powers := map[Column]float64{site(1): 12, site(11): 9, site(13): 9, site(14): 9}
	before := differs
	for _, windows := range []int{1000, 8000} {
		f := contexts(windows, powers, 0.2).Fits(make([]float64, 1), runs(powers))[0]
		if _, e := f.Part(site(11)); e != nil {
			t.Errorf("%d windows: the contexts have powers of their own", windows)
		}
		doubt := f.Doubts[site(11)]
		if doubt <= 0 || doubt >= before {
			t.Errorf("%d windows: a doubt of %g, want more than 0 and less than %g", windows, doubt, before)
		}
		before = doubt
	}
}

// In runs that are too short nothing is known of contexts: they may differ as usual. Of two
// that are all there is of the one around them, one is enough. What alone is all there is
// of the context around it cannot differ.
func TestContextsOfWhichNothingIsKnown(t *testing.T) {
	doubts := func(powers map[Column]float64) map[Column]float64 {
		return contexts(20*blockPeriods, powers, 0.1).Fits(make([]float64, 1), runs(powers))[0].Doubts // too few blocks
	}
	known := doubts(map[Column]float64{site(1): 12, site(11): 9, site(13): 9, site(14): 9})
	if len(known) != 2 || known[site(11)]+known[site(12)] != differs || known[site(13)]+known[site(14)] != differs {
		t.Errorf("%v", known)
	}
	known = doubts(map[Column]float64{site(1): 12, site(11): 9, site(13): 9})
	if len(known) != 1 || known[site(11)]+known[site(12)] != differs {
		t.Errorf("%v", known)
	}
}

// A context whose power the data show, but not apart from its caller, goes back to its
// function, which then may differ by as much.
func TestContextsThatAreDropped(t *testing.T) {
	d := NewData([]Counter{{Domain: 0, Period: 1e6}}, callers)
	random := rand.New(rand.NewPCG(3, 4))
	for range 8000 { // 1 always runs beside one of the contexts
		near, far := 1e5*float64(random.IntN(5)), 1e5*float64(random.IntN(5))
		times := []Entry{{site(1), float32(far)}, {site(11), float32(near)}, {site(12), float32(far)}}
		d.Add(Window{Wall: 1e6, Spent: []float64{1e-3 * (20*near + 5*far + 5*far)}, Moved: []bool{true}, Times: times})
	}
	f := d.Fits(make([]float64, 1), nil)[0]
	if _, e := f.Part(site(11)); e != nil {
		t.Fatalf("%+v", e)
	}
	if max(f.Doubts[site(11)], f.Doubts[site(12)]) < differs {
		t.Errorf("%v", f.Doubts)
	}
}

// The times of a context that blocks no longer keep apart are those of the one around it,
// in a fit, too.
func TestFoldedContexts(t *testing.T) {
	c := newCollector(1e6, 0, callers)
	c.folded[site(13)], c.folded[site(12)] = true, true
	f := &Fit{of: callers, kept: c.kept, parts: map[Column]*Estimate{site(12): {Power: 1}, site(0): {Power: 2}}}
	if k, e := f.Part(site(13)); k != site(0) || e.Power != 2 {
		t.Errorf("%d with %+v, want what is left of the function", k, e)
	}
	if k, e := f.Part(site(14)); k != site(12) || e.Power != 1 {
		t.Errorf("%d with %+v, want the context", k, e)
	}
}

// The contexts that a run's blocks keep apart are bounded. What is no longer kept apart is
// the function's, and nothing is lost.
func TestContextsInBlocksAreBounded(t *testing.T) {
	const functions = 10
	of := func(k Column) Column {
		if i := int(k - First); i >= functions {
			return site(i % functions)
		}
		return Outside
	}
	c := newCollector(1e6, 0, of)
	total := 0.0
	for i := range 4 * maxContexts {
		rare := site(functions + i)
		c.add(10e6, []float64{1}, []Entry{{site(1), 1e6}, {site(functions + 5), 2e6}, {rare, 1e5}}, true)
		total += 3.1e6
	}
	seen, sum := map[Column]bool{}, 0.0
	for _, b := range c.blocks {
		for i, e := range b.times {
			if i > 0 && b.times[i-1].Column >= e.Column {
				t.Fatalf("columns %d and %d follow each other", b.times[i-1].Column, e.Column)
			}
			seen[e.Column] = true
			sum += float64(e.Time)
		}
	}
	if math.Abs(sum/total-1) > 1e-6 || len(seen) > 2*maxContexts+functions || !seen[site(functions+5)] {
		t.Errorf("%d columns have %g of %g ns", len(seen), sum, total)
	}
}

// What the parts of a function may be off by beyond their replicas is in its interval, as in theirs, and makes it no noise.
func TestPartsKeepTheirBlur(t *testing.T) {
	same := make([]float64, Replicas)
	for i := range same {
		same[i] = 1
	}
	parts := []*Estimate{{Energy: 60, HalfWidth: 33, Edges: 3, Blur: 30, Replicas: same},
		{Energy: 40, HalfWidth: 29, Edges: 4, Blur: 25, Replicas: same}}
	if e := together(parts, 1, 2); e.Energy != 100 || e.Blur != 55 || e.HalfWidth != 60 || e.Edges != 5 || e.Reason != Resolved {
		t.Errorf("%+v, want 100 +- 60, 55 of it blur", e)
	}
}
