package kernels

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// ranges does with NVTX's functions of the library what its argument says. A send that fails tells how many times of
// ranges (kind 8) were in it.
const ranges = `
#include "nvtx.h"
#include <stdio.h>
#include <sys/wait.h>

static int fails; /* the number of the call */

ssize_t send(int fd, const void *b, size_t n, int flags) {
	static int calls;
	int told = 0;
	const char *at = (const char *)b + 8, *end = (const char *)b + n;
	if (++calls != fails)
		return syscall(SYS_sendto, fd, b, n, flags, NULL, 0);
	for (uint32_t head[2]; at < end; at += 8 + head[1]) {
		memcpy(head, at, 8);
		told += head[0] == 8;
	}
	printf("%d", told);
	errno = EAGAIN;
	return -1;
}

int main(int argc, char **argv) {
	char name[10000];
	const char *mode = argv[argc - 1];
	open_socket();
	if (!strcmp(mode, "operations"))
		for (int i = 0; i < 20000; i++) {
			snprintf(name, sizeof name, "aten::add, seq = %d, op_id = %d, sizes = [[2]]", i, i + 1);
			nvtx_push(name);
			nvtx_pop();
		}
	if (!strcmp(mode, "names")) {
		nvtx_push("epoch");
		uint32_t epoch = current(), inner = 0;
		for (int i = 0; i < 20000; i++) {
			snprintf(name, sizeof name, "step %d", i);
			nvtx_push(name);
			inner = current();
			nvtx_push("epoch");
			nvtx_pop();
			nvtx_pop();
		}
		if (inner != epoch || !name_number("kernel", MOST_NAMES))
			return 1;
		nvtx_pop();
	}
	if (!strcmp(mode, "fork")) {
		int status = 1;
		nvtx_push("parent");
		put(6, &lost, sizeof lost, "", 0);
		if (!fork()) {
			open_socket();
			nvtx_push("child");
			nvtx_pop();
			nvtx_pop();
			exit(to < 0 || datagram.pid != (uint32_t)getpid());
		}
		wait(&status);
		nvtx_pop();
		return status != 0;
	}
	if (!strcmp(mode, "unsent")) {
		fails = 2;
		for (int i = 0; i < 5000; i++) {
			snprintf(name, sizeof name, "%0200d", i % 50);
			nvtx_push("around");
			nvtx_push(name);
			nvtx_pop();
			nvtx_pop();
		}
	}
	if (!strcmp(mode, "deep")) {
		memset(name, 'x', 9000);
		name[9000] = 0;
		for (int i = 0; i < 70; i++) {
			name[0] = (char)('0' + i);
			nvtx_push(name);
		}
		for (int i = 0; i < 70; i++)
			nvtx_pop();
	}
	return 0;
}`

// rangesOf runs it, and gives what was told and what it printed.
func rangesOf(t *testing.T, mode string) (*Log, string) {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no cc to build a program with ranges")
	}
	native, err := filepath.Abs("../runtimes/native")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "ranges")
	cc := exec.Command("cc", "-D_GNU_SOURCE", "-pthread", "-x", "c", "-I", native, "-", "-o", binary)
	cc.Stdin = strings.NewReader(ranges)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	g, err := Listen(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.End()
	cmd := exec.Command(binary, mode)
	cmd.Env = append(os.Environ(), g.Env("", "", "")...)
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v", mode, err)
	}
	l := g.End()
	if l.Odd > 0 || l.Lost > 0 {
		t.Errorf("%s: %+v", mode, l)
	}
	return l, string(out)
}

// The numbers that torch writes behind the name of an operation are none of a range's name.
func TestOperations(t *testing.T) {
	l, _ := rangesOf(t, "operations")
	if len(l.Ranges) != 1 || l.Ranges[0].Name != "aten::add, sizes = [[2]]" || l.Ranges[0].Count != 20000 {
		t.Errorf("%d ranges", len(l.Ranges))
	}
}

// Ranges leave names for kernels, and what is in a range without a number is in the one around it.
func TestManyRanges(t *testing.T) {
	l, _ := rangesOf(t, "names")
	if len(l.Ranges) == 0 || len(l.Ranges) > mostRanges {
		t.Errorf("%d ranges", len(l.Ranges))
	}
}

// A child of a fork tells its own ranges, and nothing of its parent's.
func TestRangesOfChild(t *testing.T) {
	l, _ := rangesOf(t, "fork")
	var parent, child *Range
	for _, r := range l.Ranges {
		if r.Name == "child" {
			child = r
		} else {
			parent = r
		}
	}
	if parent == nil || child == nil || len(l.Ranges) != 2 || parent.Count != 2 || child.Count != 1 || child.Around != parent {
		t.Errorf("%+v, %+v", parent, child)
	}
}

// Each time of a range is told once. Those of a datagram that did not come are missing, and no others.
func TestUnsentRanges(t *testing.T) {
	l, out := rangesOf(t, "unsent")
	lost, err := strconv.Atoi(out)
	n := 0
	for _, r := range l.Ranges {
		n += int(r.Count)
	}
	if err != nil || lost == 0 || n != 10000-lost {
		t.Errorf("%d times, %d lost", n, lost)
	}
}

// A range and all those around it are in one datagram, however long their names are.
func TestDeepRanges(t *testing.T) {
	l, _ := rangesOf(t, "deep")
	if len(l.Ranges) != 64 {
		t.Fatalf("%d ranges", len(l.Ranges))
	}
	for _, r := range l.Ranges {
		if len(r.Name) != 255 || r.Count != 1 {
			t.Errorf("%s: %d", r.Name, r.Count)
		}
	}
}
