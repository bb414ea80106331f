package monitor

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/population"
)

// Span is a request that has ended, of which a program says afterwards when it was.
type Span struct {
	PID        int
	Container  string // the container of the process, "" where it is not said
	Name       string // of its route
	Begin, End checkpoint.Instant
}

// Bounds of what is kept for spans.
const (
	// settleAfter is how old a window is when its energy is divided among the spans that are
	// known by then. Exporters send spans some seconds after their end: OpenTelemetry's wait 5 s
	// (OTEL_BSP_SCHEDULE_DELAY).
	settleAfter = 10 * time.Second
	mostSpans   = 50_000 // that wait for a window to be settled
	mostShares  = 5000   // processes of a window that are remembered
	// mostRemembered is how many shares of processes all windows of all domains have together. Beyond it
	// the oldest windows are forgotten, however long windows are to be remembered.
	mostRemembered = 300_000
)

// spans divides the energy of processes among spans, of the windows of a span of time.
type spans struct {
	keep    time.Duration // how long windows are remembered; 0 remembers none
	past    [][]*past     // per domain, the oldest first
	waiting map[*process][]*span
	count   int // of waiting
	ignored int
	shares  int                // of past, all together
	since   checkpoint.Instant // from when on windows are remembered, where some were forgotten early
}

// span is a span of a process that is known.
type span struct {
	route      *route
	begin, end checkpoint.Instant
}

// past is a window that is closed, and what processes used in it.
type past struct {
	from, to checkpoint.Instant
	settled  bool
	shares   map[*process]*pastShare
}

// pastShare is the energy of a process in a window, without that of other requests, and what
// of it no span has. Once it is settled, bounded has the routes that it is a bound of.
type pastShare struct {
	energy, left nemb.Energy
	bounded      map[*route]bool
}

// RememberFor has the book divide energy among spans that come up to so long after their end. It
// is called before the second reading.
func (b *Book) RememberFor(keep time.Duration) {
	b.spans = spans{keep: keep, past: make([][]*past, len(b.domains)), waiting: map[*process][]*span{}}
}

// remember keeps what a process used in the window of a domain that closes.
func (s *spans) remember(d int, p *process, e nemb.Energy) {
	if s.keep == 0 || e == 0 || len(s.past[d]) == 0 {
		return
	}
	last := s.past[d][len(s.past[d])-1]
	share := last.shares[p]
	if share == nil {
		if len(last.shares) >= mostShares {
			return
		}
		share = &pastShare{}
		last.shares[p] = share
		s.shares++
	}
	share.energy += e
	share.left += e
}

// open begins the record of a window that closes.
func (s *spans) open(d int, from, to checkpoint.Instant) {
	if s.keep > 0 {
		s.past[d] = append(s.past[d], &past{from: from, to: to, shares: map[*process]*pastShare{}})
	}
}

// divideSpans takes the spans that came since the reading before, and divides the windows that are
// old enough, or all of them at the end.
func (b *Book) divideSpans(r *Reading) {
	s := &b.spans
	if s.keep == 0 {
		return
	}
	for i := range r.Spans {
		if !b.takeSpan(&r.Spans[i]) {
			s.ignored++
		}
	}
	settled := b.at
	for d := range s.past {
		for _, w := range s.past[d] {
			if !w.settled && (r.Last || time.Duration(b.at-w.to) >= settleAfter) {
				w.settled = true
				for _, p := range sortedProcesses(w.shares) {
					w.settle(d, w.shares[p], s.waiting[p])
				}
			}
			if !w.settled {
				settled = min(settled, w.from)
			}
		}
		s.forget(d, func(w *past) bool { return time.Duration(b.at-w.to) > s.keep })
		if w := b.windows[d]; w.HasBegun() && time.Duration(b.at-w.Last().Time) <= s.hold() { // the one that is open
			settled = min(settled, w.Last().Time)
		}
	}
	s.bound()
	for p, all := range s.waiting {
		left := slices.DeleteFunc(all, func(one *span) bool { return one.end <= settled })
		if s.count -= len(all) - len(left); len(left) == 0 {
			delete(s.waiting, p)
		} else {
			s.waiting[p] = left
		}
	}
}

// forget lets go of windows of a domain.
func (s *spans) forget(d int, old func(*past) bool) {
	s.past[d] = slices.DeleteFunc(s.past[d], func(w *past) bool {
		if !old(w) {
			return false
		}
		s.shares -= len(w.shares)
		return true
	})
}

// bound forgets the oldest windows that are settled until few enough shares are left.
func (s *spans) bound() {
	for s.shares > mostRemembered {
		oldest := checkpoint.Instant(0)
		for _, all := range s.past {
			if len(all) > 0 && all[0].settled && (oldest == 0 || all[0].to < oldest) {
				oldest = all[0].to
			}
		}
		if oldest == 0 {
			return
		}
		s.since = max(s.since, oldest)
		for d := range s.past {
			s.forget(d, func(w *past) bool { return w.settled && w.to <= oldest })
		}
	}
}

// hold is how long spans wait for a window that does not close, as that of a counter that stands
// still. It is less where many wait, so that others have room.
func (s *spans) hold() time.Duration {
	if s.count > mostSpans/2 {
		return settleAfter
	}
	return s.keep
}

func sortedProcesses(of map[*process]*pastShare) []*process {
	all := slices.Collect(maps.Keys(of))
	sortByID(all)
	return all
}

// takeSpan counts a span and gives it what is left of the windows that are settled. false says
// that it is of no use.
func (b *Book) takeSpan(in *Span) bool {
	s := &b.spans
	in.End = min(in.End, b.at)
	p := b.spanned(in)
	oldest := max(s.since, b.at-checkpoint.Instant(s.keep+b.window)) // it may have come just after the reading before
	if p == nil || p.PID == b.own || in.Name == "" || s.count >= mostSpans {
		return false
	}
	if in.Begin > in.End || in.End < max(oldest, b.began) {
		return false
	}
	if b.requests.routes == nil {
		b.requests.begun()
	}
	one := &span{route: b.requests.route(in.Name, len(b.domains)), begin: in.Begin, end: in.End}
	one.route.Count++
	one.route.Time += time.Duration(in.End - in.Begin)
	if in.Begin < max(oldest, b.began) { // nobody remembers its beginning
		one.route.Cut++
	}
	waits := false
	for d := range s.past {
		all := s.past[d]
		i := sort.Search(len(all), func(i int) bool { return all[i].to > one.begin })
		for ; i < len(all) && all[i].from < one.end; i++ {
			if !all[i].settled {
				waits = true
			} else if share := all[i].shares[p]; share != nil {
				all[i].add(d, share, one)
			}
		}
		open := b.windows[d]
		waits = waits || open.HasBegun() && open.Last().Time < one.end
	}
	if waits {
		s.waiting[p] = append(s.waiting[p], one)
		s.count++
	}
	return true
}

// spanned is the process of a span, be it over. It is nil for one that nobody has seen, or that
// is in another container than the span says: its number is another one's there.
func (b *Book) spanned(in *Span) *process {
	p := b.byPID[in.PID]
	for i := len(b.ended) - 1; p == nil && i >= 0; i-- {
		if b.ended[i].PID == in.PID {
			p = b.ended[i]
		}
	}
	if p != nil && in.Container != "" {
		if c, ok := population.ContainerOf(p.Group); !ok || c.ID != in.Container {
			return nil
		}
	}
	return p
}

// settle divides a process' energy of a window among its spans: those that are open at one moment
// share what it used then equally. Nothing tells what of a window was used when, so each may
// have none of it, and all.
func (w *past) settle(d int, share *pastShare, all []*span) {
	var of []*span
	for _, one := range all {
		if one.begin < w.to && one.end > w.from {
			of = append(of, one)
		}
	}
	if len(of) == 0 {
		return
	}
	weights := w.weights(of)
	parts := nemb.Split(share.energy, weights)
	for i, one := range of {
		w.give(d, share, one.route, parts[i])
	}
}

// weights are the parts of the window's time that spans have, and last what none has.
func (w *past) weights(of []*span) []float64 {
	type edge struct {
		at     checkpoint.Instant
		change int
	}
	var edges []edge
	for _, one := range of {
		edges = append(edges, edge{max(one.begin, w.from), 1}, edge{min(one.end, w.to), -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	// shared is, at each edge, the time up to it as one of those that are open has it.
	shared := map[checkpoint.Instant]float64{}
	sum, open, before := 0.0, 0, w.from
	for _, e := range edges {
		if open > 0 {
			sum += time.Duration(e.at-before).Seconds() / float64(open)
		}
		shared[e.at], before = sum, e.at
		open += e.change
	}
	weights := make([]float64, len(of)+1)
	left := time.Duration(w.to - w.from).Seconds()
	for i, one := range of {
		weights[i] = max(0, shared[min(one.end, w.to)]-shared[max(one.begin, w.from)])
		left -= weights[i]
	}
	weights[len(of)] = max(0, left)
	return weights
}

// add gives a span that came late its part of the time, of what no other span has.
func (w *past) add(d int, share *pastShare, one *span) {
	part := time.Duration(min(one.end, w.to)-max(one.begin, w.from)).Seconds() / time.Duration(w.to-w.from).Seconds()
	w.give(d, share, one.route, min(share.left, nemb.Energy(float64(share.energy)*part)))
}

func (w *past) give(d int, share *pastShare, r *route, e nemb.Energy) {
	share.left -= e
	r.Energy[d] += e
	if !share.bounded[r] {
		if share.bounded == nil {
			share.bounded = map[*route]bool{}
		}
		share.bounded[r] = true
		r.high[d] += float64(share.energy)
	}
}
