package monitor

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/population"
	"cg/nemb/simulate"
)

const own = 1 << 20

// world is a machine in virtual time: counters of known power, processes and groups that a
// test moves by hand.
type world struct {
	t         *testing.T
	book      *Book
	now       time.Duration
	counters  []simulate.Counter
	broken    map[int]bool
	lost      bool // all counters were reset
	processes map[population.ID]*population.Process
	groups    map[string]time.Duration // exclusive
	busy      time.Duration
}

func machine(id string) nemb.Domain {
	return nemb.Domain{ID: id, Kind: "cpu_package", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}
}

func newWorld(t *testing.T, counters ...simulate.Counter) *world {
	w := &world{t: t, counters: counters, broken: map[int]bool{}, processes: map[population.ID]*population.Process{},
		groups: map[string]time.Duration{}}
	var domains []nemb.Domain
	for i := range counters {
		domains = append(domains, machine(fmt.Sprintf("package-%d", i)))
	}
	w.book = New(domains, 4, own)
	return w
}

// start begins a process in a group.
func (w *world) start(pid int, parent int, name, group string) *population.Process {
	p := &population.Process{ID: population.ID{PID: pid, Start: uint64(w.now / (10 * time.Millisecond))}, Parent: parent,
		Name: name, Group: group}
	w.processes[p.ID] = p
	return p
}

// use lets a process use the processor.
func (w *world) use(p *population.Process, cpu time.Duration) {
	p.CPU += cpu
	w.busy += cpu
	if p.Group != "/" {
		w.groups[p.Group] += cpu
	}
}

// end ends a process; waited says that its parent has waited for it.
func (w *world) end(p *population.Process, waited bool) {
	delete(w.processes, p.ID)
	for _, above := range w.processes {
		if waited && above.PID == p.Parent {
			above.Children += (p.CPU + p.Children).Truncate(10 * time.Millisecond)
		}
	}
}

// read takes a reading after a time.
func (w *world) read(after time.Duration) *Snapshot {
	w.t.Helper()
	w.now += after
	r := &Reading{At: checkpoint.Instant(w.now) + 1, Unix: int64(w.now)}
	for i, c := range w.counters {
		v := float64(c.Read(w.now))
		if w.broken[i] {
			v = math.NaN()
		}
		r.Energy = append(r.Energy, v)
	}
	if r.Host.Busy, r.Host.KnowsBusy = w.busy, true; w.lost {
		r.Lost = make([]bool, len(w.counters))
		for i := range r.Lost {
			r.Lost[i], r.Energy[i] = true, math.NaN()
		}
	}
	for _, p := range w.processes {
		r.Host.Processes = append(r.Host.Processes, *p)
	}
	for path := range w.groups {
		sum := time.Duration(0)
		for other, cpu := range w.groups {
			if other == path || len(other) > len(path) && other[:len(path)+1] == path+"/" {
				sum += cpu
			}
		}
		r.Host.Groups = append(r.Host.Groups, population.Group{Path: path, CPU: sum})
	}
	w.book.Add(r)
	s := w.book.Snapshot()
	for _, fault := range s.Check() {
		w.t.Errorf("at %v: %s", w.now, fault)
	}
	return s
}

func (s *Snapshot) joulesOf(pid int) (sum float64, rows int) {
	for _, p := range s.Processes {
		if p.PID == pid {
			sum += p.Joules
			rows++
		}
	}
	return sum, rows
}

func (s *Snapshot) joulesIn(group string) (sum float64) {
	for _, g := range s.Groups {
		if g.Path == group {
			sum += g.Joules
		}
	}
	return sum
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 2e-5*math.Max(1, want) { // whole microjoules of each window
		t.Errorf("%s: %.6f J, want %.6f J", what, got, want)
	}
}

// Two processes of 1:3 divide 20 W, and what cg used is its own.
func TestSharesAreProcessorTime(t *testing.T) {
	w := newWorld(t, simulate.Counter{Power: simulate.Constant(20)}, simulate.Counter{Power: simulate.Constant(4)})
	w.groups["/a"], w.groups["/b"] = 0, 0
	one, three, cg := w.start(10, 1, "one", "/a"), w.start(11, 1, "three", "/b"), w.start(own, 1, "cg", "/b")
	w.use(one, time.Hour) // before the first reading: nobody is charged for it
	w.read(0)
	for range 100 {
		w.use(one, 100*time.Millisecond)
		w.use(three, 300*time.Millisecond)
		w.use(cg, 80*time.Millisecond)
		w.read(time.Second)
	}
	s := w.book.Snapshot()
	near(t, "total", s.Total().Joules(), 2400)
	j, _ := s.joulesOf(10)
	near(t, "one", j, 500)
	j, _ = s.joulesOf(11)
	near(t, "three", j, 1500)
	near(t, "/a", s.joulesIn("/a"), 500)
	near(t, "/b", s.joulesIn("/b"), 1500)
	for _, l := range s.Ledger() {
		near(t, l.Name, l.Energy.Joules(), map[string]float64{LineGroups: 2000, LineOwn: 400}[l.Name])
	}
	if s.Method() != nemb.Measured || s.ShareMethod() != nemb.Derived || s.Watts() != 24 {
		t.Error(s.Method(), s.ShareMethod(), s.Watts())
	}
}

// Idle power that is known is set aside; an idle machine's energy is all idle.
func TestIdleApart(t *testing.T) {
	d := machine("package-0")
	d.Base, d.BaseLo, d.BaseHi = 8, 8, 8
	w := newWorld(t, simulate.Counter{Power: simulate.Constant(20)})
	w.book = New([]nemb.Domain{d}, 4, own)
	p := w.start(10, 1, "p", "/")
	w.read(0)
	for range 10 {
		w.use(p, time.Second)
		w.read(time.Second)
	}
	j, _ := w.book.Snapshot().joulesOf(10)
	near(t, "p", j, 120)
	s := w.read(10 * time.Second)
	near(t, "idle", s.Domains[0].Idle.Joules(), 280)
}

// A number that is used again is another process.
func TestPIDIsUsedAgain(t *testing.T) {
	w := newWorld(t, simulate.Counter{Power: simulate.Constant(10)})
	p := w.start(10, 1, "first", "/")
	w.read(0)
	w.use(p, 500*time.Millisecond)
	w.read(time.Second)
	w.end(p, false)
	p = w.start(10, 1, "second", "/")
	w.use(p, 100*time.Millisecond)
	w.read(time.Second)
	w.use(p, 300*time.Millisecond)
	s := w.read(time.Second)
	_, rows := s.joulesOf(10)
	if rows != 2 {
		t.Fatalf("%d rows", rows)
	}
	for _, p := range s.Processes {
		want := map[string]float64{"first": 10, "second": 20}[p.Name]
		if near(t, p.Name, p.Joules, want); p.Ended != (p.Name == "first") {
			t.Errorf("%s: ended is %v", p.Name, p.Ended)
		}
	}
}

// 2,000 children a second that no reading sees are in the group of the one that starts
// them, as the kernel counts them, and in its tree where there are no groups.
func TestShortLived(t *testing.T) {
	for _, group := range []string{"/build", "/"} {
		w := newWorld(t, simulate.Counter{Power: simulate.Constant(10)})
		if group != "/" {
			w.groups[group] = 0
		}
		parent, other := w.start(10, 1, "make", group), w.start(12, 1, "other", "/")
		w.book.Watch(Target{Kind: PID, Name: "10", ID: parent.ID})
		w.book.Watch(Target{Kind: Cgroup, Name: "x", Path: group})
		w.read(0)
		for range 20 {
			for range 2000 {
				child := w.start(11, 10, "cc", group)
				w.use(child, 300*time.Microsecond)
				w.end(child, false)
			}
			parent.Children += 600 * time.Millisecond
			w.use(parent, 100*time.Millisecond)
			w.use(other, 300*time.Millisecond)
			w.read(time.Second)
		}
		s := w.book.Snapshot()
		near(t, group+": tree", s.Targets[0].Joules, 140)
		if group != "/" {
			near(t, group, s.joulesIn(group), 140)
			near(t, group+": target", s.Targets[1].Joules, 140)
		}
		if want := 14 * time.Second; s.Targets[0].CPU != want {
			t.Errorf("%v of processor time, want %v", s.Targets[0].CPU, want)
		}
	}
}

// What a child used while it was seen is not counted again when its parent waits for it,
// at once, one reading later, or as an orphan's heir.
func TestWaitedOnce(t *testing.T) {
	for _, how := range []string{"at once", "late", "orphan"} {
		w := newWorld(t, simulate.Counter{Power: simulate.Constant(10)})
		heir := w.start(1, 0, "init", "/")
		parent := w.start(10, 1, "sh", "/")
		child := w.start(11, 10, "job", "/")
		other := w.start(12, 1, "other", "/")
		w.use(child, time.Hour) // before
		w.read(0)
		step := func() *Snapshot {
			w.use(other, 500*time.Millisecond)
			return w.read(time.Second)
		}
		w.use(child, 500*time.Millisecond)
		step()
		used := (child.CPU + child.Children)
		switch how {
		case "at once":
			w.end(child, true)
		case "late":
			w.end(child, false)
			step()
			parent.Children += used
		case "orphan":
			w.end(parent, false)
			step()
			w.end(child, false)
			heir.Children += used
		}
		step()
		s := step()
		j, _ := s.joulesOf(11)
		near(t, how+": job", j, 5)
		rest := s.Total().Joules() - 5
		j, _ = s.joulesOf(12)
		near(t, how+": other", j, rest)
	}
}

// A child that ends with its parent is waited for, in the end, by the parent's own: nobody
// else's children are taken for it.
func TestChildEndsWithItsParent(t *testing.T) {
	for range 20 { // in no order
		w := newWorld(t, simulate.Counter{Power: simulate.Constant(10)})
		w.start(1, 0, "init", "/")
		w.start(10, 1, "above", "/")
		maker := w.start(5, 1, "make", "/")
		parent := w.start(11, 10, "parent", "/")
		child := w.start(12, 11, "child", "/")
		w.read(0)
		w.use(parent, 200*time.Millisecond)
		w.use(child, 300*time.Millisecond)
		w.read(time.Second)
		parent.Children += child.CPU
		w.end(child, false)
		w.end(parent, true)
		maker.Children += 500 * time.Millisecond // of children that nobody saw
		w.busy += 500 * time.Millisecond
		s := w.read(time.Second)
		for pid, want := range map[int]float64{5: 10, 10: 0, 11: 4, 12: 6} {
			if j, _ := s.joulesOf(pid); math.Abs(j-want) > 1e-5 {
				t.Fatalf("%d: %v J, want %v", pid, j, want)
			}
		}
	}
}

// The tree of a process has those that it starts, and theirs; when all have ended it is over.
func TestTree(t *testing.T) {
	w := newWorld(t, simulate.Counter{Power: simulate.Constant(10)})
	root, child := w.start(10, 1, "root", "/"), w.start(11, 10, "child", "/")
	other := w.start(20, 1, "other", "/")
	w.book.Watch(Target{Kind: PID, Name: "10", ID: root.ID})
	w.read(0)
	grandchild := w.start(13, 12, "grandchild", "/")
	w.start(12, 11, "between", "/")
	w.use(child, 200*time.Millisecond)
	w.use(grandchild, 300*time.Millisecond)
	w.use(other, 500*time.Millisecond)
	s := w.read(time.Second)
	near(t, "tree", s.Targets[0].Joules, 5)
	if s.Targets[0].Processes != 4 || s.Targets[0].Ended {
		t.Errorf("%+v", s.Targets[0])
	}
	for _, p := range []*population.Process{root, child, grandchild} {
		w.end(p, false)
	}
	if s := w.read(time.Second); s.Targets[0].Processes != 1 || s.Targets[0].Ended {
		t.Errorf("%+v", s.Targets[0])
	}
	for _, p := range w.processes { // the one that is left is not waited for
		p.Over = true
	}
	if s := w.read(time.Second); s.Targets[0].Processes != 0 || !s.Targets[0].Ended {
		t.Errorf("%+v", s.Targets[0])
	}
	clear(w.processes)
	if s := w.read(time.Second); s.Targets[0].Processes != 0 || !s.Targets[0].Ended {
		t.Errorf("%+v", s.Targets[0])
	}
}

// A group that is removed keeps its energy, does not give it to the one above, and one that
// is made anew under its name begins at 0.
func TestGroupsComeAndGo(t *testing.T) {
	w := newWorld(t, simulate.Counter{Power: simulate.Constant(10)})
	w.groups["/s"], w.groups["/s/a"] = 0, 0
	w.read(0)
	p, inner := w.start(10, 1, "p", "/s/a"), w.start(11, 1, "inner", "/s")
	w.use(p, 300*time.Millisecond)
	w.use(inner, 100*time.Millisecond)
	w.read(time.Second)
	// The kernel keeps the time of a group that is gone in those above it.
	w.groups["/s"] += w.groups["/s/a"]
	delete(w.groups, "/s/a")
	w.end(p, false)
	w.use(inner, 100*time.Millisecond)
	s := w.read(time.Second)
	near(t, "/s", s.joulesIn("/s"), 12.5)
	near(t, "/s/a", s.joulesIn("/s/a"), 7.5)
	w.groups["/s/a"] = 0
	p = w.start(12, 1, "p", "/s/a")
	w.use(p, 100*time.Millisecond)
	w.use(inner, 100*time.Millisecond)
	s = w.read(time.Second)
	near(t, "/s", s.joulesIn("/s"), 17.5)
	near(t, "/s/a", s.joulesIn("/s/a"), 12.5)
	// Removed and made between two readings.
	w.groups["/s"] += w.groups["/s/a"]
	w.groups["/s/a"] = 50 * time.Millisecond
	w.busy += 50 * time.Millisecond
	w.use(inner, 50*time.Millisecond)
	s = w.read(time.Second)
	near(t, "/s", s.joulesIn("/s"), 22.5)
	near(t, "/s/a", s.joulesIn("/s/a"), 17.5)
	// Long after, what is gone is one sum.
	w.read(linger + time.Second)
	s = w.read(time.Second)
	near(t, "removed", s.Removed[0].Joules(), 12.5)
}

// A counter that cannot be read stands still, is counted as missed, and has lost nothing.
func TestFailedReading(t *testing.T) {
	w := newWorld(t, simulate.Counter{Power: simulate.Constant(10)}, simulate.Counter{Power: simulate.Constant(1)})
	p := w.start(10, 1, "p", "/")
	w.read(0)
	for i := range 10 {
		w.broken[0] = i%3 == 1
		w.use(p, time.Second)
		s := w.read(time.Second)
		if s.Domains[0].Readable == w.broken[0] || !s.Domains[1].Readable {
			t.Errorf("reading %d: %v, %v", i, s.Domains[0].Readable, s.Domains[1].Readable)
		}
	}
	s := w.book.Snapshot()
	j, _ := s.joulesOf(10)
	near(t, "p", j, 110)
	if s.Domains[0].Failed != 3 || s.Domains[1].Failed != 0 {
		t.Errorf("%d and %d failed", s.Domains[0].Failed, s.Domains[1].Failed)
	}
}

// What a counter shows after a gap, or after a time in which it stood still since it is
// slow, is the energy of all who ran since it moved before; other counters do not wait.
func TestGapIsEverybodys(t *testing.T) {
	w := newWorld(t, simulate.Counter{Power: simulate.Constant(10)}, simulate.Counter{Power: simulate.Constant(1)},
		simulate.Counter{Power: simulate.Constant(100), Period: 3 * time.Second})
	for _, group := range []string{"/a", "/b"} {
		w.groups[group] = 0
	}
	w.book.Watch(Target{Kind: Cgroup, Name: "/a", Path: "/a"})
	early, late := w.start(10, 1, "early", "/a"), w.start(11, 1, "late", "/b")
	w.broken[0] = true
	w.use(late, time.Second)
	w.read(0)
	w.use(late, time.Second)
	w.read(time.Second) // it was not read yet
	w.broken[0] = false
	w.use(late, time.Second)
	w.read(time.Second)
	for _, pid := range []int{10, 10, 11} {
		w.use(map[int]*population.Process{10: early, 11: late}[pid], time.Second)
		w.broken[0] = pid == 10
		w.read(time.Second)
	}
	w.use(late, time.Second)
	s := w.read(time.Second)
	for _, p := range s.Processes {
		want := map[int][]float64{10: {20, 2, 200}, 11: {20, 4, 400}}[p.PID]
		for d, e := range p.Energy {
			near(t, fmt.Sprintf("%s: %s", p.Name, s.Domains[d].Domain.ID), e.Joules(), want[d])
		}
	}
	near(t, "/a", s.joulesIn("/a"), 222)
	near(t, "target", s.Targets[0].Joules, 222)
	// Who ended long before the counter is read again has a part; the book does not keep
	// them all.
	w.broken[0] = true
	w.use(early, time.Second)
	w.read(time.Second)
	w.end(early, false)
	delete(w.groups, "/a")
	w.read(time.Second)
	w.read(linger + time.Second)
	if n := len(w.book.waiting[0].groups); n != 0 {
		t.Errorf("%d groups are kept", n)
	}
	w.broken[0] = false
	w.use(late, time.Second)
	before := s.Targets[0].Energy[0].Joules()
	s = w.read(time.Second)
	near(t, "target after its end", s.Targets[0].Energy[0].Joules()-before, 10*(4+linger.Seconds())/2)
}

// What a counter counts after it was reset is the energy of those who run then, and no idle
// power of the time before is set aside from it.
func TestResetIsNobodys(t *testing.T) {
	d := machine("psys")
	d.Base, d.BaseLo, d.BaseHi = 4, 4, 4
	counter := simulate.Counter{Power: simulate.Constant(10)}
	w := newWorld(t, counter)
	w.book = New([]nemb.Domain{d}, 4, own)
	early, late := w.start(10, 1, "early", "/"), w.start(11, 1, "late", "/")
	w.read(0)
	w.broken[0] = true
	w.use(early, time.Second)
	w.read(time.Second)
	w.use(early, time.Second)
	w.lost = true
	w.read(time.Second)
	w.lost, w.broken[0] = false, false
	w.counters[0].Power = simulate.Trace{{Watts: 0}, {From: 2 * time.Second, Watts: 10}} // counts anew
	w.use(late, time.Second)
	s := w.read(time.Second)
	near(t, "idle", s.Domains[0].Idle.Joules(), 4)
	for _, p := range s.Processes {
		near(t, p.Name, p.Joules, map[int]float64{11: 6}[p.PID])
	}
}

// A part of the machine that was off while its counter stood still drew nothing then.
func TestPartThatIsOff(t *testing.T) {
	d := machine("core")
	d.Kind, d.InTotal = "nested", false
	w := newWorld(t, simulate.Counter{Power: simulate.Trace{{Watts: 0}, {From: 5 * time.Second, Watts: 10}}})
	w.book = New([]nemb.Domain{d}, 4, own)
	early, late := w.start(10, 1, "early", "/"), w.start(11, 1, "late", "/")
	w.read(0)
	for range 5 {
		w.use(early, time.Second)
		w.read(time.Second)
	}
	w.use(late, time.Second)
	s := w.read(time.Second)
	for _, p := range s.Processes {
		near(t, p.Name, p.Energy[0].Joules(), map[int]float64{11: 10}[p.PID])
	}
}

// A container holds the containers in it; each target is there once.
func TestTargets(t *testing.T) {
	outer, inner := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	w := newWorld(t)
	for _, target := range []Target{
		{Kind: Container, Name: "outer", Path: outer}, {Kind: Container, Name: "a1a1", Path: outer},
		{Kind: Container, Name: "inner", Path: inner},
		{Kind: PID, Name: "5", Path: "5", ID: population.ID{PID: 5, Start: 7}},
		{Kind: PID, Name: "5", Path: "5", ID: population.ID{PID: 5, Start: 7}},
		{Kind: PID, Name: "6", Path: "6", ID: population.ID{PID: 6, Start: 7}},
		{Kind: Unit, Name: "nginx", Path: "nginx.service"}, {Kind: Unit, Name: "nginx.service", Path: "nginx.service"},
		{Kind: Cgroup, Name: "nginx.service", Path: "nginx.service"},
	} {
		w.book.Watch(target)
	}
	var names []string
	for _, target := range w.book.targets {
		names = append(names, target.Name)
	}
	if got, want := strings.Join(names, " "), "outer inner 5 6 nginx nginx.service"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for group, want := range map[string][2]bool{
		"/system.slice/docker-" + outer + ".scope":                                         {true, false},
		"/system.slice/docker-" + outer + ".scope/system.slice/docker-" + inner + ".scope": {true, true},
		"/docker/" + outer + "/docker/" + inner + "/x":                                     {true, true},
		"/docker/" + inner: {false, true},
		"/system.slice":    {false, false},
	} {
		if got := [2]bool{w.book.targets[0].holds(group), w.book.targets[1].holds(group)}; got != want {
			t.Errorf("%s: %v, want %v", group, got, want)
		}
	}
}

// A GPU works on without its program: its energy is nobody's.
func TestGPUIsNobodys(t *testing.T) {
	gpu := machine("gpu-0")
	gpu.Kind = nemb.KindGPU
	w := newWorld(t, simulate.Counter{Power: simulate.Constant(300)})
	w.book = New([]nemb.Domain{gpu}, 4, own)
	p := w.start(10, 1, "p", "/")
	w.read(0)
	w.use(p, time.Second)
	s := w.read(time.Second)
	near(t, "unattributed", s.Domains[0].Unattributed.Joules(), 300)
}

// A day of 1,000 groups with processes that come and go: the sums hold to the microjoule,
// and the book does not grow.
func TestADay(t *testing.T) {
	w := newWorld(t, simulate.Counter{Power: simulate.Sine{Mean: 100, Amplitude: 80, Hz: 0.01}})
	domains := []nemb.Domain{machine("package-0")}
	b := New(domains, 64, own)
	r := &Reading{}
	r.Host.KnowsBusy = true
	const groups, every = 1000, 30 * time.Second
	for i := range groups {
		r.Host.Groups = append(r.Host.Groups, population.Group{Path: fmt.Sprintf("/pods/pod%d", i)})
		r.Host.Processes = append(r.Host.Processes, population.Process{ID: population.ID{PID: i + 2}, Group: fmt.Sprintf("/pods/pod%d", i)})
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early uint64
	const n = int(24 * time.Hour / every)
	for k := range n {
		at := time.Duration(k) * every
		r.At, r.Energy = checkpoint.Instant(at)+1, []float64{float64(w.counters[0].Read(at))}
		for i := range r.Host.Groups {
			if i%10 == k%10 {
				p := &r.Host.Processes[i]
				if i%100 == k%100 { // another process in another group
					p.ID = population.ID{PID: i + 2, Start: uint64(k + 1)}
					p.CPU = 0
					p.Group = fmt.Sprintf("/pods/pod%d-%d", i, k)
					r.Host.Groups[i] = population.Group{Path: p.Group}
				}
				p.CPU += time.Second
				r.Host.Groups[i].CPU += time.Second
				r.Host.Busy += time.Second
			}
		}
		b.Add(r)
		if k == n/4 {
			early = heap()
		}
		if k%500 == 0 || k == n-1 {
			for _, fault := range b.Snapshot().Check() {
				t.Fatalf("at %v: %s", at, fault)
			}
		}
	}
	s := b.Snapshot()
	near(t, "total", s.Total().Joules(), float64(w.counters[0].Read(time.Duration(n-1)*every))*1e-6)
	if late := heap(); late > early+early/4 {
		t.Errorf("%d bytes after 6 hours, %d after 24", early, late)
	}
	if len(s.Groups) > 2*groups+mostEnded {
		t.Errorf("%d groups are kept", len(s.Groups))
	}
}
