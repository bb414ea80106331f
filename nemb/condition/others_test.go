package condition

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// found is what is there now, whatever was found before.
func found() []Other {
	s := search{look: look, patience: time.Minute}
	return s.find()
}

// What one look finds is given again for a time that it tells itself; one that hangs keeps nobody waiting for long,
// and is not begun a second time.
func TestLooksForOthers(t *testing.T) {
	looks, one := 0, Other{"cg track", 7, "the whole machine"}
	s := search{patience: time.Minute, look: func(add func(Other)) error {
		looks++
		add(one)
		time.Sleep(time.Millisecond)
		return nil
	}}
	for range 3 {
		s.find()
		s.last.until = time.Now().Add(time.Hour)
	}
	if got := s.find(); looks != 1 || !slices.Equal(got, []Other{one}) {
		t.Errorf("%d looks found %v", looks, got)
	}
	s.last.until = time.Now()
	if s.find(); looks != 2 {
		t.Errorf("%d looks when the first is old", looks)
	}
	if s.look = func(func(Other)) error { return os.ErrPermission }; true {
		s.last.until = time.Now()
	}
	if got := s.find(); got != nil {
		t.Errorf("nobody can look: %v", got)
	}
	stuck := make(chan struct{})
	s = search{look: func(add func(Other)) error { looks++; add(one); <-stuck; return nil }}
	for range 3 {
		s.find()
	}
	for !slices.Equal(s.find(), []Other{one}) {
		time.Sleep(time.Millisecond)
	}
	if looks != 3 {
		t.Errorf("%d looks, want one that hangs", looks-2)
	}
	close(stuck)
	<-s.last.done
}

// The list of processes lies where others may put files: what is none of this user's, a pipe at
// which nobody writes, and what is too long keep nobody waiting and are not read.
func TestOthersOfTheList(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("TMPDIR", t.TempDir())
	file, other := filepath.Join(dir, fmt.Sprintf("codegreen-%d.pids", os.Getuid())), filepath.Join(dir, "other")
	line := fmt.Sprintf("%d x\n", os.Getpid())
	listed := func() bool {
		return slices.Contains(found(), Other{"codegreen", os.Getpid(), "the whole machine"})
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
	named := slices.DeleteFunc(found(), func(o Other) bool { return o.PID != pid })
	if want := (Other{"codegreen", pid, "the whole machine"}); len(named) != 1 || named[0] != want {
		t.Errorf("named: %v, want %v", named, want)
	}
}
