package population

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A container with a namespace of groups, in which the host's hierarchy is mounted, too: paths
// are the host's.
func TestNamespaceOfGroups(t *testing.T) {
	const line = "30 24 0:26 %s %s rw - cgroup2 cgroup2 rw\n"
	host := "DIR/cgroup"
	for _, test := range []struct {
		what, mounts, self string
		want               string
	}{
		{"its own alone", fmt.Sprintf(line, "/", "DIR/own"), "/", "7@50 web <1 / 1ms 300ms; 9@60 own <1 / 1ms 300ms; /x 9ms"},
		{"the host's", fmt.Sprintf(line, "/", "DIR/own") + fmt.Sprintf(line, "/../..", host), "/",
			"7@50 web <1 /system.slice/web.service 1ms 300ms; 9@60 own <1 /pods/cg 1ms 300ms; " +
				"/pods 5ms; /pods/cg 4ms; /pods/cg/inner 3ms; /system.slice 2ms; /system.slice/web.service 1ms"},
		{"the host's, and a group below its own", fmt.Sprintf(line, "/../..", host), "/inner",
			"7@50 web <1 /system.slice/web.service 1ms 300ms; 9@60 own <1 /pods/cg 1ms 300ms; " +
				"/pods 5ms; /pods/cg 4ms; /pods/cg/inner 3ms; /system.slice 2ms; /system.slice/web.service 1ms"},
		{"a part of the host's", fmt.Sprintf(line, "/../../system.slice", host+"/system.slice") + fmt.Sprintf(line, "/", "DIR/own"), "/",
			"7@50 web <1 / 1ms 300ms; 9@60 own <1 / 1ms 300ms; /x 9ms"},
		{"it is nowhere in the host's", fmt.Sprintf(line, "/../../..", host), "/", "7@50 web <1 / 1ms 300ms; 9@60 own <1 / 1ms 300ms"},
	} {
		m := newMachine(t)
		m.process(7, 1, 50, "web", "/../../system.slice/web.service")
		m.process(9, 1, 60, "own", "/")
		for i, path := range []string{"/system.slice/web.service", "/system.slice", "/pods/cg/inner", "/pods/cg", "/pods"} {
			m.group(path, time.Duration(i+1)*time.Millisecond)
		}
		m.write("own/x/cpu.stat", "usage_usec 9000\n")
		m.write("cgroup/pods/cg/cgroup.procs", "12\n")
		m.write("cgroup/system.slice/web.service/cgroup.procs", "7\n")
		m.write("proc/self/cgroup", "0::"+test.self+"\n")
		m.write("proc/self/mountinfo", strings.ReplaceAll(test.mounts, "DIR", m.dir))
		m.write("cgroup/pods/cg"+test.self+"/cgroup.procs", fmt.Sprintf("12\n%d\n", os.Getpid()))
		h, err := Open(Config{Proc: filepath.Join(m.dir, "proc"), Clock: func(pid int) (time.Duration, error) { return m.clocks[pid], nil }})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, test.what, show(t, h), test.want)
		h.Close()
	}
}

// The kernel's own namespace: this test runs itself in a group of two folders, behind
// unshare(1).
func TestNamespaceOfTheKernel(t *testing.T) {
	if want := os.Getenv("CG_TEST_GROUP"); want != "" {
		h, err := Open(Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		p, err := h.Find(os.Getpid())
		if err != nil || p.Group != want {
			t.Errorf("the process is in %q, want %q: %v", p.Group, want, err)
		}
		var r Reading
		if err := h.Read(&r); err != nil {
			t.Fatal(err)
		}
		for _, g := range r.Groups {
			if g.Path == want {
				return
			}
		}
		t.Errorf("no group %q among %v", want, r.Groups)
		return
	}
	plain, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if os.Getuid() != 0 || plain.root == nil {
		t.Skip("it takes root and control groups of version 2")
	}
	outer := filepath.Join(plain.root.dir, fmt.Sprintf("cg-test-%d", os.Getpid()))
	inner := filepath.Join(outer, "inner")
	if err := os.MkdirAll(inner, 0o755); errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		t.Skipf("the kernel lets nobody make a group here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() {
		unix.Rmdir(inner)
		unix.Rmdir(outer)
	}()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `echo $$ > "$0/cgroup.procs" && exec unshare --cgroup --mount "$@"`, inner, self,
		"-test.run", "^TestNamespaceOfTheKernel$", "-test.v")
	want := filepath.Join(plain.root.path, strings.TrimPrefix(inner, plain.root.dir))
	cmd.Env = append(os.Environ(), "CG_TEST_GROUP="+want, "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil && strings.Contains(string(out), "unshare:") &&
		(os.Getenv("CI") != "true" || strings.Contains(string(out), "Operation not permitted")) {
		t.Skipf("no namespace can be made here: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v: %s", err, out)
	}
}
