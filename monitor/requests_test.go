package monitor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/population"
)

// service is a machine of 20 W, all of it used by the processes 100 and 200, in virtual time.
type service struct {
	t      *testing.T
	book   *Book
	r      Reading
	now    time.Duration
	said   []Annotation
	stands bool // the second counter
}

func newService(t *testing.T) *service {
	s := &service{t: t, book: New([]nemb.Domain{
		{ID: "package-0", Kind: "cpu_package", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1},
		{ID: "cores", Parent: "package-0", Kind: "nested", Method: nemb.Measured, Lo: 1, Hi: 1},
	}, 4, 1)}
	s.r.Host.KnowsBusy = true
	for _, pid := range []int{100, 200} {
		s.r.Host.Processes = append(s.r.Host.Processes, population.Process{ID: population.ID{PID: pid, Start: 7}, Group: "/"})
	}
	s.read(0, 0, 0)
	return s
}

// at is a moment of the service's time.
func at(t time.Duration) checkpoint.Instant { return checkpoint.Instant(t) + 1 }

// read takes a reading after a time in which the processes used the processors so long.
func (s *service) read(after time.Duration, used ...time.Duration) *Snapshot {
	s.t.Helper()
	s.now += after
	for i, cpu := range used {
		s.r.Host.Processes[i].CPU += cpu
		s.r.Host.Busy += cpu
	}
	s.r.At, s.r.Unix = at(s.now), int64(s.now)
	s.r.Energy = []float64{20e6 * s.now.Seconds(), 10e6 * s.now.Seconds()}
	s.r.Annotations, s.said = s.said, nil
	if s.stands {
		s.r.Energy[1] = 0
	}
	s.book.Add(&s.r)
	s.r.Threads = nil
	snapshot := s.book.Snapshot()
	if faults := snapshot.Check(); faults != nil {
		s.t.Fatal(faults)
	}
	return snapshot
}

func (s *service) begin(id, name string, when time.Duration, on Thread, cpu time.Duration) {
	s.said = append(s.said, Annotation{From: 1, ID: id, Name: name, Begin: true, At: at(when), Thread: on, CPU: cpu})
}

func (s *service) end(id string, when time.Duration, on Thread, cpu time.Duration) {
	s.said = append(s.said, Annotation{From: 1, ID: id, At: at(when), Thread: on, CPU: cpu})
}

func routeOf(t *testing.T, s *Snapshot, name string) Route {
	t.Helper()
	for _, r := range s.Routes {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no route %q in %v", name, s.Routes)
	return Route{}
}

const ms = time.Millisecond

// A request has the energy of what its thread used, and requests without a thread that of their
// process by time, with all of it as the upper bound.
func TestRequests(t *testing.T) {
	s := newService(t)
	first, other := Thread{100, 101}, Thread{200, 0}
	s.begin("a", "GET /", 100*ms, first, 50*ms)
	s.end("a", 600*ms, first, 300*ms)
	s.begin("b", "GET /slow", 0, other, -1)
	s.end("b", 250*ms, other, -1)
	got := s.read(time.Second, 500*ms, 500*ms) // 10 J each
	if r := routeOf(t, got, "GET /"); r.Joules != 5 || r.Lo != 5 || r.Hi != 5 || r.Count != 1 || r.Time != 500*ms ||
		r.Energy[1] != 2_500_000 {
		t.Errorf("by its thread, of 5 J: %+v", r)
	}
	if r := routeOf(t, got, "GET /slow"); r.Joules != 2.5 || r.Lo != 0 || r.Hi != 10 || r.Count != 1 {
		t.Errorf("by time, of 2.5 J in [0, 10]: %+v", r)
	}
	// Two requests of one moment share it; one that goes on has a part of each window.
	s.begin("c", "x", 1000*ms, other, -1)
	s.begin("d", "y", 1500*ms, other, -1)
	s.end("c", 2000*ms, other, -1)
	got = s.read(time.Second, 0, 500*ms) // 20 J
	if x, y := routeOf(t, got, "x"), routeOf(t, got, "y"); x.Joules != 15 || y.Joules != 5 || y.Open != 1 || y.Count != 0 {
		t.Errorf("of 15 J and 5 J: %+v, %+v", x, y)
	}
	got = s.read(time.Second, 0, 500*ms)
	if y := routeOf(t, got, "y"); y.Joules != 25 {
		t.Errorf("of 25 J: %+v", y)
	}
}

// A request that a closed connection ends has what its thread used up to then, and is counted as
// cut short. So is one without a thread, by time, and one whose process is over.
func TestCutShort(t *testing.T) {
	s := newService(t)
	first, other := Thread{100, 101}, Thread{200, 0}
	s.begin("a", "x", 0, first, 0)
	s.begin("b", "y", 0, other, -1)
	s.said = append(s.said,
		Annotation{From: 1, ID: "a", At: at(500 * ms), Thread: first, CPU: 250 * ms, Cut: true},
		Annotation{From: 1, Gone: true, At: at(500 * ms), CPU: -1})
	s.r.Threads = map[Thread]time.Duration{first: 500 * ms} // it goes on with something else
	got := s.read(time.Second, 500*ms, 500*ms)
	if x := routeOf(t, got, "x"); x.Joules != 5 || x.Count != 1 || x.Cut != 1 || x.Open != 0 || x.Time != 500*ms {
		t.Errorf("of 5 J, cut short: %+v", x)
	}
	if y := routeOf(t, got, "y"); y.Joules != 5 || y.Count != 1 || y.Cut != 1 || y.Open != 0 {
		t.Errorf("by time of 5 J, cut short: %+v", y)
	}
	s.begin("c", "x", 1000*ms, first, 500*ms)
	s.begin("d", "y", 1000*ms, other, -1)
	s.end("d", 1500*ms, other, -1)
	s.read(time.Second, 0, 500*ms)
	s.r.Host.Processes[0].Over = true
	got = s.read(time.Second, 0, 500*ms)
	if x, y := routeOf(t, got, "x"), routeOf(t, got, "y"); x.Count != 2 || x.Cut != 2 || y.Count != 2 || y.Cut != 1 {
		t.Errorf("%+v, %+v", x, y)
	}
}

// Threads that were asked later than their process are ahead of it: what they had used then is of
// the next window, some ticks at most, and of no other.
func TestThreadsAheadOfTheirProcess(t *testing.T) {
	for _, test := range []struct{ ahead, carried time.Duration }{{10 * ms, 10 * ms}, {300 * ms, 20 * ms}} {
		s := newService(t)
		on := Thread{100, 101}
		s.begin("a", "x", 0, on, 0)
		s.end("a", 600*ms, on, 500*ms+test.ahead)
		if r := routeOf(t, s.read(time.Second, 500*ms, 500*ms), "x"); r.Joules != 10 {
			t.Errorf("all of the process' 10 J: %+v", r)
		}
		want := 10 + 10*test.carried.Seconds()/0.5
		for range 3 {
			if r := routeOf(t, s.read(time.Second, 500*ms, 500*ms), "x"); math.Abs(r.Joules-want) > 1e-5 || r.Lo > r.Joules+1e-5 || r.Hi < r.Joules-1e-5 {
				t.Errorf("ahead by %v, of %v J: %+v", test.ahead, want, r)
			}
		}
		if n := len(s.book.requests.workers); n != 0 {
			t.Errorf("%d processes are kept", n)
		}
	}
	// A process that does nothing more has nothing to give, and what was ahead is forgotten.
	s := newService(t)
	s.begin("a", "x", 0, Thread{100, 101}, 0)
	s.end("a", 600*ms, Thread{100, 101}, 510*ms)
	s.read(time.Second, 500*ms, 500*ms)
	s.read(time.Second, 0, 500*ms)
	if r := routeOf(t, s.read(time.Second, 500*ms, 500*ms), "x"); r.Joules != 10 {
		t.Errorf("%+v", r)
	}
}

// A counter that moves at every third reading gives requests their part when it moves.
func TestRequestsOfASlowCounter(t *testing.T) {
	s := newService(t)
	for k := range 6 {
		s.begin("a", "x", s.now, Thread{100, 0}, -1)
		s.end("a", s.now+500*ms, Thread{100, 0}, -1)
		hold := s.now + time.Second - time.Duration((k+1)%3)*time.Second
		s.now += time.Second
		s.r.Host.Processes[0].CPU += time.Second
		s.r.Host.Busy += time.Second
		s.r.At, s.r.Energy = at(s.now), []float64{20e6 * hold.Seconds(), 0}
		s.r.Annotations, s.said = s.said, nil
		s.book.Add(&s.r)
		if got, want := routeOf(t, s.book.Snapshot(), "x").Joules, 10*float64((k+1)/3*3); got != want {
			t.Errorf("after %d s: %v J, want %v", k+1, got, want)
		}
	}
}

// A request whose process or connection ends is over; names, requests and whose they are have
// bounds; an end without a beginning is ignored.
func TestRequestsThatDoNotEnd(t *testing.T) {
	s := newService(t)
	s.begin("a", "x", 0, Thread{100, 0}, -1)
	s.begin("b", "y", 0, Thread{200, 0}, -1)
	s.begin("c", "z", 0, Thread{300, 0}, -1) // nobody
	s.end("d", 0, Thread{200, 0}, -1)
	s.read(time.Second, 500*ms, 500*ms)
	s.said = append(s.said, Annotation{From: 1, Gone: true, At: at(1500 * ms), CPU: -1})
	got := s.read(time.Second, 500*ms, 500*ms)
	for _, name := range []string{"x", "y"} {
		if r := routeOf(t, got, name); r.Open != 0 || r.Count != 1 || r.Joules != 15 {
			t.Errorf("%+v", r)
		}
	}
	if got.Ignored != 2 || len(got.Routes) != 2 {
		t.Errorf("%d ignored, %d routes", got.Ignored, len(got.Routes))
	}
	s.begin("a", "x", s.now, Thread{200, 0}, -1)
	s.read(time.Second, 0, 500*ms)
	s.r.Host.Processes = s.r.Host.Processes[:1]
	if r := routeOf(t, s.read(time.Second, 500*ms), "x"); r.Open != 0 || r.Count != 2 {
		t.Errorf("of a process that has ended: %+v", r)
	}
	for i := range 100_000 {
		s.begin(fmt.Sprint(i), fmt.Sprint("n", i), s.now, Thread{100, 0}, -1)
	}
	got = s.read(time.Second, 500*ms)
	if len(got.Routes) != MostRoutes+1 || s.book.requests.count != mostRequests {
		t.Errorf("%d routes, %d requests", len(got.Routes), s.book.requests.count)
	}
}

// Whatever programs say, requests of a process have no more than it has, in any domain.
func TestRequestsAddUp(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newService(t)
		for range 30 {
			for range r.IntN(20) {
				on := Thread{100 + 100*r.IntN(2), r.IntN(3)}
				when, cpu := s.now+time.Duration(r.Int64N(2e9))-time.Second/2, time.Duration(r.Int64N(40e9))-1e9
				if id := fmt.Sprint(r.IntN(6)); r.IntN(2) == 0 {
					s.begin(id, fmt.Sprint("r", r.IntN(4)), when, on, cpu)
				} else {
					s.end(id, when, on, cpu)
				}
			}
			s.r.Threads = map[Thread]time.Duration{}
			for _, thread := range s.book.Threads() {
				s.r.Threads[thread] = time.Duration(r.Int64N(40e9))
			}
			got := s.read(time.Second, time.Duration(r.Int64N(2e9)), time.Duration(r.Int64N(2e9)))
			for d := range got.Domains {
				sum := nemb.Energy(0)
				for _, route := range got.Routes {
					sum += route.Energy[d]
				}
				if most := got.Domains[d].Groups; sum > most {
					t.Fatalf("seed %d: %d µJ of %d in %s", seed, sum, most, got.Domains[d].Domain.ID)
				}
			}
			for _, route := range got.Routes {
				if route.Lo > route.Joules+1e-5 || route.Hi < route.Joules-1e-5 {
					t.Fatalf("seed %d: %+v", seed, route)
				}
			}
		}
	}
}
