package launcher

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// finished waits for cg's end and checks its status and that the terminal is as it was.
func (s *screen) finished(cmd *exec.Cmd, status int) {
	s.t.Helper()
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != status {
		s.t.Errorf("status %d, want %d; screen %q", got, status, s.text())
	}
	if now := s.now(); now != s.modes {
		s.t.Errorf("terminal modes %+v, before %+v", now, s.modes)
	}
}

func TestPtyOnTerminal(t *testing.T) {
	s := newScreen(t)
	cmd := cg(cgCmd{Args: self(), Helper: "signals", Blocks: true})
	s.start(cmd)
	s.expect("ready tty true true true size 33x77\r\n")
	if now := s.now(); now.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 {
		t.Error("the terminal is not raw")
	}
	pty.Setsize(s.master, &pty.Winsize{Rows: 40, Cols: 100})
	s.expect("winch 40x100\r\n")
	s.typed("hello\r")
	s.expect("hello\r\nread hello\r\n")
	s.typed("\x03")
	s.expect("^Cgot SIGINT\r\n")
	s.typed("q\r")
	s.expect("q\r\nend\r\n") // and no second SIGINT before it
	s.finished(cmd, 0)
}

func TestPtyPassesEscapes(t *testing.T) {
	s := newScreen(t)
	cmd := cg(cgCmd{Args: []string{"printf", `\033[31mred\033[0m\000\377\tx\n`}, Blocks: true})
	s.start(cmd)
	s.expect("\x1b[31mred\x1b[0m\x00\xff\tx\r\n")
	s.finished(cmd, 0)
}

func TestPtyStreamsElsewhere(t *testing.T) {
	s := newScreen(t)
	in, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := cg(cgCmd{Args: []string{"sh", "-c", "test -t 0 || echo file; test -t 1 && echo tty; echo err >&2; read x < /dev/tty; echo got $x"}})
	cmd.Stdin, cmd.Stderr = in, file
	s.start(cmd)
	s.expect("file\r\ntty\r\n")
	s.typed("key\r")
	s.expect("key\r\ngot key\r\n")
	s.finished(cmd, 0)
	if text, _ := os.ReadFile(file.Name()); string(text) != "err\n" {
		t.Errorf("stderr %q", text)
	}
}

func TestPtySignalsRestore(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGHUP} {
		s := newScreen(t)
		cmd := cg(cgCmd{Args: []string{"sh", "-c", "echo ready; exec sleep 1000"}})
		s.start(cmd)
		s.expect("ready\r\n")
		cmd.Process.Signal(sig)
		s.finished(cmd, 128+int(sig))
	}
}

func TestPtyCrashRestores(t *testing.T) {
	s := newScreen(t)
	cmd := cg(cgCmd{Args: []string{"sh", "-c", "echo ready; read x; echo '" + start + "'; echo '" + end + "'; exec sleep 1000"}, Blocks: true, Panic: true})
	s.start(cmd)
	s.expect("ready")
	orphans := below(cmd.Process.Pid)
	s.typed("\r")
	cmd.Wait()
	if cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("cg did not panic: %v", cmd.ProcessState)
	}
	until(t, "terminal restored", func() bool { return s.now() == s.modes })
	ended(t, orphans)
}

func TestPtyKilledRestores(t *testing.T) {
	s := newScreen(t)
	cmd := cg(cgCmd{Args: []string{"sh", "-c", "echo ready; exec sleep 1000"}})
	s.start(cmd)
	s.expect("ready")
	orphans := below(cmd.Process.Pid)
	cmd.Process.Kill()
	cmd.Wait()
	until(t, "terminal restored", func() bool { return s.now() == s.modes })
	ended(t, orphans)
}

// below returns the descendants of pid.
func below(pid int) (found []int) {
	for _, p := range processes() {
		if p.ppid == pid {
			found = append(append(found, p.pid), below(p.pid)...)
		}
	}
	return found
}

// ended waits until none of them runs. Where the tests are the subreaper, they fell to us.
func ended(t *testing.T, pids []int) {
	t.Helper()
	if len(pids) != 2 {
		t.Errorf("%d processes under cg, want the keeper and the program", len(pids))
	}
	for _, pid := range pids {
		until(t, fmt.Sprint(pid, " ended"), func() bool {
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
			p, ok := stat(pid)
			return !ok || !p.alive()
		})
	}
}

// onShell starts an interactive shell with job control on a screen.
func onShell(t *testing.T) *screen {
	t.Helper()
	s := newScreen(t)
	sh := exec.Command("/bin/sh", "-i")
	sh.Env = append(os.Environ(), "PS1=$ ", "ENV=", "HISTFILE=")
	s.start(sh)
	s.expect("$ ")
	return s
}

func TestPtyCtrlZ(t *testing.T) {
	s := onShell(t)
	s.typed(cgLine(cgCmd{Args: []string{"sh", "-c", "echo re''ady; read x; echo got $x; exit 5"}}) + "\n")
	s.expect("\nready\r\n")
	for range 2 {
		s.typed("\x1a")
		s.expect("Stopped")
		s.expect("$ ")
		s.typed("echo alive $((1+1))\n")
		s.expect("alive 2\r\n")
		s.expect("$ ")
		s.typed("stty -a | grep -c ' icanon.*'\n")
		s.expect("\n1\r\n")
		s.expect("$ ")
		s.typed("fg\n")
		until(t, "raw", func() bool { return s.now().Lflag&unix.ICANON == 0 })
	}
	s.typed("word\r")
	s.expect("got word\r\n")
	s.expect("$ ")
	s.typed("echo status $?\n")
	s.expect("status 5\r\n")
	s.typed("exit\n")
}

func TestPtyInBackground(t *testing.T) {
	s := onShell(t)
	s.typed(cgLine(cgCmd{Args: []string{"sh", "-c", "echo re''ady; read x; echo got $x; exit 5"}}) + " &\n")
	s.expect("$ ready\r")
	s.typed("echo alive $((1+1))\n") // the shell has the terminal
	s.expect("alive 2\r\n")
	s.expect("$ ")
	s.typed("fg\n")
	until(t, "raw", func() bool { return s.now().Lflag&unix.ICANON == 0 })
	s.typed("word\r")
	s.expect("got word\r\n")
	s.expect("$ ")
	s.typed("exit\n")
}

func TestPipesOnTerminal(t *testing.T) {
	s := onShell(t)
	s.typed(cgLine(cgCmd{Args: self(), Helper: "signals", Pty: Never}) + " | cat\n")
	s.expect("ready tty true false true")
	s.typed("one\n") // the program is in the background: it reads once cg has lent it the terminal
	s.expect("read one\r\n")
	s.typed("\x03")
	s.expect("got SIGINT\r\n")
	s.typed("\x1a")
	s.expect("Stopped")
	s.expect("$ ")
	s.typed("echo alive $((1+1))\n")
	s.expect("alive 2\r\n")
	s.expect("$ ")
	s.typed("fg\n")
	s.expect("got SIGCONT\r\n")
	s.typed("q\n")
	s.expect("q\r\nend\r\n")
	s.expect("$ ")
	s.typed("echo alive $((1+1))\n")
	s.expect("alive 2\r\n")
	s.typed("exit\n")
}

func TestPipesCtrlCBeforeReading(t *testing.T) {
	s := newScreen(t)
	stop := t.TempDir() + "/stop"
	cmd := cg(cgCmd{Args: []string{"sh", "-c", "trap 'echo int' INT; echo ready; while :; do sleep 0.01; test -e $0 && echo end && exit 0; done", stop}, Pty: Never})
	s.start(cmd)
	s.expect("ready\r\n")
	s.typed("\x03")
	s.expect("int\r\n")
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.expect("end")
	s.finished(cmd, 0)
	if n := strings.Count(s.text(), "int\r\n"); n != 1 {
		t.Errorf("%d SIGINT, want 1: %q", n, s.text())
	}
}
