package e2e

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"cg/nemb/simulate"
)

// living is a machine whose counters count: a server with two sockets, their
// memory, and a file of registers.
func living(t *testing.T, dram0 float64, filter uint64) (*simulate.Tree, string) {
	t.Helper()
	mounted := t.TempDir()
	counting := func(watts float64) simulate.Counter { return simulate.Counter{Power: simulate.Constant(watts)} }
	tree, err := simulate.Mount(mounted, simulate.Machine{Zones: []simulate.Zone{
		{Dir: "intel-rapl:0", Name: "package-0", Counter: counting(190), Zones: []simulate.Zone{{Dir: "intel-rapl:0:0", Name: "dram", Counter: counting(dram0)}}},
		{Dir: "intel-rapl:1", Name: "package-1", Counter: counting(243), Zones: []simulate.Zone{{Dir: "intel-rapl:1:0", Name: "dram", Counter: counting(6)}}},
	}})
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	dir := t.TempDir()
	for name, text := range map[string]string{
		"proc/cpuinfo":   "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 173\nphysical id : 0\n",
		"dev/cpu/0/msr":  string(make([]byte, 0xbc)) + string(binary.LittleEndian.AppendUint64(nil, filter)),
		"sys/class/note": "",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(mounted, "sys/class/powercap"), filepath.Join(dir, "sys/class/powercap")); err != nil {
		t.Fatal(err)
	}
	return tree, dir
}

func doctor(t *testing.T, dir string) (out string, status int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "--sysroot", dir, "doctor")
	b, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

func mustMatch(t *testing.T, out, pattern string) {
	t.Helper()
	if !regexp.MustCompile("(?m)" + pattern).MatchString(out) {
		t.Errorf("no %q in\n%s", pattern, out)
	}
}

func TestDoctor(t *testing.T) {
	tree, dir := living(t, 8, 0)
	out, status := doctor(t, dir)
	mustMatch(t, out, `^ok +energy +measured here: package-0 [0-9.]+ W, dram-0 [0-9.]+ W, package-1 [0-9.]+ W, dram-1 [0-9.]+ W$`)
	mustMatch(t, out, `^ok +filtering +the processor does not filter`)
	if status != 0 || strings.Contains(out, "figures") {
		t.Errorf("status %d\n%s", status, out)
	}
	// One zone is denied: it still measures.
	tree.Fault("intel-rapl:1:0", simulate.Fault{Open: syscall.EACCES})
	out, status = doctor(t, dir)
	mustMatch(t, out, `^warning +powercap .*intel-rapl:1:0/energy_uj: permission denied: since Linux 5.10 root alone may read it`)
	mustMatch(t, out, `^ +to fix it: sudo `)
	if status != 0 {
		t.Errorf("status %d", status)
	}
	// All are.
	for _, zone := range []string{"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1"} {
		tree.Fault(zone, simulate.Fault{Open: syscall.EACCES})
	}
	out, status = doctor(t, dir)
	mustMatch(t, out, `^failure +energy `)
	mustMatch(t, out, `^failure +powercap .*\(package-0 and 3 more\): permission denied`)
	if status != 1 {
		t.Errorf("status %d", status)
	}
	// A counter is gone since it was listed.
	for _, zone := range []string{"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1", "intel-rapl:1:0"} {
		tree.Fault(zone, simulate.Fault{Read: syscall.ENODEV})
	}
	out, status = doctor(t, dir)
	mustMatch(t, out, `^warning +powercap .*no such device: runs stop at it`)
	if status != 1 {
		t.Errorf("status %d", status)
	}
}

// Two sockets of a Granite Rapids that idled: 200 W and 6 W of memory.
func TestDoctorDoubtsPowers(t *testing.T) {
	_, dir := living(t, 400, 1)
	out, status := doctor(t, dir)
	mustMatch(t, out, `^warning +figures +dram-0: [0-9]+ W is more than the 195 W that it could draw at most`)
	mustMatch(t, out, `^warning +filtering +the processor filters its energy counters \(INTEL-SA-00389\)`)
	if status != 0 || strings.Contains(out, "dram-1: ") || strings.Contains(out, "package-0: ") {
		t.Errorf("status %d\n%s", status, out)
	}
}

// A run of cg elsewhere is a session that counts the same energy.
func TestDoctorSeesSessions(t *testing.T) {
	python(t)
	script := filepath.Join(t.TempDir(), "wait.py")
	if err := os.WriteFile(script, []byte("import sys\nprint('ready', flush=True)\nsys.stdin.read()\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "measure", script)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	// codegreen keeps a list of its processes; this one stands in it.
	list := filepath.Join(t.TempDir(), fmt.Sprintf("codegreen-%d.pids", os.Getuid()))
	if err := os.WriteFile(list, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Dir(list))
	found, _ := doctor(t, t.TempDir())
	mustMatch(t, found, `^warning +sessions +others measure here at the same time: .*cg( [a-z]+)? \(pid [0-9]+(: [a-z ]+)?\)`)
	mustMatch(t, found, fmt.Sprintf(`^warning +sessions .*codegreen \(pid %d: the whole machine\)`, os.Getpid()))
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
