package nemb

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

// forks runs 200 children, one after the other, of some 5 ms each.
func forks() {
	script := `i=0; while [ $i -lt 200 ]; do (j=0; while [ $j -lt 6000 ]; do j=$((j+1)); done); i=$((i+1)); done`
	unix.Exec("/bin/sh", []string{"sh", "-c", script}, os.Environ())
	os.Exit(127)
}

func forkTree() *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "NEMB_CHILD=forks")
	return cmd
}

func TestAccountInherit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of processor time")
	}
	a := NewAccount()
	defer a.Close()
	cmd := forkTree()
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: see Inherit
		err := a.Inherit()
		if err == nil {
			err = cmd.Start()
		}
		result <- err
	}()
	if err := <-result; err != nil {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOENT) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	var before Usage
	done := make(chan error)
	go func() { done <- cmd.Wait() }()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		case <-time.After(20 * time.Millisecond):
		}
		u := a.read()
		if u.Program < before.Program || u.Own < before.Own || u.Other < before.Other {
			t.Fatalf("decreases from %+v to %+v", before, u)
		}
		before = u
	}
	got, want := a.read().Program, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	t.Logf("%s: %v, rusage %v", a.Method(), got, want)
	if math.Abs(got.Seconds()/want.Seconds()-1) > 0.03 {
		t.Errorf("%v, rusage has %v", got, want)
	}
	a.Settle(want+time.Millisecond, time.Second)
	if u := a.read(); u.Program != want+time.Millisecond+time.Second {
		t.Errorf("settled on %v", u.Program)
	}
}

func TestAccountTree(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of processor time")
	}
	a := NewAccount()
	defer a.Close()
	cmd := forkTree()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a.Watch(cmd.Process.Pid)
	// Read until the child is a zombie, which still tells its times.
	var info unix.Siginfo
	for {
		a.read()
		if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
			t.Fatal(err)
		}
		if info.Signo != 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	got := a.read().Program
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	want := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("%s: %v, rusage %v", a.Method(), got, want)
	if math.Abs(got.Seconds()/want.Seconds()-1) > 0.10 {
		t.Errorf("%v, rusage has %v", got, want)
	}
	if u := a.read(); u.Program != got {
		t.Errorf("%v after the end, %v before", u.Program, got)
	}
}

func TestAccountFollow(t *testing.T) {
	a := NewAccount()
	defer a.Close()
	spinner := startSpinner(t, "")
	th := checkpoint.Thread{PID: uint32(os.Getpid()), TID: uint32(spinner.tid)}
	a.Follow(th)
	a.Follow(checkpoint.Thread{PID: th.PID, TID: 1 << 30}) // not there
	var used time.Duration
	for used < 20*time.Millisecond {
		u := a.read()
		if len(u.Threads) != 1 || u.Threads[0].Thread != th || u.Threads[0].CPU < used {
			t.Fatalf("%+v", u.Threads)
		}
		used = u.Threads[0].CPU
	}
	spinner.stop()
	path := "/proc/self/task/" + strconv.Itoa(int(th.TID))
	for {
		if _, err := os.Stat(path); err != nil {
			break
		}
		runtime.Gosched()
	}
	if u := a.read(); len(u.Threads) != 1 || u.Threads[0].CPU < used {
		t.Errorf("ended: %+v", u.Threads)
	}
	if u := a.read(); len(u.Threads) != 0 {
		t.Errorf("still there: %+v", u.Threads)
	}
}

// With busy rounded down to ticks, others' time never decreases, is never more
// than the truth and less than two ticks below it.
func TestEnvelope(t *testing.T) {
	var u Usage
	for i := range 20000 {
		at := time.Duration(i) * 777 * time.Microsecond
		program, own, other := at*3/5, at/50, max(0, at-time.Second)/4
		busy := (program + own + other).Truncate(userHZ)
		next := envelope(u, program, own, busy)
		if next.Other < u.Other || next.Other > other || other-next.Other >= 2*userHZ {
			t.Fatalf("at %v: %v after %v, truth %v", at, next.Other, u.Other, other)
		}
		u = next
	}
}

func TestParseProc(t *testing.T) {
	tail := " 4 100 100 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 12345 0 0"
	for text, want := range map[string]stat{
		"100 (sh) S" + tail:            {4, time.Second},
		"100 (a b) c) (d) R" + tail:    {4, time.Second},
		"100 (x\n) y) 1 2 3) Z" + tail: {4, time.Second},
	} {
		if got, ok := parseStat([]byte(text)); !ok || got != want {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", ")", "100 (sh) S", "100 (sh) S 4 1 1 1 1 1 1 1 1 1 x 1 1 1", "100 (sh"} {
		if got, ok := parseStat([]byte(text)); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got, ok := parseBusy([]byte("cpu  10 20 30 9999 9999 40 50 77 10 20\ncpu0 1\n")); !ok || got != 1500*time.Millisecond {
		t.Errorf("%v, %v", got, ok)
	}
	for _, text := range []string{"", "cpu\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu 1 2 3 4 5 6 7", "cpu 1 x 3 4 5 6 7 8\n"} {
		if got, ok := parseBusy([]byte(text)); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got, ok := parseSchedstat([]byte("123456 7 8\n")); !ok || got != 123456 {
		t.Errorf("%v, %v", got, ok)
	}
}

func FuzzParseProc(f *testing.F) {
	f.Add([]byte("100 (a) b) S 4 100 100 0 -1 4194560 1 2 3 4 10 20 30 40 20 0"))
	f.Add([]byte("cpu  10 20 30 9999 9999 40 50 77 10 20\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, ok := parseStat(text); ok && s.used < 0 {
			t.Errorf("%+v", s)
		}
		if d, ok := parseBusy(text); ok && d < 0 {
			t.Error(d)
		}
		if d, ok := parseSchedstat(text); ok && d < 0 {
			t.Error(d)
		}
	})
}
