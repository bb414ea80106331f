package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/report"
)

// started is a cg that waits for somebody to kill it.
type started struct {
	*exec.Cmd
	temp string // its TMPDIR
	out  *bufio.Scanner
}

// startCg starts cg in a folder, with a TMPDIR and a cache of its own.
func startCg(t *testing.T, dir string, env []string, args ...string) started {
	t.Helper()
	s := started{Cmd: exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), args...), temp: t.TempDir()}
	s.Dir, s.Env = dir, append(append(os.Environ(), "TMPDIR="+s.temp), env...)
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewScanner(out)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Process.Kill()
		s.Wait()
	})
	return s
}

// line is the next line that cg's program prints.
func (s started) line(t *testing.T) string {
	t.Helper()
	if !s.out.Scan() {
		t.Fatal("it ended without a word")
	}
	return s.out.Text()
}

// list names what a folder holds, but for the given names.
func list(t *testing.T, dir string, but ...string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
each:
	for _, e := range entries {
		for _, b := range but {
			if e.Name() == b {
				continue each
			}
		}
		names = append(names, e.Name())
	}
	return names
}

// appears waits for a file with a line of text: a pid that a program wrote.
func appears(t *testing.T, name string) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(name); err == nil && strings.HasSuffix(string(b), "\n") {
			pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("%s was never written", name)
	return 0
}

// vanishes waits for the end of a process.
func vanishes(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	unix.Kill(pid, unix.SIGKILL)
	t.Errorf("process %d went on", pid)
}

// What a run that was killed leaves behind is removed by the next one.
func TestKilledRunIsTidiedUp(t *testing.T) {
	python(t)
	dir := t.TempDir()
	program := "import os, sys\nprint(os.getpid(), flush=True)\nif len(sys.argv) > 1: sys.stdin.read()\n"
	if err := os.WriteFile(filepath.Join(dir, "waits.py"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cg := startCg(t, dir, nil, "measure", "-o", "k.json", "python", "waits.py", "long")
	pid, err := strconv.Atoi(cg.line(t))
	if err != nil {
		t.Fatal(err)
	}
	cg.Process.Kill()
	cg.Wait()
	unix.Kill(pid, unix.SIGKILL) // the program is the user's: it goes on
	vanishes(t, pid)
	if run, part := list(t, cg.temp), list(t, dir, "waits.py"); len(run) == 0 || len(part) != 1 {
		t.Fatalf("left: %v and %v", run, part)
	}
	next := exec.Command(cg.Path, "measure", "-o", "k.json", "python", "waits.py")
	next.Dir, next.Env = dir, cg.Env
	if out, err := next.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if run, part := list(t, cg.temp), list(t, dir, "waits.py", "k.json"); len(run) != 0 || len(part) != 0 {
		t.Errorf("left: %v and %v", run, part)
	}
}

// A compiler of cg's ends with it.
func TestKilledWhileCompiling(t *testing.T) {
	python(t)
	dir := t.TempDir()
	cc := "#!/bin/sh\necho $$ >" + dir + "/pid.part\nmv " + dir + "/pid.part " + dir + "/pid\nsleep 600\n"
	for name, text := range map[string]string{"slow-cc": cc, "empty.py": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cg := startCg(t, dir, []string{"CC=" + filepath.Join(dir, "slow-cc"), "XDG_CACHE_HOME=" + t.TempDir()}, "measure", "python", "empty.py")
	pid := appears(t, filepath.Join(dir, "pid"))
	cg.Process.Kill()
	vanishes(t, pid)
}

// A gate that was killed leaves no build at work, and the next one forgets its worktrees.
func TestKilledGate(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e@example.org"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "one")
	pidFile := filepath.Join(t.TempDir(), "pid")
	cg := startCg(t, dir, nil, "gate", "--base", "HEAD", "--build", "echo $$ >"+pidFile+"; sleep 600", "--", "true")
	pid := appears(t, pidFile)
	cg.Process.Kill()
	cg.Wait()
	vanishes(t, pid)
	if left := git("worktree", "list"); !strings.Contains(left, cg.temp) {
		t.Fatalf("no worktree was left: %s", left)
	}
	next := exec.Command(cg.Path, "gate", "--base", "HEAD", "--max-pairs", "5", "--", "true")
	next.Dir, next.Env = dir, cg.Env
	out, _ := next.CombinedOutput()
	if left := list(t, cg.temp); len(left) > 0 {
		t.Errorf("left: %v\n%s", left, out)
	}
	if left := git("worktree", "list"); strings.Contains(left, cg.temp) {
		t.Errorf("left: %s\n%s", left, out)
	}
}

// A load of cg's own ends with it.
func TestKilledBenchmark(t *testing.T) {
	cg := startCg(t, t.TempDir(), nil, "benchmark", "--duration", "600", "--threads", "1", "idle")
	children := filepath.Join("/proc", strconv.Itoa(cg.Process.Pid), "task")
	load := 0
	for deadline := time.Now().Add(time.Minute); load == 0 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		tasks, _ := os.ReadDir(children)
		for _, task := range tasks {
			b, _ := os.ReadFile(filepath.Join(children, task.Name(), "children"))
			if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
				load = pid
			}
		}
	}
	if load == 0 {
		t.Fatal("no load was started")
	}
	cg.Process.Kill()
	cg.Wait()
	vanishes(t, load)
}

// A program that goes on after SIGTERM has its report before cg is killed, and how
// it ended where cg is not.
func TestTerminated(t *testing.T) {
	t.Parallel()
	python(t)
	dir := t.TempDir()
	// A signal that comes right before the read is seen after it.
	program := `import select, signal, sys
signal.signal(signal.SIGTERM, lambda *_: print("asked", flush=True))
def busy():
    return sum(i * i for i in range(300000))
busy()
print("ready", flush=True)
while not select.select([sys.stdin], [], [], .05)[0]: pass
sys.exit(7)
`
	if err := os.WriteFile(filepath.Join(dir, "stays.py"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, killed := range []bool{false, true} {
		name := filepath.Join(dir, "k.json")
		os.Remove(name)
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cg := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "measure", "-g", "fine", "-o", name, "python", "stays.py")
		cg.Dir, cg.Stdin = dir, read
		out, err := cg.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		cg.Stderr = &said
		if err := cg.Start(); err != nil {
			t.Fatal(err)
		}
		read.Close()
		lines := bufio.NewScanner(out)
		if !lines.Scan() || lines.Text() != "ready" {
			t.Fatalf("%q", lines.Text())
		}
		cg.Process.Signal(unix.SIGTERM)
		if !lines.Scan() || lines.Text() != "asked" {
			t.Fatalf("%q", lines.Text())
		}
		run := savedSoon(t, name)
		if p := run.Process; !p.Running || p.ExitStatus != 143 || p.ExitCode != nil || p.Signal != nil {
			t.Errorf("%+v", p)
		}
		if !slices.ContainsFunc(run.Warnings, func(w report.Warning) bool { return w.Slug == "cut-short" }) {
			t.Errorf("%+v", run.Warnings)
		}
		if !slices.ContainsFunc(run.Functions, func(f report.Function) bool { return f.Name == "__main__.busy" && f.Calls == 1 }) {
			t.Errorf("%+v", run.Functions)
		}
		if killed {
			cg.Process.Kill()
		}
		write.WriteString("end\n")
		write.Close()
		cg.Wait()
		if killed {
			continue
		}
		run = savedSoon(t, name)
		if p := run.Process; p.Running || p.ExitStatus != 7 || p.ExitCode == nil || *p.ExitCode != 7 || cg.ProcessState.ExitCode() != 7 {
			t.Errorf("%+v, status %d\n%s", p, cg.ProcessState.ExitCode(), said.String())
		}
	}
}

// savedSoon waits for a saved run and checks its sums.
func savedSoon(t *testing.T, name string) *report.Run {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		run, err := report.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if faults := run.Check(); len(faults) > 0 {
			t.Error(faults)
		}
		return run
	}
	t.Fatalf("%s was never saved", name)
	return nil
}
