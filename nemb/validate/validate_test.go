package validate

import (
	"errors"
	"math"
	"os"
	"reflect"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/long"
	"cg/nemb/simulate"
)

// What is promised is kept.
func TestAccuracy(t *testing.T) {
	long.Skip(t, "")
	cells := Accuracy(400, nil)
	for _, c := range cells {
		t.Logf("%-12s %8v  %-20s %+7.2f %% %7.2f %%", c.Power, c.Span, c.Method, c.Bias, c.P95)
	}
	for i := range cells {
		cells[i].Chance = 0
	}
	for _, b := range Broken(cells) {
		t.Errorf("not kept: %+v", b)
	}
	if !reflect.DeepEqual(Accuracy(8, nil), Accuracy(8, nil)) {
		t.Error("two tables of the same tries differ")
	}
	cells[0].P95 = 0
	for i := range cells {
		cells[i].Bias, cells[i].Chance = 2, 0
	}
	if got := Broken(cells); len(got) != len(Bounds) {
		t.Errorf("%d of %d bounds broken by a bias of 2 %%", len(got), len(Bounds))
	}
}

// In real time a second is right within 1 %, over a wrap of the counter.
func TestLive(t *testing.T) {
	errs, err := Live(t.Context(), t.TempDir(), 2)
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil || len(errs) != 2 {
		t.Fatal(errs, err)
	}
	for _, e := range errs {
		t.Logf("%+.3f %%", e)
		if math.Abs(e) > 1 {
			t.Errorf("a second is wrong by %.2f %%", e)
		}
	}
}

// The table has each mechanism once, and its figures belong together. How good
// they are is the machine's business.
func TestTimings(t *testing.T) {
	all, err := Timings(t.TempDir(), time.Millisecond, 100*time.Millisecond, 3)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, x := range all {
		t.Logf("%+v", x)
		names[x.Mechanism] = true
		if x.P50 <= 0 || x.P99 < x.P50 || x.Longest < x.P99 || x.Missed < 0 || x.Missed > 100 || x.CPU < 0 {
			t.Errorf("%+v", x)
		}
	}
	if !names[Ticker] || len(names) != len(all) || len(all) < 2 {
		t.Errorf("%v", names)
	}
	if _, err := Timings("/proc/none", time.Millisecond, time.Millisecond, 1); err == nil {
		t.Error("a folder that cannot be made")
	}
	x := timing("x", time.Millisecond, []checkpoint.Instant{0, 1e6, 2e6, 5e6, 6e6}, 3*time.Millisecond)
	if x.P50 != time.Millisecond || x.Longest != 3*time.Millisecond || math.Abs(x.Missed-100.0/3) > 1e-9 || x.CPU != 50 {
		t.Errorf("%+v", x)
	}
}
