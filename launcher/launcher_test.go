package launcher

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/tool"
)

func none([]byte) {}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		helper string
		n      int
		want   int
	}{
		{"exit", 0, 0}, {"exit", 1, 1}, {"exit", 3, 3}, {"exit", 255, 255}, {"kill", 9, 137},
	} {
		for _, mode := range []PtyMode{Never, Always} {
			_, r := run(t, Cmd{Args: self(strconv.Itoa(c.n)), Env: env(c.helper), Pty: mode})
			if r.Status != c.want || r.Exited != (c.helper == "exit") || r.Exited && r.Code != c.n || !r.Exited && int(r.Signal) != c.n {
				t.Errorf("%s %d, pty %d: %+v, want status %d", c.helper, c.n, mode, r, c.want)
			}
			if r.User+r.System <= 0 || r.Left != nil || r.OutputErr != nil {
				t.Errorf("%s %d, pty %d: %+v", c.helper, c.n, mode, r)
			}
		}
	}
	if _, r := run(t, Cmd{Args: []string{"/bin/sh", "-c", "kill -SEGV $$"}}); r.Status != 139 {
		t.Errorf("SIGSEGV: %+v", r)
	}
}

func TestNotStarted(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	plain := write("plain", "data", 0o644)
	for _, c := range []struct {
		name, text string
		status     int
	}{
		{"no-such-program", "no-such-program: command not found", 127},
		{dir + "/none", dir + "/none: no such file or directory", 127},
		{"", ": command not found", 127},
		{plain, plain + ": permission denied", 126},
		{dir, dir + ": is a directory", 126},
		{write("elf", "\x7fELF\x00\x00", 0o755), dir + "/elf: exec format error", 126},
		{write("orphan", "#!/no/such/interpreter\n", 0o755), dir + "/orphan: its interpreter was not found", 127},
		{"plain", "plain: permission denied", 126},
	} {
		for _, mode := range []PtyMode{Never, Always} {
			before := len(descriptors())
			_, err := Start(Cmd{Args: []string{c.name}, Env: []string{"PATH=" + dir}, Pty: mode, ResultBlock: none})
			var e *Error
			if !errors.As(err, &e) || e.Status != c.status || err.Error() != c.text {
				t.Errorf("%q: %v; want %q, status %d", c.name, err, c.text, c.status)
			}
			if after := len(descriptors()); after != before {
				t.Errorf("%q: %d descriptors, before %d", c.name, after, before)
			}
		}
	}
	if _, err := Start(Cmd{Args: []string{"true"}, Dir: dir + "/none"}); err == nil {
		t.Error("a missing Dir was accepted")
	}
	out, r := run(t, Cmd{Args: []string{write("script", "echo $0 $1; pwd", 0o755), "x"}, Dir: dir})
	if want := dir + "/script x\n" + dir + "\n"; out != want || r.Status != 0 {
		t.Errorf("a script without #!: %q, want %q", out, want)
	}
}

func TestOutputIsIdentical(t *testing.T) {
	const n = 20 << 20
	want := make([]byte, n)
	for i := range want {
		want[i] = pattern(i)
	}
	for _, block := range []func([]byte){nil, none} {
		out, r := run(t, Cmd{Args: self(strconv.Itoa(n)), Env: env("bytes"), ResultBlock: block})
		if r.Status != 0 || !bytes.Equal([]byte(out), want) {
			t.Errorf("%d bytes, want %d; %+v", len(out), n, r)
		}
	}
}

func TestOrderOfStdoutAndStderr(t *testing.T) {
	out, _ := run(t, Cmd{Args: self(), Env: env("alternate"), ResultBlock: none})
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintln(&want, i)
	}
	if out != want.String() {
		t.Errorf("got %q", out)
	}
}

func TestSameFile(t *testing.T) {
	open := func(flags int) int {
		f, err := os.OpenFile(filepath.Join(t.TempDir(), "x"), flags|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return int(f.Fd())
	}
	again := func(fd int) int {
		f, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		unix.Write(int(f.Fd()), []byte("x"))
		return int(f.Fd())
	}
	a, b := open(os.O_RDWR), open(os.O_RDWR)
	dup, _ := unix.FcntlInt(uintptr(a), unix.F_DUPFD_CLOEXEC, 3)
	defer unix.Close(dup)
	if !sameFile(a, dup) || sameFile(a, b) || sameFile(a, again(a)) || sameFile(a, -1) {
		t.Error(sameFile(a, dup), sameFile(a, b), sameFile(a, again(a)), sameFile(a, -1))
	}
}

func TestBlock(t *testing.T) {
	var got string
	script := "echo a; echo '" + start + "'; echo {}; echo '" + end + "'; echo b"
	for _, c := range []struct {
		mode      PtyMode
		want, nl  string
		wantBlock string
	}{{Never, "a\nb\n", "\n", "{}\n"}, {Always, "a\r\nb\r\n", "\r\n", "{}\r\n"}} {
		out, _ := run(t, Cmd{Args: []string{"sh", "-c", script}, Pty: c.mode, ResultBlock: func(b []byte) { got = string(b) }})
		if out != c.want || got != c.wantBlock {
			t.Errorf("pty %d: out %q, block %q", c.mode, out, got)
		}
	}
}

func TestStdin(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	file.Write(make([]byte, 5<<20))
	file.Seek(1, io.SeekStart)
	closed, _ := os.Open("/dev/null")
	closed.Close()
	for _, mode := range []PtyMode{Never, Always} {
		file.Seek(1, io.SeekStart)
		if out, _ := run(t, Cmd{Args: self(), Env: env("count"), Stdin: file, Pty: mode}); strings.TrimSpace(out) != "5242879 <nil>" {
			t.Errorf("file: %q", out)
		}
		r, w, _ := os.Pipe()
		go func() { w.Write(make([]byte, 3<<20)); w.Close() }()
		if out, _ := run(t, Cmd{Args: self(), Env: env("count"), Stdin: r, Pty: mode}); strings.TrimSpace(out) != "3145728 <nil>" {
			t.Errorf("pipe: %q", out)
		}
		r.Close()
		if out, r := run(t, Cmd{Args: []string{"sh", "-c", "read x"}, Stdin: closed, Pty: mode}); r.Status == 0 {
			t.Errorf("closed: %q %+v", out, r)
		}
	}
}

func TestClosedReader(t *testing.T) {
	for _, mode := range []PtyMode{Never, Always} {
		result := filepath.Join(t.TempDir(), "result")
		cmd := cg(cgCmd{Args: []string{"yes"}, Pty: mode, Blocks: true})
		cmd.Env = append(cmd.Env, "LAUNCHER_RESULT="+result)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		out.Close()
		cmd.Wait()
		text, _ := os.ReadFile(result)
		status := cmd.ProcessState.ExitCode()
		if strings.TrimSpace(line) != "y" || !strings.Contains(string(text), "broken pipe") || mode == Never && status != 128+13 || status == 0 {
			t.Errorf("pty %d: line %q, status %d, result %s", mode, line, status, text)
		}
	}
}

func TestFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here:", err)
	}
	defer full.Close()
	c, err := Start(Cmd{Args: []string{"yes"}, Stdout: full, ResultBlock: none})
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Wait(); !errors.Is(r.OutputErr, syscall.ENOSPC) || r.Signal != unix.SIGPIPE {
		t.Errorf("%+v", r)
	}
}

// signalled runs a program under cg on pipes and returns what it prints.
func signalled(t *testing.T, c cgCmd) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Scanner) {
	t.Helper()
	cmd = cg(c)
	in, _ = cmd.StdinPipe()
	pipe, _ := cmd.StdoutPipe()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, in, bufio.NewScanner(pipe)
}

func TestSignalsAreForwardedOnce(t *testing.T) {
	for _, mode := range []PtyMode{Never, Always} {
		cmd, in, out := signalled(t, cgCmd{Args: self(), Helper: "signals", Pty: mode})
		out.Scan()
		for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT} {
			cmd.Process.Signal(sig)
			out.Scan()
			if want := "got " + unix.SignalName(sig); strings.TrimSpace(out.Text()) != want {
				t.Errorf("pty %d: %q, want %q", mode, out.Text(), want)
			}
		}
		in.Close()
		if out.Scan(); strings.TrimSpace(out.Text()) != "end" {
			t.Errorf("pty %d: %q came a second time", mode, out.Text())
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("pty %d: %v", mode, err)
		}
	}
}

// The tests of signals say the same where who starts them ignores these.
func TestSignalsOfWhoIgnoresThem(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap '' HUP INT QUIT; exec "$0" "$@"`,
		os.Args[0], "-test.run", "^(TestPtySignalsRestore|TestPipesCtrlCBeforeReading)$")
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestIgnoredSignal(t *testing.T) {
	cmd, in, out := signalled(t, cgCmd{Args: []string{"sh", "-c", "trap '' INT; echo ready; read x; exit 6"}})
	out.Scan()
	cmd.Process.Signal(unix.SIGINT)
	in.Close()
	out.Scan()
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 6 {
		t.Error(cmd.ProcessState)
	}
}

func TestInheritance(t *testing.T) {
	const script = "ulimit -Sn; kill -QUIT $$; kill -PIPE $$; ls -1 /proc/self/fd"
	const before = "trap '' QUIT PIPE; ulimit -Sn 100; "
	want, err := exec.Command("sh", "-c", before+"sh -c '"+script+"'").Output() // without us
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []PtyMode{Never, Always} {
		out, err := exec.Command("sh", "-c", before+cgLine(cgCmd{Args: []string{"sh", "-c", script}, Pty: mode, Blocks: true})).Output()
		if got := strings.ReplaceAll(string(out), "\r", ""); err != nil || got != string(want) {
			t.Errorf("pty %d: limit and descriptors %q, want %q; %v", mode, got, want, err)
		}
	}
}

func TestClosedAtStart(t *testing.T) {
	for _, c := range []struct{ redirect, want string }{
		{"", "false false false"},
		{"<&-", "true false false"},
		{">&-", "false true false"},
		{"2>&-", "false false true"},
		{"<&- >&- 2>&-", "true true true"},
		{"<>/dev/null 1<>/dev/null 2<>/dev/null", "false false false"},
	} {
		cmd := exec.Command("sh", "-c", `exec "$0" 3>&1 `+c.redirect, os.Args[0])
		cmd.Env = env("closed")
		if out, err := cmd.Output(); err != nil || string(out) != c.want {
			t.Errorf("%q: %q, want %q; %v", c.redirect, out, c.want, err)
		}
	}
	if Closed(-1) || Closed(3) {
		t.Error(Closed(-1), Closed(3))
	}
}

func TestStopWithoutTerminal(t *testing.T) {
	c, err := Start(Cmd{Args: []string{"sh", "-c", "kill -STOP $$; exit 4"}, Pty: Never, Stdout: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "stopped", func() bool { p, ok := stat(c.PID()); return ok && p.state == 'T' })
	unix.Kill(c.PID(), unix.SIGCONT)
	if r := c.Wait(); r.Status != 4 {
		t.Errorf("%+v", r)
	}
}

func TestTimeoutEndsTheTree(t *testing.T) {
	for _, mode := range []PtyMode{Never, Always} {
		var pids []string
		for timeout := 300 * time.Millisecond; len(pids) != 4 && timeout < 10*time.Second; timeout *= 2 { // a slow machine needs longer to grow the tree
			out, r := run(t, Cmd{Args: self("4"), Env: env("stubborn"), Pty: mode, Timeout: timeout, Grace: 20 * time.Millisecond, ResultBlock: none})
			if r.Status != 124 || !r.TimedOut || r.Left != nil {
				t.Errorf("pty %d: %+v", mode, r)
			}
			pids = strings.Fields(strings.ReplaceAll(out, "pid ", ""))
			for _, text := range pids {
				if pid, _ := strconv.Atoi(text); unix.Kill(pid, 0) != unix.ESRCH {
					t.Errorf("pty %d: %d is alive", mode, pid)
				}
			}
		}
		if len(pids) != 4 {
			t.Errorf("pty %d: tree %v, want 4 processes", mode, pids)
		}
	}
}

func TestTimeoutEndsStopped(t *testing.T) {
	_, r := run(t, Cmd{Args: []string{"sh", "-c", "kill -STOP $$"}, Timeout: 50 * time.Millisecond})
	if r.Status != 124 || r.Signal != unix.SIGTERM {
		t.Errorf("%+v", r)
	}
	if _, r := run(t, Cmd{Args: []string{"sh", "-c", "exit 3"}, Timeout: time.Hour}); r.Status != 3 || r.TimedOut {
		t.Errorf("in time: %+v", r)
	}
}

func TestLeftRunning(t *testing.T) {
	for _, mode := range []PtyMode{Never, Always} {
		pid := filepath.Join(t.TempDir(), "pid")
		out, r := run(t, Cmd{Args: []string{"sh", "-c", "trap '' HUP; sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > " + pid + "; echo done"}, Pty: mode, ResultBlock: none})
		text, _ := os.ReadFile(pid)
		left, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		if r.Status != 0 || strings.TrimSpace(out) != "done" || !slices.Equal(r.Left, []int{left}) {
			t.Errorf("pty %d: %q %+v, want %d left", mode, out, r, left)
		}
		if _, r := run(t, Cmd{Args: []string{"true"}}); r.Left != nil {
			t.Errorf("a later program is blamed for %v", r.Left)
		}
		unix.Kill(left, unix.SIGKILL)
		wait(left)
	}
}

// What cg runs for itself meanwhile is no process of the program, though the kernel makes both cg's children.
func TestToolsAreNotLeft(t *testing.T) {
	dir := t.TempDir()
	end := filepath.Join(dir, "end")
	c, err := Start(Cmd{Args: []string{"sh", "-c", "while [ ! -e " + end + " ]; do sleep 0.01; done"}})
	if err != nil {
		t.Fatal(err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := context.WithCancel(context.Background())
	own := exec.CommandContext(ctx, "/bin/sh", "-c", "echo $$; exec sleep 600")
	own.Stdout = in
	ended := make(chan error, 1)
	go func() { ended <- tool.Run(own) }()
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Error(err)
	}
	in.Close()
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := c.Wait(); r.Status != 0 || r.Left != nil {
		t.Errorf("%+v: the tool is %d", r, own.Process.Pid)
	}
	cancel()
	if err := <-ended; err == nil || strings.Contains(err.Error(), "no child") {
		t.Errorf("its end: %v", err)
	}
	wait(pid) // it fell to this process, which is a subreaper
}

// What a tool has started is none either, also in a session of its own and when the tool has ended: it falls to cg, too.
func TestWhatToolsLeaveIsNotLeft(t *testing.T) {
	dir := t.TempDir()
	end, number := filepath.Join(dir, "end"), filepath.Join(dir, "number")
	c, err := Start(Cmd{Args: []string{"sh", "-c", "while [ ! -e " + end + " ]; do sleep 0.01; done"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := tool.Run(exec.Command("/bin/sh", "-c", `setsid sh -c 'echo $$ >`+number+`.new; mv `+number+`.new `+number+`; exec sleep 600' >/dev/null 2>&1 &
		while [ ! -e `+number+` ]; do sleep 0.01; done`)); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(number)
	pid, wrong := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || wrong != nil {
		t.Fatal(err, wrong)
	}
	t.Cleanup(func() {
		unix.Kill(pid, unix.SIGKILL)
		wait(pid)
	})
	if p, ok := stat(pid); !ok || p.ppid != os.Getpid() || p.pgrp != pid {
		t.Errorf("it did not leave, or fell to another: %+v", p)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := c.Wait(); r.Status != 0 || r.Left != nil {
		t.Errorf("%+v: what the tool left is %d", r, pid)
	}
}

func TestLeftHoldingOutput(t *testing.T) {
	for _, c := range []struct {
		mode PtyMode
		most time.Duration
	}{{Never, 10 * time.Second}, {Always, 10 * time.Second}} {
		out, r := run(t, Cmd{Args: []string{"sh", "-c", "trap '' HUP; sleep 1000 & echo done"}, Pty: c.mode, ResultBlock: none})
		if strings.TrimSpace(out) != "done" || len(r.Left) != 1 {
			t.Fatalf("%q %+v", out, r)
		}
		unix.Kill(r.Left[0], unix.SIGKILL)
		wait(r.Left[0])
	}
}

func TestEndedBeforeOutput(t *testing.T) {
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer w.Close()
	in, tell, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer tell.Close()
	// What stays behind speaks once it is told to, then lets go of the output.
	script := "exec 3<&0; { read x <&3; echo late; exec sleep 1000 >&- 2>&-; } & exit 5"
	c, err := Start(Cmd{Args: []string{"sh", "-c", script}, Pty: Never, Stdin: in, Stdout: w, Stderr: w, ResultBlock: none})
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan Result, 1)
	go func() { waited <- c.Wait() }()
	<-c.Ended()
	user, system := c.Times()
	select {
	case r := <-waited:
		t.Fatalf("Wait was first: %+v", r)
	default:
	}
	tell.WriteString("\n")
	r := <-waited
	w.Close()
	if text, _ := io.ReadAll(out); string(text) != "late\n" {
		t.Errorf("after the end came %q", text)
	}
	if r.Status != 5 || user+system <= 0 || user != r.User || system != r.System {
		t.Errorf("%v %v, %+v", user, system, r)
	}
	if len(r.Left) != 1 {
		t.Fatalf("left %v", r.Left)
	}
	unix.Kill(r.Left[0], unix.SIGKILL)
	wait(r.Left[0])
}

func TestMaxRSS(t *testing.T) {
	measured := func(args ...string) int64 {
		file := filepath.Join(t.TempDir(), "result")
		cmd := cg(cgCmd{Args: args})
		cmd.Env = append(cmd.Env, "LAUNCHER_RESULT="+file)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		var r struct{ MaxRSS int64 }
		text, _ := os.ReadFile(file)
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		return r.MaxRSS
	}
	if got := measured("true"); got != 0 {
		t.Errorf("true: %d, want 0, unknown", got)
	}
	if got := measured("dd", "if=/dev/zero", "of=/dev/null", "bs=300M", "count=1", "status=none"); got < 300<<20 || got > 320<<20 {
		t.Errorf("dd: %d, want 300 MiB", got)
	}
}

func TestPrefork(t *testing.T) {
	tid := 0
	_, r := run(t, Cmd{Args: []string{"true"}, Prefork: func() error { tid = unix.Gettid(); return io.EOF }})
	if tid == 0 || r.Status != 0 {
		t.Errorf("tid %d, %+v", tid, r)
	}
}

// The program is born in the control group that it is given, with and without
// a terminal; what is no control group does not keep it from running, and what
// cannot be executed is reported all the same.
func TestGroup(t *testing.T) {
	group := testGroup(t)
	path := group.Name()
	for _, pty := range []PtyMode{Never, Always} {
		out, r := run(t, Cmd{Args: []string{"cat", "/proc/self/cgroup"}, Pty: pty, Group: group})
		if !strings.Contains(out, "/"+filepath.Base(path)) || r.Status != 0 {
			t.Errorf("%q, %+v", out, r)
		}
		out, r = run(t, Cmd{Args: []string{"sh", "-c", "echo out; exit 3"}, Pty: pty, Group: group})
		if strings.TrimSpace(out) != "out" || r.Status != 3 {
			t.Errorf("%q, %+v", out, r)
		}
		folder, err := os.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		if out, r := run(t, Cmd{Args: []string{"echo", "in"}, Pty: pty, Group: folder}); strings.TrimSpace(out) != "in" || r.Status != 0 {
			t.Errorf("%q, %+v", out, r)
		}
		script := filepath.Join(t.TempDir(), "script")
		os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755)
		if _, err := Start(Cmd{Args: []string{script}, Pty: pty, Group: group}); err == nil {
			t.Error("a program that cannot be executed was started")
		}
	}
}

// testGroup makes a control group.
func testGroup(t testing.TB) *os.File {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	at := ""
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, " - cgroup2 ") {
			at = strings.Fields(line)[4]
		}
	}
	path := filepath.Join(at, "cg-test-"+strconv.Itoa(os.Getpid()))
	if at == "" {
		t.Skip("no cgroup2 is mounted")
	} else if err := os.Mkdir(path, 0o755); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.Remove(path) })
	group, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { group.Close() })
	return group
}

// BenchmarkStart is a program that does nothing, in a control group of its own
// and in ours.
func BenchmarkStart(b *testing.B) {
	for name, group := range map[string]*os.File{"group": testGroup(b), "ours": nil} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				child, err := Start(Cmd{Args: []string{"true"}, Pty: Never, Group: group})
				if err != nil {
					b.Fatal(err)
				}
				child.Wait()
			}
		})
	}
}

func TestParseStat(t *testing.T) {
	const rest = " S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1 2"
	want := process{pid: 12, ppid: 7, pgrp: 8, session: 9, state: 'S', start: 4242}
	for _, name := range []string{"(sh)", "(a) b (c))", "(x\ny)", "()"} {
		if got, ok := parseStat([]byte("12 " + name + rest)); !ok || got != want {
			t.Errorf("%q: %+v %v", name, got, ok)
		}
	}
	for _, bad := range []string{"", "12", "12 (sh", "12 (sh) S 1", ")(", "x (sh)" + rest} {
		if got, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

// A process has no children once the last of them was waited for, and not before.
func TestChildless(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if childless() {
		t.Error("childless while a child runs")
	}
	in.Close()
	until(t, "ended", func() bool { p, ok := stat(cmd.Process.Pid); return ok && !p.alive() })
	if childless() {
		t.Error("childless while a child waits to be collected")
	}
	cmd.Wait()
	for _, p := range processes() {
		if p.ppid == os.Getpid() {
			return // of another test
		}
	}
	if !childless() {
		t.Error("not childless without a child")
	}
}
