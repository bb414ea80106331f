package attribute

import (
	"cmp"
	"container/heap"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
)

// Span is a call that was long, and when it was. It was on one thread from its
// beginning to its end.
type Span struct {
	Thread   checkpoint.Thread
	Site     checkpoint.SiteID
	From, To checkpoint.Instant
}

// A call is told as a span from this much time on, in nanoseconds, where no
// counter's period says how long a long call is; and of these the longest
// ToldSpans are.
const (
	spanLeast = 20e6
	ToldSpans = 1000
)

// spans is a heap of the longest spans, the shortest of them first.
type spans []Span

func (s spans) Len() int           { return len(s) }
func (s spans) Less(i, j int) bool { return s[i].To-s[i].From < s[j].To-s[j].From }
func (s spans) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *spans) Push(x any)        { *s = append(*s, x.(Span)) }
func (s *spans) Pop() any {
	last := len(*s) - 1
	x := (*s)[last]
	*s = (*s)[:last]
	return x
}

// keep takes a call among the longest.
func (s *spans) keep(c Span) {
	switch {
	case len(*s) < ToldSpans:
		heap.Push(s, c)
	case c.To-c.From > (*s)[0].To-(*s)[0].From:
		(*s)[0] = c
		heap.Fix(s, 0)
	}
}

// told lists the spans in the order in which they began, an outer one before what is in it.
func (s spans) told() []Span {
	slices.SortFunc(s, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To), cmp.Compare(a.Thread.PID, b.Thread.PID),
			cmp.Compare(a.Thread.TID, b.Thread.TID), cmp.Compare(a.Site, b.Site))
	})
	return s
}

// stretches takes the long calls that ended in the window that s ends. place is
// where a tick is on CLOCK_MONOTONIC, in nanoseconds.
func (a *Attributor) stretches(place func(checkpoint.Tick) float64) {
	for _, t := range a.threads {
		for _, c := range t.over {
			site := a.nodes[c.node].site
			if site == checkpoint.OwnSite {
				continue
			}
			a.spans.keep(Span{t.id, site, checkpoint.Instant(place(c.since)), checkpoint.Instant(place(c.end))})
		}
	}
}

// placing gives where a tick is, in nanoseconds of CLOCK_MONOTONIC, by a sample and the
// length of a tick.
func placing(s nemb.Sample, perTick float64) func(checkpoint.Tick) float64 {
	now := nanos(s.Time)
	return func(at checkpoint.Tick) float64 { return now - float64(int64(s.At-at))*perTick }
}
