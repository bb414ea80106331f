package load

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func used(t *testing.T) time.Duration {
	t.Helper()
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

func TestRounds(t *testing.T) {
	for _, kind := range Kinds() {
		n, err := Run(Config{Kind: kind, Threads: 2, Intensity: 100, Rounds: 3})
		if err != nil || n != 6 {
			t.Errorf("%s: %d rounds, %v", kind, n, err)
		}
	}
}

// A duration is kept, and a lower intensity does less.
func TestIntensity(t *testing.T) {
	n := map[int]uint64{}
	cpu := map[int]time.Duration{}
	for _, percent := range []int{10, 100} {
		before, begin := used(t), time.Now()
		var err error
		if n[percent], err = Run(Config{Kind: "cpu_stress", Threads: 1, Intensity: percent, Duration: 400 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		cpu[percent] = used(t) - before
		if d := time.Since(begin); d < 400*time.Millisecond {
			t.Errorf("%d %%: ended after %v", percent, d)
		}
	}
	if n[10] == 0 || n[10]*2 > n[100] || cpu[10]*2 > cpu[100] {
		t.Errorf("rounds %v, processor time %v", n, cpu)
	}
}

func TestRefused(t *testing.T) {
	for want, c := range map[string]Config{
		"known are cpu_stress, memory_stress, mixed, gpu_compute": {Kind: "tea", Intensity: 1},
		"an intensity of 0 %":   {Kind: "mixed"},
		"an intensity of 101 %": {Kind: "mixed", Intensity: 101},
	} {
		if _, err := Run(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
