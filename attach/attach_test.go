package attach

import (
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

func interpreter(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err == nil { // which may be a script of pyenv
		out, failed := exec.Command(path, "-c", "import sys; print(sys.executable)").Output()
		path, err = strings.TrimSpace(string(out)), failed
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}

// late is by how much shares may be off where looks are late, as on a machine with much else to do.
const late = 0.03

// A program's functions have looks in the proportion of the processor time that they use, within
// four standard errors of a binomial distribution.
func TestShares(t *testing.T) {
	cmd := exec.Command(interpreter(t), "testdata/shares.py", "1.5")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := Start(Config{PID: cmd.Process.Pid, Interval: time.Millisecond, Clock: checkpoint.Monotonic})
	err := cmd.Wait()
	s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	sites := s.Sites()
	weights, waited := map[string]float64{}, 0
	last := checkpoint.Tick(0)
	running := 0.0
	for _, l := range s.Take(math.MaxUint64) {
		names := []string{""}
		for _, id := range l.Path {
			names = append(names, sites[id-1].Func)
		}
		path := strings.Join(names, ">")
		if l.Waiting {
			if strings.Contains(path, "__main__.idle") {
				waited++
			}
			continue
		}
		for _, f := range []string{"a", "b", "c"} {
			if strings.Contains(path+">", ">__main__."+f+">") {
				weights[f]++
				running++
			}
		}
		if l.At < last {
			t.Fatal("looks are not in order")
		}
		last = l.At
	}
	t.Logf("%+v", s.Stats())
	if running < 100 || waited < 30 {
		t.Fatalf("%v looks, %d of the thread that waits", running, waited)
	}
	for f, want := range map[string]float64{"a": .6, "b": .3, "c": .1} {
		got := weights[f] / running
		t.Logf("%s has %.3f, want %.3f", f, got, want)
		if off := math.Abs(got - want); off > late+4*math.Sqrt(want*(1-want)/running) {
			t.Errorf("%s has %.3f of the looks, want %.3f", f, got, want)
		}
	}
	stats := s.Stats()
	if len(stats.Processes) != 1 || !strings.HasPrefix(stats.Processes[0].Reader, "CPython 3.") {
		t.Errorf("%+v", stats.Processes)
	}
	if stats.Torn*100 > stats.Looks {
		t.Errorf("%d torn of %d", stats.Torn, stats.Looks)
	}
}
