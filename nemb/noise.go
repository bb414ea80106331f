package nemb

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/runtimes/sdk/spec"
)

// Tally is what was seen up to a sample, before any was left out: sums that
// only grow, so that the difference of two is what lies between.
type Tally struct {
	Samples int // with this one
	// Of the windows of power that have ended: how many, how long they were,
	// the energy of the machine in them in microjoules, and the sum of each
	// one's squared power times its length, in W^2 s.
	Windows int
	Span    time.Duration
	Energy  Energy
	Square  float64
	// Fast is of the counters that are not slow, where some are: it has windows of its own,
	// which are shorter. Slow is the energy of the others at the moment At.
	Fast Windows
	Slow Energy
	At   checkpoint.Instant
}

// Windows is a part of a Tally.
type Windows struct {
	Windows int
	Span    time.Duration
	Energy  Energy
	Square  float64
}

// slow tells of each domain whether its counter is slow beside the fastest.
func slow(domains []Domain) (is []bool, any bool) {
	least := time.Duration(0)
	for _, d := range domains {
		if d.InTotal && d.Period > 0 && (least == 0 || d.Period < least) {
			least = d.Period
		}
	}
	for _, d := range domains {
		is = append(is, d.InTotal && d.Period > spec.NoiseSlowTimes*least)
		any = any || is[len(is)-1]
	}
	return is, any
}

// window is one that is open.
type window struct {
	open   bool
	at     checkpoint.Instant // where it begins
	energy Energy
}

// pass takes the next sample, and gives the length and energy of the window if it has
// ended there: it is at least so long.
func (w *window) pass(at checkpoint.Instant, energy Energy, least time.Duration) (span time.Duration, e Energy) {
	span = time.Duration(at - w.at)
	switch {
	case !w.open || span < 0 || energy < w.energy:
		span = 0
	case span == 0 || span < least:
		return 0, 0
	default:
		e = energy - w.energy
	}
	w.open, w.at, w.energy = true, at, energy
	return span, e
}

// tallier sums up what a series tells of the machine's power. Domains are
// those of the samples.
type tallier struct {
	domains []Domain
	tally   Tally
	all     window
	fast    window
	slow    []bool             // of the domains, nil where none is
	known   bool               // whether slow is
	last    checkpoint.Instant // of the sample before
	// intervals counts the times between samples by their logarithm: each
	// class is 1 % wide.
	intervals map[int]class
}

type class struct {
	n   int
	sum time.Duration
}

// median is that of the times between samples, 0 for fewer than three samples.
func (t *tallier) median() time.Duration {
	keys := slices.Sorted(maps.Keys(t.intervals))
	n := 0
	for _, k := range keys {
		n += t.intervals[k].n
	}
	left := n / 2
	for _, k := range keys {
		if c := t.intervals[k]; left < c.n && n >= 2 {
			return c.sum / time.Duration(c.n)
		} else {
			left -= c.n
		}
	}
	return 0
}

func (t *tallier) interval(at checkpoint.Instant) {
	if d := time.Duration(at - t.last); t.tally.Samples > 0 && d > 0 {
		k := int(math.Log2(float64(d)) * 64)
		if t.intervals == nil {
			t.intervals = map[int]class{}
		}
		c := t.intervals[k]
		t.intervals[k] = class{c.n + 1, c.sum + d}
	}
	t.last = at
}

// add takes the next sample and gives the tally up to it. A sample whose
// reading failed ends no window.
func (t *tallier) add(s Sample) Tally {
	t.interval(s.Time)
	t.tally.Samples++
	if s.Failed {
		return t.tally
	}
	if !t.known {
		t.known = true
		if is, any := slow(t.domains); any {
			t.slow = is
		}
	}
	var all, fast Energy
	var least, leastFast time.Duration
	for d, domain := range t.domains {
		if !domain.InTotal || d >= len(s.Energy) {
			continue
		}
		all, least = all+s.Energy[d], max(least, spec.NoiseWindowPeriods*domain.Period)
		if t.slow != nil && !t.slow[d] {
			fast, leastFast = fast+s.Energy[d], max(leastFast, spec.NoiseWindowPeriods*domain.Period)
		}
	}
	square := func(e Energy, span time.Duration) float64 { return e.Joules() * e.Joules() / span.Seconds() }
	if span, e := t.all.pass(s.Time, all, least); span > 0 {
		t.tally.Windows++
		t.tally.Span += span
		t.tally.Energy += e
		t.tally.Square += square(e, span)
	}
	if t.slow == nil {
		return t.tally
	}
	t.tally.Slow, t.tally.At = all-fast, s.Time
	if span, e := t.fast.pass(s.Time, fast, leastFast); span > 0 {
		f := &t.tally.Fast
		f.Windows++
		f.Span += span
		f.Energy += e
		f.Square += square(e, span)
	}
	return t.tally
}

// Noise is how steady the power of the whole machine was in a span of time,
// and how many of the samples came that should have.
type Noise struct {
	Captured, Expected int
	// Observed is set where Interval is the median of the times between the
	// samples; with fewer than three it is the one that was asked for.
	Observed bool
	Interval time.Duration
	Drop     float64 // part of the expected samples that did not come, 0 to 1
	// Windows is over how many windows the powers are taken, Window how long
	// they are on average. With fewer than spec.NoiseLeastPowers, or without
	// energy, nothing is known of the power: Known is false.
	Known   bool
	Windows int
	Window  time.Duration
	Mean    float64 // W, of the domains that make up the total
	Std     float64 // W, of the windows, weighted with their lengths
}

// CV is the coefficient of variation, in percent.
func (n Noise) CV() float64 { return 100 * n.Std / n.Mean }

// Noise judges the span between two moments. interval is the one that was
// asked of the sampler. A series that was thinned (Recording) tells the same as
// the whole one, but for the windows at the edges of the span.
func (s Series) Noise(begin, end checkpoint.Instant, interval time.Duration) Noise {
	samples, median := s.tallied()
	n := Noise{Interval: interval}
	if len(samples) == 0 || end < begin {
		return n
	}
	begin, end = max(begin, samples[0].Time), min(end, samples[len(samples)-1].Time)
	if end < begin {
		return n
	}
	n.Captured = int(math.Floor(counted(samples, end))) - int(math.Ceil(counted(samples, begin))) + 1
	inside := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.Time < begin || s.Time > end })
	if n.Captured >= 3 && median > 0 {
		n.Interval, n.Observed = median, true
	}
	if n.Captured >= 3 && n.Captured == len(inside) { // none was left out
		var each []time.Duration
		for i := 1; i < len(inside); i++ {
			each = append(each, time.Duration(inside[i].Time-inside[i-1].Time))
		}
		slices.Sort(each)
		if m := (each[(len(each)-1)/2] + each[len(each)/2]) / 2; m > 0 {
			n.Interval, n.Observed = m, true
		}
	}
	n.Expected = n.Captured
	if n.Interval > 0 { // whole intervals
		n.Expected = max(n.Captured, int(float64(end-begin)/float64(n.Interval)+1e-6))
	}
	if n.Expected > 0 {
		n.Drop = 1 - float64(n.Captured)/float64(n.Expected)
	}
	if len(inside) == 0 {
		return n
	}
	first, last := inside[0].Tally, inside[len(inside)-1].Tally
	n.Windows = last.Windows - first.Windows
	n.powers(Windows{n.Windows, last.Span - first.Span, last.Energy - first.Energy, last.Square - first.Square}, 0)
	if over := time.Duration(last.At - first.At); !n.Known && over > 0 {
		f := Windows{last.Fast.Windows - first.Fast.Windows, last.Fast.Span - first.Fast.Span,
			last.Fast.Energy - first.Fast.Energy, last.Fast.Square - first.Fast.Square}
		n.powers(f, (last.Slow-first.Slow).Joules()/over.Seconds())
	}
	return n
}

// powers tells the power of windows, and of slow counters beside them, in watts. Too few
// windows tell nothing.
func (n *Noise) powers(w Windows, beside float64) {
	span := w.Span.Seconds()
	if w.Windows < spec.NoiseLeastPowers || span <= 0 || w.Energy == 0 {
		return
	}
	n.Known, n.Windows = true, w.Windows
	n.Window = w.Span / time.Duration(n.Windows)
	mean := w.Energy.Joules() / span
	variance := max(0, w.Square/span-mean*mean)
	n.Mean = mean + beside
	n.Std = math.Sqrt(variance * float64(n.Windows) / float64(n.Windows-1))
	if n.Std < spec.NoiseZeroPart*n.Mean {
		n.Std = 0
	}
}

// tallied gives the samples with their tallies, also where no Recording made
// them, and the median of the times between all that were seen.
func (s Series) tallied() ([]Sample, time.Duration) {
	if n := len(s.Samples); n == 0 || s.Samples[n-1].Tally.Samples > 0 {
		return s.Samples, s.Interval
	}
	t := tallier{domains: s.Domains}
	samples := slices.Clone(s.Samples)
	for i := range samples {
		samples[i].Tally = t.add(samples[i])
	}
	return samples, t.median()
}

// counted is how many samples there were up to a moment, in between as if they
// came evenly.
func counted(samples []Sample, at checkpoint.Instant) float64 {
	i, found := slices.BinarySearchFunc(samples, at, func(s Sample, at checkpoint.Instant) int {
		return cmp.Compare(s.Time, at)
	})
	switch {
	case found:
		return float64(samples[i].Tally.Samples)
	case i == 0:
		return 0
	case i == len(samples):
		return float64(samples[i-1].Tally.Samples)
	}
	a, b := samples[i-1], samples[i]
	part := float64(at-a.Time) / float64(b.Time-a.Time)
	return float64(a.Tally.Samples) + part*float64(b.Tally.Samples-a.Tally.Samples)
}
