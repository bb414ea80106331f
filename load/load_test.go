package load

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
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
		n := c.repeat(func() time.Duration { return now }, func(d time.Duration) { now += d; slept += d }, func() bool { now += time.Millisecond; return true })
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

// The calls to the driver, with one that is made here; the kernel itself runs
// on a real GPU only.
func TestGPU(t *testing.T) {
	defer func(before string) { libcuda = before }(libcuda)
	for _, test := range []struct {
		define []string
		err    string
		absent bool
	}{
		{nil, "", false},
		{[]string{"-DNONE"}, "no NVIDIA GPU that can compute (cuDeviceGet)", true},
		{[]string{`-DFAIL="cuModuleLoadData"`}, "load: cuModuleLoadData: CUDA error 700", false},
		{[]string{`-DFAIL="cuCtxSynchronize"`}, "load: cuCtxSynchronize: CUDA error 700", false},
	} {
		libcuda = filepath.Join(t.TempDir(), "libcuda.so.1")
		if out, err := exec.Command("cc", append([]string{"-shared", "-fPIC", "-o", libcuda, "testdata/cuda.c"}, test.define...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		n, err := Run(Config{Kind: GPU, Intensity: 100, Rounds: 5})
		if test.err == "" && (err != nil || n != 5) || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%v: %d rounds, %v", test.define, n, err)
		}
		// A round that fails ends it, also where the time would never come.
		if n, err := Run(Config{Kind: GPU, Intensity: 50, Rounds: 5, Duration: 1015 * time.Millisecond}); (err == nil) != (test.err == "") || err == nil && n != 5 {
			t.Errorf("%v: %d rounds, %v", test.define, n, err)
		}
		if _, err := Run(Config{Kind: GPU, Intensity: 100, Rounds: 5, Threads: 2}); err == nil || !strings.Contains(err.Error(), "2 threads of gpu_compute: it runs on the GPU") {
			t.Errorf("threads: %v", err)
		}
		// Busy, idle, busy: what was busy is told, in order.
		var told []int64
		err = Square("", []time.Duration{time.Millisecond, 2 * time.Millisecond, time.Millisecond}, func(from, to int64) { told = append(told, from, to) })
		if test.err == "" && (err != nil || len(told) < 4 || len(told)%2 > 0 || !slices.IsSorted(told) || told[len(told)-1]-told[0] < int64(3*time.Millisecond)) {
			t.Errorf("square: %v, %v", told, err)
		} else if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("square: %v", err)
		}
		if errors.Is(err, ErrNoGPU) != test.absent || errors.Is(CheckGPU(), ErrNoGPU) != test.absent {
			t.Errorf("%v: %v, %v", test.define, err, CheckGPU())
		}
	}
	libcuda = filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := Square("", []time.Duration{1}, nil); !errors.Is(err, ErrNoGPU) {
		t.Error(err)
	}
	if err := CheckGPU(); !errors.Is(err, ErrNoGPU) {
		t.Error(err)
	}
	if _, err := Run(Config{Kind: GPU, Intensity: 100, Duration: time.Second}); !errors.Is(err, ErrNoGPU) {
		t.Error(err)
	}
}
