package node

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/gpus"
	"cg/nemb/sampler"
)

// shared is a GPU of a watt whose driver's samples come 800 ms late: processes use parts of each 200 ms.
type shared struct {
	e     *even
	uses  []nemb.Use
	until checkpoint.Instant
	of    []nemb.Instance // where it is divided
	asked int
	stuck bool // it tells of no more time
}

func (*shared) Domains() []nemb.Domain   { return nil }
func (*shared) Read([]nemb.Energy) error { return nil }
func (*shared) Close() error             { return nil }

func (s *shared) Occupants() nemb.Occupancy {
	s.asked++
	o := nemb.Occupancy{At: s.e.at, From: s.until, KnowsUses: true, KnowsContexts: true}
	if s.stuck {
		o.To = s.until
		return o
	}
	s.until = max(s.until, (s.e.at-800*tick)/(200*tick)*200*tick)
	if o.To = s.until; o.To > o.From {
		o.Uses, o.Instances = s.uses, slices.Clone(s.of)
	}
	return o
}

// The ranks of a node share a GPU by what its driver tells of their processes, however late. A process of nobody's rank
// is another one's, one whose number is not known nobody's, and the ledger is what the counter showed.
func TestRanksShareAGPU(t *testing.T) {
	for _, test := range []struct {
		name  string
		more  []nemb.Use
		wants map[string]float64 // parts of the GPU's energy
	}{
		{"two ranks", nil, map[string]float64{"0": 2. / 3, "1": 1. / 3}},
		{"and a stranger", []nemb.Use{{PID: 4711, Part: 0.1, Lo: 0.09, Hi: 0.11}}, map[string]float64{"0": .6, "1": .3, "other": .1}},
		{"and nobody", []nemb.Use{{PID: 0, Part: 0.1, Lo: 0.09, Hi: 0.11}}, map[string]float64{"0": .6, "1": .3, "unattributed": .1}},
		{"and one that is over", []nemb.Use{{PID: 815, Part: 0.1, Lo: 0.09, Hi: 0.11}}, map[string]float64{"0": .6, "1": .3, "unattributed": .1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := evenNode(t, "")
			m := e.m
			m.domains[1].ID, m.domains[1].Kind, m.domains[1].Lo, m.domains[1].Hi = "gpu0", nemb.KindGPU, 1, 1
			m.divider = newDivider(m.domains, 2, &state{}, nil)
			m.divider.begin(e.sample(0))
			parents := map[int]int{200: 100, 201: 101, 300: 200, 100: 1, 101: 1, 4711: 1, 1: 0}
			m.parent = func(pid int) (int, bool) { p, is := parents[pid]; return p, is }
			m.started = func(pid int) uint64 { return uint64(pid) }
			driver := &shared{e: e, uses: append([]nemb.Use{{PID: 300, Part: 0.6, Lo: 0.59, Hi: 0.61}, {PID: 201, Part: 0.3, Lo: 0.29, Hi: 0.31}}, test.more...)}
			m.divider.gpus[1] = &gpu{domain: 1, sensor: driver, owners: map[int][]owned{}, tenure: map[int]*tenant{}}
			m.count(e.sample(0))
			e.rank(t, 0, 2, 0, 4*aSecond)
			e.rank(t, 1, 2, 0, 4*aSecond+tick)
			if err := m.measure(); err != nil {
				t.Fatal(err)
			}
			node, err := m.Run.Node(m.record.Record)
			if err != nil {
				t.Fatal(err)
			}
			d := node.Domains[1]
			got := map[string]float64{"other": float64(d.OtherUj), "unattributed": float64(d.UnattributedUj),
				"0": float64(node.Ranks[0].ShareUj[1]), "1": float64(node.Ranks[1].ShareUj[1]), "idle": float64(d.IdleUj)}
			for who, e := range got {
				if want := test.wants[who] * float64(d.TotalUj); math.Abs(e-want) > 0.01*float64(d.TotalUj) {
					t.Errorf("%s: %v uJ of %v, want %v", who, e, d.TotalUj, want)
				}
			}
			if d.TotalUj != d.RanksUj+d.OtherUj+d.IdleUj+d.CgUj+d.UnattributedUj || math.Abs(float64(d.TotalUj)-4e6) > 5e4 {
				t.Errorf("%+v", d)
			}
			if faults := node.Unsound(); faults != nil {
				t.Error(faults)
			}
			warned := len(node.Warnings) > 0 && strings.Contains(node.Warnings[0].Message, "gpu0")
			if unknown := test.wants["unattributed"] > 0; warned != unknown || d.GPUMethod != "process" {
				t.Errorf("%q, method %q", node.Warnings, d.GPUMethod)
			}
			for i, r := range node.Ranks {
				// As the GPU is never idle, its idle power may be up to the least that was seen.
				if r.LessUj[1] == 0 || r.MoreUj[1] == 0 || r.LessUj[1] > r.ShareUj[1] || float64(r.MoreUj[1]) > 0.1*float64(r.ShareUj[1])+1.1*got["unattributed"] {
					t.Errorf("rank %d: %d uJ, %d less to %d more", i, r.ShareUj[1], r.LessUj[1], r.MoreUj[1])
				}
			}
			if most := int(6 * time.Second / nemb.AskEvery * 12); driver.asked < 16 || driver.asked > most {
				t.Errorf("the driver was asked %d times", driver.asked)
			}
		})
	}
}

// A number that another process has by now is not the rank's any more, but what the rank's process used before is; and
// what is still needed is not forgotten.
func TestReusedNumbers(t *testing.T) {
	m := evenNode(t, "").m
	now := checkpoint.Instant(aSecond)
	m.now = func() checkpoint.Instant { return now }
	slot, err := m.board.take(0, 100, 1)
	if err != nil {
		t.Fatal(err)
	}
	m.board.store(slotWord(slot, slotStart), 7)
	starts, parents := map[int]uint64{100: 7, 300: 8}, map[int]int{300: 100, 100: 1, 1: 0}
	m.started = func(pid int) uint64 { return starts[pid] }
	m.parent = func(pid int) (int, bool) { p, is := parents[pid]; return p, is }
	g := &gpu{owners: map[int][]owned{}}
	own := func(what string, pid, want int) {
		t.Helper()
		if got := m.own(g, pid, m.roots()); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	own("a rank's", 300, slot)
	parents[300] = 1
	own("one that lost its parents", 300, slot)
	now += aSecond
	starts[300] = 99
	own("another process", 300, strangers)
	if got := g.owner(300, now-tick); got != slot {
		t.Errorf("before: %d, want %d", got, slot)
	}
	if got := g.owner(300, now+tick); got != strangers {
		t.Errorf("after: %d, want %d", got, strangers)
	}
	starts[100], starts[301], parents[301] = 55, 56, 100
	own("a child of one that has the number of the rank's cg", 301, strangers)
	for pid := 1000; pid < 1000+1<<15; pid++ {
		g.owners[pid] = []owned{{slot: slot, lately: now}}
	}
	if g.forget(now + checkpoint.Instant(gpus.Patience)); len(g.owners) != 1<<15+2 {
		t.Errorf("%d are left", len(g.owners))
	}
	if g.forget(now + checkpoint.Instant(ownersLast) + 1); len(g.owners) != 0 {
		t.Errorf("%d are left", len(g.owners))
	}
}

// At the end a GPU whose driver tells nothing more does not keep that of another from being divided.
func TestStuckGPU(t *testing.T) {
	for range 8 { // in any order
		e := evenNode(t, "")
		m := e.m
		m.parent = func(int) (int, bool) { return 1, true }
		m.started = func(pid int) uint64 { return uint64(pid) }
		var drivers []*shared
		for d := range 2 {
			driver := &shared{e: e, uses: []nemb.Use{{PID: 300, Part: 0.6, Lo: 0.59, Hi: 0.61}}}
			drivers = append(drivers, driver)
			m.divider.gpus[d] = &gpu{domain: d, sensor: driver, owners: map[int][]owned{}, tenure: map[int]*tenant{}}
		}
		for ; e.at <= 4*aSecond; e.at += 100 * tick {
			e.sampled = e.at
			m.ask()
			m.count(e.sample(e.at))
			m.closed = e.at
		}
		drivers[0].stuck = true
		m.finishGPUs()
		for d, least := range []float64{0, 0.94} {
			l := m.divider.state.ledgers[d]
			if part := float64(l.other) / 4e6; part < least || d == 0 && part > 0.85 {
				t.Errorf("GPU %d: %+v", d, l)
			}
		}
	}
}

// resetting is a source that found counters reset.
type resetting struct {
	*even
	faults []sampler.Faults
}

func (r *resetting) Faults() []sampler.Faults { return r.faults }

// The time in which a GPU's counter was reset is divided among none, and is no time of little power, either.
func TestResetGPU(t *testing.T) {
	for _, fault := range []sampler.Faults{{Resets: 1}, {Laps: 1}, {Failed: 1}} {
		e := evenNode(t, "")
		m := e.m
		r := &resetting{e, make([]sampler.Faults, 2)}
		m.sampler = r
		g := &gpu{domain: 1, owners: map[int][]owned{}, tenure: map[int]*tenant{}}
		m.divider.gpus[1] = g
		count := func(at checkpoint.Instant) {
			e.sampled = at
			m.count(e.sample(at))
		}
		count(0)
		count(aSecond)
		r.faults[1] = fault
		count(2 * aSecond)
		want := 2 * aSecond
		if fault.Failed > 0 { // a later reading has told all
			want = 0
		}
		if done, _ := g.stream.SeenUntil(); done != checkpoint.Instant(want) {
			t.Errorf("%+v: divided up to %v, want %v", fault, done, want)
		}
		r.faults[0].Resets++ // of another domain
		count(3 * aSecond)
		if done, _ := g.stream.SeenUntil(); done != checkpoint.Instant(want) {
			t.Errorf("%+v: it was lost again: up to %v, want %v", fault, done, want)
		}
	}
}

// What the counter of a GPU tells late bounds the energy of the rank that used it, whatever piece it comes with.
func TestLateGPU(t *testing.T) {
	e := evenNode(t, "")
	e.rank(t, 0, 1, 0, aSecond)
	x := e.m.divider
	x.admit(1)
	g := &gpu{domain: 1, owners: map[int][]owned{300: {{slot: 0}}}, tenure: map[int]*tenant{}}
	x.occupy(g, []gpus.Piece{
		{From: 10, To: 20, Total: 100, Uses: []gpus.Used{{PID: 300, Energy: 100, Lo: 100, Hi: 100, Off: 3}}},
		{From: 20, To: 30, Total: 50, Idle: 50, Uses: []gpus.Used{{PID: 300, Lag: gpus.Lag{Off: -30, Squares: 16, Bursts: 5}}}},
	}, 0)
	if r := x.state.results[0]; r.shares[1] != 100 || r.less[1] != 40 || r.more[1] != 40 {
		t.Errorf("%d uJ, %d less to %d more, want 100 and 40", r.shares[1], r.less[1], r.more[1])
	}
}

// An instance of a divided GPU that is all one rank's is known to be, however many of its processes compute there. Of one
// that two ranks share, each may have used nothing.
func TestInstanceOfARank(t *testing.T) {
	for _, test := range []struct {
		second int // the process beside 300
		all    bool
	}{{302, true}, {201, false}} {
		e := evenNode(t, "")
		m := e.m
		m.domains[1].ID, m.domains[1].Kind, m.domains[1].Lo, m.domains[1].Hi = "gpu0", nemb.KindGPU, 1, 1
		m.divider = newDivider(m.domains, 2, &state{}, nil)
		m.divider.begin(e.sample(0))
		parents := map[int]int{200: 100, 201: 101, 300: 200, 302: 200, 100: 1, 101: 1, 1: 0}
		m.parent = func(pid int) (int, bool) { p, is := parents[pid]; return p, is }
		m.started = func(pid int) uint64 { return uint64(pid) }
		driver := &shared{e: e, of: []nemb.Instance{{Part: 0.6, Lo: 0.59, Hi: 0.61,
			Members: []nemb.Member{{PID: 300, Weight: 1}, {PID: test.second, Weight: 1}}}}}
		m.divider.gpus[1] = &gpu{domain: 1, sensor: driver, owners: map[int][]owned{}, tenure: map[int]*tenant{}}
		m.count(e.sample(0))
		e.rank(t, 0, 2, 0, 4*aSecond)
		e.rank(t, 1, 2, 0, 4*aSecond+tick)
		if err := m.measure(); err != nil {
			t.Fatal(err)
		}
		node, err := m.Run.Node(m.record.Record)
		if err != nil {
			t.Fatal(err)
		}
		r := node.Ranks[0]
		share, less := float64(r.ShareUj[1]), float64(r.LessUj[1])
		// As the GPU is never idle, its idle power may be up to the least that was seen in a second: after the first all
		// may be that.
		if share == 0 || test.all != (less < 0.9*share) {
			t.Errorf("beside process %d: rank 0 has %v uJ, %v less", test.second, share, less)
		}
	}
}
