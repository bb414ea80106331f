package account

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/long"
	"cg/nemb/leaks"
)

// TestMain also plays the children of the tests.
func TestMain(m *testing.M) {
	if os.Getenv("NEMB_CHILD") == "forks" {
		forks()
		return
	}
	os.Exit(leaks.Run(m))
}

// forks runs children of some 5 ms each, one after the other.
func forks() {
	script := `i=0; while [ $i -lt $NEMB_FORKS ]; do (j=0; while [ $j -lt 4500 ]; do j=$((j+1)); done); i=$((i+1)); done`
	unix.Exec("/bin/sh", []string{"sh", "-c", script}, os.Environ())
	os.Exit(127)
}

func forkTree(n int) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "NEMB_CHILD=forks", "NEMB_FORKS="+strconv.Itoa(n))
	return cmd
}

// count starts cmd so that a counts it, reads now and then until it has ended,
// and returns what was counted and what wait4 says.
func count(t *testing.T, a *Account, cmd *exec.Cmd, group, clock bool) (got, want time.Duration) {
	t.Helper()
	if group {
		dir, err := a.Group()
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: see Inherit
		var err error
		if clock {
			err = a.Inherit()
		}
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
		u := a.Read()
		if u.Program < before.Program || u.Own < before.Own || u.Other < before.Other {
			t.Fatalf("decreases from %+v to %+v", before, u)
		}
		before = u
	}
	got, want = a.Read().Program, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	t.Logf("%s: %v, rusage %v: %+.2f %%", a.Method(), got, want, 100*(got.Seconds()/want.Seconds()-1))
	return got, want
}

func TestAccountInherit(t *testing.T) {
	long.Skip(t, "")
	a := New()
	defer a.Close()
	got, want := count(t, a, forkTree(200), false, true)
	// The two clocks differ by what the host takes away: a process that is not
	// followed would be missing whole.
	if math.Abs(got.Seconds()/want.Seconds()-1) > 0.15 {
		t.Errorf("%v, rusage has %v", got, want)
	}
	a.SetTotal(want+time.Millisecond, time.Second)
	if u := a.Read(); u.Program != want+time.Millisecond+time.Second {
		t.Errorf("settled on %v", u.Program)
	}
}

// Each of 2,000 children of 5 ms is counted before wait4 tells.
func TestAccountGroup(t *testing.T) {
	long.Skip(t, "")
	a := New()
	got, want := count(t, a, forkTree(2000), true, true)
	if math.Abs(got.Seconds()/want.Seconds()-1) > 0.05 {
		t.Errorf("%v, rusage has %v", got, want)
	}
	if a.Method() != "cgroup v2 cpu.stat, perf task-clock between its updates" {
		t.Error(a.Method())
	}
	// What nobody waited for is in the group, and stays in the total.
	a.SetTotal(want/2, 0)
	if u := a.Read(); u.Program < got {
		t.Errorf("settled on %v after %v", u.Program, got)
	}
	path := a.group.dir.Name()
	a.Close()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", path, err)
	}
}

// A group is removed while a process still runs in it; one that a killed run
// left is removed by the next.
func TestGroupIsRemoved(t *testing.T) {
	a := New()
	dir, err := a.Group()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if again, err := a.Group(); err != nil || again != dir {
		t.Error("a second group:", err)
	}
	stale := filepath.Join(filepath.Dir(dir.Name()), "cg-1073741824-1") // more than a pid can be
	if err := os.Mkdir(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	path := dir.Name()
	inner := filepath.Join(path, "inner", "most") // of the program's own making
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inner, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
		t.Error(err)
	}
	b := New()
	defer b.Close()
	if other, err := b.Group(); err != nil || other.Name() == path {
		t.Errorf("a second account: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("it took the first one's group: %v", err)
	}
	a.Close()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", path, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Errorf("the process did not go on: %v", err)
	}
	cmd.Wait()
	g, err := newGroup()
	if err != nil {
		t.Fatal(err)
	}
	g.close()
	if _, err := os.Stat(stale); !errors.Is(err, fs.ErrNotExist) {
		os.Remove(stale)
		t.Errorf("%s is left: %v", stale, err)
	}
}

func TestGroupPath(t *testing.T) {
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
	const hybrid = "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n40 30 0:36 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	tests := []struct {
		name, mounts, member, want string
	}{
		{"unified", v2, "0::/user.slice/session-2.scope\n", "/sys/fs/cgroup/user.slice/session-2.scope"},
		{"root", v2, "0::/\n", "/sys/fs/cgroup"},
		{"hybrid", hybrid, "9:name=systemd:/\n4:memory:/api\n0::/api\n", "/sys/fs/cgroup/unified/api"},
		{"container without a namespace", "30 23 0:26 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/docker/1/app\n", "/sys/fs/cgroup/app"},
		{"a mount of another part", "30 23 0:26 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/docker/12\n", ""},
		{"outside", v2, "0::/../other\n", ""},
		{"version 1", "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "3:cpu:/\n", ""},
		{"not mounted", hybrid[:70], "0::/\n", ""},
		{"nothing", "", "", ""},
		{"nonsense", "x - cgroup2 \n - cgroup2 y z\n", "0::/\n", ""},
		{"a blank", "30 23 0:26 / /sys/fs/c\\040g rw - cgroup2 cgroup2 rw\n", "0::/\n", "/sys/fs/c g"},
	}
	for _, test := range tests {
		if got, ok := groupPath(test.mounts, test.member); got != test.want || ok != (test.want != "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	for text, want := range map[string]time.Duration{
		"usage_usec 12\nuser_usec 3\n": 12 * time.Microsecond, "nice_usec 4\nusage_usec 0\n": 0,
		"": -1, "usage_usec 12": -1, "usage_usec -3\n": -1, "usage_usec x\n": -1, "user_usec 3\n": -1,
	} {
		if got, ok := parseUsage([]byte(text)); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}

func TestAccountTree(t *testing.T) {
	long.Skip(t, "")
	a := New()
	defer a.Close()
	cmd := forkTree(200)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a.Watch(cmd.Process.Pid)
	// Read until the child is a zombie, which still tells its times.
	var info unix.Siginfo
	for {
		a.Read()
		if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
			t.Fatal(err)
		}
		if info.Signo != 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	got := a.Read().Program
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	want := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("%s: %v, rusage %v", a.Method(), got, want)
	if math.Abs(got.Seconds()/want.Seconds()-1) > 0.10 {
		t.Errorf("%v, rusage has %v", got, want)
	}
	if u := a.Read(); u.Program != got {
		t.Errorf("%v after the end, %v before", u.Program, got)
	}
}

func TestAccountFollow(t *testing.T) {
	a := New()
	defer a.Close()
	spinner := startSpinner(t, "")
	th := checkpoint.Thread{PID: uint32(os.Getpid()), TID: uint32(spinner.tid)}
	a.Follow(th)
	a.Follow(checkpoint.Thread{PID: th.PID, TID: 1 << 30}) // not there
	var used time.Duration
	for used < 20*time.Millisecond {
		u := a.Read()
		if len(u.Threads) != 1 || u.Threads[0].Thread != th || u.Threads[0].CPU < used {
			t.Fatalf("%+v", u.Threads)
		}
		used = u.Threads[0].CPU
	}
	if got, at, ok := a.ThreadTime(th); !ok || got < used || at == 0 {
		t.Errorf("%v at %v, %v; want %v or more", got, at, ok, used)
	}
	if got, _, ok := a.ThreadTime(checkpoint.Thread{PID: 1, TID: 1}); ok {
		t.Errorf("%v of a thread that nobody asked for", got)
	}
	spinner.stop()
	path := "/proc/self/task/" + strconv.Itoa(int(th.TID))
	for {
		if _, err := os.Stat(path); err != nil {
			break
		}
		runtime.Gosched()
	}
	if u := a.Read(); len(u.Threads) != 1 || u.Threads[0].CPU < used {
		t.Errorf("ended: %+v", u.Threads)
	}
	if u := a.Read(); len(u.Threads) != 0 {
		t.Errorf("still there: %+v", u.Threads)
	}
	if got, _, ok := a.ThreadTime(th); ok {
		t.Errorf("%v of a thread that has ended", got)
	}
}

// With busy rounded down to ticks, others' time never decreases, is never more
// than the truth and less than two ticks below it.
func TestEnvelope(t *testing.T) {
	var u Usage
	for i := range 20000 {
		at := time.Duration(i) * 777 * time.Microsecond
		program, own, other := at*3/5, at/50, max(0, at-time.Second)/4
		busy := (program + own + other).Truncate(Tick)
		next := envelope(u, program, own, busy)
		if next.Other < u.Other || next.Other > other || other-next.Other >= 2*Tick {
			t.Fatalf("at %v: %v after %v, truth %v", at, next.Other, u.Other, other)
		}
		u = next
	}
}

func TestParseProc(t *testing.T) {
	tail := " 4 100 100 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 12345 0 0"
	for text, want := range map[string]stat{
		"100 (sh) S" + tail:            {"S", 4, time.Second},
		"100 (a b) c) (d) R" + tail:    {"R", 4, time.Second},
		"100 (x\n) y) 1 2 3) Z" + tail: {"Z", 4, time.Second},
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
	if got, ok := ParseBusy([]byte("cpu  10 20 30 9999 9999 40 50 77 10 20\ncpu0 1\n")); !ok || got != 1500*time.Millisecond {
		t.Errorf("%v, %v", got, ok)
	}
	for _, text := range []string{"", "cpu\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu 1 2 3 4 5 6 7", "cpu 1 x 3 4 5 6 7 8\n"} {
		if got, ok := ParseBusy([]byte(text)); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got, queued, turns, ok := parseSchedstat([]byte("123456 7 8\n")); !ok || got != 123456 || queued != 7 || turns != 8 {
		t.Errorf("%v, %v", got, ok)
	}
	if got, _, turns, ok := parseSchedstat([]byte("123456 7\n")); !ok || got != 123456 || turns != 0 {
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
		if d, ok := ParseBusy(text); ok && d < 0 {
			t.Error(d)
		}
		if d, queued, _, ok := parseSchedstat(text); ok && (d < 0 || queued < 0) {
			t.Error(d)
		}
	})
}

// BenchmarkAccount is one reading of the account, as each Poll makes it.
func BenchmarkAccount(b *testing.B) {
	a := New()
	defer a.Close()
	for range b.N {
		a.Read()
	}
}
