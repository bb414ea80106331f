package attribute

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/simulate"
)

// counted is a loaded program on a machine of 4 W whose counter shows what is used, with cg beside it. Its functions draw
// 20, 5, 12, 35 and 8 W on a processor. length is processor time.
type counted struct{ loaded }

// heard are the moments at which cg reads the account, each for 0.2 ms and 16 W: as soon as it gets a processor.
func (p counted) heard(end int64, random *rand.Rand) (all []int64) {
	for at := int64(0); at < end; {
		at += 4*ms + int64(random.ExpFloat64()*p.load*2*float64(ms))
		all = append(all, at)
	}
	return all
}

// run is the program: what each site used, in joules, and when by how much power changes.
func (p counted) run(t *loadedThread) (energy map[checkpoint.SiteID]float64, edges []edge) {
	energy = map[checkpoint.SiteID]float64{}
	told := 0
	run := func(site checkpoint.SiteID, d int64, watts float64) {
		t.enter(site)
		t.run(d)
		t.exit()
		for ; told < len(t.on.from); told++ {
			from, to := t.on.from[told], t.on.to[told]
			edges = append(edges, edge{from, watts}, edge{to, -watts})
			energy[site] += watts * float64(to-from) * 1e-9
		}
	}
	run(1000, 20*ms, 10)
	for used := int64(0); used < int64(p.length); {
		f, d := t.random.IntN(p.functions), int64(float64(p.mean)*(0.5+t.random.Float64()))
		run(checkpoint.SiteID(f+1), d, []float64{20, 5, 12, 35, 8}[f])
		used += d
	}
	run(1000, 20*ms, 10)
	return energy, edges
}

func (p counted) play() (Result, map[checkpoint.SiteID]float64) {
	random := rand.New(rand.NewPCG(p.seed, 24))
	var tp tape
	t := &loadedThread{p: &p.loaded, random: random, tape: &tp, id: 1, used: map[checkpoint.SiteID]float64{}, under: map[checkpoint.SiteID]float64{}}
	energy, edges := p.run(t)
	end := t.at
	heard := p.heard(end, random)
	edges = append(edges, edge{0, 4 + 16*0.02}) // the machine, and the sampler's thread
	for _, at := range heard {
		edges = append(edges, edge{at - ms/5, 16}, edge{at, -16})
	}
	slices.SortStableFunc(edges, func(x, y edge) int { return cmp.Compare(x.at, y.at) })
	trace, watts := simulate.Trace{}, 0.0
	for i, e := range edges {
		if watts += e.watts; i+1 == len(edges) || edges[i+1].at > e.at {
			trace = append(trace, simulate.Step{From: time.Duration(max(0, e.at)), Watts: max(0, watts)})
		}
	}
	c := simulate.Counter{Power: trace.Index(), Unit: simulate.UnitIntel, Period: truePeriod, Jitter: trueJitter, Seed: p.seed}
	a := New([]nemb.Domain{{ID: "package-0", Method: nemb.Measured, InTotal: true, Period: time.Millisecond, Lo: 1, Hi: 1,
		Base: 4, BaseLo: 3.95, BaseHi: 4.05, IdleShare: .1, IdleShareMost: .3}}, 2)
	read := func(at int64) (u account.Usage) {
		used, told, queued := t.on.at(at)
		n, _ := slices.BinarySearch(heard, at)
		u.Program, u.Own = time.Duration(used), time.Duration(n)*200*time.Microsecond+time.Duration(at/50)
		u.Threads = []account.ThreadUsage{{Thread: checkpoint.Thread{PID: 1, TID: 1}, CPU: time.Duration(told), Queued: time.Duration(queued), Turns: t.on.turns(at), Late: time.Duration(loadedJiffy)}}
		return u
	}
	var before, after int64
	first, second, begin := read(0), read(0), c.Read(0)
	for at := int64(0); ; at += ms {
		at = min(at, end)
		for after < at {
			before, first = after, second
			next, _ := slices.BinarySearch(heard, before+1)
			after = min(end, heard[min(next, len(heard)-1)])
			second = read(after)
		}
		s := nemb.Sample{At: checkpoint.Tick(origin + at), Time: checkpoint.Instant(origin + at), Usage: second,
			Energy: []nemb.Energy{nemb.Energy(c.Read(time.Duration(at)) - begin)}}
		if at < after {
			part := float64(at-before) / float64(after-before)
			s.Usage = usageBetween(first, second, part)
			s.Usage.Own = first.Own + time.Duration(float64(second.Own-first.Own)*part)
			s.Usage.Read = [2]checkpoint.Instant{checkpoint.Instant(origin + before), checkpoint.Instant(origin + after)}
		}
		for _, id := range slices.SortedFunc(maps.Keys(tp.words), account.CompareThreads) {
			words := tp.words[id]
			n := a.Fold(checkpoint.Run{Thread: id, First: at == 0, Start: tp.start[id], Words: words}, s.At+1000, s.At)
			tp.words[id] = words[n:]
		}
		if at == end {
			a.Last(s)
			return a.Finish(), energy
		}
		a.Close(s)
	}
}

// turns is how often the thread had got a processor after it waited for one.
func (o *onProcessor) turns(t int64) (n float64) {
	last := int64(0)
	for i, from := range o.from {
		if from > t {
			break
		}
		if o.queued[i] > last {
			n++
		}
		last = o.queued[i]
	}
	return n
}

// Where a program waits for its processor, nobody knows in which of its functions it was on one: the powers that a counter
// shows are too near to each other. The intervals have that, and where nothing is left of a function, it is not told.
func TestCounterUnderLoad(t *testing.T) {
	for _, of := range []struct {
		mean    time.Duration
		load    float64
		widest  float64 // median half interval
		nothing bool
	}{
		{500 * time.Microsecond, 0, 0.15, false}, {500 * time.Microsecond, 0.3, 0.5, false}, {5 * time.Millisecond, 3, 0.5, false},
		{500 * time.Microsecond, 20, math.Inf(1), true},
	} {
		n, held, unresolved, worst := 0, 0, 0, 0.0
		var widths, off []float64
		for seed := range uint64(2) {
			p := counted{loaded{functions: 5, mean: of.mean, load: of.load, late: true, length: 3 * time.Second / 2, seed: seed + 1}}
			r, energy := p.play()
			lawful(t, r)
			for _, c := range r.Costs {
				if c.Site == 1000 {
					continue
				}
				n++
				truth := energy[c.Site]
				if c.Self.Lo.Joules() <= truth && truth <= c.Self.Hi.Joules() {
					held++
				}
				if c.Reason != Resolved {
					unresolved++
				}
				off = append(off, math.Abs(c.Self.Energy.Joules()/truth-1))
				worst = max(worst, off[len(off)-1])
				widths = append(widths, (c.Self.Hi-c.Self.Lo).Joules()/2/truth)
			}
		}
		slices.Sort(widths)
		slices.Sort(off)
		t.Logf("%v, load %g: %d of %d hold, half interval %.2f, median error %.2f, worst %.2f, %d not resolved", of.mean, of.load, held, n,
			widths[len(widths)/2], off[len(off)/2], worst, unresolved)
		if held < n-1 || widths[len(widths)/2] > of.widest {
			t.Errorf("%v, load %g: %d of %d intervals hold, half of them wider than %.2f", of.mean, of.load, held, n, widths[len(widths)/2])
		}
		if of.nothing && (unresolved < n || worst < 1) {
			t.Errorf("%v, load %g: %d of %d not resolved, the worst off by %.2f", of.mean, of.load, unresolved, n, worst)
		}
	}
}
