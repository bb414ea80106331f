package python

import (
	"fmt"
	"strings"
	"testing"
)

func countEvents(r ran, event string) int {
	n := 0
	for _, e := range r.Events {
		if e == event {
			n++
		}
	}
	return n
}

// The kernel and the interpreter give the numbers of ended threads out again:
// every thread has a chunk of its own all the same, in both runtimes.
func TestThreadsOneAfterTheOther(t *testing.T) {
	dir := write(t, map[string]string{"clash.py": `
import threading
def g(): pass
def work():
    for _ in range(1000): g()
for _ in range(20):
    t = threading.Thread(target=work)
    t.start()
    t.join()
`})
	for name, options := range map[string][]option{"native": nil, "pure": {pure}} {
		r := measured(t, dir, pythons(t)[0], []string{"clash.py"}, options...)
		if work, g := countEvents(r, "exit __main__.work"), countEvents(r, "enter __main__.g"); work != 20 || g != 20000 || r.Lost != 0 {
			t.Errorf("%s: %d of work, %d of g, %d lost", name, work, g, r.Lost)
		}
		if problems := balance(r, false); len(problems) > 0 {
			t.Errorf("%s: %s", name, strings.Join(problems, "\n"))
		}
		for _, run := range r.Runs {
			if len(run.Words) > 0 && run.Cost <= 0 {
				t.Errorf("%s: %v does not say what an event costs", name, run.Thread)
			}
		}
	}
}

func words(r ran) int {
	n := 0
	for _, e := range r.Runs {
		n += len(e.Words)
	}
	return n
}

// A forked child goes on with its parent's stack, a thread that its parent
// begins later does not, and more threads than chunks lose whole stretches
// that are counted to the last event.
func TestPureForkAndLoss(t *testing.T) {
	dir := write(t, map[string]string{"fork.py": `
import os, threading
def child():
    os._exit(0)
def split():
    pid = os.fork()
    if pid == 0:
        child()
    os.waitpid(pid, 0)
def work(): pass
split()
t = threading.Thread(target=work)
t.start()
t.join()
`, "many.py": `
import threading
def g(): pass
def work(barrier):
    barrier.wait()
    for _ in range(3000): g()
    barrier.wait()
n = 12
b = threading.Barrier(n)
threads = [threading.Thread(target=work, args=(b,)) for _ in range(n)]
for t in threads: t.start()
for t in threads: t.join()
`})
	python := pythons(t)[0]
	for name, options := range map[string][]option{"native": nil, "pure": {pure}} {
		r := measured(t, dir, python, []string{"fork.py"}, options...)
		if countEvents(r, "enter __main__.work") != 1 {
			t.Errorf("%s: %v", name, r.Events)
		}
		forked := 0
		for _, e := range r.Runs {
			if e.Forked {
				forked++
			}
		}
		if forked != 1 || countEvents(r, "enter __main__.child") != 1 {
			t.Errorf("%s: %d forked, %v", name, forked, r.Events)
		}
		few := append([]option{withChunks(6)}, options...)
		r = measured(t, dir, python, []string{"many.py"}, few...)
		all := words(measured(t, dir, python, []string{"many.py"}, options...))
		if got := words(r); got == 0 || r.Lost == 0 || uint64(got)+r.Lost != uint64(all) {
			t.Errorf("%s: %d events, %d lost of %d", name, got, r.Lost, all)
		}
	}
}

// Signal handlers and finalisers pass checkpoints between any two bytecodes of
// the runtime's, chunk changes included: every event arrives, once.
func TestPureInterrupted(t *testing.T) {
	dir := write(t, map[string]string{"handlers.py": `
import gc, signal, time
calls, ends = [], []  # handlers come between, even into +=
def handler(*_):
    calls.append(1)
    for _ in range(3): h()
def h(): pass
def g(): pass
class Node:
    def __init__(self): self.me = self
    def __del__(self): ends.append(1)
signal.signal(signal.SIGALRM, handler)
gc.set_threshold(10)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
for i in range(60000):
    g()
    if i % 20 == 0: Node()
signal.setitimer(signal.ITIMER_REAL, 0)
time.sleep(0.02)
gc.collect()
print(len(calls), len(ends))
`, "raises.py": `
import signal
class Stop(Exception): pass
raised, armed = 0, False
def handler(*_):
    global raised, armed
    if not armed: return
    armed = False
    raised += 1
    raise (Stop, StopIteration, AttributeError)[raised % 3]
def g(): pass
def last(): pass
def many():
    for _ in range(300): g()
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
done = 0
while done < 300 or raised < 300:
    try:
        armed = True
        many()
        armed = False
        done += 1
    except (Stop, StopIteration, AttributeError):
        if raised == 1000:  # where many() takes longer than the timer, it would never be done
            signal.setitimer(signal.ITIMER_REAL, 0)
signal.setitimer(signal.ITIMER_REAL, 0)
last()
print(done, raised)
`})
	all := pythons(t)
	for _, python := range []string{all[0], all[len(all)-1]} {
		r := measured(t, dir, python, []string{"handlers.py"}, pure)
		var calls, ends int
		if _, err := fmt.Sscan(r.Stdout, &calls, &ends); err != nil {
			t.Fatalf("Python %s: %v\n%s", version(python), err, r.Stderr)
		}
		own := 0
		for _, e := range r.Runs {
			for _, name := range e.Names {
				if name == "cg" {
					own++
				}
			}
		}
		if got, want := uint64(words(r))+r.Lost, uint64(2*(1+60000+4*calls+3000+ends)+own); got != want {
			t.Errorf("Python %s: %d events and %d lost of %d", version(python), words(r), r.Lost, want)
		}
		if r.Lost > 0 {
			// cg took so long to answer that what was put aside did not do
			t.Logf("Python %s: %d lost", version(python), r.Lost)
			continue
		}
		for event, want := range map[string]int{"g": 60000, "handler": calls, "h": 3 * calls, "Node.__del__": ends} {
			in, out := countEvents(r, "enter __main__."+event), countEvents(r, "exit __main__."+event)
			if in != want || out != want || want == 0 {
				t.Errorf("Python %s: %d times into %s and %d out of %d", version(python), in, event, out, want)
			}
		}
		if problems := balance(r, false); len(problems) > 0 {
			t.Errorf("Python %s: %s", version(python), strings.Join(problems[:min(5, len(problems))], "\n"))
		}
		// What an exception leaves out may be the one event it came in.
		r = measured(t, dir, python, []string{"raises.py"}, pure)
		var done, raised int
		if _, err := fmt.Sscan(r.Stdout, &done, &raised); err != nil {
			t.Fatalf("Python %s: %v\n%s", version(python), err, r.Stderr)
		}
		in, out := countEvents(r, "enter __main__.g"), countEvents(r, "exit __main__.g")
		if countEvents(r, "exit __main__.last") != 1 || in < done*300-raised || out > in+raised || out < in-raised || r.Lost != 0 {
			t.Errorf("Python %s: %d done, %d raised, %d times into g, %d out, %d lost", version(python), done, raised, in, out, r.Lost)
		}
	}
}
