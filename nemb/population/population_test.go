package population

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/nemb/leaks"
	"cg/nemb/simulate"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// machine is a /proc and a hierarchy of groups in a folder.
type machine struct {
	t      *testing.T
	dir    string
	clocks map[int]time.Duration
	read   int // clocks that were read
}

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, dir: t.TempDir(), clocks: map[int]time.Duration{}}
	m.write("proc/stat", "cpu  100 0 50 1000 0 5 5 3 0 0\n")
	m.write("proc/uptime", "1 1\n")
	m.group("", 0)
	return m
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) process(pid, parent int, start uint64, name, group string) {
	m.write(fmt.Sprintf("proc/%d/stat", pid),
		fmt.Sprintf("%d (%s) S %d 0 0 0 -1 0 0 0 0 0 7 3 20 10 20 0 1 0 %d 1000 1\n", pid, name, parent, start))
	m.write(fmt.Sprintf("proc/%d/cgroup", pid), "4:memory:/x\n0::"+group+"\n")
	m.clocks[pid] += time.Millisecond
}

func (m *machine) group(path string, cpu time.Duration) {
	m.write("cgroup"+path+"/cpu.stat", fmt.Sprintf("usage_usec %d\nuser_usec 1\nsystem_usec 1\n", cpu.Microseconds()))
}

func (m *machine) open(files int) *Host {
	m.t.Helper()
	h, err := Open(Config{Proc: filepath.Join(m.dir, "proc"), Groups: filepath.Join(m.dir, "cgroup"), Files: files,
		Clock: func(pid int) (time.Duration, error) {
			m.read++
			if cpu, ok := m.clocks[pid]; ok {
				return cpu, nil
			}
			return 0, unix.EINVAL
		}})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { h.Close() })
	return h
}

// Processes are listed where one may have come, and now and then: else those that are known are read.
func TestListing(t *testing.T) {
	m := newMachine(t)
	if err := os.Symlink(fmt.Sprint(os.Getpid()), filepath.Join(m.dir, "proc/self")); err != nil {
		t.Fatal(err)
	}
	last := func(pid int) { m.write("proc/loadavg", fmt.Sprintf("0.00 0.01 0.05 1/63 %d\n", pid)) }
	last(7)
	m.process(1, 0, 1, "init", "/")
	m.process(7, 1, 5, "web", "/")
	h := m.open(10)
	var r Reading
	there := func(want ...int) {
		t.Helper()
		if err := h.Read(&r); err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, p := range r.Processes {
			got = append(got, p.PID)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("reading %d: %v, want %v", h.generation, got, want)
		}
	}
	there(1, 7)
	m.process(8, 1, 9, "new", "/") // it had its number before it could be listed
	there(1, 7, 8)
	there(1, 7, 8)
	m.process(5, 1, 9, "hidden", "/")
	there(1, 7, 8)
	m.process(9, 1, 9, "more", "/")
	last(9)
	there(1, 5, 7, 8, 9)
	there(1, 5, 7, 8, 9)
	os.RemoveAll(filepath.Join(m.dir, "proc/7"))
	delete(m.clocks, 7)
	m.process(6, 1, 9, "hidden", "/")
	there(1, 5, 8, 9)
	there(1, 5, 8, 9)
	there(1, 5, 8, 9)
	there(1, 5, 6, 8, 9) // the tenth
	last(0)              // not known
	m.process(4, 1, 9, "late", "/")
	there(1, 4, 5, 6, 8, 9)
}

// A program that answers for /proc/loadavg, as lxcfs does, says nothing of who was made last.
func TestForeignLoad(t *testing.T) {
	m := newMachine(t)
	served := t.TempDir()
	tree, err := simulate.Mount(served, simulate.Machine{Zones: []simulate.Zone{{Dir: "intel-rapl:0", Name: "package-0", Counter: simulate.Counter{Range: 262143}}}})
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	m.process(1, 0, 1, "init", "/")
	for name, to := range map[string]string{
		"self": fmt.Sprint(os.Getpid()), "loadavg": filepath.Join(served, "sys/class/powercap/intel-rapl:0/max_energy_range_uj"),
	} {
		if err := os.Symlink(to, filepath.Join(m.dir, "proc", name)); err != nil {
			t.Fatal(err)
		}
	}
	h := m.open(10)
	for range 4 {
		var r Reading
		if err := h.Read(&r); err != nil {
			t.Fatal(err)
		}
	}
	m.process(2, 1, 9, "new", "/")
	if got := show(t, h); !strings.Contains(got, "new") {
		t.Error(got)
	}
}

// show lists a reading by number and by path.
func show(t *testing.T, h *Host) string {
	t.Helper()
	var r Reading
	if err := h.Read(&r); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(r.Processes, func(a, b Process) int { return a.PID - b.PID })
	slices.SortFunc(r.Groups, func(a, b Group) int { return strings.Compare(a.Path, b.Path) })
	var b strings.Builder
	for _, p := range r.Processes {
		fmt.Fprintf(&b, "%d@%d %s <%d %s %v %v; ", p.PID, p.Start, p.Name, p.Parent, p.Group, p.CPU, p.Children)
	}
	for _, g := range r.Groups {
		fmt.Fprintf(&b, "%s %v; ", g.Path, g.CPU)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func TestProcesses(t *testing.T) {
	m := newMachine(t)
	m.process(7, 1, 50, "a) (b", "/x")
	m.process(9, 7, 60, "idle", "/../../outside")
	h := m.open(0)
	equal(t, "first", show(t, h), "7@50 a) (b <1 /x 1ms 300ms; 9@60 idle <7 / 1ms 300ms")
	// One that used nothing is as it was, and only its clock is read.
	show(t, h)
	m.write("proc/9/stat", "broken")
	m.clocks[7] += time.Second
	equal(t, "second", show(t, h), "7@50 a) (b <1 /x 1.001s 300ms; 9@60 idle <7 / 1ms 300ms")
	// The number is used again, by one that has used more.
	m.clocks[7] = 0
	m.process(7, 9, 70, "new", "/y")
	m.clocks[7] = 5 * time.Second
	if err := os.RemoveAll(filepath.Join(m.dir, "proc/9")); err != nil {
		t.Fatal(err)
	}
	equal(t, "third", show(t, h), "7@70 new <9 /y 5s 300ms")
	// A kernel without a clock: ticks.
	m.process(12, 7, 80, "ticks", "/y")
	delete(m.clocks, 12)
	equal(t, "ticks", show(t, h), "7@70 new <9 /y 5s 300ms; 12@80 ticks <7 /y 100ms 300ms")
	// One that has ended and that nobody has waited for.
	m.write("proc/12/stat", "12 (ticks) Z 7 0 0 0 -1 0 0 0 0 0 7 3 20 10 20 0 1 0 80 1000 1\n")
	show(t, h)
	if p, err := h.Find(12); err != nil || !p.Over {
		t.Error(p, err)
	}
	if _, err := h.Find(99); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if p, err := h.Find(12); err != nil || p.Name != "ticks" {
		t.Error(p, err)
	}
}

// A thread is no process, though /proc has a folder for it.
func TestFindThread(t *testing.T) {
	m := newMachine(t)
	m.process(7, 1, 50, "p", "/")
	m.process(8, 1, 50, "p", "/")
	m.write("proc/7/status", "Name:\tp\nTgid:\t7\nPid:\t7\n")
	m.write("proc/8/status", "Name:\tp\nTgid:\t7\nPid:\t8\n")
	h := m.open(0)
	if p, err := h.Find(7); err != nil || p.PID != 7 {
		t.Error(p, err)
	}
	var thread *ErrThread
	if p, err := h.Find(8); !errors.As(err, &thread) || err.Error() != "8 is a thread of process 7: use 7" {
		t.Error(p, err)
	}
}

// Managers move processes soon after they began.
func TestProcessIsMoved(t *testing.T) {
	m := newMachine(t)
	m.process(7, 1, 50, "p", "/x")
	h := m.open(0)
	show(t, h)
	m.process(7, 1, 50, "p", "/y")
	equal(t, "soon", show(t, h), "7@50 p <1 /y 2ms 300ms")
	for range groupEvery {
		m.process(7, 1, 50, "p", "/z")
		show(t, h)
	}
	equal(t, "later", show(t, h), "7@50 p <1 /z 12ms 300ms")
}

// A process that is moved later is found by its old group, which uses less than it does:
// also one that is moved into a group below.
func TestProcessIsMovedLater(t *testing.T) {
	for _, to := range []string{"/y", "/x/below", "/"} {
		m := newMachine(t)
		used := map[string]time.Duration{"/x": 0, "/y": 0, "/x/below": 0}
		m.process(7, 1, 50, "p", "/x")
		h := m.open(0)
		run := func(group string) {
			m.process(7, 1, 50, "p", group) // a millisecond
			used[group] += time.Millisecond
			m.group("/x", used["/x"]+used["/x/below"])
			m.group("/y", used["/y"])
			m.group("/x/below", used["/x/below"])
		}
		for range 5 {
			run("/x")
			show(t, h)
		}
		run(to)
		got, _, _ := strings.Cut(show(t, h), ";")
		equal(t, to, got, "7@50 p <1 "+to+" 7ms 300ms")
	}
}

func TestGroups(t *testing.T) {
	for _, files := range []int{1, 100} {
		m := newMachine(t)
		m.group("/a", 3*time.Second)
		m.group("/a/b", 2*time.Second)
		h := m.open(files)
		equal(t, "first", show(t, h), "/a 3s; /a/b 2s")
		m.group("/a", 4*time.Second)
		m.group("/a/c/d", time.Second)
		m.group("/a/c", time.Second)
		equal(t, "new ones", show(t, h), "/a 4s; /a/b 2s; /a/c 1s; /a/c/d 1s")
		if err := os.RemoveAll(filepath.Join(m.dir, "cgroup/a/c")); err != nil {
			t.Fatal(err)
		}
		equal(t, "gone", show(t, h), "/a 4s; /a/b 2s")
		if err := os.RemoveAll(filepath.Join(m.dir, "cgroup/a")); err != nil {
			t.Fatal(err)
		}
		equal(t, "all gone", show(t, h), "")
		if h.files != files || len(h.nodes) != 0 {
			t.Errorf("%d of %d files may be kept, %d groups", h.files, files, len(h.nodes))
		}
	}
}

// A group of the kernel's that is removed and made again between two readings is read anew.
func TestLiveGroup(t *testing.T) {
	h, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if !h.HasGroups() {
		t.Skip("this machine has no cgroup v2")
	}
	dir := filepath.Join(h.root.dir, fmt.Sprintf("cg-population-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	defer os.Remove(dir)
	has := func() (n int) {
		var r Reading
		if err := h.Read(&r); err != nil {
			t.Fatal(err)
		}
		for _, g := range r.Groups {
			if filepath.Base(g.Path) == filepath.Base(dir) {
				n++
			}
		}
		return n
	}
	if n := has(); n != 1 {
		t.Errorf("seen %d times", n)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if n := has(); n != 0 {
		t.Errorf("seen %d times when it is gone", n)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if n := has(); n != 1 {
		t.Errorf("seen %d times when it is back", n)
	}
	if err := errors.Join(os.Remove(dir), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	if n := has(); n != 1 {
		t.Errorf("seen %d times when it is another", n)
	}
}

// The live kernel's clock counts this process, to more than it says in ticks.
func TestLiveClock(t *testing.T) {
	h, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	p, err := h.Find(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		t.Fatal(err)
	}
	if used := time.Duration(ru.Utime.Nano() + ru.Stime.Nano()); p.CPU <= 0 || p.CPU > used+10*time.Millisecond {
		t.Errorf("the clock has %v, getrusage %v", p.CPU, used)
	}
	if _, err := processClock(1 << 22); err == nil {
		t.Error("a process that is not there has a clock")
	}
}

func TestNames(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, test := range []struct{ group, runtime, unit string }{
		{"/system.slice/docker-" + id + ".scope", "docker", "docker-" + id + ".scope"},
		{"/docker/" + id, "docker", ""},
		{"/machine.slice/libpod-" + id + ".scope/container", "podman", "libpod-" + id + ".scope"},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id + ".scope", "podman", "libpod-" + id + ".scope"},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-containerd-" + id + ".scope", "containerd", "cri-containerd-" + id + ".scope"},
		{"/kubepods/besteffort/pod1/" + id, "kubepods", ""},
		{"/kubepods.slice/kubepods-pod1.slice/crio-" + id + ".scope", "crio", "crio-" + id + ".scope"},
		{"/system.slice/nginx.service/workers", "", "nginx.service"},
		{"/", "", ""},
		{"/docker/" + id[1:], "", ""},
	} {
		c, ok := ContainerOf(test.group)
		if c.Runtime != test.runtime || ok != (test.runtime != "") || ok && c.ID != id {
			t.Errorf("%s: %+v", test.group, c)
		}
		if unit := UnitOf(test.group); unit != test.unit {
			t.Errorf("%s: unit %q, want %q", test.group, unit, test.unit)
		}
	}
}

func TestContainersNamed(t *testing.T) {
	m := newMachine(t)
	m.write("var/lib/docker/containers/d1/config.v2.json", `{"ID":"d1","Name":"/web","State":{}}`)
	m.write("var/lib/docker/containers/d2/config.v2.json", `{"ID":`)
	m.write("var/lib/containers/storage/overlay-containers/containers.json", `[{"id":"p1","names":["db"]},{"id":"p2"}]`)
	m.write("home/ann/.local/share/containers/storage/overlay-containers/containers.json", `[{"id":"p3","names":["web"]}]`)
	m.write("var/lib/nerdctl/1935db59/names/default/cache", "n1\n")
	m.write("var/log/containers/pod-1_shop_cart-k1.log", "")
	for name, want := range map[string]string{"web": "[d1 p3]", "db": "[p1]", "cache": "[n1]", "cart": "[k1]", "none": "[]"} {
		ids := ContainersNamed(m.dir, name)
		slices.Sort(ids)
		equal(t, name, fmt.Sprint(ids), want)
	}
}
