package attach

import (
	"bufio"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cg/attach/python"
)

// started runs a shell until it prints a line.
func started(t *testing.T, script string) (pid int, in io.Writer, out *bufio.Reader) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that what it starts ends with it
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		to.Close()
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	out = bufio.NewReader(from)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, to, out
}

// cg is no part of a program that started it, nor is what it started.
func TestNotItself(t *testing.T) {
	pid, _, _ := started(t, "echo; read x")
	if all := family(os.Getppid()); slices.Contains(all, os.Getpid()) || slices.Contains(all, pid) {
		t.Errorf("%d has %d, which is cg or its child %d", os.Getppid(), all, pid)
	}
	if !slices.Contains(allChildren(os.Getpid()), pid) {
		t.Errorf("%d is no child", pid)
	}
}

// A thread is no process: which one it is of is told.
func TestThreadIsNoProcess(t *testing.T) {
	tasks := python.Tasks(os.Getpid())
	other := int(tasks[len(tasks)-1])
	if other == os.Getpid() {
		t.Fatalf("Go runs on one thread: %d", tasks)
	}
	if err := Check(other); err == nil || !strings.Contains(err.Error(), "is a thread of process") {
		t.Error(err)
	}
}

// A process that runs another program is told from what it was, be the program's file the same.
func TestIdentity(t *testing.T) {
	pid, in, out := started(t, `echo; read x; exec sh -c 'echo 1234567890; read x'`)
	before := identify(pid)
	if before.start == "" || before != identify(pid) {
		t.Errorf("%+v, then %+v", before, identify(pid))
	}
	io.WriteString(in, "\n")
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	after := identify(pid)
	if after == before || after.start != before.start {
		t.Errorf("%+v before it ran another program, %+v after", before, after)
	}
}

// A number that another process got is not that of the one which had it.
func TestReusedNumbers(t *testing.T) {
	pid, _, _ := started(t, "sleep 1000 & echo; wait")
	s := &Sampler{sites: newSites(), processes: []*process{newProcess(pid)}}
	s.scan()
	if len(s.processes) != 2 {
		t.Fatalf("%d processes", len(s.processes))
	}
	child := s.processes[1]
	child.over = true
	s.scan()
	if len(s.processes) != 2 {
		t.Errorf("one that ended was met %d times", len(s.processes)-1)
	}
	child.over, child.identity.start = false, "1"
	if child.open(0, s.sites) || !child.over {
		t.Error("another process was opened in its place")
	}
	s.scan()
	if len(s.processes) != 3 || s.processes[2].pid != child.pid {
		t.Errorf("%d processes: the new one was not met", len(s.processes))
	}
}

// What cg has no answer to in a process ends the looking at it, and is told.
func TestGuarded(t *testing.T) {
	p, s := newProcess(os.Getpid()), &Sampler{sites: newSites()}
	th := newThread(p.pid, uint32(p.pid), true)
	l := &Look{open: true}
	th.open, p.threads[uint32(p.pid)], s.looks = []*Look{l}, th, []*Look{l}
	p.guarded(s, func() { panic("any") })
	if told := p.told(); told.Why == nil || told.Reader != "" || !p.over || len(p.threads) != 0 {
		t.Errorf("%+v", told)
	}
	if taken := s.Take(math.MaxUint64); l.open || len(taken) != 1 {
		t.Errorf("%+v is open", l)
	}
}

// A thread that cannot be asked does not run.
func TestThreadThatIsNot(t *testing.T) {
	if newThread(os.Getpid(), 1<<30, true).isReady() {
		t.Error("a thread that is not there runs")
	}
}
