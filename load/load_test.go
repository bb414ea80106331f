package load

import (
	"strings"
	"testing"
	"time"
)

func TestRounds(t *testing.T) {
	for _, kind := range Kinds() {
		n, err := Run(Config{Kind: kind, Threads: 2, Intensity: 100, Rounds: 3})
		if err != nil || n != 6 {
			t.Errorf("%s: %d rounds, %v", kind, n, err)
		}
	}
}

// A round of a millisecond: so many fit into the time, by intensity.
func TestIntensity(t *testing.T) {
	for percent, want := range map[int]uint64{5: 50, 10: 100, 50: 500, 100: 1000, 1: 50} {
		var now, slept time.Duration
		c := Config{Intensity: percent, Duration: time.Second}
		n := c.repeat(func() time.Duration { return now }, func(d time.Duration) { now += d; slept += d }, func() { now += time.Millisecond })
		if n != want || now != time.Second || slept != time.Second-time.Duration(want)*time.Millisecond {
			t.Errorf("%d %%: %d rounds, slept %v of %v; want %d", percent, n, slept, now, want)
		}
	}
}

func TestDuration(t *testing.T) {
	begin := time.Now()
	n, err := Run(Config{Kind: "cpu_stress", Threads: 2, Intensity: 50, Duration: 100 * time.Millisecond})
	if d := time.Since(begin); err != nil || n == 0 || d < 100*time.Millisecond {
		t.Errorf("%d rounds in %v, %v", n, d, err)
	}
}

func TestRefused(t *testing.T) {
	for want, c := range map[string]Config{
		"known are cpu_stress, idle, memory_stress, mixed, gpu_compute": {Kind: "tea", Intensity: 1},
		"an intensity of 0 %":   {Kind: "mixed"},
		"an intensity of 101 %": {Kind: "mixed", Intensity: 101},
	} {
		if _, err := Run(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
