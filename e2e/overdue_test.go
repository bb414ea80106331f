package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// scriptLimit is how long one script may take. The longest took four minutes on two processors that ten others worked
// on. A script that hangs then fails with its name, and the others go on.
const scriptLimit = 10 * time.Minute

// endOverdue ends the processes that have a variable ("NAME=VALUE") in their environment once a limit has passed:
// SIGQUIT first, so that programs of Go and Java tell where they were, SIGKILL after the time grace. What it returns
// keeps it from that, and says which processes it has ended.
func endOverdue(variable string, limit, grace time.Duration) (stop func() (ended []string)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan []string, 1)
	go func() {
		var ended []string
		defer func() { done <- ended }()
		wait := limit
		for sig := unix.SIGQUIT; ; sig = unix.SIGKILL {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			for pid, command := range processesWith(variable) {
				if unix.Kill(pid, sig) == nil && !slices.Contains(ended, command) {
					ended = append(ended, command)
				}
			}
			wait = grace
		}
	}()
	return func() []string {
		cancel()
		return <-done
	}
}

// processesWith has the command lines of the processes with a variable in their environment.
func processesWith(variable string) map[int]string {
	found := map[int]string{}
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		environ, err := os.ReadFile(name)
		if err != nil || !slices.Contains(strings.Split(string(environ), "\x00"), variable) {
			continue
		}
		folder := filepath.Dir(name)
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil && pid != os.Getpid() {
			line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
			found[pid] = strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// A program that hangs, and one that it has started and that ignores signals, are ended; a program of another script
// goes on. One that ends in time is left alone.
func TestOverdueProgramsAreEnded(t *testing.T) {
	t.Parallel()
	mine, other := fmt.Sprintf("CG_OVERDUE=%s/mine", t.TempDir()), fmt.Sprintf("CG_OVERDUE=%s/other", t.TempDir())
	start := func(variable, script string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = append(os.Environ(), variable)
		cmd.Stdout = new(bytes.Buffer) // whose end Wait waits for
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	left := start(other, "exec sleep 60")
	hanging := start(mine, "trap '' QUIT; sleep 60 & sleep 60; sleep 60")
	stop := endOverdue(mine, 10*time.Millisecond, 10*time.Millisecond)
	if err := hanging.Wait(); err == nil {
		t.Error("what hangs has ended by itself")
	}
	if ended := stop(); len(ended) == 0 || !strings.Contains(strings.Join(ended, "\n"), "sleep 60") {
		t.Errorf("ended: %q", ended)
	}
	left.Process.Signal(unix.SIGTERM)
	left.Wait()
	if status := left.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != unix.SIGTERM {
		t.Errorf("another script's program: %v", left.ProcessState)
	}

	stop = endOverdue(mine, time.Hour, time.Hour)
	if ended := stop(); ended != nil {
		t.Errorf("ended: %q", ended)
	}
}
