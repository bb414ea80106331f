package attribute

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/simulate"
)

// A loaded is a program on a machine that others use as well, on virtual time. A scheduler gives each
// task a processor for 2 to 4 ms by turns, so that wall-clock time tells little of processor
// time. Each task draws a power of its own while it runs.
type loaded struct {
	name       string
	threads    int           // of the program; thread i calls function i alone, and one thread calls both by chance
	mean       time.Duration // of a call, in processor time
	every      time.Duration // between samples
	neighbours int           // tasks of others that never wait
	watts      float64       // of each of them
}

// Two processors, each function's power, and that of the program outside its functions.
const (
	loadedCPUs   = 2
	loadedLength = 20 * time.Second
	outsideWatts = 15
)

var loadedWatts = [...]float64{20, 5}

// task is a thread of the program or a neighbour.
type task struct {
	number  int // of the program's threads, from 0; -1 for a neighbour
	used    int64
	free    int64 // when its last slice ended
	site    checkpoint.SiteID
	left    int64 // of the call, or of the time before the next one
	changes []knot
}

// knot is the processor time that a task had used by an instant. It is linear between knots.
type knot struct{ at, used int64 }

// machine plays the tasks.
type loadedMachine struct {
	loaded
	random *rand.Rand
	tp     tape
	edges  []edge
	energy map[checkpoint.SiteID]float64
	whole  float64 // the program's
}

// run lets a task have a processor for a slice.
func (m *loadedMachine) run(t *task, from, length int64) {
	t.changes = append(t.changes, knot{from, t.used})
	draw := func(at, d int64, watts float64) {
		m.edges = append(m.edges, edge{at, watts}, edge{at + d, -watts})
	}
	if t.number < 0 {
		draw(from, length, m.watts)
	}
	for at := from; t.number >= 0 && at < from+length; {
		if t.left == 0 {
			m.next(t, at)
		}
		d := min(t.left, from+length-at)
		watts := float64(outsideWatts)
		if t.site > 0 {
			watts = loadedWatts[t.site-1]
			m.energy[t.site] += watts * float64(d) * 1e-9
		}
		m.whole += watts * float64(d) * 1e-9
		draw(at, d, watts)
		at, t.left = at+d, t.left-d
	}
	t.used, t.free = t.used+length, from+length
	t.changes = append(t.changes, knot{t.free, t.used})
}

// next ends a call, or begins one.
func (m *loadedMachine) next(t *task, at int64) {
	id := uint32(t.number + 1)
	if t.site > 0 {
		m.tp.add(id, at, checkpoint.Exit, t.site)
		t.site, t.left = 0, max(1, int64(m.mean/20))
		return
	}
	t.site = checkpoint.SiteID(t.number + 1)
	if m.threads == 1 {
		t.site = checkpoint.SiteID(1 + m.random.IntN(2))
	}
	m.tp.add(id, at, checkpoint.Enter, t.site)
	t.left = int64(float64(m.mean) * (0.5 + m.random.Float64()))
}

// schedule gives the processors to the tasks that have had least, until the end.
func (m *loadedMachine) schedule(tasks []*task) {
	var free [loadedCPUs]int64
	for {
		cpu := 0
		if free[1] < free[0] {
			cpu = 1
		}
		now := free[cpu]
		if now >= int64(loadedLength) {
			return
		}
		var chosen *task
		soon := int64(math.MaxInt64)
		for _, t := range tasks {
			if t.free > now {
				soon = min(soon, t.free)
			} else if chosen == nil || t.used < chosen.used {
				chosen = t
			}
		}
		if chosen == nil {
			free[cpu] = soon
			continue
		}
		length := min(int64(loadedLength)-now, 2*ms+m.random.Int64N(2*ms))
		m.run(chosen, now, length)
		free[cpu] = now + length
	}
}

// at is what a task had used at an instant. Where the kernel brings it up to date at the
// beginning and end of a slice and each tick of 4 ms only, it may be older.
func (t *task) at(now int64, exact bool) int64 {
	i, found := slices.BinarySearchFunc(t.changes, now, func(k knot, at int64) int { return cmp.Compare(k.at, at) })
	if found {
		return t.changes[i].used
	}
	if i == 0 {
		return 0
	}
	before := t.changes[i-1]
	if i == len(t.changes) || t.changes[i].used == before.used {
		return before.used
	}
	if !exact {
		now = max(before.at, now-now%(4*ms))
	}
	return before.used + now - before.at
}

// usage is what an account reads at an instant.
func (m *loadedMachine) usage(tasks []*task, at int64) (u account.Usage) {
	busy := int64(0)
	for _, t := range tasks {
		busy += t.at(at, true)
		if t.number >= 0 {
			u.Program += time.Duration(t.at(at-at%ms, true))
			u.Threads = append(u.Threads, account.ThreadUsage{
				Thread: checkpoint.Thread{PID: 1, TID: uint32(t.number + 1)}, CPU: time.Duration(t.at(at, false))})
		}
	}
	u.Other = max(0, time.Duration(busy-busy%(10*ms))-u.Program)
	return u
}

// between is usage at an instant between two readings, as the sampler finds it.
func (m *loadedMachine) between(a, b account.Usage, part float64) (u account.Usage) {
	mix := func(x, y time.Duration) time.Duration { return x + time.Duration(part*float64(y-x)) }
	u.Program, u.Other = mix(a.Program, b.Program), mix(a.Other, max(a.Other, b.Other))
	for i := range a.Threads {
		u.Threads = append(u.Threads, account.ThreadUsage{Thread: a.Threads[i].Thread,
			CPU: mix(a.Threads[i].CPU, b.Threads[i].CPU)})
	}
	return u
}

// play runs the program, and attributes what samples show of it.
func (l loaded) play(t *testing.T, seed uint64) (Result, *loadedMachine) {
	m := &loadedMachine{loaded: l, random: rand.New(rand.NewPCG(seed, 7)), energy: map[checkpoint.SiteID]float64{}}
	var tasks []*task
	for i := range l.threads {
		tasks = append(tasks, &task{number: i})
	}
	for range l.neighbours {
		tasks = append(tasks, &task{number: -1})
	}
	m.schedule(tasks)
	slices.SortStableFunc(m.edges, func(x, y edge) int { return cmp.Compare(x.at, y.at) })
	var trace simulate.Trace
	watts := 0.0
	for i, e := range m.edges {
		watts += e.watts
		if i+1 == len(m.edges) || m.edges[i+1].at > e.at {
			trace = append(trace, simulate.Step{From: time.Duration(e.at), Watts: max(0, watts)})
		}
	}
	c := simulate.Counter{Power: trace.Index(), Unit: simulate.UnitIntel, Period: truePeriod, Jitter: trueJitter, Seed: seed}
	// Whoever waits for a processor reads late: the sampler rarely, since it has short slices, and the
	// account, which a goroutine reads every 5 ms, up to the length of a slice.
	slow := func(mean int64) int64 {
		if l.neighbours == 0 {
			return 0
		}
		return int64(m.random.ExpFloat64() * float64(mean))
	}
	type reading struct {
		at int64
		u  account.Usage
	}
	readings := []reading{{}}
	readings[0].u = m.usage(tasks, 0)
	for at := int64(0); at < int64(loadedLength); {
		at = min(int64(loadedLength), at+5*ms+slow(3*ms))
		u := m.usage(tasks, at)
		u.Other = max(u.Other, readings[len(readings)-1].u.Other)
		readings = append(readings, reading{at, u})
	}
	domain := counter
	domain.Period = time.Millisecond
	a := New([]nemb.Domain{domain}, loadedCPUs)
	first, k, last := c.Read(0), 1, int64(0)
	for at := int64(0); ; at += int64(l.every) {
		late := 40_000 + slow(200_000)
		now := min(int64(loadedLength), max(last+1000, at+late))
		last = now
		for k < len(readings)-1 && readings[k].at < now {
			k++
		}
		before, after := readings[k-1], readings[k]
		s := nemb.Sample{At: checkpoint.Tick(origin + now), Time: checkpoint.Instant(origin + now),
			Energy: []nemb.Energy{nemb.Energy(c.Read(time.Duration(now)) - first)},
			Usage:  m.between(before.u, after.u, float64(now-before.at)/float64(after.at-before.at))}
		for id, words := range m.tp.words {
			n := a.Fold(checkpoint.Run{Thread: id, First: at == 0,
				Start: m.tp.start[id], Words: words}, s.At+1000, s.At)
			m.tp.words[id] = words[n:]
		}
		if now == int64(loadedLength) {
			a.Last(s)
			break
		}
		a.Close(s)
	}
	r := a.Finish()
	lawful(t, r)
	return r, m
}

// loads are rows of the table of docs/accuracy.md. holds is the least part of the intervals of
// functions that hold.
var loads = []struct {
	loaded
	holds float64
}{
	{loaded{"two processes, 1 ms", 2, time.Millisecond, time.Millisecond, 0, 0}, 0.9},
	{loaded{"two processes, 1 ms, 6 neighbours of 12 W", 2, time.Millisecond, time.Millisecond, 6, 12}, 0.9},
	{loaded{"two processes, 1 ms, 6 neighbours of 30 W", 2, time.Millisecond, time.Millisecond, 6, 30}, 0.9},
	{loaded{"two functions, 0.5 ms", 1, time.Millisecond / 2, time.Millisecond, 0, 0}, 0.5},
	{loaded{"two functions, 0.5 ms, 6 neighbours of 12 W", 1, time.Millisecond / 2, time.Millisecond, 6, 12}, 0.9},
	{loaded{"two functions, 0.5 ms, 6 neighbours of 30 W", 1, time.Millisecond / 2, time.Millisecond, 6, 30}, 0.9},
	{loaded{"two functions, 0.5 ms, samples each 10 ms", 1, time.Millisecond / 2, 10 * time.Millisecond, 0, 0}, 0.5},
	{loaded{"two functions, 0.5 ms, samples each 10 ms, 6 neighbours of 12 W", 1, time.Millisecond / 2,
		10 * time.Millisecond, 6, 12}, 0.9},
	{loaded{"two functions, 100 ms, samples each 10 ms, 6 neighbours of 12 W", 1, 100 * time.Millisecond,
		10 * time.Millisecond, 6, 12}, 0.9},
}

// loadScore sums up how right runs of one program were.
type loadScore struct {
	runs, n, held, program   int
	bias, worst, wide, whole float64
}

func (s *loadScore) add(r Result, m *loadedMachine) {
	holds := func(lo, hi nemb.Energy, truth float64) int {
		// The counter's last update may be a period old.
		if off := 1e-4 * truth; lo.Joules()-off <= truth && truth <= hi.Joules()+off {
			return 1
		}
		return 0
	}
	for _, c := range r.Costs {
		truth := m.energy[c.Site]
		off := c.Self.Energy.Joules()/truth - 1
		s.n++
		s.held += holds(c.Self.Lo, c.Self.Hi, truth)
		s.bias, s.worst = s.bias+off, max(s.worst, math.Abs(off))
		s.wide += float64(c.Self.Hi-c.Self.Lo) / 2 / float64(c.Self.Energy)
	}
	s.runs++
	s.whole = max(s.whole, math.Abs(r.Total.Program().Joules()/m.whole-1))
	s.program += holds(r.Total.ProgramLo, r.Total.ProgramHi, m.whole)
}

// Beside neighbours of another power, and with an account that is late, the intervals hold what the
// functions and the program truly used. How far the figures are off is for the table.
func TestLoad(t *testing.T) {
	lines := make([]string, len(loads))
	t.Run("programs", func(t *testing.T) {
		for i, l := range loads {
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				s := loadScore{}
				for seed := range *truthSeeds {
					r, m := l.play(t, seed+1)
					s.add(r, m)
				}
				n := float64(s.n)
				if part := float64(s.held) / n; part < l.holds {
					t.Errorf("%.0f %% of the intervals of functions hold", 100*part)
				}
				if s.program < s.runs {
					t.Errorf("%d of %d intervals of the program hold", s.program, s.runs)
				}
				lines[i] = fmt.Sprintf("| %s | %d | %+.0f | %.0f | %.0f | %.0f | %.1f | %.0f |", l.name, s.n, 100*s.bias/n,
					100*s.worst, 100*s.wide/n, 100*float64(s.held)/n, 100*s.whole, 100*float64(s.program)/float64(s.runs))
			})
		}
	})
	t.Logf("in percent\n| program | values | mean error | worst error | half interval | intervals that hold | "+
		"program, worst error | program's intervals that hold |\n%s", strings.Join(lines, "\n"))
}
