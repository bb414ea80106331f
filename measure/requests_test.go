package measure

import (
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/monitor"
	"cg/nemb"
	"cg/nemb/account"
)

// spoken says things in their order.
type spoken [][]monitor.Annotation

func (s *spoken) Take() (now []monitor.Annotation) {
	if len(*s) > 0 {
		now, *s = (*s)[0], (*s)[1:]
	}
	return now
}

func (s *spoken) Settle() {}

// A program that uses one of two processors all the time, on a machine of 20 W that is never idle: everyone else uses
// the other. For a second it works on /a, then on /b without saying its thread, and it ends while it works on /a.
func TestRequests(t *testing.T) {
	const second, pid = checkpoint.Instant(time.Second), 1 << 30
	at := checkpoint.Instant(0)
	said := func(name, id string, tid int, begin bool) monitor.Annotation {
		a := monitor.Annotation{From: 1, ID: id, Name: name, Begin: begin, At: at, CPU: -1, Thread: monitor.Thread{PID: pid, TID: tid}}
		if tid != 0 {
			a.CPU = time.Duration(at)
		}
		return a
	}
	var words spoken
	q := newRequests(&words, []nemb.Domain{
		{ID: "package-0", Kind: "cpu_package", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1, Base: 0, Period: time.Millisecond}})
	used := func(int, ...int) (time.Duration, error) {
		if at > 3*second {
			return 0, errors.New("it is over")
		}
		return time.Duration(at), nil
	}
	q.clock = func(pid int) (time.Duration, error) { return used(pid) }
	q.thread = func(pid, tid int) (time.Duration, error) { return used(pid, tid) }
	for ; at <= 3*second; at += 10e6 {
		var now []monitor.Annotation
		switch at {
		case 0, 2 * second:
			now = append(now, said("/a", "1", 7, true))
		case second:
			now = append(now, said("", "1", 7, false), said("/b", "2", 0, true))
		}
		if at == 2*second {
			now = append([]monitor.Annotation{said("", "2", 0, false)}, now...)
		}
		words = append(words, now)
		q.take(nemb.Sample{Time: at, Energy: []nemb.Energy{nemb.Energy(at / 50)}, // 20 W
			Usage: account.Usage{Program: time.Duration(at), Other: time.Duration(at)}})
		q.step(at)
	}
	at = 3 * second
	gone := said("", "1", 7, false)
	gone.Cut = true
	words = append(words, []monitor.Annotation{gone})
	routes, ignored := q.finish(at)
	if len(routes) != 2 || ignored != 0 {
		t.Fatalf("%+v, %d", routes, ignored)
	}
	a, b := routes[0], routes[1]
	if a.Name != "/a" || a.Count != 2 || a.Cut != 1 || b.Count != 1 || b.Began != second || a.Time != 2*time.Second {
		t.Errorf("%+v, %+v", a, b)
	}
	// Half of 20 W is the program's.
	if math.Abs(a.Joules-20) > 0.2 || math.Abs(b.Joules-10) > 0.2 || a.Lo < 0.99*a.Joules || b.Lo > 0.01 || a.Joules+b.Joules > 30.0001 {
		t.Errorf("%+v, %+v", a, b)
	}
}

// Of threads that have no request nothing is kept: neither of a number that is used again, whose time counts each
// time, nor of a thousand others.
func TestRequestsForgetThreads(t *testing.T) {
	const pid, rounds = 1 << 30, 1000
	var words spoken
	q := newRequests(&words, []nemb.Domain{{ID: "package-0", Kind: "cpu_package", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}})
	q.clock = func(int) (time.Duration, error) { return 0, nil } // it does not tell
	q.thread = func(int, int) (time.Duration, error) { return 0, errors.New("it is over") }
	for n := range rounds {
		at := checkpoint.Instant(n+1) * checkpoint.Instant(soonAfter)
		var now []monitor.Annotation
		for _, tid := range []int{7, 100 + n} {
			a := monitor.Annotation{From: 1, ID: strconv.Itoa(tid), Name: "/a", Begin: true, At: at - 1, Thread: monitor.Thread{PID: pid, TID: tid}}
			end := a
			end.Begin, end.At, end.CPU = false, at, time.Millisecond
			now = append(now, a, end)
		}
		words = append(words, now)
		q.take(nemb.Sample{Time: at, Energy: []nemb.Energy{nemb.Energy(at)}})
		q.step(at)
	}
	if p := q.processes[pid]; len(p.threads) != 0 || p.used != 2*rounds*time.Millisecond {
		t.Errorf("%d threads are kept, which used %v", len(p.threads), p.used)
	}
}

// Who says nothing costs nothing, and a run that hears nobody has no routes.
func TestNoRequests(t *testing.T) {
	for _, q := range []*requests{nil, newRequests(&spoken{}, nil)} {
		q.take(nemb.Sample{})
		q.step(1)
		if routes, ignored := q.finish(2); routes != nil || ignored != 0 || q != nil && q.book != nil {
			t.Errorf("%v", routes)
		}
	}
}
