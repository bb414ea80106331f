package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cg/ranks"
)

// covered is what gcov --json-format says of a program.
type covered struct {
	Files []struct {
		Functions []struct {
			Name  string `json:"name"`
			Line  int    `json:"start_line"`
			Count uint64 `json:"execution_count"`
		} `json:"functions"`
		Lines []struct {
			Line  int    `json:"line_number"`
			Count uint64 `json:"count"`
		} `json:"lines"`
		File string `json:"file"`
	} `json:"files"`
}

// countedByGcov gives the calls of functions by the line where they begin, as the compiler's own
// counters have them, and how often each line ran.
func countedByGcov(t *testing.T, compiler, source string) (counts, lines map[int]uint64) {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{compiler, "--coverage", "-w", "-O0", source, "-o", "plain"}, {"./plain"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil && args[0] == compiler {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	notes, err := filepath.Glob(filepath.Join(dir, "*.gcda"))
	if err != nil || len(notes) != 1 {
		t.Fatal(notes, err)
	}
	cmd := exec.Command("gcov", "--json-format", "--stdout", filepath.Base(notes[0]))
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var c covered
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatal(err)
	}
	counts, lines = map[int]uint64{}, map[int]uint64{}
	for _, file := range c.Files {
		if file.File != source {
			continue
		}
		for _, l := range file.Lines {
			lines[l.Line] = l.Count
		}
		for _, f := range file.Functions {
			counts[f.Line] += f.Count
		}
	}
	return counts, lines
}

// countedProgram is a program whose calls gcov counts, too: a recursion, a comparison that the C library
// calls, functions that a macro makes, one through a table.
const countedProgram = `#include <stdio.h>
#include <stdlib.h>
#define STEP(name, with) static int name(int n) { for (int i = 0; i < 2; i++) n = with; return n; }
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int order(const void *a, const void *b)
{
	const int *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}
STEP(half, n / 2)
STEP(more, 3 * n + 1)
int main(void)
{
	static int (*const steps[])(int) = {half, more};
	int all[64], n = 27;
	for (int i = 0; i < 64; i++)
		all[i] = i * 37 % 64;
	qsort(all, 64, sizeof *all, order);
	for (int i = 0; i < 40; i++)
		n = steps[n & 1](n) % 1000;
	printf("%d %d %d\n", fib(17), all[5], n);
	return 0;
}
`

// The calls of each function are those that the compiler's own counters have (gcov(1)).
func TestCallsAreThoseOfGcov(t *testing.T) {
	need(t, "gcov", "apt-get install gcc")
	need(t, "c++", "apt-get install g++")
	own := filepath.Join(t.TempDir(), "counted.c")
	if err := os.WriteFile(own, []byte(countedProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct{ language, compiler, file string }{
		{"c", "cc", own}, {"c", "cc", "testdata/programs/c/cases/returns.c"},
		{"cpp", "c++", "testdata/programs/cpp/cases/exceptions.cpp"},
	} {
		t.Run(filepath.Base(p.file), func(t *testing.T) {
			source, err := filepath.Abs(p.file)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := countedByGcov(t, p.compiler, source)
			r, _, _ := measured(t, p.language, "-g", "fine", "--inline", "--build-flags", "-w", source)
			got := map[int]uint64{}
			for _, f := range r.Functions {
				got[f.Line] += f.Calls
			}
			for line, n := range want {
				if got[line] != n {
					t.Errorf("line %d: %d calls, and gcov counts %d", line, got[line], n)
				}
			}
			if len(want) < 4 || len(got) < 4 {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// linedProgram has a statement in each line. gcov counts an endless loop by its body, and what leaves a loop in a line
// of its own.
const linedProgram = `#include <setjmp.h>
#include <stdio.h>
static jmp_buf back;
static void leave(int n)
{
	if (n > 2)
		longjmp(back, n);
}
static int tried(int n)
{
	int left = setjmp(back);
	if (left)
		return left;
	for (int i = 0; i < n; i++)
		leave(i);
	return 0;
}
static int jumps(int n)
{
again:
	n--;
	if (n % 7 == 3)
		goto again;
	while (n > 0) {
		n -= 3;
		switch (n % 4) {
		case 0:
			n--;
		case 1:
			n -= 2;
			break;
		default:
			if (n % 5)
				n--;
			else
				n -= 4;
		}
		if (n < 10)
			goto out;
	}
out:
	return n;
}
static int cells[64];
static int sorted(void)
{
	int swaps = 0;
	for (int i = 0; i < 64; i++) {
		cells[i] = i * 37 % 64;
	}
	for (int i = 1; i < 64; i++) {
		int k = i;
		while (k > 0 && cells[k - 1] > cells[k]) {
			int held = cells[k];
			cells[k] = cells[k - 1];
			cells[--k] = held;
			swaps++;
		}
	}
	return swaps;
}
int main(void)
{
	int all = 0;
	for (int i = 90; i < 100; i++) {
		all += jumps(i);
	}
	printf("%d %d %d\n", all, tried(9), sorted());
	return 0;
}
`

// Calls come to a line as often as gcov(1) says.
func TestLinesAreThoseOfGcov(t *testing.T) {
	need(t, "gcov", "apt-get install gcc")
	source := filepath.Join(t.TempDir(), "lined.c")
	if err := os.WriteFile(source, []byte(linedProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	_, want := countedByGcov(t, "cc", source)
	for _, flags := range []string{"-O0", "-O2"} {
		r, _, _ := measured(t, "c", "-g", "line", "--inline", "--build-flags", flags, source)
		seen := 0
		for _, f := range r.Functions {
			for _, p := range f.Places {
				if n, is := want[p.Line]; is && p.Kind == "line" {
					if seen++; n != p.Count {
						t.Errorf("%s, line %d: %d, and gcov counts %d: %s", flags, p.Line, p.Count, n, p.Text)
					}
				}
			}
		}
		if seen < 35 {
			t.Errorf("%s: %d lines of %d", flags, seen, len(want))
		}
	}
}

// Functions that the threads of OpenMP call are counted, and the program prints what it prints
// without checkpoints.
func TestOpenMP(t *testing.T) {
	need(t, "cc", "apt-get install gcc")
	source := filepath.Join(t.TempDir(), "threads.c")
	if err := os.WriteFile(source, []byte(`#include <omp.h>
#include <stdio.h>
static long work(int n) { long sum = 0; for (int i = 0; i <= n; i++) sum += i; return sum; }
static long reduced(int n)
{
	long all = 0;
#pragma omp parallel for num_threads(3) reduction(+ : all) schedule(dynamic, 7)
	for (int i = 0; i < n; i++)
		all += work(i);
	return all;
}
int main(void)
{
	int sections = 0;
#pragma omp parallel sections num_threads(2)
	{
#pragma omp section
		work(3);
#pragma omp section
		work(4);
	}
#pragma omp parallel num_threads(4)
#pragma omp single
	for (int i = 0; i < 10; i++) {
#pragma omp task
		{ work(i);
#pragma omp atomic
		sections++; }
	}
	printf("%ld %d\n", reduced(200), sections);
	return 0;
}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"-O0 -fopenmp", "-O2 -fopenmp"} {
		r, _, err := measured(t, "c", "-g", "fine", "--inline", "--build-flags", flags, source)
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range map[string]uint64{"work": 212, "reduced": 1, "main": 1} {
			if got := function(r, name).Calls; got != n {
				t.Errorf("%s: %s has %d calls, want %d", flags, name, got, n)
			}
		}
		if r.Channel.Lost != 0 {
			t.Errorf("%s: %d events are lost", flags, r.Channel.Lost)
		}
	}
}

// A program of MPI is built by the library's own compiler, by both ranks at once.
func TestRanksOfC(t *testing.T) {
	for _, mpi := range []string{ranks.OpenMPI, ranks.MPICH} {
		t.Run(mpi, func(t *testing.T) {
			run, compiler := needed(t, "mpirun."+mpi), needed(t, "mpicc."+mpi)
			c := newCluster(t, 1)
			if err := os.WriteFile(filepath.Join(c.dir, "p.c"), []byte(`#include <mpi.h>
static int mine(int rank) { int n = 0; while (n < 5 + rank) n++; return n; }
int main(int argc, char **argv)
{
	int rank, one, all;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i <= rank; i++) one = mine(rank);
	MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return all != 11;
}
`), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := launch(c.dir, nil, compiler, "-o", "p", "p.c"); err != nil {
				t.Fatalf("%s: %v: %s", compiler, err, out)
			}
			if out, err := launch(c.dir, mpiEnvironment, run, "-n", "2", "./p"); err != nil {
				noMPI(t, mpi, err, out)
			}
			script := c.nodeScript(2, "measure --ranks out -g fine --cc "+compiler+" p.c")
			if out, err := launch(c.dir, mpiEnvironment, run, "-n", "2", script); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			l := c.read("out")
			for _, r := range l.ranks {
				b, err := os.ReadFile(l.folder.RunPath(r))
				if err != nil || !strings.Contains(string(b), `"mine"`) {
					t.Errorf("rank %d: its report has no function mine (%v)", r.Rank, err)
				}
				if got := calls(r, "MPI_Allreduce"); got != 1 {
					t.Errorf("rank %d: %s", r.Rank, fmt.Sprint(r.MPI))
				}
			}
			if len(l.ranks) != 2 {
				t.Errorf("%d ranks, want 2", len(l.ranks))
			}
			c.empty()
		})
	}
}
