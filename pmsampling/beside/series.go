package beside

import (
	"math"
	"slices"
	"sort"
	"time"

	"cg/checkpoint"
	"cg/pmsampling"
)

// Point is a time in which each metric has a mean; NaN where the GPU does not tell it.
type Point struct {
	From, To checkpoint.Instant
	Values   []float64
}

// Limits of what a series keeps.
const (
	mostRecent = 1 << 17 // samples as they were taken
	mostPoints = 1 << 12 // of the whole time: beyond them neighbours are joined
)

// Series is what was sampled on one GPU: the last samples as they were taken, and the whole time in points that become
// longer. The zero Series is empty.
type Series struct {
	recent []Point // a ring
	next   int     // where in recent the next is put, once it is full

	points []Point
	width  checkpoint.Instant // of a point; 0 for that of a sample
	sums   []Sum

	// Recent and Points are other limits, 0 for none.
	Recent, Points int
}

// Sum is what a metric came to.
type Sum struct {
	Mean     float64 // over the time in which it is known
	Min, Max float64
	Over     time.Duration // that time
}

// Add takes samples in their order.
func (s *Series) Add(samples []pmsampling.Timed) {
	for _, t := range samples {
		p := Point{t.From, t.To, t.Values}
		s.sum(p)
		s.keep(p)
		s.point(p)
	}
}

func (s *Series) sum(p Point) {
	if s.sums == nil {
		s.sums = make([]Sum, len(p.Values))
	}
	for i, v := range p.Values {
		s.sums[i].add(v, time.Duration(p.To-p.From))
	}
}

func (s *Sum) add(v float64, over time.Duration) {
	if math.IsNaN(v) || math.IsInf(v, 0) || over <= 0 {
		return
	}
	s.Join(Sum{v, v, v, over})
}

// Join adds what a metric came to at other times.
func (s *Sum) Join(o Sum) {
	if o.Over <= 0 {
		return
	}
	if s.Over == 0 {
		*s = o
		return
	}
	s.Over += o.Over
	s.Mean += (o.Mean - s.Mean) * float64(o.Over) / float64(s.Over)
	s.Min, s.Max = min(s.Min, o.Min), max(s.Max, o.Max)
}

// Sums are what the metrics came to over the whole time; nil without a sample.
func (s *Series) Sums() []Sum { return s.sums }

func (s *Series) keep(p Point) {
	most := s.Recent
	if most == 0 {
		most = mostRecent
	}
	if len(s.recent) < most {
		s.recent = append(s.recent, p)
		return
	}
	s.recent[s.next] = p
	s.next = (s.next + 1) % most
}

// point adds a sample to the points of the whole time.
func (s *Series) point(p Point) {
	most := s.Points
	if most == 0 {
		most = mostPoints
	}
	if n := len(s.points); n > 0 && s.width > 0 && s.points[n-1].From/s.width == p.From/s.width {
		s.points[n-1] = joined(s.points[n-1], p)
		return
	}
	s.points = append(s.points, Point{p.From, p.To, slices.Clone(p.Values)})
	for len(s.points) > most {
		if s.width = 2 * s.width; s.width == 0 {
			s.width = 2 * max(1, p.To-p.From)
		}
		kept := s.points[:0]
		for _, q := range s.points {
			if n := len(kept); n > 0 && kept[n-1].From/s.width == q.From/s.width {
				kept[n-1] = joined(kept[n-1], q)
			} else {
				kept = append(kept, q)
			}
		}
		s.points = kept
	}
}

// joined is the mean of two points over time, without what lies between them.
func joined(a, b Point) Point {
	p := Point{a.From, b.To, slices.Clone(a.Values)}
	for i := range p.Values {
		var sum Sum
		sum.add(a.Values[i], time.Duration(a.To-a.From))
		sum.add(b.Values[i], time.Duration(b.To-b.From))
		if p.Values[i] = sum.Mean; sum.Over == 0 {
			p.Values[i] = math.NaN()
		}
	}
	return p
}

// Whole are the points of the whole time, a few thousand at most.
func (s *Series) Whole() []Point { return s.points }

// Within are the means of the metrics over the samples that lie wholly between two moments, with the time of these:
// none of it where no sample does.
func (s *Series) Within(from, to checkpoint.Instant) []Sum {
	sums := make([]Sum, len(s.sums))
	add := func(p Point) {
		for i, v := range p.Values {
			sums[i].add(v, time.Duration(p.To-p.From))
		}
	}
	n := len(s.recent)
	at := func(i int) Point { return s.recent[(s.next+i)%n] }
	if n > 0 && from < at(0).From { // before what is kept as it was taken
		for i := sort.Search(len(s.points), func(i int) bool { return s.points[i].From >= from }); i < len(s.points) &&
			s.points[i].To <= min(to, at(0).From); i++ {
			add(s.points[i])
		}
	}
	for i := sort.Search(n, func(i int) bool { return at(i).From >= from }); i < n && at(i).To <= to; i++ {
		add(at(i))
	}
	return sums
}
