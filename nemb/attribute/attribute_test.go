package attribute

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/long"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/stacks"
	"cg/nemb/attribute/windows"
)

// Virtual time: a tick is a nanosecond, and the run begins at origin.
const (
	ms     = 1_000_000
	origin = 1000 * ms
)

var counter = nemb.Domain{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}

// tape is a program on virtual time: words per thread, and samples of a
// machine that draws watts while the program runs.
type tape struct {
	a     *Attributor
	words map[checkpoint.Thread][]checkpoint.Word
	start map[checkpoint.Thread]checkpoint.Tick
	last  map[uint32]bool // threads that end with their last word

	background []string
	// strands are the threads whose words tell of strands.
	strands map[checkpoint.Thread]bool
	each    float64 // what the writer says an event costs, ns

	othersUnknown bool
	cpus          int // of the machine, 0 is 2
}

func (t *tape) add(thread uint32, at int64, kind checkpoint.Kind, site checkpoint.SiteID) {
	at += origin
	id := checkpoint.Thread{PID: 1, TID: thread}
	if t.words == nil {
		t.words = map[checkpoint.Thread][]checkpoint.Word{}
		t.start = map[checkpoint.Thread]checkpoint.Tick{}
	}
	if _, ok := t.start[id]; !ok {
		t.start[id] = checkpoint.Tick(at)
	}
	t.words[id] = append(t.words[id], checkpoint.Pack(checkpoint.Tick(at), kind, site))
	if kind == checkpoint.Strand {
		if t.strands == nil {
			t.strands = map[checkpoint.Thread]bool{}
		}
		t.strands[id] = true
	}
}

// play folds the tape with samples every period, with the processor time that
// cpu gives for each moment, and the energy that energy gives.
func (t *tape) play(domains []nemb.Domain, end, period int64, energy func(int64) []nemb.Energy, usage func(int64) account.Usage) Result {
	return t.playAt(domains, end, func(int64) int64 { return period }, energy, usage)
}

// playAt plays with a sample so long after each.
func (t *tape) playAt(domains []nemb.Domain, end int64, period func(at int64) int64, energy func(int64) []nemb.Energy, usage func(int64) account.Usage) Result {
	t.a = New(domains, cmp.Or(t.cpus, 2))
	t.a.Background = t.background
	if t.othersUnknown {
		t.a.DoubtOthers()
	}
	for at := int64(0); ; at += period(at) {
		at = min(at, end)
		s := nemb.Sample{At: checkpoint.Tick(origin + at), Time: checkpoint.Instant(origin + at), Energy: energy(at), Usage: usage(at)}
		for id, words := range t.words {
			if at == 0 {
				continue
			}
			r := checkpoint.Run{Thread: id, First: true, Start: t.start[id], Words: words, Strands: t.strands[id]}
			r.Last, r.Cost = t.last[id.TID], t.each
			n := t.a.Fold(r, s.At+1000, s.At)
			t.words[id] = words[n:]
		}
		if at == end {
			t.a.Last(s)
			return t.a.Finish()
		}
		t.a.Close(s)
	}
}

func constant(watts float64) func(int64) []nemb.Energy {
	return func(at int64) []nemb.Energy { return []nemb.Energy{nemb.Energy(watts * float64(at) * 1e-3)} }
}

// alone is a program that uses one processor all the time.
func alone(at int64) account.Usage { return account.Usage{Program: time.Duration(at)} }

func cost(t *testing.T, r Result, site checkpoint.SiteID) Cost {
	t.Helper()
	for _, c := range r.Costs {
		if c.Site == site {
			return c
		}
	}
	t.Fatalf("site %d has no cost", site)
	return Cost{}
}

func lawful(t *testing.T, r Result) {
	t.Helper()
	sum := nemb.Energy(0)
	for _, c := range r.Costs {
		sum += c.Self.Energy
		if c.Self.Lo > c.Self.Energy || c.Self.Hi < c.Self.Energy || c.Inclusive.Lo > c.Inclusive.Energy || c.Inclusive.Hi < c.Inclusive.Energy {
			t.Errorf("site %d: the interval does not hold the value: %+v", c.Site, c)
		}
		if c.Inclusive.Energy < c.Self.Energy {
			t.Errorf("site %d: inclusive %d < self %d", c.Site, c.Inclusive.Energy, c.Self.Energy)
		}
	}
	if sum != r.Total.Functions {
		t.Errorf("self energies add up to %d, the ledger says %d", sum, r.Total.Functions)
	}
	if !r.Total.Balanced() {
		t.Errorf("the ledger does not balance: %+v", r.Total)
	}
	for d, l := range r.Domains {
		if !l.Balanced() {
			t.Errorf("domain %d does not balance: %+v", d, l)
		}
	}
	lawfulPaths(t, r)
}

// lawfulPaths holds the paths against the costs that they are the parts of.
func lawfulPaths(t *testing.T, r Result) {
	t.Helper()
	type part struct {
		self  nemb.Energy
		calls uint64
	}
	var sum, others nemb.Energy
	bySite := map[checkpoint.SiteID]part{}
	for i, p := range r.Paths {
		if p.Parent >= i || (p.Parent < 0) != (i == 0) {
			t.Errorf("path %d lies below path %d", i, p.Parent)
		}
		sum += p.Self
		if i > 0 && p.Site == 0 {
			others += p.Self
		}
		b := bySite[p.Site]
		bySite[p.Site] = part{b.self + p.Self, b.calls + p.Calls}
	}
	if sum != r.Total.Functions+r.Total.Uninstrumented || r.Paths[0].Self != r.Total.Uninstrumented {
		t.Errorf("the paths add up to %d and begin with %d, the ledger is %+v", sum, r.Paths[0].Self, r.Total)
	}
	for _, c := range r.Costs {
		if c.Site == 0 { // a word that is none of a site's
			continue
		}
		if b := bySite[c.Site]; others == 0 && len(r.Paths) < FewPaths/2 && b != (part{c.Self.Energy, c.Calls}) {
			t.Errorf("site %d: %+v in paths, %d in %d calls", c.Site, b, c.Self.Energy, c.Calls)
		}
	}
}

// The paths that used most are listed, their callers with them, and the others in
// one for each caller: 1 calls 2, which calls 3 and 4; and 5, 6 and 7, which calls 8.
func TestListedPaths(t *testing.T) {
	st := stacks.New()
	var words []checkpoint.Word
	at := checkpoint.Tick(1)
	call := func(site checkpoint.SiteID, calls uint64, within func()) {
		for i := range calls {
			words = append(words, checkpoint.Pack(at, checkpoint.Enter, site))
			if within != nil && i == 0 {
				within()
			}
			words = append(words, checkpoint.Pack(at, checkpoint.Exit, site))
		}
	}
	call(1, 1, func() {
		call(2, 2, func() { call(3, 3, nil); call(4, 4, nil) })
		call(5, 5, nil)
		call(6, 6, nil)
		call(7, 7, func() { call(8, 8, nil) })
	})
	st.Fold(checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1, Words: words}, 2, 2)
	self := []nemb.Energy{1, 10, 20, 300, 4, 5, 6, 7, 8}
	list := func(domains, few, most int) []Path {
		all := make([]nemb.Domain, domains)
		all[0].InTotal, all[domains-1].InTotal = true, true
		w := windows.New(all, 1, st.Tree)
		w.End()
		o := &outcome{explanation: &explanation{windows: w}, stacks: st, tree: st.Tree}
		for range domains { // what is in one domain is, here, in the other
			o.whole = append(o.whole, self)
		}
		u := o.sumSubtrees()
		u.self = self
		return o.listPaths(u, few, most)
	}
	want := []Path{
		{Parent: -1, Self: 1},
		{Parent: 0, Site: 1, Calls: 1, Self: 10},
		{Parent: 1, Site: 2, Calls: 2, Self: 20},
		{Parent: 2, Site: 3, Calls: 3, Self: 300},
		{Parent: 2, Calls: 4, Self: 4},
		{Parent: 1, Calls: 5 + 6 + 7 + 8, Self: 5 + 6 + 7 + 8},
	}
	for i := range want {
		want[i].Domains = []nemb.Energy{want[i].Self, want[i].Self}
	}
	if got := list(2, 8, 8); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	all := list(1, 9, 9)
	if len(all) != 9 || !reflect.DeepEqual(all[8], Path{Parent: 7, Site: 8, Calls: 8, Self: 8}) {
		t.Errorf("%+v", all)
	}
	// All that are not small are listed, up to twice the most.
	if got := list(2, 4, 8); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := list(1, 4, 18); !reflect.DeepEqual(got, all) {
		t.Errorf("%+v", got)
	}
	self = []nemb.Energy{1, 10, 20, 300_000_000, 4, 5, 6, 7, 8}
	if got := list(2, 4, 18); len(got) != len(want) { // small ones are together
		t.Errorf("%+v", got)
	}
}

func near(a, b nemb.Energy, within float64) bool {
	return math.Abs(float64(a)-float64(b)) <= within*float64(b)+1
}

// One function in another, at 10 W: 1 is there from 100 to 900 ms and calls 2
// from 300 to 700 ms.
func TestSelfAndInclusive(t *testing.T) {
	var p tape
	p.add(1, 100*ms, checkpoint.Enter, 1)
	p.add(1, 300*ms, checkpoint.Enter, 2)
	p.add(1, 700*ms, checkpoint.Exit, 2)
	p.add(1, 900*ms, checkpoint.Exit, 1)
	r := p.play([]nemb.Domain{counter}, 1000*ms, 10*ms, constant(10), alone)
	lawful(t, r)
	outer, inner := cost(t, r, 1), cost(t, r, 2)
	if !near(outer.Self.Energy, 4_000_000, 1e-4) || !near(outer.Inclusive.Energy, 8_000_000, 1e-4) || !near(inner.Self.Energy, 4_000_000, 1e-4) {
		t.Errorf("outer %+v inner %+v", outer.Self, inner.Self)
	}
	if outer.SelfTime != 400*time.Millisecond || inner.InclusiveTime != 400*time.Millisecond || outer.InclusiveTime != 800*time.Millisecond {
		t.Errorf("times: outer %v %v inner %v", outer.SelfTime, outer.InclusiveTime, inner.InclusiveTime)
	}
	if !near(r.Total.Uninstrumented, 2_000_000, 1e-4) || r.Total.Total != 10_000_000 {
		t.Errorf("ledger %+v", r.Total)
	}
	if !near(inner.Self.Lo, 4_000_000, 1e-4) || !near(inner.Self.Hi, 4_000_000, 1e-4) {
		t.Errorf("a function that fills its windows is known exactly, got %+v", inner.Self)
	}
}

// A recursive function counts once in its inclusive energy.
func TestRecursion(t *testing.T) {
	var p tape
	for i := range int64(5) {
		p.add(1, (i+1)*100*ms, checkpoint.Enter, 1)
	}
	for i := range int64(5) {
		p.add(1, (i+6)*100*ms, checkpoint.Exit, 1)
	}
	r := p.play([]nemb.Domain{counter}, 1100*ms, 10*ms, constant(10), alone)
	lawful(t, r)
	if c := cost(t, r, 1); c.Calls != 5 || !near(c.Self.Energy, 9_000_000, 1e-4) || c.Inclusive.Energy != c.Self.Energy {
		t.Errorf("%+v", c)
	}
}

// A generator that is suspended does not run, and its caller does.
func TestSuspension(t *testing.T) {
	var p tape
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, 100*ms, checkpoint.Enter, 2)
	p.add(1, 200*ms, checkpoint.Suspend, 2)
	p.add(1, 700*ms, checkpoint.Resume, 2)
	p.add(1, 800*ms, checkpoint.Exit, 2)
	p.add(1, 1000*ms, checkpoint.Exit, 1)
	r := p.play([]nemb.Domain{counter}, 1000*ms, 10*ms, constant(10), alone)
	lawful(t, r)
	if c := cost(t, r, 2); c.Calls != 1 || c.SelfTime != 200*time.Millisecond || c.Suspended != 500*time.Millisecond || c.Self.Energy != 2_000_000 {
		t.Errorf("%+v", c)
	}
	if c := cost(t, r, 1); c.Self.Energy != 8_000_000 || c.Inclusive.Energy != 10_000_000 {
		t.Errorf("%+v", c)
	}
}

// Frames that were left without an exit end with the frame that catches.
func TestUnwinding(t *testing.T) {
	for name, c := range map[string]struct {
		kind checkpoint.Kind
		want time.Duration // self time of 1
	}{
		"handler": {checkpoint.Unwind, 700 * time.Millisecond},
		"exit":    {checkpoint.Exit, 200 * time.Millisecond},
	} {
		var p tape
		p.add(1, 0, checkpoint.Enter, 1)
		p.add(1, 200*ms, checkpoint.Enter, 2)
		p.add(1, 300*ms, checkpoint.Enter, 3)
		p.add(1, 500*ms, c.kind, 1)
		if c.kind == checkpoint.Unwind {
			p.add(1, 1000*ms, checkpoint.Exit, 1)
		}
		r := p.play([]nemb.Domain{counter}, 1000*ms, 10*ms, constant(10), alone)
		lawful(t, r)
		if got := cost(t, r, 1); got.SelfTime != c.want || r.Stats.Unwound != 2 {
			t.Errorf("%s: %v, %d unwound", name, got.SelfTime, r.Stats.Unwound)
		}
	}
}

// The exit of a suspended frame leaves the running ones alone, and a handler
// brings a suspended frame back.
func TestClosedWhileSuspended(t *testing.T) {
	var p tape
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, 100*ms, checkpoint.Enter, 2)
	p.add(1, 200*ms, checkpoint.Suspend, 2)
	p.add(1, 400*ms, checkpoint.Exit, 2) // close()
	p.add(1, 500*ms, checkpoint.Enter, 3)
	p.add(1, 600*ms, checkpoint.Suspend, 3)
	p.add(1, 700*ms, checkpoint.Unwind, 3) // throw(), caught inside
	p.add(1, 800*ms, checkpoint.Exit, 3)
	p.add(1, 1000*ms, checkpoint.Exit, 1)
	r := p.play([]nemb.Domain{counter}, 1000*ms, 10*ms, constant(10), alone)
	lawful(t, r)
	if c := cost(t, r, 1); c.SelfTime != 700*time.Millisecond {
		t.Errorf("%+v", c)
	}
	if c := cost(t, r, 3); c.SelfTime != 200*time.Millisecond || c.Suspended != 100*time.Millisecond {
		t.Errorf("%+v", c)
	}
	if r.Stats.Closed != 1 {
		t.Errorf("%d closed", r.Stats.Closed)
	}
}

// Two busy threads share the program's power; a third one that sleeps in a
// function gets nothing, and a fourth that waits most of the time what it burns.
func TestThreadsShareByProcessorTime(t *testing.T) {
	var p tape
	for thread := range uint32(4) {
		p.add(thread+1, 0, checkpoint.Enter, checkpoint.SiteID(thread+1))
		p.add(thread+1, 1000*ms, checkpoint.Exit, checkpoint.SiteID(thread+1))
	}
	usage := func(at int64) account.Usage {
		u := account.Usage{Program: time.Duration(2 * at)}
		for thread, percent := range []int64{95, 95, 0, 10} {
			u.Threads = append(u.Threads, account.ThreadUsage{Thread: checkpoint.Thread{PID: 1, TID: uint32(thread + 1)}, CPU: time.Duration(percent * at / 100)})
		}
		return u
	}
	r := p.play([]nemb.Domain{counter}, 1000*ms, 10*ms, constant(30), usage)
	lawful(t, r)
	for site, want := range map[checkpoint.SiteID]nemb.Energy{1: 14_250_000, 2: 14_250_000, 3: 0, 4: 1_500_000} {
		if c := cost(t, r, site); !near(c.Self.Energy, want, 0.001) {
			t.Errorf("site %d: %d, want %d", site, c.Self.Energy, want)
		}
	}
}

// The kernel tells a thread's time late, by up to a tick, and what a process
// uses after its thread has ended: neither makes a function draw more power
// than the machine gives.
func TestLateAccounts(t *testing.T) {
	var p tape
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, 500*ms, checkpoint.Exit, 1)
	p.add(1, 500*ms, checkpoint.Enter, 2)
	p.add(1, 503*ms, checkpoint.Exit, 2)
	p.last = map[uint32]bool{1: true}
	usage := func(at int64) account.Usage {
		u := account.Usage{Program: time.Duration(min(at, 600*ms))}
		told := min(at, 600*ms)
		if at/10/ms%2 == 1 {
			told -= 4 * ms
		}
		u.Threads = []account.ThreadUsage{{Thread: checkpoint.Thread{PID: 1, TID: 1}, CPU: time.Duration(told)}}
		return u
	}
	r := p.play([]nemb.Domain{counter}, 700*ms, 10*ms, constant(10), usage)
	lawful(t, r)
	if c := cost(t, r, 1); !near(c.Self.Energy, 5_000_000, 0.01) {
		t.Errorf("1: %+v", c.Self)
	}
	if c := cost(t, r, 2); c.Self.Energy > 75_000 || c.Self.Energy < 20_000 {
		t.Errorf("2 drew %d uJ in 3 ms at 10 W", c.Self.Energy)
	}
}

// Other processes, cg and an idle machine have lines of their own.
func TestLedgerLines(t *testing.T) {
	var p tape
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, 1000*ms, checkpoint.Exit, 1)
	model := nemb.Domain{ID: "cpu", Method: nemb.Estimated, InTotal: true, Lo: 0.5, Hi: 1.5, Base: 4}
	usage := func(at int64) account.Usage {
		return account.Usage{Program: time.Duration(at / 2), Own: time.Duration(at / 10), Other: time.Duration(2 * at / 5)}
	}
	r := p.play([]nemb.Domain{model}, 1000*ms, 10*ms, constant(14), usage)
	lawful(t, r)
	want := Ledger{Functions: 5_000_000, Own: 1_000_000, Other: 4_000_000, Idle: 4_000_000, Total: 14_000_000}
	if l := r.Total; !near(l.Functions, want.Functions, 1e-4) || !near(l.Own, want.Own, 1e-4) || !near(l.Other, want.Other, 1e-4) || !near(l.Idle, want.Idle, 1e-4) || l.Total != want.Total {
		t.Errorf("%+v, want %+v", l, want)
	}
	if c := cost(t, r, 1); !near(c.Self.Lo, 2_500_000, 1e-3) || !near(c.Self.Hi, 7_500_000, 1e-3) {
		t.Errorf("%+v", c.Self)
	}
}

// Threads beside those of the program have lines of their own, in proportion to
// what they used, and the functions and the rest as much less.
func TestBackground(t *testing.T) {
	var p tape
	p.background = []string{"collection", "compilation"}
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, 1000*ms, checkpoint.Exit, 1)
	thread := checkpoint.Thread{PID: 1, TID: 1}
	// Two processors: the function's thread uses half of one, collection a
	// quarter, compilation an eighth in the first half, and the rest a quarter.
	usage := func(at int64) account.Usage {
		compiling := min(at, 500*ms) / 8
		return account.Usage{
			Program:    time.Duration(at + compiling),
			Threads:    []account.ThreadUsage{{Thread: thread, CPU: time.Duration(at / 2)}},
			Background: []time.Duration{time.Duration(at / 4), time.Duration(compiling)},
		}
	}
	second := nemb.Domain{ID: "dram-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}
	energy := func(at int64) []nemb.Energy {
		e := nemb.Energy(9 * at / 1000)
		return []nemb.Energy{e, e / 9}
	}
	r := p.play([]nemb.Domain{counter, second}, 1000*ms, 10*ms, energy, usage)
	lawful(t, r)
	// 9 W: in the first half 4, 2, 1 and 2 of them, then 4.5, 2.25, 0 and 2.25.
	want := Ledger{Functions: 4_250_000, Uninstrumented: 2_125_000, Background: []nemb.Energy{2_125_000, 500_000}}
	for d, l := range r.Domains {
		scale := []nemb.Energy{1, 9}[d]
		if !near(l.Functions*scale, want.Functions, 1e-4) || !near(l.Uninstrumented*scale, want.Uninstrumented, 1e-4) ||
			!near(l.Background[0]*scale, want.Background[0], 1e-4) || !near(l.Background[1]*scale, want.Background[1], 1e-4) {
			t.Errorf("domain %d: %+v, want %+v", d, l, want)
		}
	}
	if l := r.Total; !near(l.Background[0]*9, want.Background[0]*10, 1e-4) || !near(l.Program(), 10_000_000, 1e-6) || !slices.Equal(r.Background, p.background) {
		t.Errorf("%+v of %q", l, r.Background)
	}
	if c := cost(t, r, 1); c.Self.Energy != r.Total.Functions || !near(c.Self.Energy*9, want.Functions*10, 1e-4) {
		t.Errorf("%+v", c.Self)
	}
}

// A counter does not tell idle power: it is set aside by the published share,
// and the bounds hold the truth for any share from none to the largest.
func TestIdleShare(t *testing.T) {
	d := counter
	d.IdleShare, d.IdleShareMost = 0.2, 0.4
	for _, truth := range []float64{0, 0.2, 0.4} {
		// One of two processors is in use; at full use the machine draws 20 W.
		watts := 20 * (truth + (1-truth)/2)
		program := nemb.Energy(20 * (1 - truth) / 2 * 1e6)
		var p tape
		p.add(1, 0, checkpoint.Enter, 1)
		p.add(1, 1000*ms, checkpoint.Exit, 1)
		r := p.play([]nemb.Domain{d}, 1000*ms, 10*ms, constant(watts), alone)
		lawful(t, r)
		if truth == 0.2 && !near(r.Total.Program(), program, 1e-3) {
			t.Errorf("program %d, want %d", r.Total.Program(), program)
		}
		lo, hi := float64(r.Total.ProgramLo)*0.999, float64(r.Total.ProgramHi)*1.001
		if float64(program) < lo || float64(program) > hi {
			t.Errorf("share %g: [%.0f, %.0f] does not hold %d", truth, lo, hi, program)
		}
		if c := cost(t, r, 1); float64(program) < float64(c.Self.Lo)*0.999 || float64(program) > float64(c.Self.Hi)*1.001 {
			t.Errorf("share %g: function %+v does not hold %d", truth, c.Self, program)
		}
	}
	// A sleeping program: the machine's energy is idle, not anybody's.
	var p tape
	p.add(1, 0, checkpoint.Enter, 1)
	r := p.play([]nemb.Domain{d}, 1000*ms, 10*ms, constant(5), func(at int64) account.Usage {
		return account.Usage{Own: time.Duration(at / 1000), Threads: []account.ThreadUsage{{Thread: checkpoint.Thread{PID: 1, TID: 1}}}}
	})
	lawful(t, r)
	if r.Total.Idle < 4_950_000 || r.Total.Own > 20_000 {
		t.Errorf("%+v", r.Total)
	}
}

// Bounds are of a site, not of its call paths: a window counts once, however
// many paths and threads the site ran on in it, and a recursive function that
// has a window to itself has it whole.
func TestBoundsAreOfSites(t *testing.T) {
	var p tape
	p.add(1, 0, checkpoint.Enter, 9)
	for at := int64(0); at < 1000*ms; at += 2 * ms { // leaf 3 from 1 and from 2
		p.add(1, at, checkpoint.Enter, checkpoint.SiteID(1+at/2/ms%2))
		p.add(1, at, checkpoint.Enter, 3)
		p.add(1, at+ms, checkpoint.Exit, 3)
		p.add(1, at+2*ms, checkpoint.Exit, checkpoint.SiteID(1+at/2/ms%2))
	}
	for i := range int64(100) { // 4 in 4 in 4 ...
		p.add(1, 1000*ms+i*ms, checkpoint.Enter, 4)
	}
	p.add(1, 2000*ms, checkpoint.Exit, 9)
	r := p.play([]nemb.Domain{counter}, 2000*ms, 10*ms, constant(10), alone)
	lawful(t, r)
	if leaf := cost(t, r, 3).Self; leaf.Lo != 0 || !near(leaf.Hi, 10_000_000, 0.02) || !near(leaf.Energy, 5_000_000, 0.01) {
		t.Errorf("leaf %+v", leaf)
	}
	deep := cost(t, r, 4)
	if !near(deep.Self.Lo, 10_000_000, 0.02) || !near(deep.Self.Hi, 10_000_000, 0.02) || !near(deep.Inclusive.Lo, 10_000_000, 0.02) {
		t.Errorf("recursive %+v %+v", deep.Self, deep.Inclusive)
	}
	if outer := cost(t, r, 9).Inclusive; !near(outer.Lo, 20_000_000, 0.02) {
		t.Errorf("outer %+v", outer)
	}
}

// Threads that live too shortly to be read share what the program used and
// nobody is known to have: they may have slept.
func TestShortThreads(t *testing.T) {
	var p tape
	p.last = map[uint32]bool{}
	p.add(1, 0, checkpoint.Enter, 1)
	for i := range uint32(30) {
		at := int64(i) * 30 * ms
		p.add(2+i, at, checkpoint.Enter, 2)
		p.add(2+i, at+29*ms, checkpoint.Exit, 2)
		p.last[2+i] = true
	}
	p.add(1, 1000*ms, checkpoint.Exit, 1)
	r := p.play([]nemb.Domain{counter}, 1000*ms, 100*ms, constant(10), func(at int64) account.Usage {
		return account.Usage{Program: time.Duration(at), Threads: []account.ThreadUsage{{Thread: checkpoint.Thread{PID: 1, TID: 1}, CPU: time.Duration(at)}}}
	})
	lawful(t, r)
	if nap := cost(t, r, 2); nap.Self.Energy > 100_000 {
		t.Errorf("sleeping threads drew %+v", nap)
	}
}

// What the runtime does for cg inside the program is cg's, not its caller's.
// A thread whose time nobody has read has used what it was in its sites, and
// that is theirs: a quarter of a window is a quarter of its energy, at 10 W.
func TestNeverReadThread(t *testing.T) {
	var p tape
	p.add(1, 4*ms, checkpoint.Enter, 1)
	p.add(1, 14*ms, checkpoint.Exit, 1)
	r := p.play([]nemb.Domain{counter}, 40*ms, 20*ms, constant(10), func(at int64) account.Usage {
		return account.Usage{Program: time.Duration(at)}
	})
	lawful(t, r)
	if c := cost(t, r, 1); !near(c.Self.Energy, 100_000, 0.001) || c.CPUTime != 10*time.Millisecond {
		t.Errorf("%+v, want 100 mJ of 10 ms", c)
	}
}

func TestOwnWork(t *testing.T) {
	var p tape
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, 200*ms, checkpoint.Enter, checkpoint.OwnSite)
	p.add(1, 500*ms, checkpoint.Exit, checkpoint.OwnSite)
	p.add(1, 1000*ms, checkpoint.Exit, 1)
	r := p.play([]nemb.Domain{counter}, 1000*ms, 10*ms, constant(10), alone)
	lawful(t, r)
	c := cost(t, r, 1)
	if len(r.Costs) != 1 || c.Inclusive.Energy != 7_000_000 || c.InclusiveTime != 700*time.Millisecond || r.Total.Own != 3_000_000 {
		t.Errorf("%+v %+v", r.Costs, r.Total)
	}
	if took := 300 * time.Millisecond; r.Total.Runtime != r.Total.Own || r.Runtime != took || r.RuntimeCPU != took {
		t.Errorf("cg's work in the program: %d uJ, %v, %v of processor time", r.Total.Runtime, r.Runtime, r.RuntimeCPU)
	}
}

// A window whose reading failed is joined with the next; at the end its energy
// is unattributed.
func TestFailedReadings(t *testing.T) {
	a := New([]nemb.Domain{counter}, 2)
	at := func(t int64, e nemb.Energy, gap bool) nemb.Sample {
		return nemb.Sample{At: checkpoint.Tick(t), Time: checkpoint.Instant(t), Energy: []nemb.Energy{e}, Failed: gap, Gap: gap, Usage: account.Usage{Program: time.Duration(t)}}
	}
	a.Close(at(0, 0, false))
	id := checkpoint.Thread{PID: 1, TID: 1}
	words := []checkpoint.Word{checkpoint.Pack(1, checkpoint.Enter, 1)}
	a.Fold(checkpoint.Run{Thread: id, First: true, Start: 1, Words: words}, 10*ms, 10*ms)
	a.Close(at(10*ms, 0, true))
	a.Close(at(20*ms, 200_000, false))
	a.Last(at(30*ms, 250_000, true))
	r := a.Finish()
	lawful(t, r)
	if r.Stats.Merged != 1 || r.Total.Unattributed != 50_000 || !near(r.Total.Functions, 200_000, 1e-5) {
		t.Errorf("%+v %+v", r.Stats, r.Total)
	}
}

// A forked thread goes on with the stack of its parent at that moment.
func TestFork(t *testing.T) {
	a := New([]nemb.Domain{counter}, 2)
	sample := func(t int64) nemb.Sample {
		return nemb.Sample{At: checkpoint.Tick(t), Time: checkpoint.Instant(t), Energy: constant(10)(t), Usage: alone(t)}
	}
	a.Close(sample(0))
	parent, child := checkpoint.Thread{PID: 1, TID: 1}, checkpoint.Thread{PID: 2, TID: 2}
	before := checkpoint.Run{Thread: parent, First: true, Start: 1, Words: []checkpoint.Word{
		checkpoint.Pack(10, checkpoint.Enter, 1),
		checkpoint.Pack(20, checkpoint.Enter, 2),
		checkpoint.Pack(30, checkpoint.Fork, 0),
		checkpoint.Pack(40, checkpoint.Exit, 2),
	}}
	born := checkpoint.Run{Thread: child, First: true, Forked: true, Parent: parent, ForkTick: 30, Start: 50, Words: []checkpoint.Word{
		checkpoint.Pack(60, checkpoint.Enter, 3),
		checkpoint.Pack(70, checkpoint.Exit, 3),
		checkpoint.Pack(80, checkpoint.Exit, 2),
	}}
	// A sample before the fork: the child's words are there, too, and not taken.
	before.Words = before.Words[a.Fold(before, ms, 25):]
	if n := a.Fold(born, ms, 25); n != 0 {
		t.Fatalf("%d words of the child are taken", n)
	}
	a.Fold(before, ms, ms)
	a.Fold(born, ms, ms)
	a.Last(sample(ms))
	r := a.Finish()
	lawful(t, r)
	// 3 was called inside 2 inside 1, in the child as in the parent.
	if one, three := cost(t, r, 1), cost(t, r, 3); one.InclusiveTime < three.InclusiveTime || one.Calls != 1 {
		t.Errorf("%+v %+v", one, three)
	}
	chain := map[checkpoint.SiteID]checkpoint.SiteID{}
	tree := a.stacks.Tree
	for n := int32(1); int(n) < tree.Len(); n++ {
		chain[tree.Site(n)] = tree.Site(tree.Parent(n))
	}
	if chain[3] != 2 || chain[2] != 1 || cost(t, r, 2).Calls != 1 || r.Stats.Closed != 0 {
		t.Errorf("%v, %+v", chain, r.Stats)
	}
}

// The 40 bits of a word wrap: time goes on.
func TestTicksWrap(t *testing.T) {
	a := New([]nemb.Domain{counter}, 2)
	base := int64(1<<40 - 5*ms)
	sample := func(t int64) nemb.Sample {
		return nemb.Sample{At: checkpoint.Tick(base + t), Time: checkpoint.Instant(base + t), Energy: constant(10)(t), Usage: alone(t)}
	}
	a.Close(sample(0))
	a.Fold(checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: checkpoint.Tick(base), Words: []checkpoint.Word{
		checkpoint.Pack(checkpoint.Tick(base+ms), checkpoint.Enter, 1),
		checkpoint.Pack(checkpoint.Tick(base+9*ms), checkpoint.Exit, 1),
	}}, checkpoint.Tick(base+10*ms), checkpoint.Tick(base+10*ms))
	a.Last(sample(10 * ms))
	r := a.Finish()
	lawful(t, r)
	if c := cost(t, r, 1); c.SelfTime != 8*time.Millisecond || r.Stats.Backwards != 0 {
		t.Errorf("%+v %+v", c, r.Stats)
	}
}

// The law holds on 100,000 random call trees: threads, exceptions, suspensions,
// several domains, wild power.
func TestConservation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	trees, regressed := 0, 0
	enough := long.Rounds(t, 20_000, 100_000)
	for trees < enough {
		var p tape
		end := int64(50+rng.IntN(100)) * ms
		if rng.IntN(10) == 0 {
			end *= 10
		}
		for thread := range uint32(1 + rng.IntN(4)) {
			at, depth := int64(0), 0
			for at < end {
				at += rng.Int64N(3 * ms)
				kind := checkpoint.Kind(rng.IntN(5))
				if depth == 0 && rng.IntN(3) > 0 {
					kind = checkpoint.Enter
				}
				switch {
				case kind == checkpoint.Enter && depth == 0:
					trees++
					depth++
				case kind == checkpoint.Enter:
					depth++
				case (kind == checkpoint.Exit || kind == checkpoint.Suspend) && depth > 0:
					depth--
				}
				p.add(thread+1, at, kind, checkpoint.SiteID(1+rng.IntN(6)))
			}
		}
		first := counter
		first.Period = time.Duration(rng.IntN(3)) * time.Millisecond
		second := nemb.Domain{ID: "dram-0", Method: nemb.Measured, InTotal: rng.IntN(2) == 0, Lo: 1, Hi: 1, Base: rng.Float64() * 10}
		e := [2]nemb.Energy{}
		var program, own, other time.Duration
		p.background = []string{"a", "b", "c"}[:rng.IntN(4)]
		used := make([]time.Duration, len(p.background))
		r := p.play([]nemb.Domain{first, second}, end, int64(1+rng.IntN(10))*ms,
			func(int64) []nemb.Energy {
				e[0] += nemb.Energy(rng.IntN(1000000))
				e[1] += nemb.Energy(rng.IntN(1000))
				return []nemb.Energy{e[0], e[1]}
			},
			func(int64) account.Usage {
				program += time.Duration(rng.IntN(20 * ms))
				own += time.Duration(rng.IntN(ms))
				other += time.Duration(rng.IntN(3 * ms))
				for i := range used {
					used[i] += time.Duration(rng.IntN(8 * ms))
				}
				return account.Usage{Program: program, Own: own, Other: other, Background: slices.Clone(used)}
			})
		lawful(t, r)
		if t.Failed() {
			return
		}
		for _, c := range r.Costs {
			if c.Method == Regression {
				regressed++
			}
		}
	}
	if regressed == 0 {
		t.Error("no function was told by regression")
	}
	t.Logf("%d call trees, %d functions told by regression", trees, regressed)
}

// FuzzFold: no sequence of words makes the attributor panic or lose energy.
func FuzzFold(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, b []byte) {
		var words []checkpoint.Word
		for len(b) >= 3 {
			words = append(words, checkpoint.Pack(checkpoint.Tick(b[0])<<6|2, checkpoint.Kind(b[1]), checkpoint.SiteID(b[2]&15)))
			b = b[3:]
		}
		for _, end := range []checkpoint.Tick{1 << 40, 1 << 38} { // in one window, and in many, with a regression
			d := counter
			d.Period = time.Millisecond
			a := New([]nemb.Domain{d}, 2)
			a.Close(nemb.Sample{Energy: []nemb.Energy{0}})
			run := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Words: words}
			if end < 1<<40 {
				for i := range checkpoint.Tick(20) {
					at := (i + 1) * (1 << 33)
					run.Words = run.Words[a.Fold(run, 1<<41, at):]
					run.First = false
					a.Close(nemb.Sample{At: at, Time: checkpoint.Instant(at), Energy: []nemb.Energy{nemb.Energy(1000 * (i*7%5 + 4*i))}, Usage: alone(int64(at))})
				}
			}
			run.Last = len(words)%2 == 0
			a.Fold(run, 1<<41, 1<<41)
			a.Last(nemb.Sample{At: end, Time: checkpoint.Instant(end), Energy: []nemb.Energy{12345678}, Usage: alone(int64(end))})
			lawful(t, a.Finish())
		}
	})
}

// BenchmarkFold folds the words of a random program with 200 functions, which
// call three others each, to depth 8: some thousand call paths. The reference
// in the same run is the sum of the words: one pass over memory.
func BenchmarkFold(b *testing.B) {
	const n = 1 << 20
	words := make([]checkpoint.Word, n)
	rng := rand.New(rand.NewPCG(3, 4))
	var stack []checkpoint.SiteID
	at := checkpoint.Tick(1000)
	for i := range words {
		at += checkpoint.Tick(25 + rng.IntN(200))
		if len(stack) == 0 || len(stack) < 8 && rng.IntN(2) == 0 {
			site := checkpoint.SiteID(1)
			if len(stack) > 0 {
				site = (stack[len(stack)-1]*7+checkpoint.SiteID(rng.IntN(3)))%200 + 1
			}
			stack = append(stack, site)
			words[i] = checkpoint.Pack(at, checkpoint.Enter, site)
		} else {
			words[i] = checkpoint.Pack(at, checkpoint.Exit, stack[len(stack)-1])
			stack = stack[:len(stack)-1]
		}
	}
	report := func(b *testing.B) {
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	}
	b.Run("attribute", func(b *testing.B) {
		a := New([]nemb.Domain{counter}, 2)
		a.Close(nemb.Sample{Energy: []nemb.Energy{0}})
		run := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1000}
		e := nemb.Energy(0)
		for i := range b.N {
			// In pieces of a millisecond, with a sample every ten.
			for k := 0; k < n; k += 8192 {
				run.Words = words[k : k+8192]
				a.Fold(run, at+1000, 1<<62)
			}
			e += 1000
			a.Close(nemb.Sample{At: at + checkpoint.Tick(i), Time: checkpoint.Instant(int(at) + i), Energy: []nemb.Energy{e}, Usage: alone(int64(i+1) * int64(at))})
			run.Start = 1000 + checkpoint.Tick(i+1)%2 // another thread: its time begins anew
		}
		report(b)
		b.ReportMetric(float64(a.stacks.Tree.Len()), "paths")
	})
	// What most programs are: the same calls over and over.
	b.Run("loop", func(b *testing.B) {
		loop := make([]checkpoint.Word, 1<<16)
		at := checkpoint.Tick(1000)
		for i := 0; i < len(loop); i += 8 {
			for k, s := range []checkpoint.SiteID{1, 2, 2, 3, 4, 4, 3, 1} {
				at += 50
				kind := []checkpoint.Kind{checkpoint.Enter, checkpoint.Enter, checkpoint.Exit, checkpoint.Enter, checkpoint.Enter, checkpoint.Exit, checkpoint.Exit, checkpoint.Exit}[k]
				loop[i+k] = checkpoint.Pack(at, kind, s)
			}
		}
		a := New([]nemb.Domain{counter}, 2)
		a.Close(nemb.Sample{Energy: []nemb.Energy{0}})
		run := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1000, Words: loop}
		for b.Loop() {
			a.Fold(run, at+1000, 1<<62)
			run.Start ^= 1
		}
		b.ReportMetric(float64(len(loop))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	})
	b.Run("reference-sum", func(b *testing.B) {
		var sum checkpoint.Word
		for range b.N {
			for _, w := range words {
				sum += w
			}
		}
		report(b)
		if sum == 1 {
			fmt.Println(sum)
		}
	})
}

// Below MaxDepth a function is its caller, however it is left.
func TestMaxDepth(t *testing.T) {
	a := New([]nemb.Domain{counter}, 2)
	a.MaxDepth = 2
	tp := &tape{}
	at := int64(0)
	add := func(kind checkpoint.Kind, site checkpoint.SiteID) {
		at += 10 * ms
		tp.add(1, at, kind, site)
	}
	add(checkpoint.Enter, 1)
	add(checkpoint.Enter, 2)
	for range 3 { // recursion below the limit
		add(checkpoint.Enter, 2)
	}
	add(checkpoint.Enter, 3)
	add(checkpoint.Suspend, 3)
	add(checkpoint.Resume, 3)
	add(checkpoint.Exit, 3)
	for range 3 {
		add(checkpoint.Exit, 2)
	}
	add(checkpoint.Enter, 3)
	add(checkpoint.Unwind, 2) // an exception out of 3
	add(checkpoint.Exit, 2)
	add(checkpoint.Enter, 3) // not below now
	add(checkpoint.Exit, 3)
	add(checkpoint.Exit, 1)
	end := checkpoint.Tick(origin + at)
	sample := func(at checkpoint.Tick) nemb.Sample {
		return nemb.Sample{At: at, Time: checkpoint.Instant(at), Energy: []nemb.Energy{nemb.Energy(at-origin) / 1000}, Usage: account.Usage{Program: time.Duration(at - origin)}}
	}
	a.Close(sample(origin))
	for id, words := range tp.words {
		if n := a.Fold(checkpoint.Run{Thread: id, First: true, Start: tp.start[id], Words: words}, end+1, end+1); n != len(words) {
			t.Fatalf("%d of %d words", n, len(words))
		}
	}
	a.Last(sample(end))
	r := a.Finish()
	for site, want := range map[checkpoint.SiteID]struct {
		calls uint64
		self  time.Duration
	}{1: {1, 30 * ms}, 2: {1, 130 * ms}, 3: {1, 10 * ms}} {
		if c := cost(t, r, site); c.Calls != want.calls || c.SelfTime != want.self {
			t.Errorf("site %d: %d calls, %v, want %d, %v", site, c.Calls, c.SelfTime, want.calls, want.self)
		}
	}
	if r.Stats.OpenAtEnd != 0 {
		t.Errorf("%d frames open at the end", r.Stats.OpenAtEnd)
	}
}

// A frame that goes on on another thread may be seen to come back first: the
// time that it was away is the same.
func TestResumedElsewhere(t *testing.T) {
	a := New([]nemb.Domain{counter}, 2)
	sample := func(at int64) nemb.Sample {
		return nemb.Sample{
			At: checkpoint.Tick(origin + at), Time: checkpoint.Instant(origin + at), Energy: []nemb.Energy{nemb.Energy(at) / 1000},
			Usage: account.Usage{Program: time.Duration(at)},
		}
	}
	a.Close(sample(0))
	word := func(at int64, kind checkpoint.Kind) checkpoint.Word {
		return checkpoint.Pack(checkpoint.Tick(origin+at*ms), kind, 1)
	}
	for thread, words := range map[uint32][]checkpoint.Word{
		2: {word(50, checkpoint.Resume), word(60, checkpoint.Exit)},
		1: {word(10, checkpoint.Enter), word(20, checkpoint.Suspend)},
	} {
		a.Fold(checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: thread}, First: true, Start: origin, Words: words}, origin+100*ms, origin+100*ms)
	}
	a.Last(sample(100 * ms))
	if c := cost(t, a.Finish(), 1); c.Suspended != 30*ms || c.SelfTime != 20*ms || c.Calls != 1 {
		t.Errorf("%+v", c)
	}
}

// What is the program's alone goes to it whatever the others use, even where the
// program used no time.
func TestProgramDomain(t *testing.T) {
	d := nemb.Domain{ID: "memory", Parent: "machine", Method: nemb.Estimated, Lo: 0.2, Hi: 1.6, Program: true}
	a := New([]nemb.Domain{d}, 2)
	a.Begin(nemb.Sample{Energy: []nemb.Energy{0}})
	a.Close(nemb.Sample{At: 1000, Time: 1000, Energy: []nemb.Energy{70}, Usage: account.Usage{Program: 100, Other: 900}})
	a.Last(nemb.Sample{At: 2000, Time: 2000, Energy: []nemb.Energy{100}, Usage: account.Usage{Program: 100, Other: 1900}})
	l := a.Finish().Domains[0]
	if l.Total != 100 || l.Uninstrumented+l.Functions != 100 || l.Other != 0 || l.Idle != 0 || !l.Balanced() {
		t.Errorf("%+v", l)
	}
}

// A call that nobody has seen end ends at the last known moment and is marked:
// its thread was killed, its program replaced by exec, it was left by longjmp, or
// open when the run ended.
func TestCut(t *testing.T) {
	threads := func(until int64) func(int64) account.Usage {
		return func(at int64) account.Usage {
			u := account.Usage{Program: time.Duration(at)}
			if at <= until {
				u.Threads = []account.ThreadUsage{{Thread: checkpoint.Thread{PID: 1, TID: 1}, CPU: time.Duration(at)}}
			}
			return u
		}
	}
	open := func() *tape { // 1 from 100 ms on, 2 in it from 200 ms on
		p := &tape{}
		p.add(1, 100*ms, checkpoint.Enter, 1)
		p.add(1, 200*ms, checkpoint.Enter, 2)
		return p
	}
	type want struct {
		self time.Duration
		cut  uint64
	}
	for name, c := range map[string]struct {
		make     func() *tape
		usage    func(int64) account.Usage
		one, two want
	}{
		"killed": {open, threads(400 * ms), want{100 * time.Millisecond, 1}, want{200 * time.Millisecond, 1}},
		"exit":   {open, threads(1000 * ms), want{100 * time.Millisecond, 1}, want{800 * time.Millisecond, 1}},
		"longjmp": {func() *tape {
			p := open()
			p.add(1, 500*ms, checkpoint.Exit, 1)
			return p
		}, threads(1000 * ms), want{100 * time.Millisecond, 0}, want{300 * time.Millisecond, 1}},
		"left in order": {func() *tape {
			p := open()
			p.add(1, 500*ms, checkpoint.Unwind, 1)
			p.add(1, 600*ms, checkpoint.Exit, 1)
			return p
		}, threads(1000 * ms), want{200 * time.Millisecond, 0}, want{300 * time.Millisecond, 0}},
	} {
		r := c.make().play([]nemb.Domain{counter}, 1000*ms, 10*ms, constant(10), c.usage)
		lawful(t, r)
		for site, want := range map[checkpoint.SiteID]want{1: c.one, 2: c.two} {
			if got := cost(t, r, site); got.SelfTime != want.self || got.Cut != want.cut || got.Calls != 1 {
				t.Errorf("%s: site %d: %v in %d calls, %d cut, want %v, %d", name, site, got.SelfTime, got.Calls, got.Cut, want.self, want.cut)
			}
		}
	}
	a := New([]nemb.Domain{counter}, 2)
	sample := func(t int64) nemb.Sample {
		return nemb.Sample{At: checkpoint.Tick(t), Time: checkpoint.Instant(t), Energy: constant(10)(t), Usage: threads(1000 * ms)(t)}
	}
	a.Close(sample(0))
	run := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1, Words: []checkpoint.Word{checkpoint.Pack(100*ms, checkpoint.Enter, 1), checkpoint.Pack(300*ms, checkpoint.Fork, 0)}}
	a.Fold(run, 500*ms, 500*ms)
	run.Start, run.Words = 400*ms, []checkpoint.Word{checkpoint.Pack(450*ms, checkpoint.Enter, 2), checkpoint.Pack(460*ms, checkpoint.Exit, 2)}
	a.Fold(run, 500*ms, 500*ms)
	a.Last(sample(500 * ms))
	r := a.Finish()
	lawful(t, r)
	if one, two := cost(t, r, 1), cost(t, r, 2); one.SelfTime != 200*time.Millisecond || one.Cut != 1 || two.Cut != 0 {
		t.Errorf("exec: %+v, %+v", one, two)
	}
}

// A function that waits uses what it burns, also where another of its thread
// computes in the same windows: 1 waits for 1 to 20 ms, 2 computes as long.
func TestWaiting(t *testing.T) {
	var p tape
	rng := rand.New(rand.NewPCG(5, 6))
	id := checkpoint.Thread{PID: 1, TID: 1}
	type step struct{ at, used int64 }
	steps := []step{{}}
	at, used := int64(0), int64(0)
	for at < 5000*ms {
		site, d := checkpoint.SiteID(1+rng.IntN(2)), ms+rng.Int64N(19*ms)
		p.add(1, at, checkpoint.Enter, site)
		at += d
		if site == 2 {
			used += d
		} else {
			used += d / 100
		}
		steps = append(steps, step{at, used})
		p.add(1, at, checkpoint.Exit, site)
	}
	usage := func(at int64) account.Usage {
		i, _ := slices.BinarySearchFunc(steps, at, func(s step, at int64) int { return cmp.Compare(s.at, at) })
		cpu := used
		if i > 0 && i < len(steps) {
			a, b := steps[i-1], steps[i]
			cpu = a.used + (b.used-a.used)*(at-a.at)/(b.at-a.at)
		} else if i == 0 {
			cpu = 0
		}
		return account.Usage{Program: time.Duration(cpu), Threads: []account.ThreadUsage{{Thread: id, CPU: time.Duration(cpu)}}}
	}
	r := p.play([]nemb.Domain{counter}, at, 10*ms, func(at int64) []nemb.Energy { return []nemb.Energy{nemb.Energy(usage(at).Program / 100)} }, usage)
	lawful(t, r)
	one, two := cost(t, r, 1), cost(t, r, 2)
	if part := one.CPUTime.Seconds() / (one.CPUTime + two.CPUTime).Seconds(); part > 0.04 {
		t.Errorf("the waiting function has %.1f %% of the processor time: %v, %v", 100*part, one.CPUTime, two.CPUTime)
	}
	if part := float64(one.Self.Energy) / float64(r.Total.Functions); part > 0.04 {
		t.Errorf("the waiting function has %.1f %% of the energy", 100*part)
	}
}

// Under a counter of coarse steps the intervals hold what was used, though most
// windows see no step, and nothing is known to be 0.
func TestCoarseSteps(t *testing.T) {
	const watts, step, end = 20, 36e6, 40_000 // J, uJ, ms
	p := &tape{}
	for at := int64(0); at < end; at += 1000 { // the second is short
		p.add(1, at*ms, checkpoint.Enter, 1)
		p.add(1, (at+700)*ms, checkpoint.Exit, 1)
		p.add(1, (at+700)*ms+1, checkpoint.Enter, 2)
		p.add(1, (at+1000)*ms-1, checkpoint.Exit, 2)
	}
	p.add(1, end*ms-1, checkpoint.Enter, 3)
	d := counter
	d.Step, d.Kind = step, "psys"
	half := func(at int64) account.Usage {
		return account.Usage{Program: time.Duration(at / 2), Other: time.Duration(at / 2)}
	}
	r := p.play([]nemb.Domain{d}, end*ms, 10*ms, func(at int64) []nemb.Energy {
		return []nemb.Energy{nemb.Energy(math.Floor(watts*float64(at)*1e-3/step)) * step}
	}, half)
	lawful(t, r)
	holds := func(what string, lo, hi nemb.Energy, truth float64) {
		t.Helper()
		if lo.Joules() > truth || hi.Joules() < truth || hi == 0 {
			t.Errorf("%s: [%g, %g], used %g J", what, lo.Joules(), hi.Joules(), truth)
		}
	}
	holds("the program", r.Total.ProgramLo, r.Total.ProgramHi, watts*end/1000/2)
	for site, part := range map[checkpoint.SiteID]float64{1: 0.7, 2: 0.3, 3: 0} {
		c := cost(t, r, site)
		holds(fmt.Sprintf("site %d", site), c.Self.Lo, c.Self.Hi, part*watts*end/1000/2)
	}
	if c := cost(t, r, 3); c.Self.Energy == 0 && c.Reason != TooLittle {
		t.Errorf("%+v", c)
	}
}

// A GPU works on while its program waits: what it used is in no function, no call, and no
// process, also where it is all that is measured.
func TestGPUsAreUnattributed(t *testing.T) {
	const end = 2_000 * ms
	gpu := counter
	gpu.ID, gpu.Kind, gpu.Step = "gpu0", nemb.KindGPU, 1000
	for _, domains := range [][]nemb.Domain{{counter, gpu}, {gpu}} {
		var p tape
		p.add(1, 0, checkpoint.Enter, 1)
		p.add(1, end-1, checkpoint.Exit, 1)
		r := p.play(domains, end, 10*ms, func(at int64) []nemb.Energy {
			return []nemb.Energy{nemb.Energy(20 * at / 1000), nemb.Energy(300 * at / 1000)}[2-len(domains):]
		}, func(at int64) account.Usage {
			return account.Usage{Program: time.Duration(at / 2), Own: time.Duration(at / 100), Other: time.Duration(at)}
		})
		lawful(t, r)
		last := r.Domains[len(domains)-1]
		if last.Total != 600e6 || last.Unattributed != 600e6 || last.ProgramHi != 0 || last.Other != 0 {
			t.Errorf("%d domains: the GPU's ledger is %+v", len(domains), last)
		}
		if r.Total.ProgramHi > 40e6 || r.Costs[0].Self.Hi > 40e6 || r.Costs[0].Inclusive.Hi > 40e6 ||
			r.Costs[0].Domains[len(domains)-1] != 0 {
			t.Errorf("%d domains: the program has [%d, %d], its function %+v", len(domains), r.Total.ProgramLo,
				r.Total.ProgramHi, r.Costs[0])
		}
	}
}
