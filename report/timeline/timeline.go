// Package timeline tells where calls of a run have their place in time: by the log of its
// checkpoints, or by the long calls that the run itself tells.
package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cg/checkpoint"
	"cg/events"
	"cg/report"
	"cg/report/figures"
	"cg/report/format"
)

// Timeline is where calls have their place in time.
type Timeline struct {
	Slices []events.Slice // by thread, then by start, an outer one before what is in it
	Places map[checkpoint.SiteID]report.Frame
	Note   string // what is in it, and what is left out

	doing map[checkpoint.Thread]*states
}

// cpuPoint is what a thread had used by a moment.
type cpuPoint struct {
	at  checkpoint.Instant
	cpu int64 // ns
}

// NoCalls says in files that show time why functions are not in them.
const NoCalls = "call paths are sums and have no place in time: no log of calls is kept (cg measure --events FILE " +
	"keeps one); pprof, speedscope and collapsed show them"

// onlyLong says that there is no log.
const onlyLong = "calls of %s and more only: no log of calls is kept (cg measure --events FILE keeps one)"

// Of takes from the event log the longest slices, at most as many as Options
// say. Without a log the long calls that the run tells are there; nil where it tells none.
func Of(r *report.Run, o format.Options) (*Timeline, error) {
	most := cmp.Or(o.Slices, format.DefaultSlices)
	if o.Events == nil {
		return ofLongCalls(r, most), nil
	}
	t := &Timeline{Places: map[checkpoint.SiteID]report.Frame{}, doing: map[checkpoint.Thread]*states{}}
	for _, s := range o.Events.Sites {
		t.Places[s.ID] = report.Frame{Name: s.Func, File: s.File, Line: s.Line, EndLine: s.EndLine}
	}
	all, shortest, err := o.Events.Longest(most, func(s events.Slice) { t.Slices = append(t.Slices, s) })
	if err != nil {
		return nil, err
	}
	t.sort()
	err = o.Events.Threads(func(w events.Window) {
		for _, th := range w.Threads {
			s := t.doing[th.Thread]
			if s == nil {
				s = &states{}
				t.doing[th.Thread] = s
			}
			s.add(cpuPoint{w.Time, th.CPU})
		}
	})
	if err != nil {
		return nil, err
	}
	var notes []string
	if n := uint64(len(t.Slices)); n < all {
		notes = append(notes, fmt.Sprintf("the longest %s of %s stretches of calls: all of at least %s",
			figures.Count(n), figures.Count(all), figures.Seconds(float64(shortest)*1e-9)))
	} else {
		notes = append(notes, fmt.Sprintf("all %s stretches of calls", figures.Count(all)))
	}
	if o.Events.Cut != "" {
		notes = append(notes, "the event log is not whole: "+o.Events.Cut)
	}
	t.Note = strings.Join(notes, "; ")
	return t, nil
}

// ofLongCalls has the longest of the long calls, nil where there are none.
func ofLongCalls(r *report.Run, most int) *Timeline {
	long := slices.Clone(r.LongCalls)
	if len(long) == 0 {
		return nil
	}
	slices.SortStableFunc(long, func(a, b report.LongCall) int {
		return cmp.Compare(b.EndedAtMonoNs-b.StartedAtMonoNs, a.EndedAtMonoNs-a.StartedAtMonoNs)
	})
	long = long[:min(most, len(long))]
	t := &Timeline{Places: map[checkpoint.SiteID]report.Frame{}}
	for _, s := range r.Sites {
		t.Places[checkpoint.SiteID(s.ID)] = report.Frame{Name: s.Name, File: s.File, Line: s.Line, EndLine: s.EndLine}
	}
	for _, c := range long {
		t.Slices = append(t.Slices, events.Slice{
			Thread: checkpoint.Thread{PID: c.PID, TID: c.TID}, Site: checkpoint.SiteID(c.Site),
			From: checkpoint.Instant(c.StartedAtMonoNs), To: checkpoint.Instant(c.EndedAtMonoNs), Entered: true,
			Left: true,
		})
	}
	t.sort()
	shortest := long[len(long)-1]
	t.Note = fmt.Sprintf(onlyLong, figures.Seconds(float64(shortest.EndedAtMonoNs-shortest.StartedAtMonoNs)*1e-9))
	return t
}

func (t *Timeline) sort() {
	slices.SortStableFunc(t.Slices, func(a, b events.Slice) int {
		return cmp.Or(cmp.Compare(a.Thread.PID, b.Thread.PID), cmp.Compare(a.Thread.TID, b.Thread.TID),
			cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To), cmp.Compare(a.Depth, b.Depth))
	})
}

// Name is what a slice is called.
func (t *Timeline) Name(s events.Slice) string {
	if f := t.Places[s.Site]; f.Name != "" {
		return f.Name
	}
	if s.Site == checkpoint.OwnSite {
		return report.LineOwn
	}
	return report.FrameUnknown
}

// Threads lists the threads of the slices and of processor times, in their order.
func (t *Timeline) Threads() []checkpoint.Thread {
	seen := map[checkpoint.Thread]bool{}
	var out []checkpoint.Thread
	for _, s := range t.Slices {
		if !seen[s.Thread] {
			seen[s.Thread] = true
			out = append(out, s.Thread)
		}
	}
	for th := range t.doing {
		if !seen[th] {
			out = append(out, th)
		}
	}
	slices.SortFunc(out, func(a, b checkpoint.Thread) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
	})
	return out
}

// State is how a thread spent a stretch of time.
type State struct {
	Name     string
	From, To checkpoint.Instant
	Share    float64 // of the time that it used a processor
}

// The states of a thread: it used a processor for at least the one share of a
// sampling window, or for less than the other, or something in between. The kernel
// brings a thread's time up to date at its switches and at clock ticks, so states are no
// finer than that.
const (
	runningShare = 0.9
	waitingShare = 0.1
)

// states is what a thread did, from its processor time; neighbours of one name
// are one.
type states struct {
	all  []State
	last cpuPoint
	some bool // last is one
}

// add takes what the thread had used by a moment.
func (s *states) add(p cpuPoint) {
	a := s.last
	known := s.some
	s.last, s.some = p, true
	long := float64(p.at - a.at)
	if !known || long <= 0 {
		return
	}
	now := State{From: a.at, To: p.at, Share: min(1, max(0, float64(p.cpu-a.cpu)/long))}
	switch {
	case now.Share >= runningShare:
		now.Name = "running"
	case now.Share < waitingShare:
		now.Name = "waiting"
	default:
		now.Name = "running partly"
	}
	if n := len(s.all); n > 0 && s.all[n-1].Name == now.Name && s.all[n-1].To == now.From {
		before := &s.all[n-1]
		was := float64(before.To - before.From)
		before.Share = (before.Share*was + now.Share*long) / (was + long)
		before.To = now.To
		return
	}
	s.all = append(s.all, now)
}

// States tells what a thread did.
func (t *Timeline) States(th checkpoint.Thread) []State {
	if s := t.doing[th]; s != nil {
		return s.all
	}
	return nil
}

// Segment is a stretch of time for which the same calls were on a thread: the
// slices from the outermost in, by their index.
type Segment struct {
	From, To checkpoint.Instant
	Stack    []int
}

// Segments divides a thread's time by what was on it; times at which nothing
// was are left out. Stack is valid until each returns.
func (t *Timeline) Segments(th checkpoint.Thread, each func(Segment)) {
	var open []int
	at := checkpoint.Instant(0)
	upTo := func(now checkpoint.Instant) {
		if len(open) > 0 && now > at {
			each(Segment{at, now, open})
		}
		at = max(at, now)
	}
	first, _ := slices.BinarySearchFunc(t.Slices, th, func(s events.Slice, th checkpoint.Thread) int {
		return cmp.Or(cmp.Compare(s.Thread.PID, th.PID), cmp.Compare(s.Thread.TID, th.TID))
	})
	for i := first; i < len(t.Slices) && t.Slices[i].Thread == th; i++ {
		s := t.Slices[i]
		for len(open) > 0 && t.Slices[open[len(open)-1]].To <= s.From {
			upTo(t.Slices[open[len(open)-1]].To)
			open = open[:len(open)-1]
		}
		upTo(s.From)
		open = append(open, i)
	}
	for len(open) > 0 {
		upTo(t.Slices[open[len(open)-1]].To)
		open = open[:len(open)-1]
	}
}
