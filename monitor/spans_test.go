package monitor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/population"
)

// spanning is a service whose book remembers a minute.
func spanning(t *testing.T) *service {
	s := newService(t)
	s.book.RememberFor(time.Minute)
	return s
}

func (s *service) span(pid int, name string, begin, end time.Duration) {
	s.r.Spans = append(s.r.Spans, Span{PID: pid, Name: name, Begin: at(begin), End: at(end)})
}

// next reads a second in which both processes use as much: 10 J each.
func (s *service) next() *Snapshot {
	got := s.read(time.Second, 500*ms, 500*ms)
	s.r.Spans = nil
	return got
}

// A span has, by time, what its process used in the windows that it was in, some time after they
// closed; spans of one moment share that. The rest stays the process's.
func TestSpans(t *testing.T) {
	s := spanning(t)
	s.next()
	s.next()
	s.span(100, "a", 500*ms, 1500*ms) // 5 J of each of two windows
	s.span(200, "b", 0, 1000*ms)      // alone for 500 ms, then with c: 7.5 J
	s.span(200, "c", 500*ms, 1000*ms) // 2.5 J
	got := s.next()
	if a := routeOf(t, got, "a"); a.Count != 1 || a.Time != time.Second || a.Joules != 0 {
		t.Errorf("before its windows are settled: %+v", a)
	}
	for range 10 {
		got = s.next()
	}
	for name, want := range map[string][2]float64{"a": {10, 20}, "b": {7.5, 10}, "c": {2.5, 10}} {
		if r := routeOf(t, got, name); r.Joules != want[0] || r.Lo != 0 || r.Hi != want[1] || r.Cut != 0 || r.Energy[1] != r.Energy[0]/2 {
			t.Errorf("%s: %+v, want %v", name, r, want)
		}
	}
	// One that comes later has what is left: of b's window none, of the next all.
	s.span(200, "late", 0, 2000*ms)
	s.span(200, "too old", 0, 10*ms)
	if r := routeOf(t, s.next(), "late"); r.Joules != 10 || r.Lo != 0 || r.Hi != 20 {
		t.Errorf("%+v", r)
	}
	// One of before what is remembered is ignored; one that began before it is cut short.
	for range 70 {
		got = s.next()
	}
	before := got.Ignored
	s.span(100, "gone", 0, time.Second)
	s.span(4711, "nobody", s.now, s.now)
	s.span(1, "cg itself", s.now, s.now)
	s.r.Spans = append(s.r.Spans, Span{PID: 100, Container: strings.Repeat("a", 64), Name: "elsewhere", Begin: at(s.now), End: at(s.now)})
	s.span(100, "long", 0, s.now)
	got = s.next()
	if r := routeOf(t, got, "long"); r.Cut != 1 || math.Abs(r.Joules-520) > 15 { // of the windows that are settled
		t.Errorf("%+v", r)
	}
	if got.Ignored != before+4 || len(got.Routes) != 6 {
		t.Errorf("%d ignored, %d routes", got.Ignored-before, len(got.Routes))
	}
}

// At the end all windows are settled. The span of a process that is over counts, too, and what the
// requests of the socket have is no span's.
func TestSpansAtTheEnd(t *testing.T) {
	s := spanning(t)
	on := Thread{100, 101}
	s.begin("r", "socket", 0, on, 0)
	s.end("r", 1000*ms, on, 300*ms) // 6 of 10 J
	s.next()
	s.r.Host.Processes = s.r.Host.Processes[:1]
	s.span(100, "both", 0, 1000*ms)
	s.span(200, "over", 0, 1000*ms)
	s.r.Last = true
	got := s.read(time.Second, 500*ms)
	for name, want := range map[string]float64{"socket": 6, "both": 4, "over": 10} {
		if r := routeOf(t, got, name); math.Abs(r.Joules-want) > 1e-5 {
			t.Errorf("%s: %+v, want %v J", name, r, want)
		}
	}
}

// Whatever programs tell, all routes together have no more than their processes, energies do not go
// back, lie in their intervals, and memory is bounded.
func TestSpansOfAnyKind(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := spanning(t)
	var got *Snapshot
	last := map[string]float64{}
	for range 200 {
		for range random.IntN(30) {
			begin := s.now - time.Duration(random.Int64N(int64(90*time.Second)))
			s.span(100*(1+random.IntN(3)), fmt.Sprint(random.IntN(4)), begin, begin+time.Duration(random.Int64N(int64(30*time.Second))-1e9))
		}
		got = s.next()
		sum := 0.0
		for _, r := range got.Routes {
			if sum += r.Joules; r.Joules < last[r.Name] || r.Joules < r.Lo-1e-9 || r.Joules > r.Hi+1e-9 {
				t.Fatalf("%+v, before %v", r, last[r.Name])
			}
			last[r.Name] = r.Joules
		}
		used := 0.0
		for _, p := range got.Processes {
			used += p.Joules
		}
		if sum > used+1e-6 {
			t.Fatalf("%v J of %v J", sum, used)
		}
	}
	if n := len(s.book.spans.past[0]); n > 62 || s.book.spans.count > 30*62 {
		t.Errorf("%d windows, %d spans are kept", n, s.book.spans.count)
	}
	for range 3 * mostSpans {
		s.span(100, "flood", s.now, s.now+time.Second)
	}
	if got = s.next(); s.book.spans.count > mostSpans || got.Ignored < 2*mostSpans {
		t.Errorf("%d spans are kept, %d ignored", s.book.spans.count, got.Ignored)
	}
}

// With many processes and a long history the oldest windows are forgotten: memory has a bound, and spans of
// before are counted as ignored.
func TestSpansOfManyProcesses(t *testing.T) {
	const processes, each = mostShares, 500 * time.Millisecond
	b := New([]nemb.Domain{{ID: "package-0", Kind: "cpu_package", Method: nemb.Measured, InTotal: true, Period: time.Millisecond}}, 2, 1)
	b.RememberFor(time.Hour)
	r := &Reading{Host: population.Reading{KnowsBusy: true}}
	for pid := range processes {
		r.Host.Processes = append(r.Host.Processes, population.Process{ID: population.ID{PID: 10 + pid, Start: 1}, Parent: 1, Group: "/"})
	}
	read := func() {
		r.At += checkpoint.Instant(each)
		r.Unix = int64(r.At)
		r.Energy = []float64{float64(r.At) * 1e-9 * 20e6}
		r.Host.Busy += 2 * each
		for i := range r.Host.Processes {
			r.Host.Processes[i].CPU += 100 * time.Microsecond
		}
		b.Add(r)
		r.Spans = nil
	}
	for range 3 * mostRemembered / processes {
		read()
	}
	if b.spans.shares > mostRemembered || b.spans.shares < mostRemembered-2*processes {
		t.Errorf("%d shares are remembered, want %d at most", b.spans.shares, mostRemembered)
	}
	sum := 0
	for _, w := range b.spans.past[0] {
		sum += len(w.shares)
	}
	if sum != b.spans.shares {
		t.Errorf("%d shares, %d are counted", sum, b.spans.shares)
	}
	before := b.spans.ignored
	r.Spans = []Span{
		{PID: 10, Name: "forgotten", Begin: checkpoint.Instant(each), End: checkpoint.Instant(4 * each)},
		{PID: 10, Name: "remembered", Begin: r.At - checkpoint.Instant(20*time.Second), End: r.At - checkpoint.Instant(15*time.Second)},
	}
	read()
	routes := b.Snapshot().Routes
	if b.spans.ignored != before+1 || len(routes) != 1 || routes[0].Name != "remembered" || routes[0].Joules <= 0 {
		t.Errorf("%d ignored, %+v", b.spans.ignored-before, routes)
	}
}

// A counter that stands still, which a slow one may, keeps no spans from the others for ever: the routes
// go on.
func TestSpansBesideACounterThatStandsStill(t *testing.T) {
	s := spanning(t)
	s.book.domains[1].Kind = "memory" // which has to move
	s.stands = true
	var got *Snapshot
	const each, n = mostSpans / 20, 40
	for range n {
		for range each {
			s.span(100, "a", s.now, s.now+time.Second)
		}
		got = s.next()
	}
	if a := routeOf(t, got, "a"); a.Count != n*each || got.Ignored != 0 || a.Joules < 10*(n-12) {
		t.Errorf("%+v, %d ignored, want all", a, got.Ignored)
	}
}

// A span is as old as it was when the reading before it was taken: it may have come then.
func TestSpansBetweenReadingsThatAreFarApart(t *testing.T) {
	s := newService(t)
	s.book.RememberFor(10 * time.Second)
	s.span(100, "a", 5*time.Second, 6*time.Second)
	s.r.Last = true
	got := s.read(time.Minute, 30*time.Second, 30*time.Second)
	if a := routeOf(t, got, "a"); got.Ignored != 0 || a.Count != 1 || a.Cut != 0 || a.Joules != 10 {
		t.Errorf("%+v, %d ignored", a, got.Ignored)
	}
}

// The names of routes keep nothing of what they were cut from.
func TestRouteNameKeepsNoMore(t *testing.T) {
	for _, in := range []string{strings.Repeat(" ", 1000) + "a", "b" + strings.Repeat("\n", 1000), "whole"} {
		out := RouteName(in, 200)
		first, last := uintptr(unsafe.Pointer(unsafe.StringData(in))), uintptr(len(in))
		if at := uintptr(unsafe.Pointer(unsafe.StringData(out))); len(in) > 200 && at >= first && at < first+last {
			t.Errorf("%q is a part of %d bytes", out, len(in))
		}
	}
}
