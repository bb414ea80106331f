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
}

// tallier sums up what a series tells of the machine's power. Domains are
// those of the samples.
type tallier struct {
	domains []Domain
	tally   Tally
	open    bool
	at      checkpoint.Instant // where the open window begins
	energy  Energy
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
	energy, least := Energy(0), time.Duration(0)
	for d, domain := range t.domains {
		if domain.InTotal && d < len(s.Energy) {
			energy += s.Energy[d]
			least = max(least, spec.NoiseWindowPeriods*domain.Period)
		}
	}
	span := time.Duration(s.Time - t.at)
	switch {
	case !t.open || span < 0 || energy < t.energy:
	case span == 0 || span < least:
		return t.tally
	default:
		e := energy - t.energy
		watts := e.Joules() / span.Seconds()
		t.tally.Windows++
		t.tally.Span += span
		t.tally.Energy += e
		t.tally.Square += watts * watts * span.Seconds()
	}
	t.open, t.at, t.energy = true, s.Time, energy
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
	span := (last.Span - first.Span).Seconds()
	if n.Windows < spec.NoiseLeastPowers || span <= 0 || last.Energy == first.Energy {
		return n
	}
	n.Known = true
	n.Window = (last.Span - first.Span) / time.Duration(n.Windows)
	n.Mean = (last.Energy - first.Energy).Joules() / span
	variance := max(0, (last.Square-first.Square)/span-n.Mean*n.Mean)
	n.Std = math.Sqrt(variance * float64(n.Windows) / float64(n.Windows-1))
	if n.Std < spec.NoiseZeroPart*n.Mean {
		n.Std = 0
	}
	return n
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
