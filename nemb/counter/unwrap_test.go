package counter

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"
	"time"

	"cg/nemb/simulate"
)

const wrap = 262143328851 // 32 bits of 61 uJ
const short = 65535999985 // 32 bits of 15.3 uJ

var unwraps = []struct {
	name            string
	prev, cur, wrap Energy
	elapsed         time.Duration
	want            Energy
	verdict         Verdict
}{
	{"still", 5, 5, wrap, time.Millisecond, 0, Stale},
	{"still, never wraps", 5, 5, 0, time.Hour, 0, Stale},
	{"still, no time passed", 5, 5, wrap, 0, 0, Stale},
	{"forward", 5, 20005, wrap, 10 * time.Millisecond, 20000, Advanced},
	{"forward without wrap", 5, 20005, 0, 10 * time.Millisecond, 20000, Advanced},
	{"forward for a day without wrap", 5, 8.64e12 + 5, 0, 24 * time.Hour, 8.64e12, Advanced},
	{"forward, 4.9 kW", 0, 4.9e9, wrap, time.Second, 4.9e9, Advanced},
	{"thrown forward, 5.1 kW", 0, 5.1e9, wrap, time.Second, 0, Reset},
	{"thrown forward, never wraps", 0, 5.1e9, 0, time.Second, 0, Reset},
	{"wrap", wrap - 1, 0, wrap, time.Millisecond, 1, Wrapped},
	{"wrap at 20 W", wrap - 100, 19900, wrap, time.Millisecond * 10, 20000, Wrapped},
	{"wrap after a minute", wrap - 6e9, 6e9, wrap, time.Minute, 12e9, Wrapped},
	{"wrap of the short counter after a minute", short - 6e9, 6e9, short, time.Minute, 12e9, Wrapped},
	{"reset to zero", 1e9, 0, wrap, time.Second, 0, Reset},
	{"reset, 5.1 kW", wrap - 5.1e9, 0, wrap, time.Second, 0, Reset},
	{"just plausible", wrap - 4.9e9, 0, wrap, time.Second, 4.9e9, Wrapped},
	{"reset of a counter that never wraps", 100, 99, 0, time.Hour, 0, Reset},
	{"beyond the wrap before", wrap + 7, 3, wrap, time.Minute, 0, Reset},
	{"beyond the wrap now", 7, wrap, wrap, time.Minute, 0, Reset},
	{"wrap and no time passed", wrap - 1, 0, wrap, 0, 0, Reset},
	{"forward and no time passed", 1, 2, wrap, 0, 0, Reset},
	{"two wraps possible, higher", 1e9, 3e9, short, 70 * time.Second, 0, Lapped},
	{"two wraps possible, lower", 3e9, 1e9, short, 140 * time.Second, 0, Lapped},
	{"two wraps possible, the same", 3e9, 3e9, short, 70 * time.Second, 0, Lapped},
	{"a second wrap would be 1.1 kW", 1e9, 11e9, short, 68 * time.Second, 10e9, Advanced},
	{"not read now", 1e9, Unread, wrap, time.Second, 0, Failed},
	{"not read before", Unread, 1e9, wrap, time.Second, 0, Failed},
	{"never read", Unread, Unread, 0, time.Second, 0, Failed},
}

func TestUnwrap(t *testing.T) {
	for _, test := range unwraps {
		got, v := Unwrap(test.prev, test.cur, test.wrap, test.elapsed)
		if v != test.verdict || got != test.want {
			t.Errorf("%s: %d, verdict %d; want %d, %d", test.name, got, v, test.want, test.verdict)
		}
	}
}

// TestUnwrapIsShared holds the table by which the packages for sessions continue
// counters: name, readings before and now, what it wraps at (0: it does not), ns
// between, and the energy between, null where it is not known.
func TestUnwrapIsShared(t *testing.T) {
	const file = "../../runtimes/sdk/spec/cases/unwrap.json"
	var b bytes.Buffer
	for _, u := range unwraps {
		if u.prev == Unread || u.cur == Unread { // a package knows that it has no reading
			continue
		}
		var want any
		if u.verdict.Known() {
			want = u.want
		}
		text, err := json.Marshal([]any{u.name, u.prev, u.cur, u.wrap, u.elapsed, want})
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString([]string{"[", ",\n"}[min(b.Len(), 1)])
		b.Write(text)
	}
	b.WriteString("]\n")
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if saved, err := os.ReadFile(file); err != nil || !bytes.Equal(saved, b.Bytes()) {
		t.Errorf("%s is not the table of this test (%v): go test ./nemb/counter -run UnwrapIsShared -update", file, err)
	}
}

var update = flag.Bool("update", false, "write ../../runtimes/sdk/spec/cases/unwrap.json")

// A true energy is given exactly or not at all, whatever the counter shows.
func FuzzUnwrap(f *testing.F) {
	f.Add(uint64(5), uint64(20000), uint64(262143328851), int64(time.Second))
	f.Add(uint64(262143328850), uint64(1), uint64(262143328851), int64(time.Millisecond))
	f.Add(uint64(7), uint64(140e9), uint64(65535999985), int64(200*time.Second))
	f.Add(uint64(1<<40), uint64(0), uint64(0), int64(0))
	f.Add(uint64(math.MaxUint64), uint64(1), uint64(0), int64(1))
	f.Fuzz(func(t *testing.T, start, used, wrap uint64, elapsed int64) {
		prev, cur := Energy(start), Energy(start+used)
		if wrap > 0 {
			start, used = start%(1<<62), used%(1<<62)
			prev, cur = Energy(start%wrap), Energy((start+used)%wrap)
		}
		got, v := Unwrap(prev, cur, Energy(wrap), time.Duration(elapsed))
		if !v.Known() && got != 0 {
			t.Fatalf("verdict %d with an energy, %d", v, got)
		}
		if cur == Unread && v != Failed {
			t.Fatalf("an unread counter: verdict %d", v)
		}
		// What a package can draw is given exactly or refused.
		truth := Energy(used)
		if wrap == 0 && start+used < start {
			return // a counter of 64 bits that overflowed
		}
		if v.Known() && truth.Joules() <= sustained*time.Duration(elapsed).Seconds() && got != truth {
			t.Fatalf("%d uJ from %d to %d of %d in %v: got %d, verdict %d", truth, prev, cur, wrap, time.Duration(elapsed), got, v)
		}
	})
}

// Energies add up to what the trace says, through thousands of wraps.
func TestUnwrapConserves(t *testing.T) {
	for _, c := range []simulate.Counter{
		{Power: simulate.Constant(50), Unit: simulate.UnitIntel, Period: 983 * time.Microsecond, Jitter: 20 * time.Microsecond, Range: 4e6},
		{Power: simulate.Trace{{From: 0, Watts: 20}, {From: time.Second, Watts: 60}, {From: 2 * time.Second, Watts: 5}},
			Unit: simulate.UnitAMD, Period: time.Millisecond, Jitter: 100 * time.Microsecond, Range: 3e6, Start: 2999990},
	} {
		const step = 700 * time.Microsecond
		sum, prev := Energy(0), Energy(c.Read(0))
		end := time.Duration(0)
		for at := step; at < 30*time.Second; at += step {
			cur := Energy(c.Read(at))
			delta, v := Unwrap(prev, cur, Energy(c.Range)+1, step+2*time.Millisecond)
			if !v.Known() {
				t.Fatalf("verdict %d at %v: %d after %d", v, at, cur, prev)
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
