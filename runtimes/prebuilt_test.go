package runtimes

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"cg/long"
)

// What the build brought along needs no compiler. That of another source is not taken, and a
// compiler that CC names is asked anyway.
func TestPrebuilt(t *testing.T) {
	sum, err := hash("native")
	if err != nil {
		t.Fatal(err)
	}
	java, err := hash("java")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	t.Setenv("PATH", "")
	t.Cleanup(func() { prebuilt = nil })
	for _, test := range []struct{ name, cc, sum, want string }{
		{"brought along", "", sum, "a library"},
		{"of another source", "", "0123456789abcdef", ""},
		{"a compiler is named", "gcc", sum, ""},
	} {
		prebuilt = fstest.MapFS{"prebuilt/native-" + test.sum + "-" + runtime.GOARCH + "-python.so": {Data: []byte("a library")}}
		t.Setenv("CC", test.cc)
		cache := t.TempDir()
		_, content, err := Library(ctx, "python.c", Cache{Dir: cache}, t.TempDir())
		if string(content) != test.want || (test.want == "") != errors.Is(err, ErrNoCompiler) {
			t.Errorf("%s: %q, %v, want %q", test.name, content, err, test.want)
		}
		if left := entries(t, cache); test.want != "" && len(left) != 1 { // without its source
			t.Errorf("%s: left in the cache: %v", test.name, left)
		}
	}
	prebuilt = fstest.MapFS{"prebuilt/java-" + java + ".jar": {Data: []byte("an archive")}}
	if _, err := Archive(ctx, "/no/javac", Cache{Dir: t.TempDir()}, t.TempDir()); err != nil {
		t.Errorf("the archive of Java was not taken: %v", err)
	}
}

// Prebuild makes what a build then finds, the same bytes each time.
func TestPrebuild(t *testing.T) {
	compiler(t)
	javac, err := exec.LookPath("javac")
	if err != nil || long.Without(t, "the classes of Java") {
		javac = ""
	}
	ctx := context.Background()
	made := make([]fstest.MapFS, long.Rounds(t, 1, 2))
	for i := range made {
		dir := t.TempDir()
		names, err := Prebuild(ctx, dir, runtime.GOARCH, []string{"cc"}, javac)
		if err != nil {
			t.Fatal(err)
		}
		if found := entries(t, dir); len(found) != len(names) {
			t.Errorf("%v are in the folder, and %v were made", found, names)
		}
		made[i] = fstest.MapFS{}
		for _, name := range names {
			content, err := readOwn(dir + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			made[i]["prebuilt/"+name] = &fstest.MapFile{Data: content}
			if i == 1 && string(made[0]["prebuilt/"+name].Data) != string(content) {
				t.Errorf("%s differs from that of another folder", name)
			}
		}
	}
	toolchain, err := goTool()
	if err != nil {
		t.Fatal(err)
	}
	toolchain.Command = "/no/go"
	prebuilt = made[0]
	t.Cleanup(func() { prebuilt = nil })
	t.Setenv("CC", "")
	t.Setenv("PATH", "")
	for _, source := range []string{"python.c", "java.c", "node.c", "c.c", "mpi.c"} {
		_, content, err := Library(ctx, source, Cache{Dir: t.TempDir()}, t.TempDir())
		if err != nil || !strings.HasPrefix(string(content), "\x7fELF") {
			t.Errorf("%s: %d bytes, %v", source, len(content), err)
		}
	}
	cache := Cache{Dir: filepath.Join(t.TempDir(), "new")}
	command, err := GolangCompiler(ctx, GoToolchain{Command: "/no/go", Version: "go1.99"}, cache)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := GolangCompiler(ctx, GoToolchain{Command: "/no/go", Version: "go1.100"}, cache); err != nil || again != command {
		t.Errorf("for another toolchain: %q, %v", again, err)
	}
	if left := entries(t, cache.Dir); len(left) != 1 {
		t.Errorf("left in the cache: %v", left)
	}
	o, err := Golang(ctx, toolchain, cache, t.TempDir())
	if err == nil {
		_, o.Reason, err = o.WithTests(ctx, toolchain, cache, t.TempDir())
	}
	if err != nil || o.Reason != "" {
		t.Errorf("what was tried is tried again: %q, %v", o.Reason, err)
	}
	if out, err := exec.Command(command, t.TempDir(), "/bin/echo", "a", "b").CombinedOutput(); err != nil || string(out) != "a b\n" {
		t.Errorf("%q, %v", out, err)
	}
	if javac == "" {
		t.Skip("no javac, or -short: the archive of Java was not made")
	}
	if _, err := Archive(ctx, "/no/javac", Cache{Dir: t.TempDir()}, t.TempDir()); err != nil {
		t.Error(err)
	}
}
