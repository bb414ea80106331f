package attribute

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/long"
	"cg/nemb"
	"cg/nemb/account"
)

// adder is a writer of FORMAT.md's trees in Go: what a thread's words are, added
// up.
type adder struct {
	cost     float64
	thread   checkpoint.Thread
	tree     uint64
	start    checkpoint.Tick
	nodes    []checkpoint.Node
	index    map[[2]uint64]uint32
	stack    []uint32          // the frames, the floor first
	entered  []checkpoint.Tick // of the frames; 0 for one that came back
	long     checkpoint.Tick
	last     checkpoint.Tick
	window   checkpoint.Window
	parts    map[uint32]*checkpoint.Part
	unwound  uint64
	closed   uint64
	events   uint64
	windows  []checkpoint.Window
	reported bool
}

func newAdder(thread checkpoint.Thread, tree uint64, start, epoch checkpoint.Tick) *adder {
	return &adder{
		thread: thread, tree: tree, start: start, last: start, index: map[[2]uint64]uint32{},
		entered: []checkpoint.Tick{0}, long: 1 << 62,
		nodes: make([]checkpoint.Node, checkpoint.FirstNode), stack: []uint32{checkpoint.RootNode},
		window: checkpoint.Window{Epoch: epoch, Begin: start, Last: start}, parts: map[uint32]*checkpoint.Part{},
	}
}

func (d *adder) top() uint32 { return d.stack[len(d.stack)-1] }

func (d *adder) child(parent uint32, site checkpoint.SiteID) uint32 {
	key := [2]uint64{uint64(parent), uint64(site)}
	n, ok := d.index[key]
	if !ok {
		n = uint32(len(d.nodes))
		d.nodes = append(d.nodes, checkpoint.Node{Site: site, Parent: parent, Born: d.last})
		d.index[key] = n
	}
	return n
}

func (d *adder) part(n uint32) *checkpoint.Part {
	if d.parts[n] == nil {
		d.parts[n] = &checkpoint.Part{Node: n}
	}
	return d.parts[n]
}

// flip ends the window that is open.
func (d *adder) flip(epoch, at checkpoint.Tick) {
	d.shut()
	d.window = checkpoint.Window{Epoch: epoch, Begin: at, Last: at, Top: d.top()}
}

// shut puts the open window with those that can be read; it stays open.
func (d *adder) shut() {
	w := d.window
	w.Last, w.Top = d.last, d.top()
	for _, p := range d.parts {
		w.Parts = append(w.Parts, *p)
	}
	clear(d.parts)
	d.window.Long = nil
	d.windows = append(d.windows, w)
}

func (d *adder) push(n uint32, entered checkpoint.Tick) {
	d.stack, d.entered = append(d.stack, n), append(d.entered, entered)
}

// pop ends a frame, which leaves a record if it took long.
func (d *adder) pop(at checkpoint.Tick) {
	last := len(d.stack) - 1
	if since := d.entered[last]; since != 0 && at-since >= d.long {
		d.window.Long = append(d.window.Long, checkpoint.LongCall{Node: d.stack[last], Enter: since, Exit: at})
	}
	d.stack, d.entered = d.stack[:last], d.entered[:last]
}

// event adds up to an event; epoch is the newest sample before it.
func (d *adder) event(at, epoch checkpoint.Tick, kind checkpoint.Kind, site checkpoint.SiteID) {
	d.events++
	if epoch != d.window.Epoch {
		d.flip(epoch, at)
	} else {
		d.part(d.top()).Ticks += uint64(at - d.last)
	}
	d.last = at
	unwind := func() bool {
		for i := len(d.stack) - 1; i > 0; i-- {
			if n := d.nodes[d.stack[i]]; n.Site == site {
				d.unwound += uint64(len(d.stack) - 1 - i)
				for len(d.stack) > i+1 {
					d.entered[len(d.entered)-1] = 0 // from words such a call is not measured
					d.pop(at)
				}
				return true
			}
		}
		return false
	}
	away := func(n uint32, out bool) {
		p := d.part(n)
		if out {
			p.Away, p.AwayTicks = p.Away+1, p.AwayTicks-uint64(at)
		} else {
			p.Away, p.AwayTicks = p.Away-1, p.AwayTicks+uint64(at)
		}
	}
	side := func(out bool) { away(d.child(checkpoint.SideNode, site), out) }
	switch kind {
	case checkpoint.Enter:
		d.push(d.child(d.top(), site), at)
		d.part(d.top()).Calls++
	case checkpoint.Exit:
		if unwind() {
			d.pop(at)
		} else {
			d.closed++
			side(false)
		}
	case checkpoint.Suspend:
		if unwind() {
			away(d.top(), true)
			d.entered[len(d.entered)-1] = 0
			d.pop(at)
		} else {
			side(true)
		}
	case checkpoint.Resume:
		n := d.child(d.top(), site)
		away(n, false)
		d.push(n, 0)
	case checkpoint.Unwind:
		if !unwind() {
			d.push(d.child(d.top(), site), 0)
			side(false)
		}
	case checkpoint.Close:
		d.closed++
		side(false)
	}
}

// run offers what can be read: with open, what the open window has so far, too.
func (d *adder) run(last, open bool) checkpoint.Run {
	if open || last {
		d.shut()
	}
	r := checkpoint.Run{Thread: d.thread, First: true, Start: d.start, Last: last, Cost: d.cost, Tally: &checkpoint.Tally{
		Paths: d.tree, Nodes: d.nodes, Windows: d.windows,
	}}
	if !d.reported || last {
		r.Tally.Unwound, r.Tally.Closed, r.Tally.Events = d.unwound, d.closed, d.events
	}
	d.unwound, d.closed, d.events = 0, 0, 0
	return r
}

// told is a moment of a program.
type moment struct {
	at     checkpoint.Tick
	thread uint32
	kind   checkpoint.Kind
	site   checkpoint.SiteID
}

// program makes events of threads that call, return, raise, suspend and resume,
// their frames also on other threads. Site 2 calls nothing.
func program(seed uint64, threads, events int) []moment {
	rng := rand.New(rand.NewPCG(seed, 5))
	stacks := make([][]checkpoint.SiteID, threads)
	var away []checkpoint.SiteID
	var all []moment
	at := checkpoint.Tick(origin + 1)
	width := 2 + rng.IntN(12)
	for range events {
		switch rng.IntN(10) {
		case 0:
			at += checkpoint.Tick(rng.IntN(3 * ms))
		case 1, 2:
			at += checkpoint.Tick(rng.IntN(ms / 10))
		default:
			at += checkpoint.Tick(rng.IntN(2000))
		}
		k := rng.IntN(threads)
		stack := stacks[k]
		site := checkpoint.SiteID(1 + rng.IntN(width))
		r := rng.IntN(100)
		tell := func(kind checkpoint.Kind, site checkpoint.SiteID) {
			all = append(all, moment{at, uint32(k + 1), kind, site})
		}
		switch {
		case site == 2:
			tell(checkpoint.Enter, 2)
			at += checkpoint.Tick(rng.IntN(3000))
			tell(checkpoint.Exit, 2)
		case len(stack) == 0 || r < 40 && len(stack) < 12:
			tell(checkpoint.Enter, site)
			stack = append(stack, site)
		case r < 75:
			tell(checkpoint.Exit, stack[len(stack)-1])
			stack = stack[:len(stack)-1]
		case r < 80:
			// Of any: frames above it end, or a suspended one that is on no stack.
			kind := []checkpoint.Kind{checkpoint.Exit, checkpoint.Unwind}[rng.IntN(2)]
			if i := innermost(stack, site); i >= 0 {
				tell(kind, site)
				stack = stack[:i+int(kind)/int(checkpoint.Unwind)]
			} else if i := slices.Index(away, site); i >= 0 {
				tell(kind, site)
				away = slices.Delete(away, i, i+1)
				if kind == checkpoint.Unwind {
					stack = append(stack, site)
				}
			}
		case r < 87:
			away = append(away, stack[len(stack)-1])
			tell(checkpoint.Suspend, stack[len(stack)-1])
			stack = stack[:len(stack)-1]
		case r < 93 && len(away) > 0:
			i := rng.IntN(len(away))
			tell(checkpoint.Resume, away[i])
			stack = append(stack, away[i])
			away = append(away[:i], away[i+1:]...)
		case len(away) > 0:
			tell(checkpoint.Close, away[len(away)-1])
			away = away[:len(away)-1]
		}
		stacks[k] = stack
	}
	return all
}

func innermost(stack []checkpoint.SiteID, site checkpoint.SiteID) int {
	slices.Reverse(stack)
	i := slices.Index(stack, site)
	slices.Reverse(stack)
	if i < 0 {
		return i
	}
	return len(stack) - 1 - i
}

// watched is the machine that runs the programs: its power changes from sample
// to sample.
func watched(at checkpoint.Tick) nemb.Sample {
	since := int64(at - origin)
	e := 30*float64(since) + 60*float64(since/(17*ms)*8*ms) // in steps
	return nemb.Sample{At: at, Time: checkpoint.Instant(at), Energy: []nemb.Energy{nemb.Energy(e * 1e-3)}, Usage: account.Usage{Program: time.Duration(since)}}
}

// attributed folds a program. The events of some threads are added up.
func attributed(all []moment, threads int, adds func(thread uint32) bool, depth int) Result {
	return attributedAt(0, all, threads, adds, depth)
}

// attributedAt is attributed where an event costs so many ticks.
func attributedAt(cost float64, all []moment, threads int, adds func(thread uint32) bool, depth int) Result {
	domain := counter
	domain.Period = time.Millisecond // calls of 20 ms are long
	a := New([]nemb.Domain{domain}, 2)
	a.MaxDepth = depth
	const period = 10 * ms
	end := all[len(all)-1].at + 1
	a.Close(watched(origin))
	adders := map[uint32]*adder{}
	started := map[uint32]checkpoint.Tick{}
	i, epoch := 0, checkpoint.Tick(origin)
	for at := checkpoint.Tick(origin + period); ; at += period {
		at = min(at, end)
		words := map[uint32][]checkpoint.Word{}
		for ; i < len(all) && all[i].at < at; i++ {
			m := all[i]
			if started[m.thread] == 0 {
				started[m.thread] = m.at
			}
			if !adds(m.thread) {
				words[m.thread] = append(words[m.thread], checkpoint.Pack(m.at, m.kind, m.site))
				continue
			}
			d := adders[m.thread]
			if d == nil {
				id := checkpoint.Thread{PID: 1, TID: m.thread}
				d = newAdder(id, uint64(m.thread), m.at, epoch)
				d.cost = cost
				if long := a.Long(); long > 0 {
					d.long = checkpoint.Tick(long)
				}
				adders[m.thread] = d
			}
			d.event(m.at, epoch, m.kind, m.site)
		}
		epoch = at
		for k := uint32(1); k <= uint32(threads); k++ {
			d := adders[k]
			if last := at == end && d == nil; words[k] != nil || last && started[k] != 0 {
				a.Fold(checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: k}, First: true, Start: started[k], Words: words[k], Last: last, Cost: cost}, at, at)
			}
			if d != nil {
				r := d.run(at == end, at != end)
				n := a.Fold(r, at, at)
				d.windows = d.windows[n:]
			}
		}
		if at == end {
			a.Last(watched(at))
			return a.Finish()
		}
		a.Close(watched(at))
		for _, d := range adders {
			d.long = checkpoint.Tick(a.Long())
		}
	}
}

// Words and sums of the same programs give the same: calls to the last one, the
// ledger to the microjoule, energies within 0.1 % of the total.
func TestSumsAreWords(t *testing.T) {
	never, always := func(uint32) bool { return false }, func(uint32) bool { return true }
	for seed := range uint64(long.Rounds(t, 56, 150)) { // each number of threads with each length, twice
		threads := 1 + int(seed%4)
		all := program(seed, threads, 300+int(seed%7)*200)
		for _, c := range []struct {
			name  string
			adds  func(uint32) bool
			depth int
		}{
			{"all threads", always, 0},
			{"one thread of two", func(k uint32) bool { return k%2 == 0 }, 0},
			{"three calls deep", always, 3},
		} {
			want := attributed(all, threads, never, c.depth)
			got := attributed(all, threads, c.adds, c.depth)
			lawful(t, got)
			if got.Total.Total != want.Total.Total {
				t.Fatalf("seed %d, %s: %+v, want %+v", seed, c.name, got.Total, want.Total)
			}
			costs := map[checkpoint.SiteID]Cost{}
			for _, k := range want.Costs {
				costs[k.Site] = k
			}
			near := func(a, b nemb.Energy) bool {
				return int64(a)-int64(b) <= int64(want.Total.Total)/1000 && int64(b)-int64(a) <= int64(want.Total.Total)/1000
			}
			for _, g := range got.Costs {
				w := costs[g.Site]
				if d := g.Suspended - w.Suspended; g.Calls != w.Calls || !near(g.Self.Energy, w.Self.Energy) || !near(g.Inclusive.Energy, w.Inclusive.Energy) || g.First != w.First {
					t.Errorf("seed %d, %s, site %d: %+v\nwant %+v", seed, c.name, g.Site, g, w)
				} else if c.depth == 0 && (g.Single.N != w.Single.N || !near(g.Single.Mean, w.Single.Mean)) {
					t.Errorf("seed %d, %s, site %d: long calls %+v, want %+v", seed, c.name, g.Site, g.Single, w.Single)
				} else if c.depth == 0 && threads == 1 && (d > time.Microsecond || d < -time.Microsecond) {
					t.Errorf("seed %d, %s, site %d: suspended for %v, want %v", seed, c.name, g.Site, g.Suspended, w.Suspended)
				}
			}
			g, w := got.Stats, want.Stats
			if len(got.Costs) != len(want.Costs) || len(got.Paths) != len(want.Paths) || g.Threads != w.Threads || g.OpenAtEnd != w.OpenAtEnd {
				t.Errorf("seed %d, %s: %d functions, %d paths, %+v\nwant %d, %d, %+v", seed, c.name, len(got.Costs), len(got.Paths), g, len(want.Costs), len(want.Paths), w)
			}
			if c.depth == 0 && (g.Unwound != w.Unwound || g.Closed != w.Closed || g.Events != w.Events) {
				t.Errorf("seed %d, %s: %+v, want %+v", seed, c.name, g, w)
			}
			if t.Failed() {
				return
			}
		}
	}
}

// What checkpoints cost is the same from sums. Only where calls end by exceptions, and
// frames that wait are closed, sums do not tell in which node an event was: of programs
// with many of these a tenth stays in functions.
func TestSumsOfCheckpoints(t *testing.T) {
	var calls []moment
	at := checkpoint.Tick(origin)
	for i := range 5000 {
		for _, e := range []moment{{kind: checkpoint.Enter, site: 1}, {kind: checkpoint.Enter, site: 2}, {kind: checkpoint.Exit, site: 2}, {kind: checkpoint.Exit, site: 1}} {
			at += checkpoint.Tick(5000 + i*7%3000)
			calls = append(calls, moment{at: at, thread: 1, kind: e.kind, site: e.site})
		}
	}
	for seed := range uint64(20) {
		all, apart := calls, 0.01
		if seed > 0 {
			all, apart = program(seed, 1, 2000), 0.1
		}
		cost := float64((all[len(all)-1].at - all[0].at) / checkpoint.Tick(len(all)))
		later := slices.Clone(all)
		for i := range later { // each event takes its cost
			later[i].at += checkpoint.Tick(i) * checkpoint.Tick(cost)
		}
		words := attributedAt(cost, later, 1, func(uint32) bool { return false }, 0)
		sums := attributedAt(cost, later, 1, func(uint32) bool { return true }, 0)
		lawful(t, sums)
		w, s := words.Total.Checkpoints.Joules(), sums.Total.Checkpoints.Joules()
		if w < 0.05*words.Total.Program().Joules() {
			t.Fatalf("seed %d: checkpoints cost %g J of %g J: this shows nothing", seed, w, words.Total.Program().Joules())
		}
		if d := s/w - 1; d > apart || d < -apart {
			t.Errorf("seed %d: checkpoints cost %g J by sums, %g J by words", seed, s, w)
		}
	}
}

// Whatever a tally says, nothing panics and the ledger balances.
func FuzzFoldAggregates(f *testing.F) {
	f.Add([]byte{0}, uint64(1), false)
	f.Add([]byte("nodes that are their own parents, and windows that end before they begin"), uint64(7), true)
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64, strands bool) {
		next := func() uint64 {
			if len(raw) == 0 {
				seed = seed*6364136223846793005 + 1442695040888963407
				return seed >> 33
			}
			b := raw[0]
			raw = raw[1:]
			return uint64(b)
		}
		a := New([]nemb.Domain{counter}, 2)
		a.MaxDepth = int(next() % 4)
		a.Close(watched(origin))
		var nodes []checkpoint.Node
		for step := range checkpoint.Tick(4) {
			at := origin + (step+1)*10*ms
			for range next() % 20 {
				nodes = append(nodes, checkpoint.Node{Site: checkpoint.SiteID(next() % 9), Parent: uint32(next() % 24), Born: checkpoint.Tick(next())})
			}
			told := &checkpoint.Tally{Paths: next() % 3, Strands: strands, Nodes: nodes[:uint64(len(nodes))*(next()%5)/4%uint64(len(nodes)+1)]}
			for range next() % 4 {
				w := checkpoint.Window{Epoch: checkpoint.Tick(next()), Begin: at - checkpoint.Tick(next()*1000), Last: at - checkpoint.Tick(next()*1000), Top: uint32(next() % 24)}
				if next()%6 == 0 {
					w.Top = checkpoint.NoNode
				}
				if next()%3 == 0 {
					w.Long = []checkpoint.LongCall{{Node: uint32(next() % 24), Enter: checkpoint.Tick(next()), Exit: at}}
				}
				for range next() % 6 {
					w.Parts = append(w.Parts, checkpoint.Part{Node: uint32(next() % 24), Ticks: next(), Calls: next(), Away: int64(next()%5) - 2, AwayTicks: next()})
				}
				told.Windows = append(told.Windows, w)
			}
			r := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: uint32(next() % 2)}, First: next()%2 == 0, Forked: next()%4 == 0, Start: origin + checkpoint.Tick(next()), Last: next()%4 == 0, Tally: told}
			if n := a.Fold(r, at, at); n > len(told.Windows) {
				t.Fatalf("%d of %d windows", n, len(told.Windows))
			}
			a.Close(watched(at))
		}
		a.Last(watched(origin + 50*ms))
		if r := a.Finish(); !r.Total.Balanced() {
			t.Errorf("%+v", r.Total)
		}
	})
}
