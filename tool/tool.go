// Package tool runs the programs that cg needs for itself: compilers, git,
// interpreters that are asked for their version.
//
// It takes an exec.Cmd. The program and all that it starts end with the context of the
// command, and when cg dies, in whatever way. The launcher, and not this package, starts
// the program that is measured.
package tool

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// guard runs the command that follows it in a process group of its own, and
// kills that group when it gets SIGTERM, which the kernel sends it when cg dies
// (PR_SET_PDEATHSIG, prctl(2); a child's children do not have that signal). A
// command in the background would read /dev/null.
const guard = `trap 'kill -9 0' TERM
exec 3<&0
"$@" <&3 3<&- &
exec 3<&-
wait $!`

// mark stands in the environment of each tool, with the process id of the cg that runs it.
const mark = "_CG_TOOL="

// Begot reports whether a process is one that a tool of this cg has started, also where that left the tool's process
// group and its parent has ended. One that empties its environment is not known.
func Begot(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ") // proc_pid_environ(5): as it was started
	return err == nil && slices.Contains(strings.Split(string(text), "\x00"), mark+strconv.Itoa(os.Getpid()))
}

// shell is where POSIX systems have one.
const shell = "/bin/sh"

// Run runs a command to its end. Errors are those of exec.Cmd.Run, but that a
// command which a signal killed has the status 128+n.
func Run(cmd *exec.Cmd) error {
	if cmd.Err != nil {
		return cmd.Err
	}
	if err := unix.Access(cmd.Path, unix.X_OK); err != nil && cmd.Dir == "" {
		return &fs.PathError{Op: "exec", Path: cmd.Path, Err: err}
	}
	path := cmd.Path
	cmd.Path, cmd.Args = shell, append([]string{"sh", "-c", guard, "cg", path}, cmd.Args[1:]...)
	cmd.Env = append(cmd.Environ(), mark+strconv.Itoa(os.Getpid()))
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, unix.SIGTERM
	if cmd.Cancel != nil { // it has a context
		cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	}
	done := make(chan error, 1)
	go func() {
		// The kernel's parent is the thread: it stays until the command has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- own(cmd)
	}()
	return <-done
}

// running are the processes of the tools that run now.
var running = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

// own runs a command that is listed in running.
func own(cmd *exec.Cmd) error {
	running.Lock()
	err := cmd.Start()
	if err == nil {
		running.pids[cmd.Process.Pid] = true
	}
	running.Unlock()
	if err != nil {
		return err
	}
	err = cmd.Wait()
	running.Lock()
	delete(running.pids, cmd.Process.Pid)
	running.Unlock()
	return err
}

// Hold calls look with the process ids of the tools that run. None begins meanwhile, and those that end stay
// listed: what look sees of cg's children is a tool if and only if it is listed.
func Hold(look func(pids map[int]bool)) {
	running.Lock()
	defer running.Unlock()
	look(running.pids)
}

// Output is Run, and what the command wrote to standard output. An error of its
// exit holds what it wrote to standard error, as that of exec.Cmd.Output.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var out, said bytes.Buffer
	cmd.Stdout = &out
	if cmd.Stderr == nil {
		cmd.Stderr = &said
	}
	err := Run(cmd)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		exit.Stderr = said.Bytes()
	}
	return out.Bytes(), err
}

// CombinedOutput is Run, and all that the command wrote.
func CombinedOutput(cmd *exec.Cmd) ([]byte, error) {
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	err := Run(cmd)
	return all.Bytes(), err
}
