package calls

import (
	"cmp"
	"container/heap"
	"slices"

	"cg/checkpoint"
)

// Span is a call that was long, and when it was. It was on one thread from its
// beginning to its end.
type Span struct {
	Thread   checkpoint.Thread
	Site     checkpoint.SiteID
	From, To checkpoint.Instant
}

// A call is a span from this much time on, in nanoseconds, where no counter's
// period says how long a long call is; and of these the longest MaxSpans are kept.
const (
	spanLeast = 20e6
	MaxSpans  = 1000
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
	case len(*s) < MaxSpans:
		heap.Push(s, c)
	case c.To-c.From > (*s)[0].To-(*s)[0].From:
		(*s)[0] = c
		heap.Fix(s, 0)
	}
}

// sorted lists the spans in the order in which they began, an outer one before what is in it.
func (s spans) sorted() []Span {
	slices.SortFunc(s, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To), cmp.Compare(a.Thread.PID, b.Thread.PID),
			cmp.Compare(a.Thread.TID, b.Thread.TID), cmp.Compare(a.Site, b.Site))
	})
	return s
}
