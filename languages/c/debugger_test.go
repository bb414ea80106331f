package c

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"cg/languages"
	"cg/languages/languagetest"
	"cg/pattern"
	"cg/runtimes"
)

// framePattern is a frame of a backtrace in the files of the test: its function with its
// arguments, and where it is. The frames of the C library differ from machine to machine.
var framePattern = pattern.Later(`(?m)^#\d+ +(?:0x[0-9a-f]+ in )?(.*) at (?:.*/)?((?:ends|last|throws)\.\w+:\d+)$`)

var addressPattern = pattern.Later(`0x[0-9a-f]+`)

// backtrace lists the frames of a program that a signal has stopped, the innermost first: none where gdb
// cannot follow it, which is an error of bt, too.
func backtrace(t *testing.T, program string) []string {
	t.Helper()
	return frames(gdb(t, program, "", "run", "bt"))
}

// gdb is what gdb says to some commands, of a program or of its core file.
func gdb(t *testing.T, program, core string, commands ...string) []byte {
	t.Helper()
	args := []string{"-nx", "-batch", "-ex", "set startup-with-shell off", "-ex", "set debuginfod enabled off"}
	for _, c := range commands {
		args = append(args, "-ex", c)
	}
	if args = append(args, program); core != "" {
		args = append(args, core)
	}
	out, err := exec.Command("gdb", args...).CombinedOutput()
	if err != nil {
		t.Logf("gdb: %v\n%s", err, out)
	}
	return out
}

// frames lists those that bt shows.
func frames(out []byte) (frames []string) {
	for _, m := range framePattern().FindAllSubmatch(out, -1) {
		frames = append(frames, addressPattern().ReplaceAllString(string(m[1]), "0x")+" "+string(m[2]))
	}
	return frames
}

// backtraceOfCore is the same of the file that the kernel leaves behind when the signal ends the program. Where the
// kernel gives it to another program, or writes it elsewhere, gdb writes one at the signal.
func backtraceOfCore(t *testing.T, program string) []string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", `ulimit -c unlimited; exec "$0"`, program)
	cmd.Dir = dir
	if err := cmd.Run(); err == nil {
		t.Fatal("no signal ended the program")
	}
	written, err := filepath.Glob(filepath.Join(dir, "core*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(written) == 0 {
		written = []string{filepath.Join(dir, "written-by-gdb")}
		gdb(t, program, "", "run", "generate-core-file "+written[0])
	}
	return frames(gdb(t, program, written[0], "bt"))
}

// A debugger shows the calls of a program that aborts as it does without checkpoints: the
// user's functions, files and lines, and none of cg's. So it does of its core file.
func TestBacktrace(t *testing.T) {
	needCompiler(t, plusPlus)
	if _, err := exec.LookPath("gdb"); err != nil {
		languagetest.Missing(t, "no gdb on PATH")
	}
	writeFiles(t, map[string]string{
		"ends.c": `#include <stdlib.h>
#include "last.h"
#define TWICE(n) middle(n, \
	n)
static int middle(int n, int m)
{
	while (n > 3)
		n--;
	return last(n + m);
}

int main(void)
{
	return TWICE(7);
}
`,
		"last.h": "static int last(int n)\n{\n\tif (n > 3)\n\t\tabort();\n\treturn n;\n}\n",
		"throws.cpp": `#include <stdexcept>
struct Owner {
	~Owner() { for (int i = 0; i < 3; i++) seen++; }
	int seen = 0;
	template <typename T> T fails(T n) { auto f = [this](T k) -> T {
		while (seen < 2) seen++;
		throw std::runtime_error("no");
		return k; };
		return f(n);
	}
};
int main() { Owner o; return o.fails(3); }
`})
	ctx := context.Background()
	for _, c := range []struct {
		d    *dialect
		file string
		want int
	}{{plainC, "ends.c", 3}, {plusPlus, "throws.cpp", 3}} {
		if out, err := exec.Command(c.d.command, "-g", "-O0", c.file, "-o", "plain").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want := backtrace(t, "./plain")
		if len(want) == 0 {
			t.Skip("gdb cannot follow a program here")
		}
		b := prepareTest(t, c.d, runtimes.Cache{Dir: t.TempDir()}, languages.Target{Args: []string{c.file},
			Flags: map[string]string{"build-flags": "-g -O0"}})
		if err := b.compile(ctx, choices{Inline: true}); err != nil {
			t.Fatal(err)
		}
		object, err := runtimes.Object(ctx, b.compilers[b.linker].words, b.setup.Cache, b.setup.Dir)
		if err != nil {
			t.Fatal(err)
		}
		program, said, err := b.link(ctx, object)
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		if got := backtrace(t, program); !slices.Equal(got, want) || len(got) != c.want {
			t.Errorf("%s: %q\nwant %q", c.file, got, want)
		}
		if got := backtraceOfCore(t, program); !slices.Equal(got, want) {
			t.Errorf("%s, its core: %q\nwant %q", c.file, got, want)
		}
	}
}
