package condition

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// The list of processes lies where others may put files: what is none of this user's, a pipe at
// which nobody writes, and what is too long keep nobody waiting and are not read.
func TestOthersOfTheList(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("TMPDIR", t.TempDir())
	file, other := filepath.Join(dir, fmt.Sprintf("codegreen-%d.pids", os.Getuid())), filepath.Join(dir, "other")
	line := fmt.Sprintf("%d x\n", os.Getpid())
	listed := func() bool {
		return slices.Contains(Others(), Other{"codegreen", os.Getpid(), "the whole machine"})
	}
	write := func(name string) {
		if err := os.WriteFile(name, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file)
	if !listed() {
		t.Error("a list of this user is not read")
	}
	for what, put := range map[string]func() error{
		"a pipe":      func() error { return unix.Mkfifo(file, 0o600) },
		"a folder":    func() error { return os.Mkdir(file, 0o700) },
		"a link":      func() error { write(other); return os.Symlink(other, file) },
		"a long list": func() error { write(file); return os.Truncate(file, 1<<40) },
	} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if long := what == "a long list"; listed() != long { // whose beginning is read
			t.Errorf("%s: listed is %v", what, !long)
		}
	}
}

// A session whose command line names it, too, is one program, and what it counts is known.
func TestOthersNameAProcessOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("TMPDIR", dir) // the list is read twice
	session := exec.Command("sleep", "60")
	session.Args[0] = "codegreen"
	if err := session.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { session.Process.Kill(); session.Wait() }()
	pid := session.Process.Pid
	list := filepath.Join(dir, fmt.Sprintf("codegreen-%d.pids", os.Getuid()))
	if err := os.WriteFile(list, fmt.Appendf(nil, "%d x\n", pid), 0o600); err != nil {
		t.Fatal(err)
	}
	named := slices.DeleteFunc(Others(), func(o Other) bool { return o.PID != pid })
	if want := (Other{"codegreen", pid, "the whole machine"}); len(named) != 1 || named[0] != want {
		t.Errorf("named: %v, want %v", named, want)
	}
}
