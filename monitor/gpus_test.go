package monitor

import (
	"math"
	"slices"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/gpus"
	"cg/nemb/population"
)

// shelf is a machine of a processor of 10 W and a GPU of 50 W, which draws more while kernels run. Its driver's samples
// come a second late.
type shelf struct {
	t      *testing.T
	book   *Book
	at     time.Duration
	joules float64
	late   nemb.Occupancy
	there  []population.Process
	groups []population.Group
}

func newShelf(t *testing.T, targets ...Target) *shelf {
	return newShelfOf(t, nemb.Habits{}, targets...)
}

func newShelfOf(t *testing.T, habits nemb.Habits, targets ...Target) *shelf {
	domains := []nemb.Domain{machine("package-0"), {ID: "gpu0", Kind: nemb.KindGPU, Source: "nvml", Method: nemb.Measured,
		InTotal: true, Lo: 0.95, Hi: 1.05, Period: 20 * time.Millisecond, Habits: habits}}
	s := &shelf{t: t, book: New(domains, 4, own)}
	for _, target := range targets {
		s.book.Watch(target)
	}
	for i, path := range []string{"/train", "/serve"} {
		s.there = append(s.there, population.Process{ID: population.ID{PID: 10 + i, Start: 3}, Name: path[1:], Group: path})
		s.groups = append(s.groups, population.Group{Path: path})
	}
	s.second(50)
	return s
}

// second is one, with who used the GPU in it; the driver tells of it a second later.
func (s *shelf) second(watts float64, uses ...nemb.Use) *Snapshot {
	s.t.Helper()
	r := &Reading{At: checkpoint.Instant(s.at) + 1, Unix: int64(s.at), Energy: []float64{10e6 * s.at.Seconds(), s.joules * 1e6}}
	if s.at > 0 {
		r.Energy[1] = (s.joules + watts) * 1e6
		s.joules += watts
	}
	told := s.late
	told.At, told.KnowsUses, told.KnowsContexts = r.At, true, true
	s.late = nemb.Occupancy{From: r.At - checkpoint.Instant(time.Second), To: r.At, Uses: uses}
	r.Occupancies = [][]nemb.Occupancy{nil, {told}}
	r.Host.KnowsBusy = true
	r.Host.Processes = append(r.Host.Processes, s.there...)
	r.Host.Groups = append(r.Host.Groups, s.groups...)
	s.at += time.Second
	s.book.Add(r)
	return s.check()
}

// end has the driver tell of the last second.
func (s *shelf) end() *Snapshot {
	s.t.Helper()
	told := s.late
	told.At, told.KnowsUses = told.To, true
	s.book.Occupants(1, told)
	s.book.FinishGPUs()
	return s.check()
}

func (s *shelf) check() *Snapshot {
	s.t.Helper()
	snapshot := s.book.Snapshot()
	for _, fault := range snapshot.Check() {
		s.t.Errorf("at %v: %s", s.at, fault)
	}
	return snapshot
}

func using(pid int, part float64) nemb.Use {
	return nemb.Use{PID: pid, Part: part, Lo: max(0, part-0.01), Hi: min(1, part+0.01)}
}

// A GPU's energy is that of the processes whose kernels ran, and of their groups and targets, whoever used the
// processors; its idle energy is its own.
func TestGPUsAreDividedByUse(t *testing.T) {
	s := newShelf(t, Target{Kind: PID, Name: "10", ID: population.ID{PID: 10, Start: 3}},
		Target{Kind: Cgroup, Name: "/serve", Path: "/serve"})
	for range 3 {
		s.second(50)
	}
	for range 4 {
		s.second(250, using(10, 0.6), using(11, 0.2))
	}
	now := s.book.Snapshot()
	if d := now.Domains[1]; math.Abs(d.Total.Joules()-900) > 1e-3 || !now.DividesGPUs() {
		t.Errorf("before the driver tells of the last second: %v J of 1150 J", d.Total.Joules())
	}
	last := s.end()
	d := last.Domains[1]
	near(t, "total", d.Total.Joules(), 1150)
	near(t, "idle", d.Idle.Joules(), 350)
	near(t, "unattributed", d.Unattributed.Joules(), 0)
	near(t, "processes", d.Groups.Joules(), 800)
	for pid, want := range map[int]float64{10: 600, 11: 200} {
		for _, p := range last.Processes {
			if p.PID == pid {
				near(t, p.Name, p.GPU.Joules, want)
				if p.Lo >= want || p.Hi <= want || p.GPU.Lo < 0.5*want || p.GPU.Hi > 1.7*want {
					t.Errorf("%s: %v J in %v to %v", p.Name, p.Joules, p.GPU.Lo, p.GPU.Hi)
				}
			}
		}
	}
	near(t, "group /train", last.joulesIn("/train"), 600)
	near(t, "target 10", last.Targets[0].GPU.Joules, 600)
	near(t, "target /serve", last.Targets[1].Joules, 200)
	if got := last.Processes[0].GPU.Watts + last.Processes[1].GPU.Watts; math.Abs(got-200) > 1e-3 {
		t.Errorf("processes draw %v W on the GPU, want 200 W", got)
	}
	of := last.OfGPUs()
	near(t, "the GPUs' ledger", of.Ledger()[0].Energy.Joules(), 800)
	near(t, "the GPUs' total", of.Total().Joules(), 1150)
	if faults := of.Check(); faults != nil {
		t.Error(faults)
	}
}

// A process that ended has what the driver tells late. One that nobody saw, and a number of another PID namespace, are
// nobody's, and the domain says why.
func TestGPUsOfThoseThatEnded(t *testing.T) {
	s := newShelf(t)
	s.second(50)
	s.second(50)
	s.second(250, using(10, 1))
	s.there, s.groups = s.there[1:], s.groups[1:]
	s.second(250, using(11, 0.5), using(4711, 0.5))
	last := s.end()
	near(t, "the ended", last.OfGPUs().Processes[0].Joules+last.OfGPUs().Processes[1].Joules, 300)
	near(t, "unattributed", last.Domains[1].Unattributed.Joules(), 100)
	if last.Domains[1].Reason != gpus.Vanished {
		t.Errorf("reason %q", last.Domains[1].Reason)
	}
	s.second(150, using(0, 0.5))
	if last = s.end(); last.Domains[1].Reason != gpus.Namespace {
		t.Errorf("reason %q", last.Domains[1].Reason)
	}
}

// Without a driver that is asked, a GPU's energy stays nobody's.
func TestGPUsWithoutDriver(t *testing.T) {
	w := newWorld(t)
	w.book = New([]nemb.Domain{{ID: "gpu0", Kind: nemb.KindGPU, Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}}, 4, own)
	for k := range 3 {
		w.book.Add(&Reading{At: checkpoint.Instant(k)*checkpoint.Instant(time.Second) + 1, Energy: []float64{100e6 * float64(k)}})
	}
	s := w.book.Snapshot()
	near(t, "unattributed", s.Domains[0].Unattributed.Joules(), 200)
	if s.DividesGPUs() {
		t.Error("it is said to be divided")
	}
}

// What the counter of a GPU tells late is in the bounds of processes, of their groups and targets, and of all.
func TestGPUsOfLateCounters(t *testing.T) {
	width := func(h nemb.Habits) (all []float64) {
		s := newShelfOf(t, h, Target{Kind: PID, Name: "10", ID: population.ID{PID: 10, Start: 3}})
		for range 3 {
			s.second(50)
		}
		for range 4 {
			s.second(250, using(10, 1))
		}
		for range 3 {
			s.second(50)
		}
		last := s.end()
		user := slices.IndexFunc(last.Processes, func(p Process) bool { return p.ID.PID == 10 })
		for _, of := range []Part{last.Processes[user].GPU, last.Targets[0].GPU} {
			all = append(all, of.Hi)
		}
		return append(all, last.Domains[1].Hi*last.Domains[1].Groups.Joules())
	}
	exact := width(nemb.Habits{})
	for i, hi := range width(nemb.Habits{Period: 20 * time.Millisecond, Window: 20 * time.Millisecond, Delay: 500 * time.Millisecond}) {
		// Of 200 W that began and ended the counter lacks half a second at the end.
		if more := hi - exact[i]; more < 90 || more > 120 {
			t.Errorf("%d: up to %v J, and up to %v J where the counter is late", i, exact[i], hi)
		}
	}
}
