package sampler

import (
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb/account"
)

// curve is usage over time, linear between readings.
type curve struct {
	times []checkpoint.Instant
	usage []account.Usage
}

func (c *curve) add(at checkpoint.Instant, u account.Usage) {
	c.times = append(c.times, at)
	c.usage = append(c.usage, u)
}

// trim forgets the readings that nothing at t or later needs.
func (c *curve) trim(t checkpoint.Instant) {
	n := needless(c.times, t)
	c.times = slices.Delete(c.times, 0, n)
	c.usage = slices.Delete(c.usage, 0, n)
}

// needless is how many of ascending times lie before the one that t follows.
func needless(times []checkpoint.Instant, t checkpoint.Instant) int {
	n := 0
	for n+2 < len(times) && times[n+1] <= t {
		n++
	}
	return n
}

// at returns the usage at an instant; before the first reading it is that of
// the first, after the last that of the last.
func (c *curve) at(t checkpoint.Instant) account.Usage {
	i, part := locate(c.times, t)
	if i < 0 {
		return account.Usage{}
	}
	if part == 0 {
		return c.usage[i]
	}
	a, b := c.usage[i], c.usage[i+1]
	elapsed := time.Duration(c.times[i+1] - c.times[i])
	u := account.Usage{
		Program: between(a.Program, b.Program, part),
		Own:     between(a.Own, b.Own, part),
		Other:   between(a.Other, b.Other, part),
		Threads: make([]account.ThreadUsage, len(b.Threads)),
		Read:    [2]checkpoint.Instant{c.times[i], c.times[i+1]},
	}
	j := 0
	for i, th := range b.Threads {
		for j < len(a.Threads) && account.CompareThreads(a.Threads[j].Thread, th.Thread) < 0 {
			j++
		}
		// A thread that was not there before used no more than the time
		// that passed.
		before := account.ThreadUsage{CPU: max(0, th.CPU-elapsed), Queued: max(0, th.Queued-elapsed), Turns: th.Turns}
		if j < len(a.Threads) && a.Threads[j].Thread == th.Thread {
			before = a.Threads[j]
		}
		u.Threads[i] = account.ThreadUsage{
			Thread: th.Thread, CPU: between(before.CPU, th.CPU, part), Queued: between(before.Queued, th.Queued, part),
			Turns:  before.Turns + (th.Turns-before.Turns)*part,
			Within: th.CPU - before.CPU, Late: max(before.Late, th.Late),
		}
	}
	for i, used := range b.Background {
		u.Background = append(u.Background, between(a.Background[i], used, part))
	}
	return u
}

// locate finds t in ascending times: part of the way from i to i+1. i is -1
// when there are no times; part is 0 at and beyond the ends.
func locate(times []checkpoint.Instant, t checkpoint.Instant) (i int, part float64) {
	last := len(times) - 1
	switch {
	case last < 0 || t >= times[last]:
		return last, 0
	case t <= times[0]:
		return 0, 0
	}
	for i = last - 1; times[i] > t; i-- {
	}
	return i, float64(t-times[i]) / float64(times[i+1]-times[i])
}

func between[T ~int64 | ~uint64](a, b T, part float64) T { return a + T(float64(b-a)*part) }
