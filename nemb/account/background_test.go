package account

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

// crewOf is a folder like /proc, with the threads of one process.
type crewOf struct {
	t    *testing.T
	proc string
}

func (c crewOf) put(pid, tid int, comm string, used time.Duration) {
	c.t.Helper()
	dir := filepath.Join(c.proc, fmt.Sprint(pid), "task", fmt.Sprint(tid))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	for name, text := range map[string]string{"comm": comm + "\n", "schedstat": fmt.Sprintf("%d 17 3\n", int64(used))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c crewOf) end(path ...string) {
	c.t.Helper()
	if err := os.RemoveAll(filepath.Join(c.proc, filepath.Join(path...))); err != nil {
		c.t.Fatal(err)
	}
}

func TestBackground(t *testing.T) {
	c := crewOf{t, t.TempDir()}
	b := &background{
		proc: c.proc, used: make([]time.Duration, 2), processes: map[uint32]*crew{}, kept: 3,
		classes: []ThreadClass{{"collection", []string{"GC Thread#*", "G1 *", "VM Thread"}}, {"compilation", []string{"C[12] CompilerThre"}}},
	}
	followed := map[uint32]bool{}
	own := func(t checkpoint.Thread) bool { return t.PID == 7 && followed[t.TID] }
	now := checkpoint.Instant(time.Second)
	// after says what is counted some time later.
	after := func(d time.Duration, what string, want ...time.Duration) {
		t.Helper()
		now += checkpoint.Instant(d)
		if got := b.read(now, own); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	const ms = time.Millisecond
	b.follow(7)
	b.follow(99) // not there
	c.put(7, 7, "java", 50*ms)
	c.put(7, 8, "GC Thread#0", 3*ms)
	c.put(7, 9, "C2 CompilerThre", 4*ms)
	c.put(7, 10, "GC Thread", 100*ms) // no number behind it
	after(0, "first", 3*ms, 4*ms)
	c.put(7, 8, "GC Thread#0", 5*ms)
	after(9*ms, "too early", 3*ms, 4*ms)
	after(1*ms, "used more", 5*ms, 4*ms)

	c.put(7, 11, "java", 1*ms) // a thread that has not got its name yet
	after(10*ms, "without its name", 5*ms, 4*ms)
	after(10*ms, "still without its name", 5*ms, 4*ms)
	c.put(7, 11, "G1 Conc#0", 2*ms)
	c.put(7, 10, "GC Thread#9", 100*ms) // of the program's making, long after
	after(10*ms, "with its name", 7*ms, 4*ms)

	c.put(7, 12, "GC Thread#0", 1*ms) // begun by thread 8
	followed[13] = true
	c.put(7, 13, "VM Thread", 500*ms)
	after(10*ms, "followed", 8*ms, 4*ms)
	c.put(7, 12, "Finalizer", 9*ms)
	c.put(7, 8, "GC Thread#0", 4*ms) // never back
	after(10*ms, "renamed", 8*ms, 4*ms)

	c.put(7, 14, "C1 CompilerThre", 6*ms)
	after(10*ms, "another", 8*ms, 10*ms)
	c.put(7, 14, "C1 CompilerThre", 7*ms)
	followed[14] = true
	after(10*ms, "followed later", 8*ms, 10*ms)

	c.end("7", "task", "9")
	c.put(7, 15, "C1 CompilerThre", 1*ms)
	after(20*ms, "ended", 8*ms, 11*ms)
	if n := len(b.processes); n != 1 {
		t.Errorf("%d processes", n)
	}
	c.end("7")
	b.follow(8)
	c.put(8, 8, "VM Thread", 1*ms)
	after(20*ms, "another process", 9*ms, 11*ms)
	if n := len(b.processes); n != 1 || b.kept != 2 {
		t.Errorf("%d processes, %d files to keep", n, b.kept)
	}
	b.close()
	if b.kept != 3 {
		t.Errorf("%d files left open", 3-b.kept)
	}

	// An old process is scanned every tenth of a second only.
	b.follow(9)
	c.put(9, 9, "VM Thread", 1*ms)
	after(10*ms, "new", 10*ms, 11*ms)
	after(time.Second, "old", 10*ms, 11*ms)
	c.put(9, 10, "VM Thread", 1*ms)
	after(50*ms, "not yet", 10*ms, 11*ms)
	after(50*ms, "scanned", 11*ms, 11*ms)
	b.close()
}

// A thread of this process is found by the name that it gives itself.
func TestAccountClassify(t *testing.T) {
	if a := New(); a.Classes() != nil || a.Read().Background != nil {
		t.Error("classes without Classify")
	} else {
		a.Close()
	}
	a := New()
	defer a.Close()
	a.Classify([]ThreadClass{{"nothing", []string{"no such thread"}}, {"spinning", []string{"cg-spin*"}}})
	if names := a.Classes(); !slices.Equal(names, []string{"nothing", "spinning"}) {
		t.Errorf("%q", names)
	}
	spinner := startSpinner(t, "cg-spinner")
	a.Watch(os.Getpid())
	var used time.Duration
	for used < 30*time.Millisecond {
		u := a.Read()
		if len(u.Background) != 2 || u.Background[0] != 0 || u.Background[1] < used {
			t.Fatalf("%v after %v", u.Background, used)
		}
		used = u.Background[1]
	}
	spinner.stop()
	if u := a.Read(); u.Background[1] < used {
		t.Errorf("%v after %v", u.Background, used)
	}
}

// spinner is a thread that uses the processor.
type spinner struct {
	tid   int
	halt  *atomic.Bool
	ended chan struct{}
}

// startSpinner starts one, named if name is not "".
func startSpinner(t *testing.T, name string) spinner {
	t.Helper()
	s := spinner{0, new(atomic.Bool), make(chan struct{})}
	begun := make(chan error)
	var spin func()
	spin = func() {
		runtime.LockOSThread() // ends with the goroutine, but for the first thread of the process
		if s.tid = unix.Gettid(); s.tid == os.Getpid() {
			go spin()
			<-s.ended
			runtime.UnlockOSThread()
			return
		}
		defer close(s.ended)
		var err error
		if name != "" {
			err = os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", s.tid), []byte(name), 0)
		}
		begun <- err
		for !s.halt.Load() {
		}
	}
	go spin()
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	return s
}

func (s spinner) stop() {
	s.halt.Store(true)
	<-s.ended
}
