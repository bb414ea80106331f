// Package validate measures how exact measuring is, on counters of known power.
//
// It takes how often to try and returns tables: the error of each method for a time span,
// on virtual time and so the same everywhere; how well the sampler keeps its intervals on
// this machine; and what a measured second of known power shows here.
package validate

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
	"cg/nemb/simulate"
)

// Cell is the error of one method for spans of one length.
type Cell struct {
	Power  string
	Span   time.Duration
	Method string
	N      int
	Bias   float64 // percent of the true energy, mean of the errors
	Chance float64 // percent, what Bias is off by after N tries (three times its standard error)
	P95    float64 // percent, what 95 of 100 errors stay below, whatever their sign
}

// Powers of the table, in its order.
const (
	StepPower     = "step"     // 60 W between 20 W, changing with the span; 5 W of noise
	ConstantPower = "constant" // 50 W
	SlowSine      = "sine 13 Hz"
	FastSine      = "sine 170 Hz"
	RampPower     = "ramp" // 10 to 100 W in a second
)

// Methods of the table.
const (
	TwoReadings     = "two readings"         // the counter at the start and at the end of the span
	TimeShare       = "attribution, 1 ms"    // cg's attribution, samples each millisecond
	EdgesCoarse     = "interpolation, 1 ms"  // between the counter's updates, as samples show them
	BracketCoarse   = "bracket, 1 ms"        // nemb.Series.Between
	EdgesFine       = "interpolation, .1 ms" // the same with samples each 0.1 ms
	BracketFine     = "bracket, .1 ms"
	samplerLate     = 40 * time.Microsecond
	samplerJitter   = 30 * time.Microsecond
	counterPeriod   = 983 * time.Microsecond // against the sampler's, on purpose
	counterJitter   = 20 * time.Microsecond
	beforeAndBehind = 30 * time.Millisecond
)

// Powers and Methods list the table's.
var (
	Powers  = []string{StepPower, ConstantPower, SlowSine, FastSine, RampPower}
	Methods = []string{TwoReadings, TimeShare, EdgesCoarse, BracketCoarse, EdgesFine, BracketFine}
	Spans   = []time.Duration{100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond,
		time.Second}
)

// Bound is what a method must keep.
type Bound struct {
	Power, Method string
	Span          time.Duration
	P95, Bias     float64 // percent
}

// Bounds are what is promised: for a program that draws power of its own from
// its first moment to its last, the hardest case.
var Bounds = []Bound{
	{StepPower, BracketFine, time.Second, 0.1, 1},
	{StepPower, BracketFine, 100 * time.Millisecond, 1, 1},
	{StepPower, BracketFine, 10 * time.Millisecond, 3, 1},
	{StepPower, BracketFine, time.Millisecond, 25, 1},
	{StepPower, BracketCoarse, time.Second, 0.1, 1},
	{StepPower, BracketCoarse, 100 * time.Millisecond, 1, 1},
	{StepPower, BracketCoarse, 10 * time.Millisecond, 4, 1},
	{StepPower, BracketCoarse, time.Millisecond, 30, 1},
}

// Broken lists the bounds that cells do not keep, whatever chance does to the
// bias of few tries.
func Broken(cells []Cell) []Bound {
	var broken []Bound
	for _, b := range Bounds {
		ok := slices.ContainsFunc(cells, func(c Cell) bool {
			return c.Power == b.Power && c.Method == b.Method && c.Span == b.Span && c.P95 < b.P95 &&
				math.Abs(c.Bias) < b.Bias+c.Chance
		})
		if !ok {
			broken = append(broken, b)
		}
	}
	return broken
}

// Accuracy tries each power and length n times (an eighth of that for lengths
// of 100 ms and more), and gives the cells in the order of Powers, Spans and
// Methods. The same n gives the same cells.
//
// next, unless it is nil, is called before each power and span, with how many are over, and how many there are.
func Accuracy(n int, next func(done, of int)) []Cell {
	var cells []Cell
	for i, power := range Powers {
		for j, span := range Spans {
			if next != nil {
				next(i*len(Spans)+j, len(Powers)*len(Spans))
			}
			tries := n
			if span >= 100*time.Millisecond {
				tries = max(1, n/8)
			}
			random := rand.New(rand.NewPCG(uint64(span), uint64(len(power))))
			errors := map[string][]float64{}
			for range tries {
				for method, e := range try(power, span, random) {
					errors[method] = append(errors[method], e)
				}
			}
			for _, method := range Methods {
				cells = append(cells, summary(power, span, method, errors[method]))
			}
		}
	}
	return cells
}

func summary(power string, span time.Duration, method string, errors []float64) Cell {
	c := Cell{Power: power, Span: span, Method: method, N: len(errors)}
	n, squares := float64(len(errors)), 0.0
	for i, e := range errors {
		c.Bias += 100 * e / n
		squares += 1e4 * e * e
		errors[i] = 100 * math.Abs(e)
	}
	c.Chance = 3 * math.Sqrt(max(0, squares/n-c.Bias*c.Bias)/n)
	slices.Sort(errors)
	c.P95 = errors[min(len(errors)-1, len(errors)*95/100)]
	return c
}

// try measures one span and returns each method's error, as a part of the true
// energy.
func try(name string, length time.Duration, random *rand.Rand) map[string]float64 {
	length = time.Duration(float64(length) * (0.85 + 0.3*random.Float64()))
	from := beforeAndBehind + time.Duration(random.Float64()*float64(10*time.Millisecond))
	to := from + length
	end := to + beforeAndBehind
	counter := simulate.Counter{
		Power: power(name, from, to, end, random), Unit: simulate.UnitIntel,
		Period: counterPeriod, Jitter: counterJitter, Seed: random.Uint64(),
	}
	truth := counter.Power.Energy(to) - counter.Power.Energy(from)
	off := func(joules float64) float64 { return joules/truth - 1 }
	coarse := sample(counter, time.Millisecond, end, random)
	fine := sample(counter, 100*time.Microsecond, end, random)
	a, b := checkpoint.Instant(from), checkpoint.Instant(to)
	errors := map[string]float64{
		TwoReadings: off(float64(counter.Read(to)-counter.Read(from)) * 1e-6),
		TimeShare:   off(timeShare(coarse, a, b)),
	}
	for method, s := range map[string]nemb.Series{BracketCoarse: coarse, BracketFine: fine} {
		span, _ := s.Between(0, a, b)
		errors[method] = off(span.Joules)
	}
	for method, s := range map[string]nemb.Series{EdgesCoarse: coarse, EdgesFine: fine} {
		span, _ := s.Interpolate(0, a, b)
		errors[method] = off(span.Joules)
	}
	return errors
}

// power makes one of Powers, with the span where it steps.
func power(name string, from, to, end time.Duration, random *rand.Rand) simulate.Power {
	switch name {
	case ConstantPower:
		return simulate.Constant(50)
	case SlowSine:
		return simulate.Sine{Mean: 40, Amplitude: 20, Hz: 13}
	case FastSine:
		return simulate.Sine{Mean: 40, Amplitude: 20, Hz: 170}
	case RampPower:
		return simulate.Ramp{From: 10, To: 100, Length: time.Second}
	}
	const noise = 300 * time.Microsecond
	var trace simulate.Trace
	level := 20.0
	for at := time.Duration(0); at < end; {
		if at >= from && at < to {
			level = 60
		} else {
			level = 20
		}
		trace = append(trace, simulate.Step{From: at, Watts: max(0, level+5*random.NormFloat64())})
		next := at + noise
		for _, edge := range []time.Duration{from, to} {
			if at < edge && edge < next {
				next = edge
			}
		}
		at = next
	}
	return trace.Index()
}

// sample takes samples as the sampler does: at fixed deadlines, somewhat late,
// each stamped with its own time.
func sample(c simulate.Counter, every, end time.Duration, random *rand.Rand) nemb.Series {
	s := nemb.Series{Domains: []nemb.Domain{{ID: "package-0", Method: nemb.Measured, InTotal: true,
		Period: time.Millisecond, Lo: 1, Hi: 1}}}
	first := c.Read(0)
	last := time.Duration(-1)
	for at := time.Duration(random.Float64() * float64(every)); at < end; at += every {
		t := max(last+time.Microsecond, at+samplerLate+time.Duration(random.ExpFloat64()*float64(samplerJitter)))
		last = t
		s.Samples = append(s.Samples, nemb.Sample{
			At: checkpoint.Tick(t), Time: checkpoint.Instant(t), Energy: []nemb.Energy{nemb.Energy(c.Read(t) - first)},
			Usage: account.Usage{Program: t, Threads: []account.ThreadUsage{{Thread: only, CPU: t}}},
		})
	}
	return s
}

// only is the one thread of the program, which runs all the time.
var only = checkpoint.Thread{PID: 1, TID: 1}

// timeShare is what a function that is called once, from one instant to
// another, has in cg's attribution.
func timeShare(s nemb.Series, from, to checkpoint.Instant) float64 {
	a := attribute.New(s.Domains, 1)
	run := checkpoint.Run{Thread: only, First: true, Start: checkpoint.Tick(s.Samples[0].At)}
	words := []checkpoint.Word{
		checkpoint.Pack(checkpoint.Tick(from), checkpoint.Enter, 1), checkpoint.Pack(checkpoint.Tick(to),
			checkpoint.Exit, 1),
	}
	for i, sample := range s.Samples {
		run.Words = words
		words = words[a.Fold(run, sample.At, sample.At):]
		run.First = false
		if i == len(s.Samples)-1 {
			a.Last(sample)
		} else {
			a.Close(sample)
		}
	}
	for _, c := range a.Finish().Costs {
		if c.Site == 1 {
			return c.Self.Energy.Joules()
		}
	}
	return 0
}
