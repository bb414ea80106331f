package nemb

import (
	"testing"
	"time"

	"cg/nemb/simulate"
)

func TestUnwrap(t *testing.T) {
	const wrap = 262143328851 // 32 bits of 61 uJ
	tests := []struct {
		name            string
		prev, cur, wrap Energy
		elapsed         time.Duration
		want            Energy
		ok              bool
	}{
		{"still", 5, 5, wrap, time.Millisecond, 0, true},
		{"forward", 5, 20005, wrap, time.Millisecond, 20000, true},
		{"forward without wrap", 5, 20005, 0, time.Millisecond, 20000, true},
		{"wrap", wrap - 1, 0, wrap, time.Millisecond, 1, true},
		{"wrap at 20 W", wrap - 10000, 10000, wrap, time.Millisecond, 20000, true},
		{"wrap after a minute", wrap - 6e9, 6e9, wrap, time.Minute, 12e9, true},
		{"reset to zero", 1e9, 0, wrap, time.Second, 0, false},
		{"reset, 5.1 kW", wrap - 5.1e9, 0, wrap, time.Second, 0, false},
		{"just plausible", wrap - 4.9e9, 0, wrap, time.Second, 4.9e9, true},
		{"reset of a counter that never wraps", 100, 99, 0, time.Hour, 0, false},
		{"beyond the wrap", wrap + 7, 3, wrap, time.Hour, 0, false},
		{"no time passed", wrap - 1, 0, wrap, 0, 0, false},
	}
	for _, test := range tests {
		got, ok := unwrap(test.prev, test.cur, test.wrap, test.elapsed)
		if ok != test.ok || ok && got != test.want {
			t.Errorf("%s: %d, %v; want %d, %v", test.name, got, ok, test.want, test.ok)
		}
		if !ok && got != 0 {
			t.Errorf("%s: a reset with an energy, %d", test.name, got)
		}
	}
}

// Energies add up to what the trace says, through thousands of wraps.
func TestUnwrapConserves(t *testing.T) {
	for _, c := range []simulate.Counter{
		{Power: simulate.Constant(50), Unit: simulate.UnitIntel, Period: 983 * time.Microsecond, Jitter: 20 * time.Microsecond, Range: 4e6},
		{Power: simulate.Trace{{From: 0, Watts: 20}, {From: time.Second, Watts: 60}, {From: 2 * time.Second, Watts: 5}},
			Unit: simulate.UnitAMD, Period: time.Millisecond, Jitter: 100 * time.Microsecond, Range: 1e6, Start: 999990},
	} {
		const step = 700 * time.Microsecond
		sum, prev := Energy(0), Energy(c.Read(0))
		end := time.Duration(0)
		for at := step; at < 30*time.Second; at += step {
			cur := Energy(c.Read(at))
			delta, ok := unwrap(prev, cur, Energy(c.Range)+1, step+2*time.Millisecond)
			if !ok {
				t.Fatalf("reset at %v: %d after %d", at, cur, prev)
			}
			sum, prev, end = sum+delta, cur, at
		}
		// What the counter has not shown yet is less than one update.
		want := c.Power.Energy(end)
		if lag := want - sum.Joules(); lag < -1e-5 || lag > 60*1.2e-3 {
			t.Errorf("%g J, the trace has %g J", sum.Joules(), want)
		}
	}
}
