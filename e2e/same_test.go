package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"cg/long"
	"cg/nemb/simulate"
	"cg/report"
)

// same is a program whose figures must not depend on how it is recorded. It writes the
// number of its process to its first argument. Functions are those with a good part of
// its energy.
type same struct {
	name, file, text string
	flags            []string
	functions        []string
	busy             string // the only function that computes, "" where there are several
}

const samePython = `import os, sys, threading, time
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
`

var sames = []same{
	{"short functions", "short.py", samePython + `
def add(x, y):
    return x + y

def loop(n):
    x = 0
    for i in range(n):
        x = add(x, i)

loop(1500000)
`, nil, []string{"__main__.add", "__main__.loop"}, ""},
	{"recursion", "recursion.py", samePython + `
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

fib(28)
`, nil, []string{"__main__.fib"}, "__main__.fib"},
	{"a long function and one that waits", "waits.py", samePython + `
def spins(n):
    while n:
        n -= 1

def waits():
    time.sleep(0.02)

for i in range(10):
    spins(600000)
    waits()
`, nil, []string{"__main__.spins"}, ""},
	{"threads", "threads.py", samePython + `
def work(n):
    while n:
        n -= 1

def main():
    threads = [threading.Thread(target=work, args=(2000000,)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()

main()
`, nil, []string{"__main__.work"}, ""},
	{"generators", "generators.py", samePython + `
def numbers(n):
    for i in range(n):
        yield i * i

def add(n):
    return sum(numbers(n))

for i in range(10):
    add(80000)
`, nil, []string{"__main__.numbers"}, ""},
	{"goroutines", "main.go", `package main

import (
	"os"
	"strconv"
	"sync"
)

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() {
	name := os.Args[1]
	os.WriteFile(name+".new", []byte(strconv.Itoa(os.Getpid())), 0o644)
	os.Rename(name+".new", name)
	var all sync.WaitGroup
	for range 200 {
		all.Add(1)
		go func() { fib(20); all.Done() }()
	}
	all.Wait()
}
`, []string{"go"}, []string{"main.fib"}, ""},
}

// Energies of functions agree within twice their intervals, as there are many, and calls are the same, with and
// without a log of events, at sampling intervals of 1, 10 and 100 ms, on a counter that
// follows the program's processor time and under the estimate. Where one function
// computes, the function, the checkpoints and what is not instrumented are what the
// program used within 5 %.
func TestSameEnergy(t *testing.T) {
	t.Parallel()
	python(t)
	intervals := []string{"1ms", "10ms", "100ms"}
	if long.Without(t, "intervals of 1 and 100 ms") {
		intervals = intervals[1:2]
	}
	for _, p := range sames {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if p.flags != nil {
				if _, err := exec.LookPath("go"); err != nil {
					t.Skip("no go")
				}
			}
			var first *report.Run
			for _, counter := range []bool{false, true} {
				first = nil // the powers of the two are different
				for _, interval := range intervals {
					for _, log := range []bool{false, true} {
						r := p.measure(t, counter, interval, log)
						if first == nil {
							first = r
						}
						name := interval + ", log " + strconv.FormatBool(log) + ", counter " + strconv.FormatBool(counter)
						p.compare(t, name, first, r)
						if !counter && p.busy != "" { // which a regression does not divide
							p.whole(t, name, r)
						}
					}
				}
			}
		})
	}
}

// measure runs the program.
func (p same) measure(t *testing.T, counter bool, interval string, log bool) *report.Run {
	t.Helper()
	dir := t.TempDir()
	file, pid := filepath.Join(dir, p.file), filepath.Join(dir, "pid")
	if err := os.WriteFile(file, []byte(p.text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-g", "fine", "-p", interval}
	if log {
		args = append(args, "--events", filepath.Join(dir, "run.cgev"))
	}
	if counter {
		root := t.TempDir()
		tree, err := simulate.Mount(root, simulate.Machine{Zones: []simulate.Zone{{
			Dir: "intel-rapl:0", Name: "package-0",
			Counter: simulate.Counter{Power: &simulate.Busy{PerCPU: 20, Used: timeOf(pid)}, Unit: simulate.UnitIntel,
				Period: time.Millisecond, Jitter: 20 * time.Microsecond, Range: 262143328850, Seed: 1},
		}}})
		if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		args = append(args, "--sysroot", root)
	} else {
		args = append(args, "-s", "estimate")
	}
	args = append(append(args, p.flags...), file, pid)
	r, _, err := measured(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// timeOf gives the processor time of a process that writes its number to a file.
func timeOf(file string) func() time.Duration {
	var of func() time.Duration
	return func() time.Duration {
		if of == nil {
			b, err := os.ReadFile(file)
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
}

// compare compares a run with another.
func (p same) compare(t *testing.T, name string, first, r *report.Run) {
	t.Helper()
	for _, f := range p.functions {
		a, b := function(first, f), function(r, f)
		if a.Calls != b.Calls || a.Calls == 0 {
			t.Errorf("%s: %s has %d calls, and had %d", name, f, b.Calls, a.Calls)
		}
		if apart(a, b) || apart(b, a) {
			t.Errorf("%s: %s has %g J, at least %g, and had %g J, at least %g", name, f, b.SelfEnergyJ.Float(),
				b.SelfEnergyLoJ.Float(), a.SelfEnergyJ.Float(), a.SelfEnergyLoJ.Float())
		}
	}
}

// apart reports whether a function has more than another by twice what their bounds
// allow. A bound may be open.
func apart(more, less report.Function) bool {
	if more.SelfEnergyLoJ == nil || less.SelfEnergyHiJ == nil {
		return false
	}
	a, b := more.SelfEnergyJ.Float(), less.SelfEnergyJ.Float()
	return a-b > 2*(a-more.SelfEnergyLoJ.Float()+less.SelfEnergyHiJ.Float()-b)
}

// whole compares the parts with what the program used, its checkpoints included.
func (p same) whole(t *testing.T, name string, r *report.Run) {
	t.Helper()
	sum, whole := function(r, p.busy).SelfEnergyJ.Float(), r.Totals.ProgramEnergyJ.Float()
	for _, l := range r.Ledger {
		switch l.Name {
		case report.LineCheckpoints:
			sum += l.EnergyJ.Float()
			whole += l.EnergyJ.Float()
		case report.LineUninstrumented:
			sum += l.EnergyJ.Float()
		}
	}
	if sum < 0.95*whole || sum > 1.05*whole {
		t.Errorf("%s: the parts have %g J, the program %g J", name, sum, whole)
	}
}
