// Package leaks fails the tests of a package that leave something behind: an open
// file, a mount below the folder of temporary files, a child process.
package leaks

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Run runs the tests of a package and returns the status to exit with. The tests
// have a folder of temporary files of their own: other tests mount machines, too, at
// the same time. What the user calibrated is not theirs.
func Run(m *testing.M) (code int) {
	os.Setenv("XDG_CONFIG_HOME", "/nonexistent")
	before := openFiles()
	dir, err := os.MkdirTemp("", "cg-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("TMPDIR", dir)
	if code = m.Run(); code == 0 {
		code = left(before)
	}
	os.RemoveAll(dir)
	return code
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

// left tells on stderr of what was left, and returns 1 if something was.
func left(before map[string]string) (code int) {
	for fd, to := range openFiles() {
		if before[fd] == "" && !strings.HasPrefix(to, "anon_inode:[event") && to != "/proc/self/fd" &&
			!strings.HasSuffix(to, "/fd") {
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
