package attribute

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/simulate"
)

// lines is a program of known truth whose function 1 has lines, the sites 11, 12 and so on, each with a power of its own,
// and which goes from one to another at random, or in turns, on virtual time.
type lines struct {
	watts  []float64
	mean   time.Duration // in a line
	exact  bool          // always that, in turns, and not 0.5 to 1.5 of it
	callee bool          // a function 2 of 12 W is called at times
	length time.Duration
	seed   uint64
}

// stays are how long the program was in a node of its tree, one after the other.
type lineStay struct {
	node  uint32
	until int64
	watts float64
	calls uint32 // the node of a function that is called then, 0 for none
}

func (p lines) stays() (all []lineStay) {
	random := rand.New(rand.NewPCG(p.seed, 5))
	for n, at := 0, int64(0); at < int64(p.length); n++ {
		k, d := n%len(p.watts), float64(p.mean)
		if !p.exact {
			k, d = random.IntN(len(p.watts)), d*(0.5+random.Float64())
		}
		at += int64(d)
		all = append(all, lineStay{checkpoint.FirstNode + 1 + uint32(k), at, p.watts[k], 0})
		if p.callee && random.IntN(3) == 0 {
			at += int64(d)
			all = append(all, lineStay{checkpoint.FirstNode + 1 + uint32(len(p.watts)), at, 12, 0})
		}
	}
	return all
}

// play gives what is told of the program, and what each line used in joules.
func (p lines) play() (Result, map[checkpoint.SiteID]float64) {
	nodes := append(make([]checkpoint.Node, checkpoint.FirstNode), checkpoint.Node{Site: 1})
	for k := range p.watts {
		nodes = append(nodes, checkpoint.Node{Site: checkpoint.SiteID(11+k) | lineMark, Parent: checkpoint.FirstNode})
	}
	nodes = append(nodes, checkpoint.Node{Site: 2, Parent: checkpoint.FirstNode})
	return playStays(nodes, p.stays(), p.seed)
}

// lineMark is that of a node that is a place.
const lineMark = checkpoint.SiteID(1) << 31

// playStays gives what is told of a program that stays in nodes, and what each site used in joules.
func playStays(nodes []checkpoint.Node, all []lineStay, seed uint64) (Result, map[checkpoint.SiteID]float64) {
	truth := map[checkpoint.SiteID]float64{}
	trace, from := simulate.Trace{}, int64(0)
	for _, s := range all {
		trace = append(trace, simulate.Step{From: time.Duration(from), Watts: s.watts})
		truth[nodes[s.node].Site&^lineMark] += s.watts * float64(s.until-from) * 1e-9
		from = s.until
	}
	c := simulate.Counter{Power: trace.Index(), Unit: simulate.UnitIntel, Period: truePeriod, Jitter: trueJitter, Seed: seed}
	a := New([]nemb.Domain{{ID: "package-0", Method: nemb.Measured, InTotal: true, Period: time.Millisecond, Lo: 1, Hi: 1}}, 1)
	thread := checkpoint.Thread{PID: 1, TID: 1}
	end, before, k := from, int64(0), 0
	for at := int64(0); ; at = min(end, at+int64(time.Millisecond)) {
		s := nemb.Sample{At: checkpoint.Tick(origin + at), Time: checkpoint.Instant(origin + at),
			Energy: []nemb.Energy{nemb.Energy(c.Read(time.Duration(at)))}}
		s.Usage.Program = time.Duration(at)
		s.Usage.Threads = []account.ThreadUsage{{Thread: thread, CPU: time.Duration(at)}}
		parts := map[uint32]*checkpoint.Part{}
		part := func(node uint32) *checkpoint.Part {
			if parts[node] == nil {
				parts[node] = &checkpoint.Part{Node: node}
			}
			return parts[node]
		}
		for since := before; since < at; {
			stay := all[k]
			until := min(stay.until, at)
			part(stay.node).Ticks += uint64(until - since)
			if since = until; until == stay.until && k+1 < len(all) {
				k++
				part(stay.node).Calls++
				if stay.calls != 0 {
					part(stay.calls).Calls++
				}
			}
		}
		if at > 0 {
			w := checkpoint.Window{Epoch: checkpoint.Tick(origin + before), Begin: checkpoint.Tick(origin + before),
				Last: s.At - 1, Top: all[k].node}
			for _, part := range parts {
				w.Parts = append(w.Parts, *part)
			}
			a.Fold(checkpoint.Run{Thread: thread, First: before == 0, Start: checkpoint.Tick(origin),
				Tally: &checkpoint.Tally{Paths: 1, Nodes: nodes, Windows: []checkpoint.Window{w}}}, s.At, s.At)
		}
		if before = at; at == end {
			a.Last(s)
			return a.Finish(), truth
		}
		a.Close(s)
	}
}

// placeOfSite is the place of a line.
func placeOfSite(t *testing.T, r Result, site checkpoint.SiteID) Place {
	t.Helper()
	for _, p := range r.Places {
		if p.Site == site {
			return p
		}
	}
	t.Fatalf("no place %d in %+v", site, r.Places)
	return Place{}
}

// TestLinesHaveTheirPower: two loops of one function that draw 20 and 5 W have the energies that they used within 10 %,
// where they run long enough and in changing proportion, and their intervals hold them.
func TestLinesHaveTheirPower(t *testing.T) {
	for name, p := range map[string]lines{
		"two, 5 ms":              {watts: []float64{20, 5}, mean: 5 * time.Millisecond},
		"two, 500 us":            {watts: []float64{20, 5}, mean: 500 * time.Microsecond},
		"two of four alike":      {watts: []float64{20, 5, 12, 12}, mean: 5 * time.Millisecond},
		"with a function called": {watts: []float64{20, 5}, mean: 5 * time.Millisecond, callee: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.length, p.seed = 8*time.Second, 3
			r, truth := p.play()
			lawful(t, r)
			sum, told := 0.0, 0
			for k := range p.watts {
				site := checkpoint.SiteID(11 + k)
				line := placeOfSite(t, r, site)
				sum += line.Energy
				if line.Method == Regression {
					told++
				}
				got, want := line.Energy*1e-6, truth[site]
				t.Logf("line %d: %.2f J, %.2f to %.2f J, truth %.2f J", site, got, line.Lo.Joules(), line.Hi.Joules(), want)
				if math.Abs(got/want-1) > 0.1 {
					t.Errorf("line %d used %.2f J, want %.2f J", site, got, want)
				}
				if line.Lo.Joules() > want || line.Hi.Joules() < want || line.Hi-line.Lo <= 0 {
					t.Errorf("line %d: %.2f to %.2f J, want %.2f J", site, line.Lo.Joules(), line.Hi.Joules(), want)
				}
			}
			if c := cost(t, r, 1); math.Abs(sum-float64(c.Self.Energy)) > 1 {
				t.Errorf("the lines used %.0f uJ, their function %d", sum, c.Self.Energy)
			}
			if told == 0 {
				t.Error("no line has a power of its own")
			}
		})
	}
}

// TestLinesAreNotToldApart: lines that draw the same, and lines that run in fixed proportion, have their function's
// energy by time, and their intervals hold what they used.
func TestLinesAreNotToldApart(t *testing.T) {
	for name, p := range map[string]lines{
		"alike":    {watts: []float64{12, 12}, mean: 5 * time.Millisecond},
		"in turns": {watts: []float64{20, 8}, mean: 20 * time.Microsecond, exact: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.length, p.seed = 4*time.Second, 7
			r, truth := p.play()
			lawful(t, r)
			c := cost(t, r, 1)
			for _, site := range []checkpoint.SiteID{11, 12} {
				line := placeOfSite(t, r, site)
				byTime := float64(c.Self.Energy) * float64(line.CPU) / float64(c.CPUTime)
				if line.Method != TimeShare || math.Abs(line.Energy/byTime-1) > 0.01 {
					t.Errorf("line %d: %s, %.0f uJ, by time %.0f uJ", site, line.Method, line.Energy, byTime)
				}
				if want := truth[site]; line.Lo.Joules() > want || line.Hi.Joules() < want {
					t.Errorf("line %d: %.2f to %.2f J, want %.2f J", site, line.Lo.Joules(), line.Hi.Joules(), want)
				}
			}
		})
	}
}

// TestLinesDoNotHideBlur: two functions that are called in turns for 0.5 ms each, give or take 5 %, and go to a line 50
// times in a call, are told together, as they are without lines: what the edges of blocks hide is in pieces as long as a
// call.
func TestLinesDoNotHideBlur(t *testing.T) {
	t.Parallel()
	const functions, each, calls, arrivals, jitter = 2, 5, 8000, 50, 0.05
	play := func(lines bool) Result {
		nodes := make([]checkpoint.Node, checkpoint.FirstNode)
		for f := range functions {
			top := uint32(len(nodes))
			nodes = append(nodes, checkpoint.Node{Site: checkpoint.SiteID(1 + f)})
			for k := range each {
				nodes = append(nodes, checkpoint.Node{Site: checkpoint.SiteID(11+10*f+k) | lineMark, Parent: top})
			}
		}
		random, at := rand.New(rand.NewPCG(1, 2)), int64(0)
		var all []lineStay
		for n := range calls {
			top := checkpoint.FirstNode + uint32(n%functions*(1+each))
			long, watts := int64(float64(ms)/2*(1+jitter*(2*random.Float64()-1))), []float64{20, 5}[n%functions]
			for k := range arrivals {
				s := lineStay{top + 1 + uint32(k%each), at + long*int64(k+1)/arrivals, watts, 0}
				if !lines {
					s.node = top
				} else if k == 0 {
					s.calls = top
				}
				if lines || k == arrivals-1 {
					all = append(all, s)
				}
			}
			at += long
		}
		r, _ := playStays(nodes, all, 1)
		lawful(t, r)
		return r
	}
	with, without := play(true), play(false)
	if len(with.Places) != functions*each {
		t.Fatalf("%d places", len(with.Places))
	}
	for site := checkpoint.SiteID(1); site <= functions; site++ {
		got, want := cost(t, with, site), cost(t, without, site)
		if want.Reason != Collinear || got.Reason != want.Reason {
			t.Errorf("%d: %q, %q without lines", site, got.Reason, want.Reason)
		}
	}
}
