package runtimes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/long"
)

func compiler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no C compiler")
		}
		t.Skip("no C compiler")
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}

func TestEmbeddedFiles(t *testing.T) {
	for _, name := range []string{"python/sitecustomize.py", "python/in-program/start.py", "python/in-program/weave.py", "python/in-program/pure.py", "python/codegreen_runtime.py", "native/channel.h", "native/layout.h", "native/python.c", "native/java.c", "java/cg$/R.java"} {
		if b, err := Files.ReadFile(name); err != nil || len(b) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

// Eight at once unpack into one cache: each gets the whole folder, and nothing
// half done stays.
func TestUnpackAtOnce(t *testing.T) {
	cache, begin := t.TempDir(), time.Now() // so nothing is old enough for a stamp
	var wait sync.WaitGroup
	dirs := make([]string, 8)
	for i := range dirs {
		wait.Go(func() {
			dir, err := unpackAt("python", Cache{Dir: cache}, t.TempDir(), begin)
			if err != nil {
				t.Error(err)
				return
			}
			dirs[i] = dir
			want, _ := Files.ReadFile("python/in-program/weave.py")
			got, err := os.ReadFile(filepath.Join(dir, "in-program", "weave.py"))
			if err != nil || string(got) != string(want) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	wait.Wait()
	for _, d := range dirs {
		if d != dirs[0] {
			t.Errorf("%s and %s", d, dirs[0])
		}
	}
	if names := entries(t, cache); len(names) != 1 {
		t.Errorf("left in the cache: %v", names)
	}
}

func TestUnpackWithoutCache(t *testing.T) {
	scratch := t.TempDir()
	for _, cache := range []string{"", "/proc/nosuch"} {
		dir, err := Unpack("python", Cache{Dir: cache}, scratch)
		if err != nil || !strings.HasPrefix(dir, scratch) {
			t.Errorf("cache %q: %s, %v", cache, dir, err)
		}
	}
	if _, err := Unpack("python", Cache{Dir: "/proc/nosuch"}, "/proc/nosuch"); err == nil {
		t.Error("unpacked to nowhere")
	}
}

func TestLibrary(t *testing.T) {
	compiler(t)
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no compiler named cc")
	}
	bin := t.TempDir()
	text := fmt.Sprintf("#!/bin/sh\necho compiled >>%s/said\nexec %s \"$@\"\n", bin, cc)
	if err := os.WriteFile(filepath.Join(bin, "cc"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cache := t.TempDir()
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			path, _, err := Library(context.Background(), "python.c", Cache{Dir: cache}, t.TempDir())
			if err != nil || filepath.Dir(path) != cache {
				t.Errorf("%s, %v", path, err)
			}
		})
	}
	wait.Wait()
	if said, err := os.ReadFile(filepath.Join(bin, "said")); string(said) != "compiled\n" { // the others waited for it
		t.Errorf("the compiler ran %d times, %v", bytes.Count(said, []byte("\n")), err)
	}
	beside := func(name string) bool { return strings.HasPrefix(name, stampOf("")) || name == "making.lock" }
	if names := slices.DeleteFunc(entries(t, cache), beside); len(names) != 2 { // the library and its source
		t.Errorf("left in the cache: %v", names)
	}
	// With the library there, no compiler is needed.
	t.Setenv("PATH", "")
	if _, _, err := Library(context.Background(), "python.c", Cache{Dir: cache}, t.TempDir()); err != nil {
		t.Error(err)
	}
	scratch := t.TempDir()
	if _, _, err := Library(context.Background(), "python.c", Cache{}, scratch); !errors.Is(err, ErrNoCompiler) {
		t.Errorf("%v, want ErrNoCompiler", err)
	}
}

// Who waits for the cache goes on when it is released, and when its own time is over.
func TestAlone(t *testing.T) {
	c := Cache{Dir: t.TempDir()}
	release := c.alone(context.Background())
	over, cancel := context.WithCancel(context.Background())
	cancel()
	c.alone(over)()
	// A file that is open for writing: NFS makes of flock(2) a lock of fcntl(2), which nothing else can have.
	file, err := os.OpenFile(filepath.Join(c.Dir, "making.lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	try := func() error { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
	if err := try(); err != unix.EWOULDBLOCK {
		t.Errorf("two have the cache at once: %v", err)
	}
	waits := make(chan bool)
	go func() {
		defer close(waits)
		c.alone(context.Background())()
	}()
	release()
	<-waits
	if err := try(); err != nil {
		t.Errorf("nobody has the cache, and it is locked: %v", err)
	}
	Cache{}.alone(context.Background())()
	if _, err := os.Lstat("making.lock"); err == nil {
		t.Error("without a cache the lock is in the current folder")
	}
}

func TestPrune(t *testing.T) {
	cache := t.TempDir()
	now := time.Now()
	old := now.Add(-40 * 24 * time.Hour)
	for name, at := range map[string]time.Time{"woven/old": old, "woven/new": now, "python-0123/sitecustomize.py": now, "native-1.so": old, "pythons.json": old, "stamp-python-0123": old} {
		path := filepath.Join(cache, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	Prune(Cache{Dir: cache}, now)
	if got := entries(t, cache); !slices.Equal(got, []string{"pruned", "python-0123", "pythons.json", "woven"}) {
		t.Error(got)
	}
	if got := entries(t, filepath.Join(cache, "woven")); !slices.Equal(got, []string{"new"}) {
		t.Error(got)
	}
	later := now.Add(41 * 24 * time.Hour)
	os.Chtimes(filepath.Join(cache, "pruned"), later, later)
	Prune(Cache{Dir: cache}, later) // not twice a day
	if got := entries(t, filepath.Join(cache, "woven")); len(got) != 1 {
		t.Error(got)
	}
	Prune(Cache{}, now)
}

func TestTrim(t *testing.T) {
	cache := Cache{Dir: t.TempDir()}
	for i, name := range []string{"newest", "older", "oldest"} {
		if err := cache.Write(name, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-time.Duration(i) * time.Hour)
		os.Chtimes(filepath.Join(cache.Dir, name), at, at)
	}
	if err := os.Mkdir(filepath.Join(cache.Dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		most int64
		want []string
	}{
		{300, []string{"folder", "newest", "older", "oldest"}},
		{299, []string{"folder", "newest", "older"}},
		{199, []string{"folder", "newest"}},
		{0, []string{"folder"}},
	} {
		cache.Trim(c.most)
		if got := entries(t, cache.Dir); !slices.Equal(got, c.want) {
			t.Errorf("at most %d: %v, want %v", c.most, got, c.want)
		}
	}
	Cache{}.Trim(0)
}

func TestBrokenCompiler(t *testing.T) {
	compiler(t)
	t.Setenv("CC", "false")
	_, _, err := Library(context.Background(), "python.c", Cache{Dir: t.TempDir()}, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "compiling the native runtime with false") {
		t.Error(err)
	}
}

// The native sources compile without a warning, with both compilers where both
// are there.
func TestNativeSourcesAreClean(t *testing.T) {
	compiler(t)
	for _, cc := range []string{"cc", "clang"} {
		if _, err := exec.LookPath(cc); err != nil || cc == "clang" && long.Without(t, "the same by clang") {
			continue
		}
		for _, source := range []string{"native/python.c", "native/java.c", "native/node.c"} {
			out, err := exec.Command(cc, "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared", "-o", filepath.Join(t.TempDir(), "x.so"), source).CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", cc, err, out)
			}
		}
	}
}

// Each header of the native runtime compiles alone: it includes what it uses.
// None includes, by others, itself: the order of the layers is the order of the
// includes.
func TestNativeHeadersIncludeDownwards(t *testing.T) {
	compiler(t)
	headers, err := filepath.Glob("native/*.h")
	if err != nil || len(headers) < 5 {
		t.Fatalf("%v: %v", headers, err)
	}
	includes := map[string][]string{}
	for _, header := range headers {
		b, err := os.ReadFile(header)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^#include "(.*)"`).FindAllStringSubmatch(string(b), -1) {
			includes[filepath.Base(header)] = append(includes[filepath.Base(header)], m[1])
		}
		// What a header offers is not all used by itself.
		out, err := exec.Command("cc", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-variable",
			"-Wno-unused-const-variable", "-fsyntax-only", "-x", "c", header).CombinedOutput()
		if err != nil {
			t.Errorf("%s alone: %v\n%s", header, err, out)
		}
	}
	var visit func(name string, above []string)
	visit = func(name string, above []string) {
		if slices.Contains(above, name) {
			t.Errorf("includes in a circle: %s", strings.Join(append(above, name), " > "))
			return
		}
		for _, below := range includes[name] {
			visit(below, append(slices.Clone(above), name))
		}
	}
	for _, header := range headers {
		visit(filepath.Base(header), nil)
	}
}
