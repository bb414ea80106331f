package python

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// pythons are the interpreters of this machine that can be read, by their version.
func pythons(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	add := func(path string) {
		out, err := exec.Command(path, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])").Output()
		version := strings.TrimSpace(string(out))
		var minor int
		if _, failed := fmt.Sscanf(version, "3.%d.", &minor); err == nil && failed == nil && minor >= oldest && minor <= newest {
			all[version+" "+path] = path
		}
	}
	found, _ := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".pyenv/versions/3.*/bin/python3"))
	found = append(found, filepath.SplitList(os.Getenv("CG_PYTHONS"))...)
	for _, path := range append(found, "/usr/bin/python3") {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			add(real)
		}
	}
	if len(all) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("no CPython of 3.8 to 3.15")
		}
		t.Skip("no CPython of 3.8 to 3.15")
	}
	return all
}

// start runs a program until it prints a line.
func start(t *testing.T, python, program string) *exec.Cmd {
	t.Helper()
	return startIn(t, python, program, nil)
}

func startIn(t *testing.T, python, program string, how *syscall.SysProcAttr) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(python, "-c", program)
	cmd.SysProcAttr = how
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		if how != nil && errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSPC) {
			t.Skipf("the kernel gives no namespaces: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd
}

// names opens a process and numbers its functions.
func open(t *testing.T, pid int) (*Process, *[]Function) {
	t.Helper()
	functions := &[]Function{{}}
	p, err := Open(pid, func(f Function) checkpoint.SiteID {
		i := slices.Index(*functions, f)
		if i < 0 {
			i = len(*functions)
			*functions = append(*functions, f)
		}
		return checkpoint.SiteID(i)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, functions
}

const waiting = `
import sys, threading
class Shop:
    def sell(self):
        (lambda: generator())()
def generator():
    def inner():
        yield wait()
    next(inner())
def wait():
    started.wait()
    print('ready', flush=True)
    sys.stdin.read()
def größe():
    started.set()
    threading.Event().wait()
started = threading.Event()
threading.Thread(target=größe, daemon=True).start()
Shop().sell()
`

// Each interpreter of the machine is read, all threads with their stacks.
func TestStacks(t *testing.T) {
	for version, path := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd := start(t, path, waiting)
			p, functions := open(t, cmd.Process.Pid)
			stacks, err := p.Read()
			if err != nil {
				t.Fatal(err)
			}
			if len(stacks) != 2 {
				t.Fatalf("%d stacks", len(stacks))
			}
			for _, s := range stacks {
				var names []string
				for _, id := range s.Path {
					f := (*functions)[id]
					name := f.Name
					if f.Qualname != "" {
						name = f.Qualname
					}
					names = append(names, fmt.Sprintf("%s:%d", name, f.Line))
				}
				got := strings.Join(names, " ")
				if s.TID == uint32(cmd.Process.Pid) {
					want := "<module>:2 Shop.sell:4 Shop.sell.<locals>.<lambda>:5 generator:6 generator.<locals>.inner:7 wait:10"
					if p.Minor() < 11 { // no qualified names
						want = "<module>:2 sell:4 <lambda>:5 generator:6 inner:7 wait:10"
					}
					if p.Minor() >= 10 { // where a module begins
						want = strings.Replace(want, "<module>:2", "<module>:1", 1)
					}
					if got != want {
						t.Errorf("the main thread is in\n%s, want\n%s", got, want)
					}
				} else if !strings.Contains(got, "größe:14") || !slices.Contains(Tasks(cmd.Process.Pid), s.TID) {
					t.Errorf("thread %d is in %s", s.TID, got)
				}
			}
			if p.Torn != 0 || p.Attempts != 2 {
				t.Errorf("%d of %d torn", p.Torn, p.Attempts)
			}
		})
	}
}

// The threads of a process in a PID namespace of its own, as in a container, have the numbers that
// cg sees.
func TestNamespace(t *testing.T) {
	for version, path := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd := startIn(t, path, waiting, &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			})
			p, _ := open(t, cmd.Process.Pid)
			stacks, err := p.Read()
			if err != nil {
				t.Fatal(err)
			}
			var got []uint32
			for _, s := range stacks {
				got = append(got, s.TID)
			}
			slices.Sort(got)
			if want := Tasks(cmd.Process.Pid); !slices.Equal(got, want) || len(want) != 2 || p.Unplaced != 0 {
				t.Errorf("threads %d, want %d; %d unplaced", got, want, p.Unplaced)
			}
		})
	}
}

// A thread that the kernel does not have gives no stack and is counted. It is looked for once.
func TestUnplaced(t *testing.T) {
	lists := 0
	threads := map[uint32]uint32{5: 105, 6: 106}
	n := tids{list: func(int) map[uint32]uint32 { lists++; return maps.Clone(threads) }}
	for _, c := range []struct{ inner, want uint32 }{{5, 105}, {7, 0}, {7, 0}, {6, 106}} {
		n.begin()
		if got := n.of(c.inner); got != c.want {
			t.Errorf("%d is %d, want %d", c.inner, got, c.want)
		}
	}
	if lists != 2 {
		t.Errorf("asked %d times", lists)
	}
	threads = map[uint32]uint32{1: 101} // forked
	n = tids{list: n.list}
	if got := n.of(9); got != 101 {
		t.Errorf("the only thread is %d", got)
	}
	f := new(fake)
	p, _ := f.process()
	threads = map[uint32]uint32{5: 105, 6: 106}
	p.tids.list = n.list
	f.word(fakeFile+tables[12].thread.native, 77)
	if tid, err := p.tidOf(fakeFile); tid != 0 || err != nil || p.Unplaced != 1 {
		t.Errorf("%d, %v, %d unplaced", tid, err, p.Unplaced)
	}
}

// unsafeBytes is the memory of an iovec.
func unsafeBytes(v unix.Iovec) []byte { return unsafe.Slice(v.Base, v.Len) }

// What may not be read says what to do, and what is gone or no Python says so.
func TestRefusals(t *testing.T) {
	if err := denied(7, unix.EPERM); !strings.Contains(err.Error(), "SYS_PTRACE") {
		t.Error(err)
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(cmd.Process.Pid, nil); err != ErrNoPython {
		t.Error(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := Open(cmd.Process.Pid, nil); err == nil {
		t.Error("a process that is over was opened")
	}
}
