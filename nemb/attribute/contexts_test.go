package attribute

import (
	"math"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb/attribute/paths"
	"cg/nemb/attribute/regression"
)

// pathEnergy is the energy of a function as called by another, in joules.
func pathEnergy(r Result, site, caller checkpoint.SiteID) (joules float64) {
	for _, p := range r.Paths {
		if p.Site == site && p.Parent >= 0 && r.Paths[p.Parent].Site == caller {
			joules += p.Self.Joules()
		}
	}
	return joules
}

// A function that draws 20 W for one caller and 5 W for another has both: each call path
// has its energy within 15 %, and so has each caller with what it called.
func TestContextsHaveTheirPower(t *testing.T) {
	for _, p := range []truth{
		{name: "random", mean: 500 * time.Microsecond},
		{name: "alternating", mean: 500 * time.Microsecond, strict: true},
		{name: "short", mean: 100 * time.Microsecond},
		{name: "noise", mean: 500 * time.Microsecond, noise: 0.2},
		{name: "phases", mean: 5 * time.Millisecond, phases: 2 * time.Second},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.functions, p.callers, p.threads, p.length, p.seed = 3, []float64{20, 5}, 1, 12*time.Second, 1
			r := p.play()
			lawful(t, r.result)
			for caller := checkpoint.SiteID(1); caller <= 2; caller++ {
				truth := r.all[caller] - r.energy[caller]
				if got := pathEnergy(r.result, 3, caller); math.Abs(got/truth-1) > 0.15 {
					t.Errorf("called by %d it used %.2f J, want %.2f J", caller, got, truth)
				}
				c := cost(t, r.result, caller)
				if got, want := c.Inclusive.Energy.Joules(), r.all[caller]; math.Abs(got/want-1) > 0.15 {
					t.Errorf("%d used %.2f J with what it called, want %.2f J", caller, got, want)
				}
			}
			c := cost(t, r.result, 3)
			if math.Abs(c.Self.Energy.Joules()/r.energy[3]-1) > 0.05 || c.Reason != Resolved || c.Method != Regression {
				t.Errorf("%+v, want %.2f J", c, r.energy[3])
			}
		})
	}
}

// Callers of a function that has one power leave it that power, over many runs: its
// energy by call path is in proportion to processor time, exactly.
func TestOnePowerIsNotSplit(t *testing.T) {
	split := 0
	for seed := range uint64(20) {
		p := truth{
			functions: 3, callers: []float64{20, 20}, threads: 1, length: 4 * time.Second, seed: seed + 1,
			mean: 500 * time.Microsecond, noise: 0.1,
		}
		r := p.play().result
		var power [2]float64
		for _, path := range r.Paths {
			if path.Site == 3 {
				power[r.Paths[path.Parent].Site-1] = path.Self.Joules() / path.CPUTime.Seconds()
			}
		}
		if math.Abs(power[0]/power[1]-1) > 1e-3 {
			split++
		}
	}
	if split > 2 {
		t.Errorf("in %d of 20 runs the callers differ", split)
	}
}

// Where callers always come in turns and take the same, nothing tells their powers apart:
// the function has one, and the intervals of its callers hold the truth.
func TestDoubtOfContexts(t *testing.T) {
	p := truth{
		functions: 3, callers: []float64{20, 8}, threads: 1, length: 10 * time.Second, seed: 1,
		mean: 500 * time.Microsecond, exact: true, strict: true,
	}
	r := p.play()
	lawful(t, r.result)
	for caller := checkpoint.SiteID(1); caller <= 2; caller++ {
		if c := cost(t, r.result, caller); c.Inclusive.Lo.Joules() > r.all[caller] || c.Inclusive.Hi.Joules() < r.all[caller] {
			t.Errorf("%d: %+v does not hold %.2f J", caller, c.Inclusive, r.all[caller])
		}
	}
}

// A call path has the context of its callers, from the nearest on. Recursion counts once.
func TestContextsOfPaths(t *testing.T) {
	tree := paths.NewTree()
	add := func(sites ...checkpoint.SiteID) int32 {
		n := paths.Root
		for _, site := range sites {
			n = tree.Path(n, site, 0)
		}
		return n
	}
	c := newContexts(tree)
	near, far := c.path(add(1, 2, 3)), c.path(add(4, 2, 3))
	if near == far || c.of(near) != c.of(far) || c.of(c.of(near)) != c.function(3) ||
		c.of(c.function(3)) != regression.Outside {
		t.Errorf("%d in %d, %d in %d", near, c.of(near), far, c.of(far))
	}
	if k := c.path(add(1, 2, 2, 2, 3, 3)); k != near || c.site(k) != 3 {
		t.Errorf("recursion has context %d, want %d", k, near)
	}
	if c.path(add(1, checkpoint.OwnSite)) != regression.Runtime || c.path(paths.Root) != regression.Outside {
		t.Error("the runtime or the root is a function")
	}
	deep := []checkpoint.SiteID{}
	for i := range 3 * maxCallers {
		deep = append(deep, checkpoint.SiteID(i+10))
	}
	n := 0
	for k := c.path(add(deep...)); c.of(k) != regression.Outside; k = c.of(k) {
		n++
	}
	if n != maxCallers {
		t.Errorf("%d callers, want %d", n, maxCallers)
	}
}

// However many call paths a program has, their contexts have a limit, and a function is
// always one.
func TestContextsAreBounded(t *testing.T) {
	tree := paths.NewTree()
	c := newContexts(tree)
	for i := range 2 * maxContexts {
		caller := tree.Path(paths.Root, checkpoint.SiteID(i+2), 0)
		if k := c.path(tree.Path(caller, 1, 0)); c.site(k) != 1 {
			t.Fatalf("path %d has context %d of %d", i, k, c.site(k))
		}
	}
	// The context with a caller that is new is missing, and so are those within it.
	far := tree.Path(tree.Path(tree.Path(paths.Root, 2, 0), maxContexts+7, 0), 1, 0)
	if k := c.path(far); k != c.function(1) {
		t.Errorf("a call by a new function has context %d of %d in %d", k, c.site(k), c.of(k))
	}
	if n := len(c.sites); n > maxContexts+2 {
		t.Errorf("%d contexts", n)
	}
	if k := c.function(5 * maxContexts); c.site(k) != 5*maxContexts || c.of(k) != regression.Outside {
		t.Errorf("a function has column %d of %d", k, c.site(k))
	}
}
