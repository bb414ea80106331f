package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cg/report/usage"
)

// Two cg monitor and a cg run have one machine of known power at the same time. What they say of
// their programs is no more together than the machine draws, and they name the others.
func TestTwoAtOnce(t *testing.T) {
	dir := knownMachine(t)
	folder := t.TempDir()
	var busy [2]*exec.Cmd
	for i := range busy {
		busy[i] = exec.Command("sh", "-c", "while :; do :; done")
		if err := busy[i].Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { busy[i].Process.Kill(); busy[i].Wait() }()
	}
	measure := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "run", "-n", "1", "-w", "0", "--sysroot", dir, "--json", "--",
		"sh", "-c", "while [ ! -e \"$0\" ]; do sleep 0.05; done", filepath.Join(folder, "end"))
	begun := time.Now()
	if err := measure.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { measure.Process.Kill(); measure.Wait() }()
	// Its sampler is what others know it by.
	for tasks := fmt.Sprintf("/proc/%d/task/*/comm", measure.Process.Pid); !samples(tasks); time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatal("cg run has begun no sampler")
		}
	}
	var monitors [2]*exec.Cmd
	seen := false // one of them is there when the other begins, or when it ends
	for i := range monitors {
		monitors[i] = monitorCommand(t, "--sysroot", dir, "-d", "2", "-i", "0.2", "--pid", strconv.Itoa(busy[i].Process.Pid),
			"-o", filepath.Join(folder, fmt.Sprint(i)))
		if err := monitors[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	sum := 0.0 // of the powers: the times are not quite the same
	for i := range monitors {
		if err := monitors[i].Wait(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(folder, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		var d usage.Document
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatal(err)
		}
		sum += *d.Targets[0].PowerW
		if *d.Targets[0].EnergyJ == 0 || *d.Targets[0].EnergyJ > *d.Totals.EnergyJ {
			t.Errorf("%+v of %v", d.Targets[0], d.Totals.EnergyJ)
		}
		if want := fmt.Sprintf("cg run (pid %d: its program)", measure.Process.Pid); !slices.Contains(d.Others, want) {
			t.Errorf("%q, want %q", d.Others, want)
		}
		seen = seen || slices.Contains(d.Others, fmt.Sprintf("cg monitor (pid %d: all processes)", monitors[1-i].Process.Pid))
	}
	if err := os.WriteFile(filepath.Join(folder, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !seen {
		t.Error("none of the two names the other")
	}
	if err := measure.Wait(); err != nil {
		t.Fatal(err)
	}
	if sum > 23*1.02 {
		t.Errorf("%v W of two programs, and the machine draws 23 W", sum)
	}
}

// samples tells whether one of a process's threads samples.
func samples(tasks string) bool {
	names, _ := filepath.Glob(tasks)
	return slices.ContainsFunc(names, func(name string) bool {
		comm, _ := os.ReadFile(name)
		return strings.TrimSpace(string(comm)) == "cg-sampler"
	})
}
