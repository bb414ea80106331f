package nemb

import (
	"math"
	"slices"
	"sort"
	"time"

	"cg/checkpoint"
	"cg/runtimes/sdk/spec"
)

// Knot is an update of a counter: the energy up to it, and when it was, as nearly
// as the samples tell.
type Knot struct {
	At     float64 // ns, the middle of what is possible
	Slack  float64 // ns to either side
	Joules float64
}

// knots finds the updates of domain d's counter in a series. A sample that
// shows more than the one before it shows the energy at the last update before
// it, which lies after the sample before, and no further back than a period.
// Samples with a failed reading show nothing.
func knots(samples []Sample, d int, period time.Duration) []Knot {
	var all []Knot
	prev := -1
	for i := range samples {
		s := &samples[i]
		if s.Failed {
			continue
		}
		if prev >= 0 && s.Energy[d] > samples[prev].Energy[d] {
			behind := float64(s.Time - samples[prev].Time)
			if period > 0 {
				behind = min(behind, float64(period))
			}
			all = append(all, Knot{float64(s.Time) - behind/2, behind / 2, s.Energy[d].Joules()})
		}
		prev = i
	}
	return all
}

// Knots are the updates of domain d's counter, by rising time. The first sample and the
// last stand at the ends, so that Across tells of everything between them. Before the
// first the counter was updated half a period ago, as far as anyone knows.
func (s Series) Knots(d int) []Knot {
	period := s.Domains[d].Period
	all := knots(s.Samples, d, period)
	n, slack := len(s.Samples), float64(period)/2
	if n < 2 {
		return all
	}
	first, last := s.Samples[0], s.Samples[n-1]
	if at := float64(first.Time) - slack; len(all) == 0 || at < all[0].At {
		all = slices.Insert(all, 0, Knot{at, slack, first.Energy[d].Joules()})
	}
	if at := float64(last.Time); at > all[len(all)-1].At {
		all = append(all, Knot{at, slack, max(all[len(all)-1].Joules, last.Energy[d].Joules())})
	}
	return all
}

// Span is the energy in a part of a series.
type Span struct {
	Joules float64
	Slack  float64 // the true energy is this much more or less, if power changes only where Method allows
	Method string  // Bracketed or Interpolated
}

// Methods of a Span.
const (
	// Bracketed: from the last update before the span to the first after it,
	// less the power around the span for the time outside it. Unbiased when
	// the power before and after is steady, whatever it is in between.
	Bracketed = spec.MethodBracket
	// Interpolated: linear between the updates around each end. Biased when
	// the power changes at the ends, however often it is repeated.
	Interpolated = spec.MethodInterpolation
)

// The power around a span is taken from this much time, and is steady when it
// is the same before and after up to this part of it.
const (
	around = float64(spec.AroundNs)
	steady = spec.SteadyPart
)

// Between returns the energy of domain d from one instant to another, by the
// better of two methods; false where the series does not reach from an update
// before to one after. It says nothing of who used the energy.
//
// How exact it is for spans of 0.1 ms to 1 s, with samples each 1 and 0.1 ms, is
// what cg validate shows.
func (s Series) Between(d int, from, to checkpoint.Instant) (Span, bool) {
	return Across(knots(s.Samples, d, s.Domains[d].Period), float64(from), float64(to))
}

// Across is Between for knots by rising time: those around each end count.
func Across(k []Knot, from, to float64) (Span, bool) {
	if span, ok := bracket(k, from, to); ok {
		return span, true
	}
	return interpolate(k, from, to)
}

// Interpolate is Between by that method.
func (s Series) Interpolate(d int, from, to checkpoint.Instant) (Span, bool) {
	return s.Interpolator(d)(from, to)
}

// Interpolator is Interpolate for many spans: it goes through the samples once.
func (s Series) Interpolator(d int) func(from, to checkpoint.Instant) (Span, bool) {
	k := knots(s.Samples, d, s.Domains[d].Period)
	return func(from, to checkpoint.Instant) (Span, bool) { return interpolate(k, float64(from), float64(to)) }
}

// bracket refuses when the power before the span is another than after it, and
// when the power in it differs so little from both that interpolation errs
// less.
func bracket(k []Knot, from, to float64) (Span, bool) {
	// The last that is surely before, the first that is surely after.
	i := sort.Search(len(k), func(i int) bool { return k[i].At+k[i].Slack > from }) - 1
	j := sort.Search(len(k), func(i int) bool { return k[i].At-k[i].Slack >= to })
	if i < 0 || j >= len(k) || to < from {
		return Span{}, false
	}
	before, w1 := slope(k, i, -1)
	after, w2 := slope(k, j, 1)
	if w1 < around/4 || w2 < around/4 || math.Abs(before-after) > steady*max(before, after) {
		return Span{}, false
	}
	// Both sides tell of one power: together they tell it better.
	surrounding := (before*w1 + after*w2) / (w1 + w2)
	outside := (from - k[i].At) + (k[j].At - to)
	span := Span{
		Joules: max(0, k[j].Joules-k[i].Joules-surrounding*outside*1e-9),
		Slack:  surrounding * math.Hypot(k[i].Slack, k[j].Slack) * 1e-9,
		Method: Bracketed,
	}
	// Between two updates interpolation takes the mean power for that of the
	// span: it errs by half their distance, at each end by chance.
	spacing := (k[i+1].At - k[i].At + k[j].At - k[j-1].At) / 2
	inside := span.Joules / max(1, to-from) * 1e9
	if math.Abs(inside-surrounding)*spacing/2*1e-9 < span.Slack/math.Sqrt(3) {
		return Span{}, false
	}
	// Where power is another after the span, nothing tells whether it changed before the
	// span, in it or behind it.
	span.Slack += max(math.Abs(before-surrounding), math.Abs(after-surrounding)) * outside * 1e-9
	return span, true
}

func interpolate(k []Knot, from, to float64) (Span, bool) {
	if len(k) < 2 || to < from || k[0].At > from || k[len(k)-1].At < to {
		return Span{}, false
	}
	at := func(t float64) (joules, slack float64) {
		i := min(max(1, sort.Search(len(k), func(i int) bool { return k[i].At > t })), len(k)-1)
		a, b := k[i-1], k[i]
		watts := (b.Joules - a.Joules) / max(1, b.At-a.At)
		return a.Joules + watts*(t-a.At), watts * max(a.Slack, b.Slack)
	}
	a, slackA := at(from)
	b, slackB := at(to)
	return Span{Joules: b - a, Slack: math.Hypot(slackA, slackB), Method: Interpolated}, true
}

// slope is the power in watts over some time from knot i backwards (by -1) or
// onwards (by 1), and that time in ns.
func slope(k []Knot, i, by int) (watts, over float64) {
	j := i
	for n := j + by; n >= 0 && n < len(k) && math.Abs(k[n].At-k[i].At) <= around; n += by {
		j = n
	}
	over = math.Abs(k[j].At - k[i].At)
	if over == 0 {
		return 0, 0
	}
	return math.Abs(k[j].Joules-k[i].Joules) / over * 1e9, over
}
