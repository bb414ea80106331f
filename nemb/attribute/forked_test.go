package attribute

import (
	"fmt"
	"math"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

const period = 10 * ms // of the samples

// forking is a machine with processes that were forked, window by window. Its energy is 1 W for each of their
// processors in the first half of the windows and 11 W in the second: watts says so to the tests.
type forking struct {
	domain  nemb.Domain
	windows int
	first   []int // the window in which each child has its first event
	unread  bool  // the kernel does not tell what a thread used: it is gone, or has other numbers
	ends    bool  // a child ends with its first event
	beside  int   // processors that a child uses that executed another program
	late    int   // the program's processor time is told so many windows late
	moves   int   // the counter moves once in so many windows, 0 is 1
}

func (f forking) watts(window int) float64 {
	if window < f.windows/2 {
		return 1
	}
	return 11
}

// run gives the energy of site 5, in which the children were forked when the run began.
func (f forking) run(t *testing.T) (got Cost, r Result) {
	t.Helper()
	a := New([]nemb.Domain{f.domain}, 64)
	a.Close(nemb.Sample{At: origin, Time: origin, Energy: []nemb.Energy{0}})
	energy, used, children := 0.0, time.Duration(0), time.Duration(0)
	shown := nemb.Energy(0)
	adders := make([]*adder, len(f.first))
	for i := range f.windows {
		at := checkpoint.Tick(origin + (i+1)*period)
		busy := f.beside + len(f.first)
		children += period
		used += time.Duration(busy) * period
		energy += f.watts(i) * float64(busy) * period * 1e-3
		usage := account.Usage{Program: used - time.Duration(f.late*busy)*period}
		if usage.Program < 0 {
			usage.Program = 0
		}
		for k, first := range f.first {
			if i < first || f.ends && i > first {
				continue
			}
			if i == first {
				d := newAdder(checkpoint.Thread{PID: uint32(2 + k), TID: uint32(2 + k)}, uint64(2+k), origin, at-period)
				d.push(d.child(checkpoint.RootNode, 5), 0)
				d.event(at-period/2, at-period, checkpoint.Enter, 6)
				d.event(at-period/2+10, at-period, checkpoint.Exit, 6)
				if f.ends {
					d.event(at, at-period, checkpoint.Exit, 5)
				}
				adders[k] = d
			} else if !f.unread {
				usage.Threads = append(usage.Threads, account.ThreadUsage{Thread: adders[k].thread, CPU: children})
			}
			r := adders[k].run(f.ends, true)
			r.Tally.Used = time.Duration(first)*period + period/2
			adders[k].windows = adders[k].windows[a.Fold(r, at, at):]
		}
		if (i+1)%max(1, f.moves) == 0 {
			shown = nemb.Energy(energy)
		}
		s := nemb.Sample{At: at, Time: checkpoint.Instant(at), Energy: []nemb.Energy{shown}, Usage: usage}
		if i == f.windows-1 {
			a.Last(s)
		} else {
			a.Close(s)
		}
	}
	r = a.Finish()
	lawful(t, r)
	for _, c := range r.Costs {
		if c.Site == 5 {
			got = c
		}
	}
	return got, r
}

// What a child of fork(2) did before its first event is booked in the windows in which it did it, with their
// power, to the function in which it was forked; and no more than that.
func TestForkedChildBeforeItsFirstEvent(t *testing.T) {
	model := counter
	model.Method = nemb.Estimated
	quick := counter // its blocks are of few windows
	quick.Period = time.Millisecond
	for _, domain := range []nemb.Domain{model, quick} {
		for _, c := range []struct {
			name string
			forking
			want float64 // microjoules, 0 for all
			off  float64 // 0: 1 %
		}{
			{name: "at once", forking: forking{first: []int{0}}},
			{name: "with the rise", forking: forking{first: []int{20}}},
			{name: "after the rise", forking: forking{first: []int{33}}},
			{name: "the last window", forking: forking{first: []int{39}}},
			{name: "it ends", forking: forking{first: []int{39}, ends: true}},
			{name: "it is not read", forking: forking{first: []int{30}, unread: true}},
			{name: "ten at once", forking: forking{first: []int{9, 9, 9, 9, 9, 30, 30, 30, 31, 31}}},
			{name: "beside another program", forking: forking{first: []int{30}, beside: 3},
				want: 20*10_000 + 20*110_000},
			{name: "accounted late", forking: forking{first: []int{30}, late: 1}, off: 0.1},
		} {
			t.Run(fmt.Sprint(domain.Method, " ", c.name), func(t *testing.T) {
				c.domain, c.windows = domain, 40
				got, r := c.run(t)
				if c.want == 0 {
					c.want = float64(r.Total.Total)
				}
				if c.off == 0 {
					c.off = 0.01
				}
				off := math.Abs(float64(got.Self.Energy)-c.want) / c.want
				if off > c.off {
					t.Errorf("%d of %.0f uJ (%d to %d)", got.Self.Energy, c.want, got.Self.Lo, got.Self.Hi)
				}
				if float64(got.Self.Hi) < c.want*(1-c.off) || float64(got.Self.Lo) > c.want*(1+c.off) {
					t.Errorf("%d to %d, without %.0f", got.Self.Lo, got.Self.Hi, c.want)
				}
			})
		}
	}
}

// Of a counter that moves once in eight windows a child has what it used before its first event, too: in what the counter
// has shown by then, and in what it shows later.
func TestForkedChildBesideASlowCounter(t *testing.T) {
	for _, c := range []struct {
		name string
		forking
		want float64 // microjoules
	}{
		{"at once", forking{first: []int{0}}, 20*10_000 + 20*110_000},
		{"as the counter moves", forking{first: []int{24}, ends: true}, 20*10_000 + 5*110_000},
		{"between", forking{first: []int{27}}, 20*10_000 + 20*110_000},
		{"between, as it ends", forking{first: []int{27}, ends: true}, 20*10_000 + 8*110_000},
		{"beside another program", forking{first: []int{27}, beside: 3}, 20*10_000 + 20*110_000},
	} {
		c.domain, c.windows, c.moves = counter, 40, 8
		c.domain.Period = time.Duration(8 * period)
		got, _ := c.run(t)
		t.Logf("%s: %d uJ (%d to %d), want %.0f", c.name, got.Self.Energy, got.Self.Lo, got.Self.Hi, c.want)
		if off := math.Abs(float64(got.Self.Energy)/c.want - 1); off > 0.25 || float64(got.Self.Hi) < c.want || float64(got.Self.Lo) > c.want {
			t.Errorf("%s: %d uJ (%d to %d), want %.0f", c.name, got.Self.Energy, got.Self.Lo, got.Self.Hi, c.want)
		}
	}
}

// Programs that children execute have what they used, however many there are: nothing is a function's.
func TestForkedChildThatExecutes(t *testing.T) {
	f := forking{domain: counter, windows: 40, beside: 3}
	if got, r := f.run(t); got.Self.Energy != 0 || r.Total.Functions != 0 || r.Total.Uninstrumented != r.Total.Total {
		t.Errorf("%+v: %+v", got.Self, r.Total)
	}
}

// Of a long run the windows that are over take a bounded amount of memory, and a child that was forked when it
// began gets what it used of all of them.
func TestForkedChildOfALongRun(t *testing.T) {
	f := forking{domain: counter, windows: 10_000, first: []int{9_999}}
	f.domain.Method = nemb.Estimated
	before := inUse()
	got, r := f.run(t)
	if grown := float64(inUse()) - float64(before); grown > 4<<20 {
		t.Errorf("%.1f MiB more", grown/(1<<20))
	}
	if off := math.Abs(float64(got.Self.Energy)/float64(r.Total.Total) - 1); off > 0.01 {
		t.Errorf("%d of %d uJ", got.Self.Energy, r.Total.Total)
	}
}
