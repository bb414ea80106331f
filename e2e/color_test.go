package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// onTerminal is what a command of cg writes where all its streams are a terminal.
func onTerminal(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), args...)
	cmd.Dir = dir
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !slices.Contains([]string{"NO_COLOR", "TERM"}, name) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	stuck := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	seen := ""
	for b := make([]byte, 4096); ; {
		n, err := terminal.Read(b)
		seen += string(b[:n])
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("cg %v: %v\n%s", args, err, seen)
	}
	return seen
}

// no-color.org: NO_COLOR, if it is not empty, turns colours off, whatever it says. So does a
// terminal that has none.
func TestNoColor(t *testing.T) {
	painted := regexp.MustCompile("\x1b\\[[0-9;]*m")
	folders, err := filepath.Glob("testdata/saved/*")
	if err != nil || len(folders) == 0 {
		t.Fatal("no saved files", err)
	}
	saved, err := filepath.Abs(folders[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "works.sh"), []byte("exit 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"report", filepath.Join(saved, "run.json")}, {"report", filepath.Join(saved, "gate.json")},
		{"report", filepath.Join(saved, "comparison.json")}, {"report", filepath.Join(saved, "cluster.json")},
		{"run", "-n", "2", "--", "sh", "works.sh"},
	} {
		for _, test := range []struct {
			env     []string
			colours bool
		}{
			{[]string{"TERM=xterm-256color"}, true},
			{[]string{"TERM=xterm-256color", "NO_COLOR="}, true},
			{[]string{"TERM=xterm-256color", "NO_COLOR=1"}, false},
			{[]string{"TERM=xterm-256color", "NO_COLOR=0"}, false},
			{[]string{"TERM=dumb"}, false},
		} {
			if out := onTerminal(t, dir, test.env, args...); painted.MatchString(out) != test.colours {
				t.Errorf("cg %v with %v: colours %v, want %v:\n%q", args, test.env, !test.colours, test.colours, out)
			}
		}
	}
}
