package languages

import (
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
	}
}

// A forked child goes on with its parent's stack, and more threads than chunks
// lose whole stretches that are counted, but for the last one of each.
func TestPureForkAndLoss(t *testing.T) {
	dir := write(t, map[string]string{"fork.py": `
import os
def child():
    os._exit(0)
def split():
    pid = os.fork()
    if pid == 0:
        child()
    os.waitpid(pid, 0)
split()
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
		if got := uint64(countEvents(r, "enter __main__.g") + countEvents(r, "exit __main__.g")); got == 0 || got+r.Lost < 12*(2*3000-512) || got+r.Lost > 12*(2*3000+10) {
			t.Errorf("%s: %d events, %d lost", name, got, r.Lost)
		}
	}
}
