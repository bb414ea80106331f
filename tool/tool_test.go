package tool

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain also plays a cg that is killed while its tool is at work.
func TestMain(m *testing.M) {
	if script := os.Getenv("TOOL_TEST_SCRIPT"); script != "" {
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Stdout = os.Stdout
		Run(cmd)
		return
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name, script, stdin, want string
		status                    int
	}{
		{"output", "echo out; echo err >&2", "", "out\n", 0},
		{"input", "cat", "given", "given", 0},
		{"no input", "cat", "", "", 0},
		{"status", "echo x; exit 7", "", "x\n", 7},
		{"signal", "kill -KILL $$", "", "", 137},
		{"its folder", "pwd", "", dir + "\n", 0},
	}
	for _, test := range tests {
		cmd := exec.Command("/bin/sh", "-c", test.script)
		cmd.Dir = dir
		if test.stdin != "" {
			cmd.Stdin = strings.NewReader(test.stdin)
		}
		out, err := Output(cmd)
		status := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			status = exit.ExitCode()
		} else if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if string(out) != test.want || status != test.status {
			t.Errorf("%s: %q, status %d; want %q, %d", test.name, out, status, test.want, test.status)
		}
	}
	_, err := Output(exec.Command("/bin/sh", "-c", "echo why >&2; exit 1"))
	var exit *exec.ExitError
	if !errors.As(err, &exit) || string(exit.Stderr) != "why\n" {
		t.Errorf("%v", err)
	}
	if all, err := CombinedOutput(exec.Command("/bin/sh", "-c", "echo a; echo b >&2")); string(all) != "a\nb\n" || err != nil {
		t.Errorf("%q, %v", all, err)
	}
	for _, name := range []string{"/nonexistent/cc", "no-such-compiler"} {
		if err := Run(exec.Command(name)); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	plain := filepath.Join(dir, "plain")
	os.WriteFile(plain, []byte("text"), 0o644)
	if err := Run(exec.Command(plain)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
}

// A tool and what it started end with its context.
func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", tree)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = in
	done := make(chan error, 1)
	go func() { done <- Run(cmd) }()
	pids := readPids(t, out)
	cancel()
	if err := <-done; err == nil {
		t.Error("it ended by itself")
	}
	in.Close()
	gone(t, pids, out)
}

// A tool and what it started end when cg is killed.
func TestRunEndsWithCg(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cg := exec.Command(self)
	cg.Env = append(os.Environ(), "TOOL_TEST_SCRIPT="+tree)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cg.Stdout = in
	if err := cg.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	pids := readPids(t, out)
	cg.Process.Kill()
	cg.Wait()
	gone(t, pids, out)
}

// tree is a tool with a child: both tell their pids, and hold standard output.
const tree = `sh -c 'echo $$; exec sleep 600' & echo $$; wait`

func readPids(t *testing.T, out *os.File) (pids []int) {
	t.Helper()
	lines := bufio.NewScanner(out)
	for len(pids) < 2 && lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// gone waits until nobody holds the other end of a pipe, which the kernel tells.
func gone(t *testing.T, pids []int, out *os.File) {
	t.Helper()
	out.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := out.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v are still there: %v", pids, err)
		for _, pid := range pids {
			unix.Kill(pid, syscall.SIGKILL)
		}
	}
}
