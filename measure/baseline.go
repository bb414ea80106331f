package measure

import (
	"context"
	"math"
	"time"

	"gonum.org/v1/gonum/stat"

	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/processor"
	"cg/nemb/sampler"
	"cg/statistics"
)

// Baseline is what the machine drew before the program was started.
type Baseline struct {
	Span time.Duration
	// Busy is how many processors were in use meanwhile, on average, and Use how far that is from idle (nemb.UseOf).
	// cg's own is in both.
	Busy, Use float64
	certain   float64 // Use without unsureTicks of the time of others
	Domains   []IdlePower
	Unasked   bool // nobody asked for it (nemb.IdleBefore)
}

// IdlePower is a domain's power in watts, with the 95 % interval of its mean.
type IdlePower struct {
	ID            string
	Power, Lo, Hi float64
	InTotal       bool
}

// BusyLimit is the use of the processors from which on a machine is not idle.
const BusyLimit = 0.05

// Idle tells whether the machine was idle. If not, its idle power lies anywhere
// below what was measured.
func (b *Baseline) Idle() bool { return b.Use < BusyLimit }

// mostSamples is how many samples a baseline has, or one a minute where that is more. More would tell no more of its
// mean. What cg draws to take them would be taken for idle power, and be set aside in the run twice: as idle power and
// as cg's.
const mostSamples = 40

// unsureTicks is by how many ticks the time of others may seem longer than it was: the kernel tells it as a sum of
// times that are rounded to ticks, each by itself (proc_stat(5)), and nobody sees where in a tick a reading lies.
const unsureTicks = 3

// How many blocks a baseline is cut into at most, for the interval of its
// mean, and how many periods of its counter each is long at least.
const (
	baselineBlocks  = 20
	baselinePeriods = 10
)

// MeasureIdle measures the machine for so long, with a sampler as a run has it, but with mostSamples at most. It
// is nil where no sensor measures: a model has an idle power of its own.
func MeasureIdle(ctx context.Context, sensors []nemb.Sensor, interval, span time.Duration) (*Baseline, error) {
	measured := false
	for _, s := range sensors {
		for _, d := range s.Domains() {
			measured = measured || d.ReadsMachine()
		}
	}
	if !measured {
		return nil, nil
	}
	account := account.New()
	defer account.Close()
	seldom := min(span/mostSamples, sampler.MaxInterval)
	sampler, err := sampler.Start(sensors,
		sampler.Config{Interval: max(interval, seldom), Clock: clock(nil), Program: account})
	if err != nil {
		return nil, err
	}
	defer sampler.Close()
	var recording nemb.Recording
	timer := time.NewTimer(span)
	defer timer.Stop()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for over := false; !over; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-look.C:
			for _, s := range sampler.Poll() {
				recording.Add(s)
			}
		case <-timer.C:
			over = true
		}
	}
	for _, s := range sampler.Stop() {
		recording.Add(s)
	}
	return baselineOf(nemb.Series{Domains: sampler.Domains(), Samples: recording.Samples()}, processor.Online()), nil
}

// baselineOf is what a series of an idle machine tells.
func baselineOf(series nemb.Series, cpus int) *Baseline {
	b := &Baseline{}
	var whole []nemb.Sample
	for _, s := range series.Samples {
		if !s.Failed {
			whole = append(whole, s)
		}
	}
	if len(whole) < 2 {
		return b
	}
	first, last := whole[0], whole[len(whole)-1]
	b.Span = time.Duration(last.Time - first.Time)
	if b.Span <= 0 {
		return b
	}
	used := usedBetween(first, last)
	b.Busy = max(0, used.Seconds()/b.Span.Seconds())
	b.Use = nemb.UseOf(b.Busy, float64(cpus))
	others := last.Usage.Other - first.Usage.Other
	certain := max(0, used-min(others, unsureTicks*account.Tick))
	b.certain = nemb.UseOf(certain.Seconds()/b.Span.Seconds(), float64(cpus))
	for d, domain := range series.Domains {
		if !domain.ReadsMachine() {
			continue
		}
		p := IdlePower{ID: domain.ID, InTotal: domain.InTotal,
			Power: (last.Energy[d] - first.Energy[d]).Joules() / b.Span.Seconds()}
		least := max(b.Span/baselineBlocks, baselinePeriods*domain.Period)
		var powers, busy []float64
		from := first
		for _, s := range whole[1:] {
			if long := time.Duration(s.Time - from.Time); long >= least {
				powers = append(powers, (s.Energy[d]-from.Energy[d]).Joules()/long.Seconds())
				busy = append(busy, usedBetween(from, s).Seconds()/long.Seconds())
				from = s
			}
		}
		if len(powers) < 2 || p.Power <= 0 { // it cannot be resolved in this time
			continue
		}
		lo, hi := statistics.MeanInterval(powers, .95)
		p.Lo, p.Hi = domain.Lo*min(max(0, lo), p.Power), domain.Hi*max(hi, p.Power)
		if !b.Idle() || math.IsNaN(p.Lo) {
			p.Lo = 0
			p.Power = min(p.Power, withoutUse(powers, busy, p.Power))
		}
		b.Domains = append(b.Domains, p)
	}
	return b
}

// usedBetween is the processor time that anybody used between two samples.
func usedBetween(from, to nemb.Sample) time.Duration {
	return to.Usage.Own - from.Usage.Own + to.Usage.Other - from.Usage.Other + to.Usage.Program - from.Usage.Program
}

// withoutUse is the power at which nobody uses a processor: where a straight line through the powers of blocks, by the
// processors in use, is clearly (two standard errors) below the mean there. Else it is the mean.
func withoutUse(powers, busy []float64, mean float64) float64 {
	n := float64(len(powers))
	if n < 4 {
		return mean
	}
	at, slope := stat.LinearRegression(busy, powers, nil, false)
	middle, spread := stat.MeanVariance(busy, nil)
	left := 0.0
	for i, p := range powers {
		left += (p - at - slope*busy[i]) * (p - at - slope*busy[i])
	}
	off := math.Sqrt(left / (n - 2) * (1/n + middle*middle/(spread*(n-1))))
	if !(at >= 0 && at+2*off < mean) { // also where nothing varies
		return mean
	}
	return at
}

// Set puts the idle powers into the domains that they are of.
func (b *Baseline) Set(domains []nemb.Domain) {
	if b == nil {
		return
	}
	for i := range domains {
		for _, p := range b.Domains {
			if domains[i].ID == p.ID {
				domains[i].Base, domains[i].BaseLo, domains[i].BaseHi = p.Power, p.Lo, p.Hi
				domains[i].BaseUse, domains[i].BaseUseHi = b.certain, b.Use
				if b.Idle() {
					domains[i].BaseSpan = b.Span
				}
				if b.Unasked {
					domains[i].BaseMethod = nemb.IdleBefore
				}
			}
		}
	}
}
