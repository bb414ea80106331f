package nemb

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cg/nemb/simulate"
)

// TestMain also plays the children of the account's tests.
func TestMain(m *testing.M) {
	switch os.Getenv("NEMB_CHILD") {
	case "forks":
		forks()
		return
	case "ring":
		readShared()
		return
	}
	// What the user calibrated is not the tests'.
	os.Setenv("XDG_CONFIG_HOME", "/nonexistent")
	before := openFiles()
	// A folder of their own: other tests mount machines, too, at the same time.
	dir, err := os.MkdirTemp("", "nemb-")
	if err != nil {
		panic(err)
	}
	os.Setenv("TMPDIR", dir)
	code := m.Run()
	if code == 0 {
		code = leaks(before)
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// openFiles lists what the file descriptors of this process point to.
func openFiles() map[string]string {
	open := map[string]string{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			open[e.Name()] = to
		}
	}
	return open
}

func leaks(before map[string]string) (code int) {
	for fd, to := range openFiles() {
		if before[fd] == "" && !strings.HasPrefix(to, "anon_inode:[event") && to != "/proc/self/fd" && !strings.HasSuffix(to, "/fd") {
			fmt.Fprintf(os.Stderr, "leaked descriptor %s: %s\n", fd, to)
			code = 1
		}
	}
	if mounts, _ := os.ReadFile("/proc/self/mounts"); strings.Contains(string(mounts), os.TempDir()+"/Test") {
		fmt.Fprintln(os.Stderr, "leaked mount below", os.TempDir())
		code = 1
	}
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != unix.ECHILD {
		fmt.Fprintln(os.Stderr, "leaked child process")
		code = 1
	}
	return code
}

// mount serves machine until the test ends.
func mount(t testing.TB, machine simulate.Machine) (*simulate.Tree, Root) {
	t.Helper()
	dir := t.TempDir()
	tree, err := simulate.Mount(dir, machine)
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree, Root{dir}
}
