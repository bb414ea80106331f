package e2e

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"cg/nemb/attribute"
	"cg/nemb/simulate"
)

// shares is a program whose functions know what processor time they used: two
// that compute, for 1 and 3 ms a call, and one that sleeps most of the time. It
// first says who it is.
const shares = `import json, os, random, sys, time

used = {}

def timed(f):
    begin = time.thread_time()
    f()
    used[f.__name__] = used.get(f.__name__, 0) + time.thread_time() - begin

def short():
    end = time.thread_time() + 0.001
    while time.thread_time() < end:
        pass

def middle():
    end = time.thread_time() + 0.003
    while time.thread_time() < end:
        pass

def waits():
    time.sleep(0.012)

with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
random.seed(1)
for i in range(1500):
    timed(random.choice((short, short, middle, middle, middle, waits)))
with open("/proc/self/schedstat") as f:
    ran, waited = map(int, f.read().split()[:2])
with open(sys.argv[2], "w") as f:
    json.dump({"used": used, "ran": ran, "waited": waited}, f)
`

// On a counter that counts in proportion to the program's real processor time,
// each function has its share of that time within 5 % of the whole; by wall-clock
// time the one that waits would have half. Where other work on the machine kept the program from
// its processor, samples came late, too, and the interval of a function says how exact it still is.
func TestEnergyIsProcessorTime(t *testing.T) {
	python(t)
	dir := t.TempDir()
	pid, out, script := filepath.Join(dir, "pid"), filepath.Join(dir, "used.json"), filepath.Join(dir, "shares.py")
	if err := os.WriteFile(script, []byte(shares), 0o644); err != nil {
		t.Fatal(err)
	}
	var of func() time.Duration
	var mu sync.Mutex
	used := func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if of == nil {
			b, err := os.ReadFile(pid)
			if err != nil {
				return 0
			}
			n, err := strconv.Atoi(string(b))
			if err != nil {
				return 0
			}
			of = simulate.ProcessTime(n)
		}
		return of()
	}
	root := t.TempDir()
	tree, err := simulate.Mount(root, simulate.Machine{Zones: []simulate.Zone{{
		Dir: "intel-rapl:0", Name: "package-0",
		Counter: simulate.Counter{Power: &simulate.Busy{PerCPU: 20, Used: used}, Unit: simulate.UnitIntel, Period: time.Millisecond, Jitter: 20 * time.Microsecond, Range: 262143328850, Seed: 1},
	}}})
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	r, _, err := measured(t, "--sysroot", root, "-g", "fine", "-p", "high", script, pid, out)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Used        map[string]float64
		Ran, Waited float64
	}
	if err := json.Unmarshal(b, &said); err != nil {
		t.Fatal(err)
	}
	truth, isLoaded := said.Used, said.Waited > 0.05*said.Ran
	t.Logf("idle power %+v", r.Idle)
	all, sum := 0.0, 0.0
	for name, seconds := range truth {
		all += seconds
		f := function(r, "__main__."+name)
		if f.SelfEnergyJ == nil {
			t.Fatalf("%s has no energy: %+v", name, r.Functions)
		}
		sum += f.SelfEnergyJ.Float()
	}
	for name, seconds := range truth {
		f := function(r, "__main__."+name)
		got, want := f.SelfEnergyJ.Float()/sum, seconds/all
		t.Logf("%s: %.4f of the energy, %.4f of the time, %s %s", name, got, want, f.EnergyMethod, f.Unresolved)
		lo, hi := f.SelfEnergyLoJ, f.SelfEnergyHiJ // none of waits where the data do not show the little that it has
		holds := lo != nil && hi != nil && lo.Float() <= (want+0.05)*sum && (want-0.05)*sum <= hi.Float()
		if math.Abs(got-want) > 0.05 && !(isLoaded && name != "waits" && holds) {
			t.Errorf("%s has %.2f %% of the energy and %.2f %% of the processor time", name, 100*got, 100*want)
		}
		if name != "waits" && f.EnergyMethod != attribute.Regression && !(isLoaded && f.Unresolved != "") {
			t.Errorf("%s: %s", name, f.EnergyMethod)
		}
	}
}
