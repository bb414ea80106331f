package account

import (
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// The counter follows a process tree from its exec. A kernel without the
// processor's counters has software events that are counted the same way.
func TestCountsATree(t *testing.T) {
	c := newCount(unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS)
	if c == nil {
		t.Skip("perf events are not permitted here")
	}
	defer c.Close()
	run := func(args ...string) float64 {
		done := make(chan float64)
		go func() { // which ends locked, and so does its thread
			runtime.LockOSThread()
			if err := c.Inherit(); err != nil {
				t.Error(err)
			}
			if err := exec.Command(args[0], args[1:]...).Run(); err != nil {
				t.Error(err)
			}
			n, err := c.Count()
			if err != nil {
				t.Error(err)
			}
			done <- n
		}()
		return <-done
	}
	one := run("true")
	four := run("sh", "-c", "true; /bin/true; /bin/true; /bin/true; /bin/true")
	if one < 10 || four < 3*one {
		t.Errorf("%g faults of one process, %g of several", one, four)
	}
	if newCount(unix.PERF_TYPE_SOFTWARE, 1<<40) != nil {
		t.Error("a counter that is not there")
	}
}
