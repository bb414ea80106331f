package node

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/sampler"
	"cg/ranks"
)

// even is a node on virtual time whose domains draw a watt each. The second one is read every
// 400 ms, and samples do not wait for it.
type even struct {
	m       *measurer
	at      checkpoint.Instant // now
	sampled checkpoint.Instant
	stopped bool
	events  map[checkpoint.Instant]func() // what happens at a moment
}

const (
	tick    = checkpoint.Instant(time.Millisecond)
	slowly  = checkpoint.Instant(400 * time.Millisecond)
	aSecond = checkpoint.Instant(time.Second)
)

func (e *even) Domains() []nemb.Domain { return e.m.domains }

func (e *even) Faults() []sampler.Faults {
	return []sampler.Faults{{}, {Slowest: time.Duration(slowly)}}
}

func (e *even) sample(slow checkpoint.Instant) nemb.Sample {
	return nemb.Sample{At: checkpoint.Tick(e.sampled), Time: e.sampled, Usage: account.Usage{Other: time.Duration(e.sampled)},
		Energy: []nemb.Energy{nemb.Energy(e.sampled / 1000), nemb.Energy(slow / 1000)},
		Late:   []time.Duration{0, time.Duration(e.sampled - slow)}}
}

func (e *even) Poll() (all []nemb.Sample) {
	for e.sampled+10*tick <= e.at {
		e.sampled += 10 * tick
		all = append(all, e.sample(e.sampled/slowly*slowly))
	}
	return all
}

// Stop takes half a second: it waits for the last reading of the slow domain.
func (e *even) Stop() []nemb.Sample {
	all := e.Poll()
	e.sampled, e.stopped = e.at, true
	e.at += aSecond / 2
	return append(all, e.sample(e.sampled))
}

func (e *even) pass(d time.Duration) {
	for end := e.at + checkpoint.Instant(d); e.at < end; {
		if e.at += tick; e.events[e.at] != nil {
			e.events[e.at]()
		}
	}
}

// node is one that is sampled from 0 on, in a run whose reference is another node or, without a name, itself.
func evenNode(t *testing.T, reference string) *even {
	t.Helper()
	e := &even{m: taker(t, newRun(t), &state{}), events: map[checkpoint.Instant]func(){}}
	m := e.m
	m.Dir, m.Interval, m.cpus = m.board.dir, 10*time.Millisecond, 2
	second := m.domains[0]
	second.ID = "machine"
	m.domains = append(m.domains, second)
	m.divider = newDivider(m.domains, 2, &state{}, nil)
	m.sampler, m.pause = e, e.pass
	m.now = func() checkpoint.Instant { return e.at }
	m.clocks = ranks.Clocks{Wall: func() int64 { return int64(e.at) }, Steady: func() int64 { return int64(e.at) }}
	m.latest = e.sample(0)
	m.divider.begin(m.latest)
	m.fresh("n1-00000001", ranks.Measurer{PID: 7})
	if reference != "" {
		name := filepath.Join(m.Run.Clocks(), "reference")
		if err := os.WriteFile(name, []byte(`"`+reference+`"`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if m.clock, err = ranks.NewExchange(m.Run.Clocks(), m.Node, m.record.Record); err != nil {
		t.Fatal(err)
	}
	return e
}

// rank lets a rank come at a moment, when its program starts, and end at another.
func (e *even) rank(t *testing.T, rank, peers int, from, to checkpoint.Instant) {
	slot := 0
	come := func() {
		var err error
		if slot, err = e.m.board.take(rank, 100+rank, peers); err != nil {
			t.Fatal(err)
		}
		lock, err := held(e.m.board.lockOf(slot), unix.LOCK_EX)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { lock.Close() })
		e.m.board.store(slotWord(slot, slotBegun), uint64(max(1, from)))
	}
	if from > 0 {
		e.events[from] = come
	} else {
		come()
	}
	e.events[to] = func() {
		b := e.m.board
		b.store(slotWord(slot, slotCPU), uint64(to-from)/2)
		b.store(slotWord(slot, slotAt), uint64(to))
		b.store(slotWord(slot, slotFinal), uint64(to))
		b.store(slotWord(slot, slotState), stateFinal)
	}
}

// What is measured ends with the last rank, however long the node waits for other ranks and for
// the clocks. Up to then nothing is missing, of a sensor that is read seldom, too.
func TestEndOfANode(t *testing.T) {
	const end = 3*aSecond/2 + 3*tick
	for _, c := range []struct {
		what, reference string
		peers           int
		again           checkpoint.Instant // when a third rank comes, 0 for never
		ends            checkpoint.Instant
		over            checkpoint.Instant // the node's measurer, at the earliest
	}{
		{what: "the reference", peers: 2, ends: end, over: end + aSecond/2},
		{what: "another node, whom nobody answers", reference: "n0-1", peers: 2, ends: end, over: end + aSecond},
		{what: "a rank that does not come", peers: 3, ends: end, over: end + 3*aSecond/2},
		{what: "a rank that comes while others are waited for", peers: 3, again: end + 300*tick, ends: end + aSecond,
			over: end + 3*aSecond/2},
		{what: "a rank that comes during the last exchange", reference: "n0-1", peers: 2, again: end + 300*tick,
			ends: end + 3*aSecond, over: end + 9*aSecond/2},
		{what: "a rank that comes while the reference lingers", peers: 2, again: end + 200*tick, ends: end + 3*aSecond,
			over: end + 7*aSecond/2},
	} {
		t.Run(c.what, func(t *testing.T) {
			e := evenNode(t, c.reference)
			ended := filepath.Join(e.m.Run.Clocks(), "reference-ended")
			if c.reference == "" { // somebody may still ask it
				name := filepath.Join(e.m.Run.Clocks(), "n2-1.ping")
				if err := os.WriteFile(name, []byte(`{"n":0}`), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			e.rank(t, 0, c.peers, 0, aSecond)
			e.rank(t, 1, c.peers, 0, end)
			ranked := aSecond/2 + end/2
			if c.again > 0 {
				e.rank(t, 2, c.peers, c.again, c.ends)
				ranked += (c.ends - c.again) / 2
				e.events[c.ends-tick] = func() {
					if _, err := os.Stat(ended); err == nil {
						t.Error("the reference has ended, and it has a rank")
					}
				}
			}
			if err := e.m.measure(); err != nil {
				t.Fatal(err)
			}
			n, err := e.m.Run.Node("n1-00000001")
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range n.Unsound() {
				t.Error(fault)
			}
			if late := checkpoint.Instant(n.EndedUnixNs) - c.ends; late < 0 || late > 20*tick || n.UpdatedUnixNs != n.EndedUnixNs {
				t.Errorf("ended at %d, want %d", n.EndedUnixNs, c.ends)
			}
			for _, d := range n.Domains {
				if off := int64(d.TotalUj) - n.EndedUnixNs/1000; off < -1 || off > 1 {
					t.Errorf("%s: %d uJ of a watt until %d ns", d.ID, d.TotalUj, n.EndedUnixNs)
				}
			}
			if used := n.Samples[len(n.Samples)-1].RanksCPUNs; used != int64(ranked) {
				t.Errorf("the ranks used %d ns, want %d", used, ranked)
			}
			if e.at < c.over || e.at > c.over+aSecond || !e.stopped {
				t.Errorf("the measurer ended at %s, want %s", fmt.Sprint(time.Duration(e.at)), time.Duration(c.over))
			}
			if _, err := os.Stat(ended); (err == nil) != (c.reference == "") {
				t.Errorf("the reference has ended: %v", err)
			}
		})
	}
}

// What is measured begins when the first program starts: until then cg looks for sensors, rewrites
// files and compiles.
func TestBeginningOfANode(t *testing.T) {
	const begin, end = aSecond + 7*tick, 2 * aSecond
	e := evenNode(t, "")
	e.rank(t, 0, 2, 0, end)
	e.rank(t, 1, 2, 0, end-aSecond/2)
	b := e.m.board
	ended := e.events[end]
	e.events[end] = func() {
		b.store(slotWord(0, slotCPU), uint64(end-begin)/2)
		b.store(slotWord(0, slotOwn), uint64(3*aSecond/2))
		ended()
	}
	for slot, at := range []checkpoint.Instant{begin, begin + 100*tick} {
		b.store(slotWord(slot, slotBegun), 0)
		e.events[at] = func() {
			b.store(slotWord(slot, slotOwn), uint64(aSecond)) // before its program starts
			b.store(slotWord(slot, slotAt), uint64(at))
			b.store(slotWord(slot, slotBegun), uint64(at))
		}
	}
	if err := e.m.measure(); err != nil {
		t.Fatal(err)
	}
	n, err := e.m.Run.Node("n1-00000001")
	if err != nil {
		t.Fatal(err)
	}
	if early := int64(begin) - n.StartedUnixNs; early < 0 || early > int64(10*tick) || n.StartedMonoNs != n.StartedUnixNs ||
		n.Measurers[0].StartedUnixNs != n.StartedUnixNs {
		t.Errorf("started at %d, want %d", n.StartedUnixNs, begin)
	}
	d := n.Domains[0]
	if off := int64(d.TotalUj) - (n.EndedUnixNs-n.StartedUnixNs)/1000; off < -1 || off > 1 || len(n.Unsound()) > 0 {
		t.Errorf("%d uJ of a watt from %d to %d ns; %q", d.TotalUj, n.StartedUnixNs, n.EndedUnixNs, n.Unsound())
	}
	if s := n.Samples[len(n.Samples)-1]; s.OtherCPUNs > n.EndedUnixNs-n.StartedUnixNs || s.CgCPUNs > int64(3*aSecond/2) {
		t.Errorf("what was used before counts: %+v", s)
	}
}

// A node whose programs never start has a record with an end, and no energy.
func TestNodeWithoutAProgram(t *testing.T) {
	e := evenNode(t, "")
	e.rank(t, 0, 1, 0, aSecond)
	e.m.board.store(slotWord(0, slotBegun), 0)
	if err := e.m.measure(); err != nil {
		t.Fatal(err)
	}
	n, err := e.m.Run.Node("n1-00000001")
	if err != nil || n.EndedUnixNs < int64(aSecond) || n.Domains[0].TotalUj != 0 {
		t.Errorf("%v, ended at %d with %d uJ", err, n.EndedUnixNs, n.Domains[0].TotalUj)
	}
}
