// Package simulate makes energy counters of known power, for tests.
//
// It takes powers: a Trace of steps, a Ramp, a Sine, their Sum, or Busy, which follows real
// processor time. It makes a Counter, which is a pure function of time for tests in
// virtual time, or a Tree, which serves counters as a live powercap tree through FUSE,
// with faults on demand. Nothing is random: the same power and the same instant give the
// same reading.
package simulate

import (
	"math"
	"sort"
	"time"
)

// Step is the power from an instant on.
type Step struct {
	From  time.Duration
	Watts float64
}

// Trace is power over time: each step lasts until the next. Before the first
// step there is none.
type Trace []Step

// Constant is a power that never changes.
func Constant(watts float64) Trace { return Trace{{0, watts}} }

// Energy returns the exact energy in joules from instant 0 to t.
func (tr Trace) Energy(t time.Duration) float64 {
	sum := 0.0
	for i, s := range tr {
		if s.From >= t {
			break
		}
		end := t
		if i+1 < len(tr) {
			end = min(t, tr[i+1].From)
		}
		sum += s.Watts * (end - s.From).Seconds()
	}
	return sum
}

// Index returns tr for many readings: each takes the logarithm of the steps.
func (tr Trace) Index() Power {
	x := indexed{tr, make([]float64, len(tr))}
	for i := 1; i < len(tr); i++ {
		x.sums[i] = x.sums[i-1] + tr[i-1].Watts*(tr[i].From-tr[i-1].From).Seconds()
	}
	return x
}

type indexed struct {
	Trace
	sums []float64 // joules up to each step
}

// Energy implements Power.
func (x indexed) Energy(t time.Duration) float64 {
	i := sort.Search(len(x.Trace), func(i int) bool { return x.Trace[i].From >= t }) - 1
	if i < 0 {
		return 0
	}
	return x.sums[i] + x.Trace[i].Watts*(t-x.Trace[i].From).Seconds()
}

// Units of RAPL counters in joules (Intel SDM vol. 3B, 16.10.1; AMD PPR):
// most Intel packages, and AMD packages and Intel server DRAM.
const (
	UnitIntel = 1.0 / (1 << 14) // 61.035 uJ
	UnitAMD   = 1.0 / (1 << 16) // 15.259 uJ
)

// Counter shows a trace as a RAPL counter does: it stands still between
// updates, counts whole units and starts over at 0.
type Counter struct {
	Power  Power         // nil draws nothing
	Unit   float64       // joules; 0 counts microjoules
	Period time.Duration // between updates; 0 is always up to date
	Jitter time.Duration // an update comes up to this much early or late; below Period/2
	Range  uint64        // in microjoules, the largest reading (max_energy_range_uj); 0 never wraps
	Start  uint64        // in microjoules, the reading at instant 0
	Seed   uint64        // of the jitter
}

// update is the instant of update k.
func (c Counter) update(k int64) time.Duration {
	at := time.Duration(k) * c.Period
	if c.Jitter <= 0 {
		return at
	}
	x := uint64(k) + c.Seed*0x9e3779b97f4a7c15 + 0x9e3779b97f4a7c15 // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return at + time.Duration((x^x>>31)%uint64(2*c.Jitter+1)) - c.Jitter
}

// Read returns what energy_uj shows at instant t.
func (c Counter) Read(t time.Duration) uint64 {
	if c.Period > 0 {
		k := int64(t/c.Period) + 1
		for k > 0 && c.update(k) > t {
			k--
		}
		t = max(0, c.update(k))
	}
	joules := 0.0
	if c.Power != nil {
		joules = c.Power.Energy(t)
	}
	if c.Unit > 0 {
		joules = math.Floor(joules/c.Unit) * c.Unit
	}
	e := c.Start + uint64(joules*1e6)
	if c.Range > 0 {
		e %= c.Range + 1
	}
	return e
}

// Updates lists the instants in [from, to) at which the counter is updated.
func (c Counter) Updates(from, to time.Duration) []time.Duration {
	var all []time.Duration
	if c.Period > 0 {
		for k := int64(from/c.Period) - 1; c.update(k) < to; k++ {
			if at := c.update(k); at >= from {
				all = append(all, at)
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	return all
}
