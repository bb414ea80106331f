package c

import (
	"context"
	"os/exec"
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
func backtrace(t *testing.T, program string) (frames []string) {
	t.Helper()
	out, err := exec.Command("gdb", "-nx", "-batch", "-ex", "set startup-with-shell off", "-ex", "set debuginfod enabled off",
		"-ex", "run", "-ex", "bt", program).CombinedOutput()
	if err != nil {
		t.Logf("gdb: %v\n%s", err, out)
	}
	for _, m := range framePattern().FindAllSubmatch(out, -1) {
		frames = append(frames, addressPattern().ReplaceAllString(string(m[1]), "0x")+" "+string(m[2]))
	}
	return frames
}

// A debugger shows the calls of a program that aborts as it does without checkpoints: the
// user's functions, files and lines, and none of cg's.
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
		if err := b.compile(ctx, true); err != nil {
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
	}
}
