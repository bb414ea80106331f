package attach

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cg/attach/perf"
	"cg/checkpoint"
)

// A program of C, with frame pointers and without, has its functions in the order of their processor
// time; where perf events are not permitted, that is told.
func TestMachineCode(t *testing.T) {
	refused := perf.Check(os.Getpid())
	for _, flag := range []string{"-fomit-frame-pointer", "-fno-omit-frame-pointer"} {
		t.Run(flag, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			program := filepath.Join(t.TempDir(), "shares")
			gcc := exec.CommandContext(ctx, "gcc", "-O2", flag, "-pthread", "-o", program, "testdata/shares.c")
			if out, err := gcc.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			cmd := exec.CommandContext(ctx, "sh", "-c", `read x && exec "$0"`, program)
			to, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			s := Start(Config{PID: cmd.Process.Pid, Interval: time.Millisecond, Clock: checkpoint.SystemClock()})
			for s.Stats().Rounds == 0 && ctx.Err() == nil { // it looks by then
				time.Sleep(time.Millisecond)
			}
			to.Write([]byte("\n"))
			err = cmd.Wait()
			s.Stop()
			if err != nil {
				t.Fatal(err)
			}
			checkMachineCode(t, s, refused)
		})
	}
}

func checkMachineCode(t *testing.T, s *Sampler, refused error) {
	told := s.Stats().Processes
	if refused != nil {
		if len(told) != 1 || told[0].Why == nil || !strings.Contains(told[0].Why.Error(), refused.Error()) {
			t.Errorf("%+v, want %v", told, refused)
		}
		return
	}
	sites, looks, last := s.Sites(), map[string]int{}, checkpoint.Tick(0)
	for _, l := range s.Take(math.MaxUint64) {
		if l.At < last {
			t.Fatal("looks are not in order")
		}
		last = l.At
		for _, id := range l.Path {
			if !l.Waiting {
				looks[sites[id-1].Func]++
			}
		}
	}
	if !(looks["a"] > looks["b"] && looks["b"] > looks["c"] && looks["c"] > 0 && looks["spin"] > looks["a"]) {
		t.Errorf("%v", looks)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0].Reader, "machine code") {
		t.Errorf("%+v", told)
	}
}
