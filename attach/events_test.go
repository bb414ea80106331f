package attach

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"cg/attach/perf"
	"cg/checkpoint"
)

// A program that forks from its first instruction on has all its processes sampled where its events were
// prepared, and nothing of the one that starts it.
func TestPrepared(t *testing.T) {
	if err := perf.Check(os.Getpid()); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", `i=0; while [ $i -lt 20 ]; do (exec true); i=$((i+1)); done`)
	var p *Prepared
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // for good
		p = Prepare(time.Millisecond)
		failed <- cmd.Start()
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil { // before anybody reads
		t.Fatal(err)
	}
	s := Start(Config{PID: cmd.Process.Pid, Interval: time.Millisecond, Clock: checkpoint.SystemClock(), Prepared: p})
	for s.Stats().Rounds == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	s.Stop()
	for _, l := range s.Take(math.MaxUint64) {
		if l.Thread.PID == uint32(os.Getpid()) {
			t.Fatalf("cg itself has samples: %+v", l)
		}
	}
	if began := s.machine.began; began < 40 { // each was forked, and ran another program
		t.Errorf("%d starts of 20 processes were told", began)
	}
}

// A thread that nobody told of is found in the second listing, and counted.
func TestLateThreads(t *testing.T) {
	if err := perf.Check(os.Getpid()); err != nil {
		t.Skip(err)
	}
	pid, _, _ := started(t, "echo; read x")
	s := &Sampler{config: Config{PID: pid, Interval: time.Second, Clock: checkpoint.SystemClock()}, sites: newSites()}
	s.openMachine()
	defer s.machine.close()
	m := &s.machine
	processes := []*process{newProcess(pid)}
	var got []string
	for _, forget := range []bool{false, true, false, false} {
		if forget {
			clear(m.known)
		}
		m.find(processes)
		got = append(got, fmt.Sprint(m.late, len(m.unknown)))
	}
	if want := "[0 0 0 1 1 0 1 0]"; fmt.Sprint(got) != want {
		t.Errorf("late and unknown threads: %v, want %s", got, want)
	}
}
