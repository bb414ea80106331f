package report

import (
	"testing"
	"time"

	"cg/nemb"
)

// A report says how the counter of each GPU follows its power, and how that is known.
func TestCounterLine(t *testing.T) {
	const ms = time.Millisecond
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		habits nemb.Habits
		want   string
	}{
		{nemb.Habits{}, ""},
		{nemb.Habits{Period: 100 * ms, Window: 25 * ms, Origin: nemb.HabitsPublished},
			"the counter of gpu0 moves each 100 ms by the mean power of 25 ms (published for this architecture)"},
		{nemb.Habits{Period: 100 * ms, Window: 25 * ms, Origin: nemb.HabitsAssumed},
			"the counter of gpu0 moves each 100 ms by the mean power of 25 ms (assumed: published for other GPUs)"},
		{nemb.Habits{Period: 100 * ms, Window: 1000 * ms, Delay: 40 * ms, Origin: nemb.HabitsMeasured, Measured: nemb.HabitsRecord{GPU: "A", Driver: "550", At: at}},
			"the counter of gpu0 moves each 100 ms by the mean power of 1000 ms, 40 ms late (measured 2030-01-02)"},
	} {
		g := &GPUs{Devices: []GPU{{Domain: "gpu0", Counter: counterHabits(test.habits)}}}
		if got := g.CounterLine(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	one, two := counterHabits(nemb.Habits{Period: 100 * ms, Window: 25 * ms, Origin: nemb.HabitsPublished}), counterHabits(nemb.Habits{Period: 20 * ms, Window: 10 * ms, Origin: nemb.HabitsAssumed})
	g := &GPUs{Devices: []GPU{{Domain: "gpu0", Counter: one}, {Domain: "gpu1", Counter: two}, {Domain: "gpu2", Counter: one}}}
	if got, want := g.CounterLine(), "the counter of gpu0, gpu2 moves each 100 ms by the mean power of 25 ms (published for this architecture); "+
		"the counter of gpu1 moves each 20 ms by the mean power of 10 ms (assumed: published for other GPUs)"; got != want {
		t.Errorf("%q", got)
	}
	if (*GPUs)(nil).CounterLine() != "" || one.SampledPart != 0.25 {
		t.Error(one)
	}
}
