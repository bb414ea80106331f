package laboratory

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

// ErrNoQuota says that processor time cannot be limited here: no control group with a quota can be made.
var ErrNoQuota = errors.New("laboratory: no control group with a quota")

// quotaPeriod is how long one share of a quota is for: the kernel's default (cpu.max, cpu.cfs_period_us).
const quotaPeriod = 100 * time.Millisecond

// groups counts the control groups of this process.
var groups atomic.Int64

// group is a control group in which all processes together may use so much processor time of each quotaPeriod. What is
// more waits for the next one.
type group struct{ dir string }

// newGroup makes a group below root (/sys/fs/cgroup): of version 2, or else of version 1's controller cpu
// (Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst in the kernel).
func newGroup(root string, processors float64) (g group, err error) {
	name := fmt.Sprintf("cg-laboratory-%d-%d", os.Getpid(), groups.Add(1))
	share := strconv.FormatInt(int64(processors*float64(quotaPeriod.Microseconds())), 10)
	period := strconv.FormatInt(quotaPeriod.Microseconds(), 10)
	settings := [][2]string{{"cpu.max", share + " " + period}}
	parent := root
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil {
		parent = filepath.Join(root, "cpu")
		settings = [][2]string{{"cpu.cfs_period_us", period}, {"cpu.cfs_quota_us", share}}
	}
	g.dir = filepath.Join(parent, name)
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return g, fmt.Errorf("%w: %w", ErrNoQuota, err)
	}
	for _, s := range settings {
		// A group has no such file where its controller is not there, or not handed on to groups below its parent.
		f, err := os.OpenFile(filepath.Join(g.dir, s[0]), os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(s[1])
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return g, errors.Join(fmt.Errorf("%w: %w", ErrNoQuota, err), g.remove())
		}
	}
	return g, nil
}

// hold makes a command start in the group.
func (g group) hold(cmd *exec.Cmd) {
	const enter = `echo $$ > "$0" && exec "$@"`
	cmd.Args = append([]string{"sh", "-c", enter, filepath.Join(g.dir, "cgroup.procs"), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
}

// remove removes the group, once its processes have ended: the kernel lets go of the last one a moment after it was
// waited for.
func (g group) remove() (err error) {
	for range 100 {
		if err = os.Remove(g.dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("laboratory: %w", err)
}
