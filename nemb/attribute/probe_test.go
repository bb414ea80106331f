package attribute

import (
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// costly is a program whose times are known, and whose checkpoints cost.
type costly struct {
	tape
	cost   int64 // ns an event
	now    map[uint32]int64
	self   map[checkpoint.SiteID]int64
	events int64
}

func (p *costly) event(thread uint32, kind checkpoint.Kind, site checkpoint.SiteID) {
	p.now[thread] += p.cost / 2
	p.add(thread, p.now[thread], kind, site)
	p.now[thread] += p.cost - p.cost/2
	p.events++
}

func (p *costly) work(thread uint32, site checkpoint.SiteID, ns int64) {
	p.now[thread] += ns
	p.self[site] += ns
}

// call runs a random call tree: functions of 0.1 to 20 us.
func (p *costly) call(rng *rand.Rand, thread uint32, depth int) {
	site := checkpoint.SiteID(1 + rng.IntN(8))
	p.event(thread, checkpoint.Enter, site)
	p.work(thread, site, 100+rng.Int64N(20_000))
	for depth < 5 && rng.IntN(3) > 0 {
		p.call(rng, thread, depth+1)
		p.work(thread, site, 100+rng.Int64N(5_000))
	}
	p.event(thread, checkpoint.Exit, site)
}

// What checkpoints cost is taken from the functions, and what remains is what
// they would have cost without: known times and a known cost give them back.
func TestCheckpointsCost(t *testing.T) {
	for _, cost := range []int64{0, 30, 90, 3001} {
		for _, told := range []bool{true, false} {
			rng := rand.New(rand.NewPCG(7, uint64(cost)))
			p := &costly{cost: cost, now: map[uint32]int64{}, self: map[checkpoint.SiteID]int64{}}
			end := int64(0)
			for thread := uint32(1); thread <= 2; thread++ {
				for p.now[thread] < 200*ms {
					p.work(thread, 0, 5_000)
					p.call(rng, thread, 0)
				}
				end = max(end, p.now[thread])
			}
			for thread := uint32(1); thread <= 2; thread++ { // both work to the end
				p.work(thread, 0, end-p.now[thread])
			}
			if told {
				p.each = float64(cost)
			}
			// Two processors, all busy, 10 W each: a nanosecond is 10 nJ.
			usage := func(at int64) account.Usage {
				u := account.Usage{Program: time.Duration(2 * at)}
				for thread := uint32(1); thread <= 2; thread++ {
					u.Threads = append(u.Threads, account.ThreadUsage{Thread: checkpoint.Thread{PID: 1, TID: thread}, CPU: time.Duration(at)})
				}
				return u
			}
			r := p.play([]nemb.Domain{counter}, end, 10*ms, constant(20), usage)
			lawful(t, r)
			spent := time.Duration(p.events * cost)
			if !told || cost == 0 {
				if r.Checkpoints != 0 || r.Total.Checkpoints != 0 {
					t.Errorf("%d ns: %v, %d uJ", cost, r.Checkpoints, r.Total.Checkpoints)
				}
			} else if off := (r.Checkpoints - spent).Abs(); off > spent/500+time.Microsecond {
				t.Errorf("%d ns: checkpoints took %v, want %v", cost, r.Checkpoints, spent)
			} else if want := nemb.Energy(spent * 10 / 1000); !near(r.Total.Checkpoints, want, .005) || (r.CheckpointCPU-spent).Abs() > spent/200 {
				t.Errorf("%d ns: checkpoints took %d uJ in %v, want %d in %v", cost, r.Total.Checkpoints, r.CheckpointCPU, want, spent)
			}
			worst := 0.0
			for site, ns := range p.self {
				if site == 0 {
					continue
				}
				c := known(r, site)
				off := float64(c.SelfTime-time.Duration(ns)) / float64(ns)
				worst = max(worst, off, -off)
				if e := nemb.Energy(ns * 10 / 1000); told && !near(c.Self.Energy, e, .005) {
					t.Errorf("%d ns: site %d has %d uJ, want %d", cost, site, c.Self.Energy, e)
				}
			}
			// The largest cost is a fifth of the functions' own time: untold, it
			// is charged to them.
			if told && worst > .002 || !told && cost == 3001 && worst < .2 {
				t.Errorf("%d ns, told %v: self times are off by up to %.1f %%", cost, told, 100*worst)
			}
			if want := nemb.Energy(p.self[0] * 10 / 1000); told && !near(r.Total.Uninstrumented, want, .005) {
				t.Errorf("%d ns: outside the functions %d uJ, want %d", cost, r.Total.Uninstrumented, want)
			}
		}
	}
}

func known(r Result, site checkpoint.SiteID) Cost {
	for _, c := range r.Costs {
		if c.Site == site {
			return c
		}
	}
	return Cost{}
}

// The clock of some processors goes in steps that are longer than a checkpoint.
// Intervals between two events are then too short or too long, and right on the
// average: what is taken off for checkpoints is what they cost, from words and
// from sums alike.
func TestCheckpointsOnACoarseClock(t *testing.T) {
	const step, cost, calls, own = 60, 40, 200_000, 30
	var tape []moment
	now := int64(origin)
	read := func() checkpoint.Tick {
		now += cost
		return checkpoint.Tick((now - cost/2) / step * step)
	}
	tape = append(tape, moment{at: read(), thread: 1, kind: checkpoint.Enter, site: 1})
	for range calls {
		tape = append(tape, moment{at: read(), thread: 1, kind: checkpoint.Enter, site: 2})
		now += own
		tape = append(tape, moment{at: read(), thread: 1, kind: checkpoint.Exit, site: 2})
		now += 3 // the loop around the call; 113 ns in all, so every phase of a step occurs
	}
	tape = append(tape, moment{at: read(), thread: 1, kind: checkpoint.Exit, site: 1})
	for way, adds := range map[string]bool{"words": false, "sums": true} {
		r := attributedAt(cost, tape, 1, func(uint32) bool { return adds }, 0)
		lawful(t, r)
		if got, want := known(r, 2).SelfTime, time.Duration(calls*own); (got - want).Abs() > want/100 {
			t.Errorf("%s: the function took %v, want %v", way, got, want)
		}
		if got, want := r.Checkpoints, time.Duration(2*calls*cost); (got - want).Abs() > want/100 {
			t.Errorf("%s: the checkpoints took %v, want %v", way, got, want)
		}
	}
}
