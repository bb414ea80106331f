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

// strand says that a thread's next words are of a strand, 0 for none.
func (t *tape) strand(thread uint32, at int64, id uint64) {
	if id < uint64(checkpoint.Wide) {
		t.add(thread, at, checkpoint.Strand, checkpoint.SiteID(id))
		return
	}
	t.add(thread, at, checkpoint.Strand, checkpoint.Wide|checkpoint.SiteID(id)&(checkpoint.Wide-1))
	k := checkpoint.Thread{PID: 1, TID: thread}
	t.words[k] = append(t.words[k], checkpoint.Pack(checkpoint.Tick(id>>20), checkpoint.Strand, checkpoint.Wide))
}

// busy is a program whose threads use so much of each processor as they say.
func busy(parts ...float64) func(int64) account.Usage {
	return func(at int64) account.Usage {
		u := account.Usage{}
		for i, part := range parts {
			d := time.Duration(part * float64(at))
			u.Program += d
			u.Threads = append(u.Threads, account.ThreadUsage{Thread: checkpoint.Thread{PID: 1, TID: uint32(i + 1)}, CPU: d})
		}
		return u
	}
}

func exact(t *testing.T, r Result) {
	t.Helper()
	lawful(t, r)
	if s := r.Stats; s.Unwound+s.Closed+s.Backwards+s.OpenAtEnd != 0 {
		t.Errorf("%+v", s)
	}
}

// A goroutine that goes to another thread takes its frames along: 1 is begun on
// thread 1 and ended on thread 2, and calls 2 on both.
func TestStrandMoves(t *testing.T) {
	for _, id := range []uint64{7, 1<<20 + 7, 1 << 50} {
		var p tape
		p.strand(1, 0, id)
		p.add(1, 0, checkpoint.Enter, 1)
		p.add(1, 100*ms, checkpoint.Enter, 2)
		p.add(1, 200*ms, checkpoint.Exit, 2)
		p.strand(1, 300*ms, 0)
		p.strand(2, 600*ms, id)
		p.add(2, 700*ms, checkpoint.Enter, 2)
		p.add(2, 800*ms, checkpoint.Exit, 2)
		p.add(2, 1000*ms, checkpoint.Exit, 1)
		p.strand(2, 1000*ms, 0)
		usage := func(at int64) account.Usage {
			one, two := min(at, 300*ms), min(max(at-600*ms, 0), 400*ms)
			return account.Usage{Program: time.Duration(one + two), Threads: []account.ThreadUsage{
				{Thread: checkpoint.Thread{PID: 1, TID: 1}, CPU: time.Duration(one)},
				{Thread: checkpoint.Thread{PID: 1, TID: 2}, CPU: time.Duration(two)},
			}}
		}
		r := p.play([]nemb.Domain{counter}, 1100*ms, 10*ms, func(at int64) []nemb.Energy {
			return []nemb.Energy{nemb.Energy(10 * float64(usage(at).Program) * 1e-3)}
		}, usage)
		exact(t, r)
		one, two := cost(t, r, 1), cost(t, r, 2)
		if one.SelfTime != 500*time.Millisecond || one.InclusiveTime != 700*time.Millisecond || one.Suspended != 300*time.Millisecond || one.Calls != 1 {
			t.Errorf("%d: %+v", id, one)
		}
		if two.SelfTime != 200*time.Millisecond || two.Suspended != 0 || two.Calls != 2 {
			t.Errorf("%d: %+v", id, two)
		}
		if !near(one.Self.Energy, 5_000_000, 1e-3) || !near(two.Self.Energy, 2_000_000, 1e-3) {
			t.Errorf("%d: %d and %d", id, one.Self.Energy, two.Self.Energy)
		}
	}
}

// The side that waits gets nothing, on the same thread and beside it.
func TestStrandsWait(t *testing.T) {
	for name, c := range map[string]struct{ consumer uint32 }{"one thread": {1}, "two threads": {2}} {
		var p tape
		p.strand(c.consumer, 0, 2)
		p.add(c.consumer, 0, checkpoint.Enter, 2)
		p.strand(c.consumer, 0, 0)
		for i := range int64(10) {
			at := i * 100 * ms
			p.strand(1, at, 1)
			p.add(1, at, checkpoint.Enter, 1)
			p.add(1, at+99*ms, checkpoint.Exit, 1)
			p.strand(1, at+99*ms, 0)
			p.strand(c.consumer, at+99*ms, 2)
			p.strand(c.consumer, at+100*ms, 0)
		}
		p.strand(c.consumer, 1000*ms, 2)
		p.add(c.consumer, 1000*ms, checkpoint.Exit, 2)
		usage := busy(1)
		if c.consumer == 2 {
			usage = busy(0.99, 0.01)
		}
		r := p.play([]nemb.Domain{counter}, 1010*ms, 10*ms, constant(10), usage)
		lawful(t, r)
		if c := cost(t, r, 1); !near(c.Self.Energy, 9_900_000, 0.01) {
			t.Errorf("%s: the producer has %d", name, c.Self.Energy)
		}
		if c := cost(t, r, 2); c.Self.Energy > 110_000 || c.SelfTime != 10*time.Millisecond || c.Suspended != 990*time.Millisecond {
			t.Errorf("%s: the consumer %+v", name, c)
		}
	}
}

// What a thread uses without a strand is not its goroutines', and a thread that
// sleeps without one takes nothing from their share.
func TestIdleThread(t *testing.T) {
	var p tape
	for i := range int64(100) { // half of each window
		p.strand(1, i*10*ms, 1)
		p.add(1, i*10*ms, checkpoint.Enter, 1)
		p.add(1, i*10*ms+5*ms, checkpoint.Exit, 1)
		p.strand(1, i*10*ms+5*ms, 0)
	}
	for _, c := range []struct{ used, want float64 }{{0.5, 10e6}, {0.75, 20e6 / 3}, {0.25, 10e6}} {
		q := p
		q.words = map[checkpoint.Thread][]checkpoint.Word{}
		for k, w := range p.words {
			q.words[k] = slices.Clone(w)
		}
		r := q.play([]nemb.Domain{counter}, 1000*ms, 10*ms, constant(10), busy(c.used))
		exact(t, r)
		if got := cost(t, r, 1).Self.Energy; !near(got, nemb.Energy(c.want), 0.01) {
			t.Errorf("%g used: %d, want %g", c.used, got, c.want)
		}
	}
}

// A number that is given again begins with an empty stack; frames that are
// open when the process ends do not come back in the next of its number.
func TestStrandNumbersAgain(t *testing.T) {
	var p tape
	p.strand(1, 0, 5)
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, 100*ms, checkpoint.Exit, 1)
	p.strand(2, 200*ms, 5)
	p.add(2, 200*ms, checkpoint.Enter, 2)
	p.add(2, 300*ms, checkpoint.Exit, 2)
	p.strand(2, 300*ms, 6)
	p.add(2, 300*ms, checkpoint.Enter, 3)
	p.strand(2, 400*ms, 0)
	p.last = map[uint32]bool{1: true, 2: true}
	r := p.play([]nemb.Domain{counter}, 1000*ms, 10*ms, constant(10), alone)
	lawful(t, r)
	if r.Stats.OpenAtEnd != 1 || r.Stats.Closed+r.Stats.Unwound != 0 {
		t.Errorf("%+v", r.Stats)
	}
	for site, want := range map[checkpoint.SiteID]time.Duration{1: 100 * time.Millisecond, 2: 100 * time.Millisecond, 3: 100 * time.Millisecond} {
		if c := cost(t, r, site); c.InclusiveTime != want {
			t.Errorf("%d: %+v", site, c)
		}
	}
	if processes, _ := p.a.stacks.Strands(); processes != 0 {
		t.Errorf("%d processes are kept", processes)
	}
}

// The strands of a program end when exec(2) puts another in its place, and
// those that may have reported what was lost end with the loss.
func TestStrandsEnd(t *testing.T) {
	word := func(at int64, k checkpoint.Kind, s checkpoint.SiteID) checkpoint.Word {
		return checkpoint.Pack(checkpoint.Tick(origin+at), k, s)
	}
	id := checkpoint.Thread{PID: 1, TID: 1}
	for name, next := range map[string]checkpoint.Run{
		"exec": {Thread: id, Strands: true, First: true, Image: true},
		"lost": {Thread: id, Strands: true, Lost: 3},
	} {
		a := New([]nemb.Domain{counter}, 1)
		a.Begin(nemb.Sample{At: origin, Time: origin, Energy: []nemb.Energy{0}})
		first := checkpoint.Run{Thread: id, Strands: true, First: true, Image: true, Start: origin, Words: []checkpoint.Word{
			word(1, checkpoint.Strand, 1), word(1, checkpoint.Enter, 1), word(2, checkpoint.Strand, 2), word(2, checkpoint.Enter, 2),
		}}
		next.Start = origin + 3
		next.Words = []checkpoint.Word{word(4, checkpoint.Strand, 1), word(4, checkpoint.Enter, 3), word(5, checkpoint.Exit, 3)}
		for _, r := range []checkpoint.Run{first, next} {
			if n := a.Fold(r, origin+100, origin+50); n != len(r.Words) {
				t.Fatalf("%s: took %d", name, n)
			}
		}
		a.Last(nemb.Sample{At: origin + 100, Time: origin + 100, Energy: []nemb.Energy{100}})
		r := a.Finish()
		lawful(t, r)
		if r.Stats.OpenAtEnd != 2 {
			t.Errorf("%s: %+v", name, r.Stats)
		}
		if c := cost(t, r, 3); c.InclusiveTime != 1 || cost(t, r, 1).InclusiveTime != 1 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// Half of a number of two words is left for the next time.
func TestHalfStrand(t *testing.T) {
	a := New([]nemb.Domain{counter}, 1)
	r := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, Strands: true, First: true, Start: origin, Words: []checkpoint.Word{
		checkpoint.Pack(origin+1, checkpoint.Strand, 4), checkpoint.Pack(origin+1, checkpoint.Enter, 1),
		checkpoint.Pack(origin+2, checkpoint.Strand, checkpoint.Wide|5),
	}}
	if n := a.Fold(r, origin+100, origin+50); n != 2 {
		t.Errorf("took %d", n)
	}
}

// Goroutines call and move at random on virtual time. Whatever the order in
// which threads are read, and wherever the windows end, each site has the time
// that it had, exactly.
func TestStrandsRandom(t *testing.T) {
	for seed := range uint64(long.Rounds(t, 4, 12)) {
		for _, scheduler := range []bool{true, false} {
			random(t, seed, scheduler)
		}
	}
}

func random(t *testing.T, seed uint64, scheduler bool) {
	const goroutines, threads, sites, end = 20, 5, 6, 100 * ms
	rng := rand.New(rand.NewPCG(seed, 1))
	var p tape
	type goroutine struct {
		stack []checkpoint.SiteID
		on    uint32
	}
	gs := make([]goroutine, goroutines)
	on := make([]int, threads+1)     // per thread: the goroutine, -1 for none
	told := make([]int, threads+1)   // and the one that it told last
	last := make([]int64, threads+1) // when its time was counted
	self := make([]int64, sites+1)   // what the sites must get
	inside := make([]int64, sites+1) // and with what they call
	calls := make([]uint64, sites+1) //
	for i := range on {
		on[i], told[i] = -1, -1
	}
	count := func(th uint32, at int64) {
		if g := on[th]; g >= 0 {
			if stack := gs[g].stack; len(stack) > 0 {
				self[stack[len(stack)-1]] += at - last[th]
				for _, s := range slices.Compact(slices.Sorted(slices.Values(stack))) {
					inside[s] += at - last[th]
				}
			}
		}
		last[th] = at
	}
	leave := func(th uint32, at int64) {
		count(th, at)
		gs[on[th]].on = 0
		on[th] = -1
		if scheduler {
			p.strand(th, at, 0)
			told[th] = -1
		}
	}
	event := func(g int, at int64, k checkpoint.Kind, s checkpoint.SiteID) {
		th := gs[g].on
		if told[th] != g {
			p.strand(th, at, uint64(g+1))
			told[th] = g
		}
		count(th, at)
		p.add(th, at, k, s)
		if k == checkpoint.Enter {
			gs[g].stack = append(gs[g].stack, s)
			calls[s]++
		} else {
			gs[g].stack = gs[g].stack[:len(gs[g].stack)-1]
		}
	}
	at := int64(0)
	for at < end {
		at += 1 + rng.Int64N(ms/50)
		g := rng.IntN(goroutines)
		switch {
		case gs[g].on == 0: // comes to a thread that is free
			th := uint32(1 + rng.IntN(threads))
			if on[th] >= 0 {
				leave(th, at)
			}
			if scheduler {
				at++
			}
			count(th, at)
			on[th], gs[g].on = g, th
			if scheduler {
				p.strand(th, at, uint64(g+1))
				told[th] = g
				break
			}
			// Without the scheduler a thread's time is known from its next event on.
			event(g, at, checkpoint.Enter, checkpoint.SiteID(1+rng.IntN(sites)))
		case rng.IntN(4) == 0:
			if !scheduler { // ends what it does before it goes, or it would be taken to run on
				if len(gs[g].stack) == 0 || len(gs[g].stack) > 3 {
					break
				}
				for len(gs[g].stack) > 0 {
					event(g, at, checkpoint.Exit, gs[g].stack[len(gs[g].stack)-1])
				}
			}
			leave(gs[g].on, at)
		case len(gs[g].stack) < 8 && rng.IntN(2) == 0:
			event(g, at, checkpoint.Enter, checkpoint.SiteID(1+rng.IntN(sites)))
		case len(gs[g].stack) > 0:
			event(g, at, checkpoint.Exit, gs[g].stack[len(gs[g].stack)-1])
		}
	}
	for g := range gs {
		for len(gs[g].stack) > 0 {
			at++
			if gs[g].on == 0 {
				if on[1] >= 0 {
					leave(1, at)
				}
				count(1, at)
				on[1], gs[g].on = g, 1
				if scheduler {
					p.strand(1, at, uint64(g+1))
					told[1] = g
				}
			}
			event(g, at, checkpoint.Exit, gs[g].stack[len(gs[g].stack)-1])
		}
	}
	r := p.play([]nemb.Domain{counter}, at+ms, 700_001, constant(10), busy(0.1, 0.1, 0.1, 0.1, 0.1))
	exact(t, r)
	for s := 1; s <= sites; s++ {
		c := cost(t, r, checkpoint.SiteID(s))
		if c.Calls != calls[s] {
			t.Errorf("seed %d: site %d: %d calls, want %d", seed, s, c.Calls, calls[s])
		}
		if d := c.SelfTime - time.Duration(self[s]); d < -time.Microsecond || d > time.Microsecond {
			t.Errorf("seed %d (scheduler %v): site %d: self time %v, want %v", seed, scheduler, s, c.SelfTime, time.Duration(self[s]))
		}
		if d := c.InclusiveTime - time.Duration(inside[s]); d < -time.Microsecond || d > time.Microsecond {
			t.Errorf("seed %d: site %d: inclusive time %v, want %v", seed, s, c.InclusiveTime, time.Duration(inside[s]))
		}
	}
	if _, strands := p.a.stacks.Strands(); strands > threads {
		t.Errorf("seed %d: %d strands are kept", seed, strands)
	}
}

// BenchmarkStrands merges what two threads reported of goroutines that go from one
// to the other: six events between two words on who runs, and words that tell
// of no change of goroutine.
func BenchmarkStrands(b *testing.B) {
	for name, events := range map[string]int{"6": 6, "600": 600} {
		b.Run("events="+name, func(b *testing.B) {
			const n = 1 << 18
			var words [2][]checkpoint.Word
			at := checkpoint.Tick(origin)
			for i := 0; len(words[0]) < n; i++ {
				for th := range words {
					at += 100
					w := append(words[th], checkpoint.Pack(at, checkpoint.Strand, checkpoint.SiteID(1+(i+th)%16)))
					for k := range events {
						at += 30
						kind, depth := checkpoint.Enter, k
						if k >= events/2 {
							kind, depth = checkpoint.Exit, events-1-k
						}
						w = append(w, checkpoint.Pack(at, kind, checkpoint.SiteID(1+depth)))
					}
					words[th] = append(w, checkpoint.Pack(at, checkpoint.Strand, 0))
				}
			}
			total := 0
			for b.Loop() {
				a := New([]nemb.Domain{counter}, 2)
				total = 0
				for k := 0; k < len(words[0]); k += 8192 {
					for th := range words {
						w := words[th][k:min(len(words[th]), k+8192)]
						r := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: uint32(th + 1)}, First: k == 0, Start: origin, Words: w, Strands: true}
						total += a.Fold(r, at+1000, 1<<62)
					}
					a.Merge()
				}
				if s := a.stacks.Stats; s.Unwound+s.Closed > 0 {
					b.Fatalf("%+v", s)
				}
			}
			b.ReportMetric(float64(total)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mwords/s")
		})
	}
}
