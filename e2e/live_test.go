package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// cg measure --live shows a line below the program's output, which is as it was printed, and takes it away before the
// next output and before the report. Where standard error is no terminal there is none.
func TestLive(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "ask.py")
	text := "def ask():\n    input()\n\nprint('one')\nask()\nprint('two')\n"
	if err := os.WriteFile(program, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	command := func() *exec.Cmd {
		cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "measure", "--live", "-g", "fine", program)
		cmd.Env = append(os.Environ(), "CG_SYSROOT="+knownMachine(t), "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir)
		return cmd
	}
	cmd := command()
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 40})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	var all bytes.Buffer
	buf := make([]byte, 4096)
	asked := false
	const line = "\r\x1b[Kcg: Machine "
	for {
		n, err := f.Read(buf)
		all.Write(buf[:n])
		_, after, _ := strings.Cut(all.String(), "one\r\n")
		if !asked && strings.Count(after, line) >= 2 { // it is drawn anew
			asked = true
			f.Write([]byte("\n"))
		}
		if err != nil { // EIO: the other side is closed
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%q", err, all.String())
	}
	// What stands on the screen: what is erased does not.
	var screen strings.Builder
	for _, row := range strings.Split(all.String(), "\n") {
		parts := strings.Split(row, "\r\x1b[K")
		for _, p := range parts[1:] {
			if p = strings.TrimRight(p, "\r"); strings.HasPrefix(p, "cg: ") && len([]rune(p)) > 39 {
				t.Errorf("%d columns: %q", len([]rune(p)), p)
			}
		}
		screen.WriteString(strings.TrimRight(parts[len(parts)-1], "\r") + "\n")
	}
	if got := screen.String(); !strings.HasPrefix(got, "one\n\ntwo\n\n") || strings.Contains(got, "cg: Machine") {
		t.Errorf("%q", got)
	}

	cmd = command()
	cmd.Stdin = strings.NewReader("\n")
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("cg: Machine")) || bytes.Contains(out, []byte("\x1b[K")) {
		t.Errorf("%v: %q", err, out)
	}
}
