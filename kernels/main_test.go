package kernels

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cg/nemb/leaks"
	"cg/runtimes"
)

// cache has cg's libraries for all tests.
var cache runtimes.Cache

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cg-kernels-")
	if err != nil {
		panic(err)
	}
	cache.Dir = dir
	code := leaks.Run(m)
	os.RemoveAll(dir)
	os.Exit(code)
}

// programs are those that tests have built, by their texts.
var programs sync.Map

// build makes a program of a text with cc, and with the libraries of its folder, where these are as other tests with
// this text have them. It returns the program's path.
func build(t testing.TB, dir, text string, args ...string) string {
	t.Helper()
	path := filepath.Join(dir, "program")
	if program, is := programs.Load(text); is {
		if err := os.WriteFile(path, program.([]byte), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cc := exec.Command("cc", append(append([]string{"-x", "c", "-", "-o", path, "-L", dir}, args...), "-ldl")...)
	cc.Stdin = strings.NewReader(text)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	programs.Store(text, program)
	return path
}
