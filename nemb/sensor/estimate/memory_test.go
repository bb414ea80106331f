package estimate

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/processor"
)

// A child and its child that hold 64 MiB each are charged for both, by time.
func TestMemory(t *testing.T) {
	model := []nemb.Sensor{newEstimator(processor.CPU{Processors: 1})}
	m, ok := NewMemory(model)
	if !ok {
		t.Fatal("the kernel does not tell the children of a process")
	}
	if _, ok := NewMemory([]nemb.Sensor{m}); ok {
		t.Error("memory is modelled beside counters")
	}
	if d := m.Domains()[0]; d.ID != "memory" || d.Parent != "machine" || d.Method != nemb.Estimated || !d.Program || d.InTotal {
		t.Errorf("%+v", d)
	}
	var e [1]nemb.Energy
	for range 2 {
		time.Sleep(time.Millisecond)
		if err := m.Read(e[:]); err != nil || e[0] != 0 {
			t.Errorf("%d uJ before there is a program, %v", e[0], err)
		}
	}
	const hold = "x=$(head -c 67108864 /dev/zero | tr '\\0' a); "
	cmd := exec.Command("bash", "-c", hold+"echo ready >&2; ("+hold+"echo ready >&2; read y) ; :")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	for text := ""; strings.Count(text, "ready") < 2; {
		b := make([]byte, 64)
		n, err := out.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b[:n])
	}
	m.Watch(cmd.Process.Pid)
	if err := m.Read(e[:]); err != nil {
		t.Fatal(err)
	}
	from, begin := e[0], checkpoint.Monotime()
	time.Sleep(20 * time.Millisecond)
	if err := m.Read(e[:]); err != nil {
		t.Fatal(err)
	}
	seconds := float64(checkpoint.Monotime()-begin) * 1e-9
	gigabytes := (e[0] - from).Joules() / seconds / memoryWatts
	if gigabytes < 2*0.067 || gigabytes > 0.6 { // and what bash itself takes
		t.Errorf("%.3f GB", gigabytes)
	}
	if got := descendants(cmd.Process.Pid); len(got) != 2 {
		t.Errorf("%d processes", len(got))
	}
	m.Close()
	if err := m.Read(e[:]); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}

func TestParseStatm(t *testing.T) {
	for text, want := range map[string][3]int64{
		"1000 300 100 1 0 200 0\n": {300, 100, 1}, "5 0 0": {0, 0, 1},
		"": {}, "1 2": {}, "1 2 3": {2, 3, 0}, "1 x 3": {}, "1 5 -3": {5, -3, 0}, "1 5 y": {5, 0, 0},
	} {
		r, s, ok := parseStatm([]byte(text))
		if r != want[0] || s != want[1] || ok != (want[2] == 1) {
			t.Errorf("%q: %d, %d, %v", text, r, s, ok)
		}
	}
	if own, err := os.ReadFile("/proc/self/statm"); err != nil {
		t.Error(err)
	} else if r, s, ok := parseStatm(own); !ok || r < s || s <= 0 {
		t.Errorf("%s", own)
	}
}
