package condition

import (
	"fmt"
	"os"
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
