package simulate

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestCounter(t *testing.T) {
	c := Counter{Power: Constant(50), Unit: UnitIntel, Period: 983 * time.Microsecond, Jitter: 20 * time.Microsecond}
	updates := c.Updates(0, time.Second)
	if n := len(updates); n < 1015 || n > 1020 {
		t.Errorf("%d updates in a second", n)
	}
	for i, at := range updates[1 : len(updates)-1] {
		if e := c.Read(at); c.Read(at-1) >= e || c.Read(updates[i+2]-1) != e {
			t.Fatalf("update %d at %v: %d, %d, %d", i, at, c.Read(at-1), e, c.Read(updates[i+2]-1))
		}
	}
	if got := float64(c.Read(time.Minute)) * 1e-6; math.Abs(got/3000-1) > 1e-4 {
		t.Errorf("%g J in a minute of 50 W", got)
	}
	c.Range = 1e6
	if got, want := c.Read(time.Minute), uint64(1e6); got > want {
		t.Errorf("%d beyond the range of %d", got, want)
	}
	steps := Trace{{time.Second, 10}, {2 * time.Second, 40}}
	for at, want := range map[time.Duration]float64{0: 0, time.Second: 0, 1500 * time.Millisecond: 5, 3 * time.Second: 50} {
		if got := steps.Energy(at); math.Abs(got-want) > 1e-9 {
			t.Errorf("at %v: %g J, want %g J", at, got, want)
		}
	}
}

// A process that is killed leaves its tree mounted, and the next one that mounts takes it away. A program that it
// started holds nothing of the tree: it looks for its own descriptors of FUSE before the process is killed.
func TestKilledLeavesNoMount(t *testing.T) {
	machine := Machine{Zones: []Zone{{Dir: "intel-rapl:0", Name: "package-0", Counter: Counter{Power: Constant(1)}}}}
	if dir := os.Getenv("CG_TEST_KILLED_MOUNT"); dir != "" {
		if _, err := Mount(dir, machine); err != nil {
			t.Fatal(err)
		}
		look := `! ls -l /proc/self/fd | grep -q /dev/fuse`
		if out, err := exec.Command("sh", "-c", look).CombinedOutput(); err != nil {
			t.Fatalf("a program has the descriptor of FUSE: %v %s", err, out)
		}
		if err := unix.Kill(os.Getpid(), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	left, dir := t.TempDir()+"/a tree", t.TempDir()
	if err := os.Mkdir(left, 0o755); err != nil {
		t.Fatal(err)
	}
	tree, err := Mount(dir, machine)
	if errors.Is(err, ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestKilledLeavesNoMount$")
	child.Env = append(os.Environ(), "CG_TEST_KILLED_MOUNT="+left)
	// It is killed after it has mounted. Another test that mounts at this moment may be the next one.
	if out, err := child.CombinedOutput(); err == nil || child.ProcessState.String() != "signal: killed" {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
	if tree, err = Mount(dir, machine); err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if entries, err := os.ReadDir(left); err != nil || len(entries) != 0 {
		t.Errorf("the tree of the killed process is still mounted: %v %v", entries, err)
	}
}

// What a driver can do to a counter: stand still, start over, go away.
func TestTreeFaults(t *testing.T) {
	dir := t.TempDir()
	tree, err := Mount(dir, Machine{Zones: []Zone{{Dir: "intel-rapl:0", Name: "package-0", Counter: Counter{Power: Constant(1e6), Start: 1e12},
		Zones: []Zone{{Dir: "intel-rapl:0:0", Name: "core", Counter: Counter{Power: Constant(1e6), Start: 1e9, Range: 1e15}}}}}})
	if errors.Is(err, ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	zone := dir + "/sys/devices/virtual/powercap/intel-rapl/intel-rapl:0"
	core := zone + "/intel-rapl:0:0"
	fd, err := unix.Open(core+"/energy_uj", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	read := func() uint64 {
		t.Helper()
		var text [32]byte
		n, err := unix.Pread(fd, text[:], 0)
		if err != nil {
			t.Fatal(err)
		}
		v, err := strconv.ParseUint(strings.TrimSpace(string(text[:n])), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	tree.Fault("intel-rapl:0:0", Fault{Stuck: true})
	stuck := read()
	time.Sleep(5 * time.Millisecond)
	if again := read(); again != stuck || stuck < 1e9 {
		t.Errorf("stuck at %d, then %d", stuck, again)
	}
	tree.Fault("intel-rapl:0:0", Fault{})
	if mended := read(); mended < stuck+5e9 {
		t.Errorf("mended it shows %d after %d", mended, stuck)
	}
	tree.Reset("intel-rapl:0:0")
	if v := read(); v >= stuck {
		t.Errorf("%d after a reset", v)
	}
	if err := errors.Join(tree.Unplug("intel-rapl:0")); err != nil {
		t.Error(err)
	}
	var text [8]byte
	if _, err := unix.Pread(fd, text[:], 0); err != unix.ENODEV {
		t.Errorf("a kept descriptor of an unplugged zone: %v", err)
	}
	for _, path := range []string{zone, core, dir + "/sys/class/powercap/intel-rapl:0", dir + "/sys/class/powercap/intel-rapl:0:0"} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	if tree.Unplug("intel-rapl:0") == nil || tree.Reset("intel-rapl:0:0") == nil {
		t.Error("an unplugged zone is there")
	}
}

func TestTree(t *testing.T) {
	dir := t.TempDir()
	tree, err := Mount(dir, Machine{Cpuinfo: "processor\t: 0\n", Zones: []Zone{{Dir: "intel-rapl:0", Name: "package-0",
		Counter: Counter{Power: Constant(20), Range: 99},
		Zones:   []Zone{{Dir: "intel-rapl:0:0", Name: "core"}}}}})
	if errors.Is(err, ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/sys/class/powercap/intel-rapl:0:0/name":                                        "core\n",
		"/sys/class/powercap/intel-rapl:0/max_energy_range_uj":                           "99\n",
		"/sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/intel-rapl:0:0/energy_uj": "0\n",
		"/proc/cpuinfo": "processor\t: 0\n",
	} {
		if text, err := os.ReadFile(dir + path); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	energy := dir + "/sys/class/powercap/intel-rapl:0/energy_uj"
	fd, err := unix.Open(energy, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var text [32]byte
	if n, err := unix.Pread(fd, text[:1], 0); n != 1 || err != nil {
		t.Errorf("read of one byte: %d, %v", n, err)
	}
	tree.Fault("intel-rapl:0", Fault{Read: syscall.ENODEV})
	if _, err := unix.Pread(fd, text[:], 0); err != unix.ENODEV {
		t.Errorf("read fails with %v", err)
	}
	tree.Fault("intel-rapl:0", Fault{Open: syscall.EACCES})
	if _, err := os.ReadFile(energy); !errors.Is(err, os.ErrPermission) {
		t.Errorf("open fails with %v", err)
	}
	if err := tree.Fault("intel-rapl:7", Fault{}); err == nil {
		t.Error("a zone that is not there has a fault")
	}
	// Closing does not wait for open files and leaves no mount.
	if err := tree.Close(); err != nil {
		t.Error(err)
	}
	if _, err := unix.Pread(fd, text[:], 0); err == nil {
		t.Error("still readable")
	}
	unix.Close(fd)
	if mounts, _ := os.ReadFile("/proc/self/mounts"); strings.Contains(string(mounts), dir) {
		t.Error("still mounted")
	}
}
