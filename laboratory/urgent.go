package laboratory

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// setPolicy makes a thread, 0 for the calling one, a real-time thread (SCHED_FIFO, sched(7)), or an ordinary one
// again.
func setPolicy(tid int, urgent bool) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	if urgent {
		attr.Policy, attr.Priority = unix.SCHED_FIFO, 1
	}
	return unix.SchedSetAttr(tid, &attr, 0)
}

// ErrNotPermitted says that a program cannot be given a /proc/stat of its own here. It takes root.
var ErrNotPermitted = errors.New("laboratory: mounts need root")

// setUrgent makes all threads of this process real-time threads where that is permitted, and those that they start:
// none of them is kept from writing what the counters show by one that waits for a processor. The returned function
// gives all threads the policy and nice value that the calling one had.
func setUrgent() (undo func()) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return func() {}
	}
	set := func(do func(tid int)) {
		for range 2 { // a thread that one starts that was not yet set is there in the second round
			tasks, _ := os.ReadDir("/proc/self/task")
			for _, t := range tasks {
				if tid, err := strconv.Atoi(t.Name()); err == nil {
					do(tid)
				}
			}
		}
	}
	set(func(tid int) { _ = setPolicy(tid, true) })
	return func() { set(func(tid int) { _ = unix.SchedSetAttr(tid, before, 0) }) }
}

// startOrdinary starts a command that is no real-time process. Where stat is not "", the command sees that file in
// place of /proc/stat, in a mount namespace of its own.
func startOrdinary(cmd *exec.Cmd, nice int, stat string) error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		_ = setPolicy(0, false)
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice) // as far as it is permitted
		if stat != "" {
			if err := inPlace(stat, "/proc/stat"); err != nil {
				failed <- err
				return
			}
		}
		failed <- cmd.Start()
	}()
	return <-failed
}

// inPlace gives the calling thread, and what it starts, a mount namespace in which a file is in the place of another.
func inPlace(file, of string) error {
	err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err == nil {
		err = unix.Mount(file, of, "", unix.MS_BIND, "")
	}
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: %s in the place of %s: %w", ErrNotPermitted, file, of, err)
	} else if err != nil {
		return fmt.Errorf("laboratory: %s in the place of %s: %w", file, of, err)
	}
	return nil
}
