package windows

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/paths"
)

// worker is a thread of two functions on virtual time, whose processor times are known: of each microsecond, in which
// function it was, and whether it was on a processor or queued for one.
type worker struct {
	in     []int // 0 or 1
	on     []bool
	queued []bool
}

// played is what a model of 1 W says of the two functions, and what they used, in seconds.
type played struct {
	energy, truth [2]float64
	bounds        [2]Bounds
}

// play samples the worker each so many microseconds, and reads its times at other moments. They are known between as
// the sampler knows them.
func (wo *worker) play(interval int, readings []int) (p played) {
	tree := paths.NewTree()
	main := tree.Path(paths.Root, 9, 0)
	nodes := [2]int32{tree.Path(main, 1, 0), tree.Path(main, 2, 0)}
	n := len(wo.in)
	cpu, queued := make([]int, n+1), make([]int, n+1)
	for i := range n {
		cpu[i+1], queued[i+1] = cpu[i], queued[i]
		if wo.on[i] {
			cpu[i+1]++
			p.truth[wo.in[i]] += 1e-6
		} else if wo.queued[i] {
			queued[i+1]++
		}
	}
	usage := func(at int) (u account.Usage) {
		k := 0
		for readings[k+1] < at {
			k++
		}
		a, b := readings[k], readings[k+1]
		between := func(of []int) time.Duration {
			return time.Duration(float64(of[a]*(b-at)+of[b]*(at-a)) / float64(b-a) * 1e3)
		}
		u.Program = between(cpu)
		u.Threads = []account.ThreadUsage{{Thread: id(1), CPU: u.Program, Queued: between(queued),
			Within: time.Duration(cpu[b]-cpu[a]) * time.Microsecond}}
		u.Read = [2]checkpoint.Instant{checkpoint.Instant(a * 1000), checkpoint.Instant(b * 1000)}
		return u
	}
	model := counter
	model.Method = nemb.Estimated
	w := New([]nemb.Domain{model}, 2, tree)
	w.Begin(sample(0, 0, usage(0)))
	for from := 0; from < n; from += interval {
		to := min(n, from+interval)
		ticks := [2]uint64{}
		for _, of := range wo.in[from:to] {
			ticks[of] += 1000
		}
		var parts []paths.Part
		for i, node := range nodes {
			if ticks[i] > 0 {
				parts = append(parts, paths.Part{Node: node, Ticks: ticks[i]})
			}
		}
		u := usage(to)
		w.Close(sample(int64(to)*1000, nemb.Energy(u.Program/1000), u), false, []Thread{{ID: id(1), Parts: parts}})
	}
	w.End()
	for i, node := range nodes {
		p.energy[i] = w.Domains[0].Paths[node] * 1e-6
		self, _ := w.Bounds(checkpoint.SiteID(i+1), 0)
		by, all := w.Divided(checkpoint.SiteID(i+1), 0)
		if by != all {
			panic("a function that calls nothing has another inclusive time")
		}
		p.bounds[i] = Bounds{Lo: (self.Lo - by.Lo) * 1e-6, Hi: (self.Hi + by.Hi) * 1e-6}
	}
	// What the caller of both used with them is known.
	if _, all := w.Divided(9, 0); all.Lo > 1 || all.Hi > 1 {
		panic("the time of all is not known")
	}
	return p
}

// holds allows for so many seconds.
func (p *played) holds(i int, late float64) bool {
	return p.bounds[i].Lo <= p.truth[i]+late && p.truth[i] <= p.bounds[i].Hi+late
}

// every gives readings that are so many microseconds apart, to the end.
func every(n, apart, first int) []int {
	all := []int{0}
	for at := first; at < n; at += apart {
		all = append(all, at)
	}
	return append(all, n)
}

// turns is a worker that is in each of the functions in turn for so long, where on tells whether it has a processor.
func turns(n, each int, on func(i, in int) (on, queued bool)) *worker {
	w := &worker{in: make([]int, n), on: make([]bool, n), queued: make([]bool, n)}
	for i := range n {
		w.in[i] = i / each % 2
		w.on[i], w.queued[i] = on(i, w.in[i])
	}
	return w
}

// Where a thread has a processor all the time, the division is exact, however seldom its time is read.
func TestDividedExactly(t *testing.T) {
	w := turns(400e3, 700, func(int, int) (bool, bool) { return true, false })
	for _, apart := range []int{4e3, 130e3} {
		p := w.play(1000, every(400e3, apart, 2500))
		for i := range p.truth {
			if b := p.bounds[i]; !p.holds(i, 1e-5) || b.Hi-b.Lo > 1e-5 {
				t.Errorf("read each %d us: %+v, it used %g", apart, b, p.truth[i])
			}
		}
	}
}

// A function that computes and one that sleeps, in turns of 5 ms, are told apart where the time of their thread is
// read each 2 ms. Where it is read each 100 ms, as cg has to wait for a processor, the intervals have what may be.
func TestDividedOverGaps(t *testing.T) {
	w := turns(1e6, 5e3, func(_, in int) (bool, bool) { return in == 0, false })
	p := w.play(1000, every(1e6, 2e3, 1500))
	for i, truth := range p.truth {
		if b := p.bounds[i]; !p.holds(i, 1e-3) || b.Hi-b.Lo > 0.3 || p.energy[i] < truth-0.1 || p.energy[i] > truth+0.1 {
			t.Errorf("function %d: %g in %+v, it used %g", i, p.energy[i], b, truth)
		}
	}
	p = w.play(1000, every(1e6, 100e3, 37e3))
	for i, truth := range p.truth {
		if !p.holds(i, 1e-3) {
			t.Errorf("function %d, seldom read: %g in %+v, it used %g", i, p.energy[i], p.bounds[i], truth)
		}
	}
	if p.energy[1] < 0.01 {
		t.Errorf("the gaps tell what the sleeper used: %g", p.energy[1])
	}
}

// Two functions compute in turns, and their thread is queued half of the time, for times that do not depend on
// what it does. Their times are within their intervals in 95 of 100 runs, which are narrower than what is
// certain.
func TestDividedQueued(t *testing.T) {
	for _, each := range []int{300, 3000, 40e3} {
		held, wide := 0, 0.0
		const runs = 50
		for seed := range uint64(runs) {
			random := rand.New(rand.NewPCG(seed, 5))
			on, until := true, 0
			w := turns(300e3, each, func(i, _ int) (bool, bool) {
				if i == until {
					on = !on
					until = i + 1 + int(random.ExpFloat64()*4000)
				}
				return on, !on
			})
			p := w.play(1000, every(300e3, 4e3, 1+int(random.IntN(4000))))
			for i := range p.truth {
				if p.holds(i, 0) {
					held++
				}
				wide += (p.bounds[i].Hi - p.bounds[i].Lo) / 2 / p.truth[i] / (2 * runs)
			}
		}
		t.Logf("turns of %d us: %d of %d times lie within their intervals, of +- %.0f %%", each, held, 2*runs, 100*wide)
		if held < 2*runs*95/100 {
			t.Errorf("turns of %d us: only %d of %d times lie within their intervals", each, held, 2*runs)
		}
		if wide > 0.5 {
			t.Errorf("turns of %d us: the half-widths are %.0f %%", each, 100*wide)
		}
	}
}

// What a thread uses is reported up to a tick of the scheduler late: that is no time in which it was on no processor.
func TestDividedLate(t *testing.T) {
	rates := func(checkpoint.SiteID) *rate { return &rate{} }
	d := divided{doubts: map[checkpoint.SiteID]*siteDoubt{}, spans: map[checkpoint.Thread]*spans{}, rate: rates}
	p := d.of(id(1), nemb.Sample{})
	for i := range 100 {
		time := Share{Self: 2e6, Inclusive: 2e6}
		p.open = &span{there: 4e6, length: 4e6, sites: map[checkpoint.SiteID]*siteTime{1: {time, time}, 2: {time, time}}}
		if i%2 == 1 {
			p.open.used = 8e6
		}
		d.end(p)
	}
	d.finish(id(1))
	if less, more := d.doubts[1].self.bounds(); less != 0 || more != 0 {
		t.Errorf("%g, %g", less, more)
	}
	// In turns of 8 ms, one has up to 4 ms of the other's time at each of 99 turns, by chance.
	d = divided{doubts: map[checkpoint.SiteID]*siteDoubt{}, spans: map[checkpoint.Thread]*spans{}, rate: rates}
	p = d.of(id(1), nemb.Sample{})
	for i := range 100 {
		there, used := Share{Self: 8e6, Inclusive: 8e6}, Share{Self: 4e6 + float64(i%2*8e6)}
		p.open = &span{there: 8e6, used: used.Self, length: 8e6, sites: map[checkpoint.SiteID]*siteTime{
			checkpoint.SiteID(1 + i%2): {there, used}}}
		d.end(p)
	}
	d.finish(id(1))
	less, more := d.doubts[1].self.bounds()
	if want := likely * math.Sqrt(99) * 4e6 / math.Sqrt(3); less < 0.98*want || less > want || more != less {
		t.Errorf("%g, %g, want %g", less, more, want)
	}
}

// What may be of either of two spans moves the limits of their sites, by no more than these let it.
func TestDividedShifted(t *testing.T) {
	of := func(ran float64) *lost { return &lost{span: &span{there: 10, used: ran}, absent: 10 - ran} }
	for _, c := range []struct {
		name               string
		fromRan, ran       float64
		moved, behind      float64
		before, here       float64 // in the site
		wantLess, wantMore float64
	}{
		{"in both spans alone", 4, 4, 2, 0, 10, 10, 0, 0},
		{"in neither", 4, 4, 2, 0, 0, 0, 0, 0},
		{"alone in the second", 4, 4, 2, 0, 0, 10, 2, 2},
		{"it has no more", 4, 1, 2, 0, 0, 10, 1, 2},
		{"the first has not so much room", 9.5, 4, 2, 0, 0, 10, 0.5, 2},
		{"only what is late", 4, 4, 0, 3, 0, 10, 3, 0},
		{"there is room for others in both", 4, 4, 2, 0, 4, 4, 0, 0},
		{"between the ends", 6, 4, 3, 0, 6, 4, 2, 0},
		{"the one loses, the other gains", 3, 7, 3, 0, 6, 7, 1, 0},
	} {
		l := of(c.ran)
		l.moved, l.behind, l.from = c.moved, c.behind, of(c.fromRan)
		if less, more := l.shifted(c.before, c.here); !near(less, c.wantLess) || !near(more, c.wantMore) {
			t.Errorf("%s: -%g, +%g, want -%g, +%g", c.name, less, more, c.wantLess, c.wantMore)
		}
	}
}

// A thread that waits for ever has no more spans than are needed.
func TestDividedForgets(t *testing.T) {
	d := divided{doubts: map[checkpoint.SiteID]*siteDoubt{}, spans: map[checkpoint.Thread]*spans{},
		rate: func(checkpoint.SiteID) *rate { return &rate{} }}
	p := d.of(id(1), nemb.Sample{})
	for i := range 2000 {
		p.open = &span{there: 4e6, length: 4e6, used: float64(i%3) * 1e6, sites: map[checkpoint.SiteID]*siteTime{1: {}}}
		d.end(p)
	}
	n := 0
	for l := p.before; l != nil; l = l.from {
		n++
	}
	if n > mostLost+1 || len(p.lost) > mostLost+1 || len(p.waiting) > 10 {
		t.Errorf("%d, %d and %d spans of 2000", n, len(p.lost), len(p.waiting))
	}
}
