package simulate

import (
	"math"
	"os"
	"testing"
	"time"
)

// The energy of each power is the integral of its watts.
func TestPowersAreIntegrals(t *testing.T) {
	tests := []struct {
		name  string
		power Power
		watts func(seconds float64) float64
	}{
		{"constant", Constant(50), func(float64) float64 { return 50 }},
		{"step", Trace{{0, 20}, {time.Second, 60}}, func(s float64) float64 {
			if s < 1 {
				return 20
			}
			return 60
		}},
		{"indexed step", Trace{{0, 20}, {time.Second, 60}, {2 * time.Second, 60}}.Index(), func(s float64) float64 {
			if s < 1 {
				return 20
			}
			return 60
		}},
		{"ramp", Ramp{10, 100, time.Second}, func(s float64) float64 {
			part := math.Mod(s, 1)
			if math.Mod(math.Floor(s), 2) == 1 {
				part = 1 - part
			}
			return 10 + 90*part
		}},
		{"sine", Sine{40, 20, 13}, func(s float64) float64 { return 40 + 20*math.Sin(2*math.Pi*13*s) }},
		{"sum", Sum{Constant(3), Sine{40, 40, 7}}, func(s float64) float64 { return 43 + 40*math.Sin(2*math.Pi*7*s) }},
	}
	for _, test := range tests {
		const step = 50 * time.Microsecond
		sum, before := 0.0, 0.0
		for at := time.Duration(0); at < 3500*time.Millisecond; at += step {
			sum += test.watts((at + step/2).Seconds()) * step.Seconds()
			got := test.power.Energy(at + step)
			if got < before || math.Abs(got-sum) > 1e-3*sum+1e-3 {
				t.Fatalf("%s at %v: %g J after %g J, want %g J", test.name, at+step, got, before, sum)
			}
			before = got
		}
		if test.power.Energy(0) != 0 || test.power.Energy(-time.Second) != 0 {
			t.Errorf("%s: energy before the beginning", test.name)
		}
	}
}

func TestBusy(t *testing.T) {
	used := 5 * time.Second // before the beginning
	b := &Busy{Idle: 10, PerCPU: 2, Used: func() time.Duration { return used }}
	c := Counter{Power: b}
	for _, step := range []struct {
		at, used time.Duration
		want     float64
	}{
		{0, 5 * time.Second, 0},
		{time.Second, 6 * time.Second, 12},
		{2 * time.Second, 6 * time.Second, 22},
		{3 * time.Second, 4 * time.Second, 32}, // time does not run back
		{4 * time.Second, 8 * time.Second, 46},
		{2500 * time.Millisecond, 8 * time.Second, 27}, // as it was set then
	} {
		used = step.used
		if got := float64(c.Read(step.at)) * 1e-6; math.Abs(got-step.want) > 1e-9 {
			t.Errorf("at %v: %g J, want %g J", step.at, got, step.want)
		}
	}
	own := ProcessTime(os.Getpid())
	before, host := own(), HostTime()
	for own() < before+30*time.Millisecond {
	}
	if host <= 0 || HostTime() < host {
		t.Error("the host's time runs back")
	}
	if gone := ProcessTime(1 << 22); gone() != 0 {
		t.Error("a process that is not there used time")
	}
}
