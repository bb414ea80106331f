package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cg/laboratory"
	"cg/nemb/simulate"
)

// Programs whose functions say what they use are measured on counters that show it: each function of each is told, with
// its truth. How many intervals by counters hold depends on what else the machine does (docs/accuracy.md), and is for
// cg validate --program to say; those of the estimate do not depend on it.
func TestLaboratory(t *testing.T) {
	python(t)
	lab := &laboratory.Lab{Cg: filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), Dir: t.TempDir()}
	for _, c := range []laboratory.Case{
		{Name: "five, 5 ms", Program: laboratory.Program{Functions: 5, Mean: 5 * time.Millisecond}},
		{Name: "call trees", Program: laboratory.Program{Functions: 4, Mean: 5 * time.Millisecond, Nested: true}},
		{Name: "two processes, two sockets", Program: laboratory.Program{Functions: 2, Mean: 5 * time.Millisecond, Processes: 2},
			Machine: laboratory.Machine{Sockets: 2}},
		{Name: "a neighbour", Program: laboratory.Program{Functions: 2, Mean: 5 * time.Millisecond},
			Machine: laboratory.Machine{Neighbour: laboratory.Neighbour{Watts: 30, Busy: 50 * time.Millisecond, Quiet: 50 * time.Millisecond}}},
		{Name: "stack samples", Program: laboratory.Program{Functions: 2, Mean: 20 * time.Millisecond}, Sampled: true},
		{Name: "estimate", Program: laboratory.Program{Functions: 3, Mean: 5 * time.Millisecond}, Estimate: true},
	} {
		t.Run(c.Name, func(t *testing.T) {
			c.Language, c.Every, c.Program.Length = "python", 10*time.Millisecond, 500*time.Millisecond
			out, err := lab.Run(t.Context(), c, 1)
			if errors.Is(err, laboratory.ErrNotPermitted) && os.Getenv("CI") != "true" {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			values, program := out.Values, out.Program
			if out.Untold != "" {
				t.Errorf("nothing is told: %s", out.Untold)
			}
			if len(values) != 2*c.Program.Functions {
				t.Errorf("%d values of %d functions", len(values), c.Program.Functions)
			}
			if c.Estimate == program.Told || program.Lo > program.Figure || program.Figure > program.Hi {
				t.Errorf("the program: %+v", program)
			}
			held := 0
			for _, v := range values {
				t.Logf("%+v", v)
				if v.Holds() {
					held++
				}
				// Of what waits for a busy processor nothing may be left, which is said.
				if v.Figure < 0 || v.Figure == 0 && v.Unresolved == "" || v.Lo > v.Figure || v.Figure > v.Hi {
					t.Errorf("%+v", v)
				}
			}
			if c.Estimate && 2*held < len(values) {
				t.Errorf("%d of %d intervals hold", held, len(values))
			}
		})
	}
}

// A signal ends cg validate once what it has mounted and written is gone; rows that were over are told.
func TestValidateIsInterrupted(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		args   []string
		stdout string
	}{
		{syscall.SIGTERM, []string{"--live"}, ""},
		{syscall.SIGINT, []string{"--program", "--runs", "9", "--row", "c: five, 5 ms", "--json"}, "{\n  \"programs\": []\n}\n"},
	} {
		dir := t.TempDir()
		tree, err := simulate.Mount(t.TempDir(), simulate.Machine{})
		if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		} else if err := tree.Close(); err != nil {
			t.Fatal(err)
		}
		var out, said strings.Builder
		cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), append([]string{"validate"}, c.args...)...)
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		cmd.Stdout, cmd.Stderr = &out, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		mounted := func() bool {
			b, err := os.ReadFile("/proc/thread-self/mounts") // of a thread that lab.Run has not used
			return err == nil && strings.Contains(string(b), dir)
		}
		begun := func() bool { // the counters are there
			zones, _ := filepath.Glob(filepath.Join(dir, "*/1/machine/sys/class/powercap/*"))
			return mounted() || len(zones) > 0
		}
		for deadline := time.Now().Add(time.Minute); !begun() && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		if !begun() {
			t.Errorf("%v: nothing is measured", c.args)
		}
		cmd.Process.Signal(c.signal)
		cmd.Wait()
		left, err := os.ReadDir(dir)
		if status := cmd.ProcessState.ExitCode(); status != 128+int(c.signal) || out.String() != c.stdout ||
			!strings.Contains(said.String(), "interrupted") || mounted() || len(left) > 0 || err != nil {
			t.Errorf("%v: status %d, mounted: %v, left: %v, %v\n%s%s", c.args, status, mounted(), left, err, &out, &said)
		}
	}
}
