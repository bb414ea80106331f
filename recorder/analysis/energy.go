package analysis

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"cg/recorder"
)

// Meter is what a machine used, as a log tells it: a reading is a moment in seconds since
// 1970, and the joules since the first reading. There are two readings at least, in the
// order of time.
type Meter struct {
	// Name is for messages.
	Name string
	// From and To are the first rank on the machine and the one behind the last; 0 and 0 are
	// all ranks.
	From, To int
	Unix     []float64
	Joules   []float64
	// Kind is measured, derived or estimated.
	Kind string
	// Shares are the parts that ranks From to To have, not a number for one that is on another
	// machine; nil for equal parts.
	Shares []float64
	// Lo and Hi are how much of the joules there were at least and at most; 0 and 0 are 1 and 1.
	Lo, Hi float64
	// Note is what a reader has to know of it, "" for nothing.
	Note string
}

// share is a rank's part; ok is false for a rank on another machine.
func (m *Meter) share(rank int) (share float64, ok bool) {
	switch {
	case rank < m.From || rank >= m.To:
		return 0, false
	case m.Shares == nil:
		return 1 / float64(m.To-m.From), true
	}
	share = m.Shares[rank-m.From]
	return share, !math.IsNaN(share)
}

// Energy is a rank's part of what its machine used while something ran.
//
// Where nothing tells who used the processors, the machine's power is shared equally by the
// ranks of the trace on it. Between two readings the power is taken as even. LoJ and
// HiJ hold whatever it did between them: the least is what was read while it ran all the
// time, the most what was read while it ran at all.
type Energy struct {
	J    float64  `json:"energy_j"`
	LoJ  float64  `json:"energy_lo_j"`
	HiJ  float64  `json:"energy_hi_j"`
	W    *float64 `json:"avg_power_w"`
	Kind string   `json:"energy_kind"`
}

// joule is a sum of energies.
type joule struct {
	j, lo, hi, seconds float64
	outside            bool // some of it was when there are no readings
}

func (s *joule) join(o joule) {
	s.j, s.lo, s.hi, s.seconds = s.j+o.j, s.lo+o.lo, s.hi+o.hi, s.seconds+o.seconds
	s.outside = s.outside || o.outside
}

// marks are the last readings that were counted, of each meter and thing, for a rank.
type marks [][]mark

type mark struct{ stamp, window int32 }

func (m *marks) of(meter, thing int) *mark {
	for len(*m) <= meter {
		*m = append(*m, nil)
	}
	row := (*m)[meter]
	for len(row) <= thing {
		row = append(row, mark{})
	}
	(*m)[meter] = row
	return &row[thing]
}

// meters give the energy of a rank's calls. Its methods work without any, for nothing.
type meters struct {
	all   []*Meter
	times [][]float64 // of each meter's readings, since the beginning of the trace
	start float64
	kind  string
	// here are the meters of the rank that is read, and shares its parts.
	here   []int
	shares []float64
	stamp  int32
	// What was counted before, of functions, files and the phases.
	functions, files, phases marks
	outside                  bool
	from, to                 float64 // of calls without readings
}

// metersOf holds meters against the ranks of a trace. It is nil for none.
func metersOf(all []*Meter, t *recorder.Trace, from, to int) (*meters, error) {
	if len(all) == 0 {
		return nil, nil
	}
	m := &meters{all: all, start: t.Start, kind: "measured"}
	covered := make([]bool, t.Ranks)
	for _, one := range all {
		if len(one.Unix) < 2 || len(one.Unix) != len(one.Joules) {
			return nil, fmt.Errorf("%s: fewer than two readings", one.Name)
		}
		if one.From == 0 && one.To == 0 {
			one.To = t.Ranks
		}
		if one.From < 0 || one.To > t.Ranks || one.From >= one.To ||
			one.Shares != nil && len(one.Shares) != one.To-one.From {
			return nil, fmt.Errorf("%s: ranks %d to %d: the trace has 0 to %d", one.Name, one.From, one.To-1, t.Ranks-1)
		}
		if one.Lo == 0 && one.Hi == 0 {
			one.Lo, one.Hi = 1, 1
		}
		times := make([]float64, len(one.Unix))
		for i, at := range one.Unix {
			times[i] = at - t.Start
		}
		m.times = append(m.times, times)
		for r := one.From; r < one.To; r++ {
			_, on := one.share(r)
			covered[r] = covered[r] || on
		}
		if one.Kind == "estimated" || m.kind == "measured" {
			m.kind = one.Kind
		}
	}
	if at := slices.Index(covered[from:to], false); at >= 0 {
		return nil, errors.New("rank " + fmt.Sprint(from+at) + " has no log: name one for it, as RANKS=FILE")
	}
	return m, nil
}

// begin begins a rank.
func (m *meters) begin(rank int) {
	if m == nil {
		return
	}
	m.stamp++
	m.here, m.shares = m.here[:0], m.shares[:0]
	for i, one := range m.all {
		if share, on := one.share(rank); on {
			m.here, m.shares = append(m.here, i), append(m.shares, share)
		}
	}
}

// between is the rank's part of what was used from one moment of it to another.
func (m *meters) between(from, to float64) joule {
	var none marks
	return m.add(&none, 0, from, to)
}

// add is the same for a thing that may have run before: readings that were counted whole
// are not counted again in the upper bound.
func (m *meters) add(counted *marks, thing int, from, to float64) (out joule) {
	if m == nil {
		return out
	}
	out.seconds = to - from
	for k, i := range m.here {
		one, last := m.all[i], counted.of(i, thing)
		if last.stamp != m.stamp {
			*last = mark{m.stamp, -1}
		}
		times := m.times[i]
		if from < times[0] || to > times[len(times)-1] {
			if !m.outside || from < m.from {
				m.from = from
			}
			m.to, m.outside, out.outside = max(m.to, to), true, true
			continue
		}
		first, _ := slices.BinarySearch(times, from) // reading at the beginning or behind
		behind, at := slices.BinarySearch(times, to)
		before := behind // reading at the end or before
		if !at {
			before--
		}
		window := first // that the beginning lies in
		if times[first] > from {
			window--
		}
		share := m.shares[k]
		out.j += share * (even(times, one.Joules, to) - even(times, one.Joules, from))
		if before > first {
			out.lo += share * one.Lo * (one.Joules[before] - one.Joules[first])
		}
		if begin := max(window, int(last.window)+1); behind > begin {
			out.hi += share * one.Hi * (one.Joules[behind] - one.Joules[begin])
		}
		last.window = max(last.window, int32(behind-1))
	}
	return out
}

// even is the joules at a moment within the readings, the power between two being even.
func even(times, joules []float64, at float64) float64 {
	i, exact := slices.BinarySearch(times, at)
	if exact || i == 0 {
		return joules[i]
	}
	part := (at - times[i-1]) / (times[i] - times[i-1])
	return joules[i-1] + part*(joules[i]-joules[i-1])
}

// of is a sum as it is told; nil where it is not known.
func (m *meters) of(s joule) *Energy {
	if m == nil || s.outside {
		return nil
	}
	e := &Energy{J: s.j, LoJ: min(s.lo, s.j), HiJ: max(s.hi, s.j), Kind: m.kind}
	if s.seconds > 0 {
		w := s.j / s.seconds
		e.W = &w
	}
	return e
}

// notes say what a reader has to know of the energies.
func (m *meters) notes() []string {
	if m == nil {
		return nil
	}
	how := "equally by the ranks on it"
	var said []string
	for _, one := range m.all {
		if one.Shares != nil {
			how = "by the ranks on it, each by its part of the whole run"
		}
		if one.Note != "" && !slices.Contains(said, one.Note) {
			said = append(said, one.Note)
		}
	}
	out := append([]string{"a rank's energy is its machine's at the time, shared " + how + "; the power between " +
		"two readings is taken as even, and the interval holds whatever it was"}, said...)
	if m.outside {
		stamp := func(s float64) string { return time.Unix(0, int64((m.start+s)*1e9)).UTC().Format(time.RFC3339Nano) }
		first := time.Unix(0, int64(m.all[0].Unix[0]*1e9)).UTC().Format(time.RFC3339Nano)
		last := time.Unix(0, int64(m.all[0].Unix[len(m.all[0].Unix)-1]*1e9)).UTC().Format(time.RFC3339Nano)
		out = append(out, fmt.Sprintf("energies are not known of what ran outside of the readings: calls from %s to "+
			"%s, and %s "+
			"has readings from %s to %s", stamp(m.from), stamp(m.to), m.all[0].Name, first, last))
	}
	return out
}
