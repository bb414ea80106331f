package native

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// parts is a function that GCC makes two parts of, since it does not expect cold paths.
const parts = `
extern void rare(int) __attribute__((cold));
int _PyEval_EvalFrameDefault(int *p, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    if (p[i] == 1) { rare(s); s += p[i + 1] * 3; p[i] = s; }
    else if (p[i] == 2) { rare(s + 1); s ^= p[i + 2]; p[i + 1] = s; }
    else if (p[i] == 3) { rare(s + 2); s -= p[i + 3]; }
    else if (p[i] == 4) { rare(s + 3); s |= p[i + 4]; }
    else s += p[i];
  }
  return s;
}
int after(int n) { return n + 1; }
`

// The part of the loop that is behind all functions is the loop, too, whether its symbol is there or not.
func TestColdPartOfTheLoop(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil || runtime.GOARCH != "amd64" {
		if os.Getenv("CI") == "true" && runtime.GOARCH == "amd64" {
			t.Fatal(err)
		}
		t.Skip("no gcc for x86-64")
	}
	dir := t.TempDir()
	source, whole, stripped := filepath.Join(dir, "parts.c"), filepath.Join(dir, "parts.so"), filepath.Join(dir, "stripped.so")
	if err := os.WriteFile(source, []byte(parts), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"-O2", "-freorder-blocks-and-partition", "-shared", "-fPIC", source, "-o"}
	for _, args := range [][]string{append(flags, whole), append(flags, stripped, "-s")} {
		if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	want := coldOf(t, whole)
	for _, file := range []string{whole, stripped} {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		i := &image{name: file}
		i.read(&limited{f, mostFile})
		found := map[string]int{}
		for _, f := range i.functions {
			found[f.name]++
			if f.name == evalLoop && f.start == want.start && f.end != want.end {
				t.Errorf("%s: a part from %#x to %#x, want %#x", file, f.start, f.end, want.end)
			}
			if f.start <= want.start && f.end > want.start && f.name != evalLoop {
				t.Errorf("%s: the cold part is %s", file, f.name)
			}
		}
		if found[evalLoop] != 2 || found["after"] != 1 {
			t.Errorf("%s: %v", file, found)
		}
	}
}

// coldOf is the loop's cold part by its symbol.
func coldOf(t *testing.T, file string) function {
	t.Helper()
	e, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	all, err := e.Symbols()
	for _, s := range all {
		if s.Name == evalLoop+".cold" {
			return function{start: s.Value, end: s.Value + s.Size}
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("gcc made one part of it: %v", err)
	}
	t.Skip("this gcc makes one part of it")
	return function{}
}
