package report

import (
	"time"

	"cg/nemb/attribute"
)

// CallsTime is how long a call of a function took, with what it called. Each quantile has the
// bounds that it lies between; an upper one is null where too few calls were timed to tell.
type CallsTime struct {
	N         uint64   `json:"n"`     // calls that were timed
	MinS      float64  `json:"min_s"` // of these
	MedianS   float64  `json:"median_s"`
	MedianLoS float64  `json:"median_lo_s"`
	MedianHiS *float64 `json:"median_hi_s"`
	P95S      float64  `json:"p95_s"`
	P95LoS    float64  `json:"p95_lo_s"`
	P95HiS    *float64 `json:"p95_hi_s"`
	MaxS      float64  `json:"max_s"` // of those that were timed
}

// callsTime is what is told of times of calls, nil where there are none.
func callsTime(t attribute.Times) *CallsTime {
	if t.N == 0 {
		return nil
	}
	bound := func(d time.Duration) *float64 {
		if d < 0 {
			return nil
		}
		s := d.Seconds()
		return &s
	}
	return &CallsTime{N: t.N, MinS: t.Min.Seconds(), MaxS: t.Max.Seconds(),
		MedianS: t.Median.Value.Seconds(), MedianLoS: t.Median.Lo.Seconds(), MedianHiS: bound(t.Median.Hi),
		P95S: t.P95.Value.Seconds(), P95LoS: t.P95.Lo.Seconds(), P95HiS: bound(t.P95.Hi)}
}

// times holds what is told of how long calls took against each other.
func (c *check) times(field string, f Function) {
	t := f.CallsTime
	if t == nil {
		return
	}
	field += "calls_time."
	if t.N == 0 {
		c.fault(field+"n", "0, but there are times of calls")
	}
	if t.MinS > t.MedianLoS || t.P95HiS != nil && *t.P95HiS > t.MaxS {
		c.fault(field+"min_s", "the bounds lie outside of %g to %g s", t.MinS, t.MaxS)
	}
	for _, q := range []struct {
		name      string
		value, lo float64
		hi        *float64
	}{{"median_s", t.MedianS, t.MedianLoS, t.MedianHiS}, {"p95_s", t.P95S, t.P95LoS, t.P95HiS}} {
		if q.value < q.lo || q.hi != nil && q.value > *q.hi {
			c.fault(field+q.name, "%g s is not within its bounds", q.value)
		}
	}
	if t.MedianS > t.P95S {
		c.fault(field+"p95_s", "%g s is less than the median, %g s", t.P95S, t.MedianS)
	}
}
