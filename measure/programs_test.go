package measure

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cg-measure-test-")
	if err != nil {
		panic(err)
	}
	programs = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// programs is where those of testdata are, compiled when they are first needed: that takes longer than a test.
var programs string

// program compiles testdata/NAME.c with the native runtime, with flags, and returns its path.
func program(t testing.TB, name string, flags ...string) string {
	t.Helper()
	path := filepath.Join(programs, name+strings.Join(flags, ""))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	args := append([]string{"-O2", "-Wall", "-Werror", "-pthread", "-I", "../runtimes/native", "-o", path,
		"testdata/" + name + ".c"}, flags...)
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
			t.Skip("no C compiler")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}
