package account

import (
	"os/exec"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

// sleeper starts a process, and gives what its clock showed. end ends it.
func sleeper(t *testing.T) (pid int, clock time.Duration, end func()) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		child.Process.Kill()
		child.Wait()
	})
	t.Cleanup(end)
	var at unix.Timespec
	if err := unix.ClockGettime(^int32(child.Process.Pid)<<3|2, &at); err != nil {
		t.Fatal(err)
	}
	return child.Process.Pid, time.Duration(at.Nano()), end
}

// The clock of a process is the time of its only thread, which the kernel reports late; where it is far beyond that, it
// has the times of threads that have ended.
func TestOnlyThread(t *testing.T) {
	pid, clock, _ := sleeper(t)
	p := follow(uint32(pid))
	for still := 0; still < 50; still++ { // it sleeps
		var at unix.Timespec
		if err := unix.ClockGettime(p.clock, &at); err != nil {
			t.Fatal(err)
		}
		if now := time.Duration(at.Nano()); now != clock {
			clock, still = now, 0
		}
		time.Sleep(time.Millisecond)
	}
	p.close()
	for _, c := range []struct {
		name  string
		less  time.Duration // than the clock, what is reported of the thread
		exact bool
	}{
		{"late", jiffy / 2, true},
		{"others have ended", jiffy + time.Second, false},
	} {
		p := follow(uint32(pid))
		p.thread = &thread{used: clock - c.less, late: jiffy, seen: true}
		before := p.thread.used
		p.sharpen()
		if p.thread.used < before || c.exact != (p.thread.used >= clock) || !c.exact && p.thread.used != before {
			t.Errorf("%s: %v of %v, the clock was at %v", c.name, p.thread.used, before, clock)
		}
		if (p.thread.late == 0) != c.exact {
			t.Errorf("%s: it may be late by %v", c.name, p.thread.late)
		}
		p.close()
	}
	p = follow(uint32(pid))
	p.close()
	p.thread = &thread{used: clock / 2, seen: true}
	if p.sharpen(); p.thread.used != clock/2 {
		t.Errorf("%v where nobody knows how many threads there are", p.thread.used)
	}
}

// A process is followed as long as a thread of it is.
func TestFollowedProcessesEnd(t *testing.T) {
	pid, clock, end := sleeper(t)
	a := New()
	defer a.Close()
	a.Follow(checkpoint.Thread{PID: uint32(pid), TID: uint32(pid)})
	if u := a.Read(); len(u.Threads) != 1 || u.Threads[0].CPU < clock || len(a.followed) != 1 {
		t.Fatalf("%+v of %d processes, the clock was at %v", u.Threads, len(a.followed), clock)
	}
	end()
	a.Read()
	if a.Read(); len(a.followed) != 0 {
		t.Errorf("%d processes are followed after the end", len(a.followed))
	}
}
