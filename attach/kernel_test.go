package attach

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cg/attach/perf"
	"cg/checkpoint"
)

// Where the kernel's own time has no samples, it is still a thread's: below what the samples before and after have in
// common, and no waiting. A thread that sleeps waits.
func TestKernelTime(t *testing.T) {
	if err := perf.Check(os.Getpid()); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	program := filepath.Join(t.TempDir(), "kernel")
	gcc := exec.CommandContext(ctx, "gcc", "-O2", "-o", program, "testdata/kernel.c")
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", `read x && exec "$0" 0.8`, program)
	var out bytes.Buffer
	cmd.Stdout = &out
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := Start(Config{PID: cmd.Process.Pid, Interval: time.Millisecond, Clock: checkpoint.SystemClock(), UserOnly: true})
	for s.Stats().Rounds == 0 && ctx.Err() == nil { // it looks by then
		time.Sleep(time.Millisecond)
	}
	to.Write([]byte("\n"))
	err = cmd.Wait()
	s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	var kernel, user float64
	if _, err := fmt.Sscan(out.String(), &kernel, &user); err != nil {
		t.Fatal(err)
	}
	sites, looks := s.Sites(), s.Take(math.MaxUint64)
	by := map[string]float64{}
	in, ran, waited, wrong := 0.0, 0.0, 0.0, 0.0
	for i, l := range looks { // of one thread: each stands for the time to the middle between it and its neighbours
		stands := float64(looks[min(i+1, len(looks)-1)].At-looks[max(i-1, 0)].At) / 2
		name := func(back int) string {
			if n := len(l.Path) - back; n >= 0 {
				return sites[l.Path[n]-1].Func
			}
			return ""
		}
		switch {
		case l.Waiting:
			by["waiting in "+name(1)] += stands
			waited += stands
		case name(1) == kernelFunction:
			in, ran = in+stands, ran+stands
			if slices.ContainsFunc(l.Path, func(id checkpoint.SiteID) bool { return sites[id-1].Func == "compute" }) {
				wrong += stands
			}
			by[name(2)+" in the kernel"] += stands
		default:
			by[name(1)] += stands
			ran += stands
		}
	}
	// Under load, looks are late and the thread waits often: half of it is told in any case.
	if part, want := in/ran, kernel/(kernel+user); part < want/2 || part > 1.3*want || waited == 0 {
		t.Errorf("%.0f %% of the time on a processor was in the kernel, want %.0f %%; %v", 100*part, 100*want, by)
	}
	if wrong > in/2 {
		t.Errorf("%.0f of %.0f in the kernel is the wrong function's", wrong, in)
	}
	t.Logf("%.1f %% in the kernel, %.1f %% by its account; wrong %.1f %%, waited %.1f %%", 100*in/ran,
		100*kernel/(kernel+user), 100*wrong/in, 100*waited/(waited+ran))
}
