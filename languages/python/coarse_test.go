package python

import (
	"slices"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
)

// coarse sets what -g coarse sets.
func coarse(s *languages.Setup, server *instrument.Server, _ *int) {
	s.Coarse, s.PlanKey = true, "coarse"
	server.Options.Granularity = instrument.Coarse
}

// TestCoarse: the module that is run and its main, however it is named
// on the command line, and nothing of what it imports.
func TestCoarse(t *testing.T) {
	const program = "import beside\n\n\ndef helper(): pass\n\n\ndef main():\n    helper()\n    beside.main()\n\n\nmain()\n"
	dir := write(t, map[string]string{
		"script.py": program, "beside.py": "def main(): pass\n", "app/__init__.py": "x = 1\n", "app/__main__.py": program, "folder/__main__.py": program,
		"folder/beside.py": "def main(): pass\n",
	})
	want := []string{"enter __main__.<module>", "enter __main__.main", "exit __main__.main", "exit __main__.<module>"}
	for _, python := range interpreters(t) {
		for _, args := range [][]string{{"script.py"}, {"-m", "script"}, {"-m", "app"}, {"folder"}} {
			for _, with := range [][]option{{coarse}, {coarse, pure}} {
				got := measured(t, dir, python, args, with...)
				events := slices.DeleteFunc(got.Events, func(e string) bool { return strings.HasSuffix(e, " cg") })
				if got.Status != 0 || !slices.Equal(events, want) {
					t.Errorf("%s %v: status %d, %v\n%s", version(python), args, got.Status, events, got.Stderr)
				}
			}
		}
	}
}

// TestWorkers: functions of the script are seen in worker processes,
// whichever way multiprocessing starts them.
func TestWorkers(t *testing.T) {
	dir := write(t, map[string]string{"main.py": `
import multiprocessing, sys

def work(x):
    return x * x

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(work, [1, 2, 3]))
        pool.close()
        pool.join()
`})
	for _, python := range interpreters(t) {
		for _, method := range []string{"fork", "spawn", "forkserver"} {
			got := measured(t, dir, python, []string{"main.py", method})
			calls := map[uint32]int{}
			for _, r := range got.Runs {
				for i, kind := range r.Kinds {
					if kind == checkpoint.Enter && r.Names[i] == "__main__.work" {
						calls[r.Thread.PID]++
					}
				}
			}
			total := 0
			for _, n := range calls {
				total += n
			}
			if got.Stdout != "[1, 4, 9]\n" || got.Stderr != "" || total != 3 || len(calls) != 1 || calls[got.Runs[0].Thread.PID] > 0 {
				t.Errorf("%s %s: calls by process %v\n%s%s", version(python), method, calls, got.Stdout, got.Stderr)
			}
		}
	}
}

// TestExecAgain: a program that replaces itself is measured in every
// image of the process.
func TestExecAgain(t *testing.T) {
	dir := write(t, map[string]string{"main.py": `
import os, sys

def work(n):
    return n

def again(n):
    if work(n) < 2:
        os.execv(sys.executable, [sys.executable, sys.argv[0], str(n + 1)])
    return n

print(again(int(sys.argv[1])))
`})
	for _, python := range interpreters(t) {
		for name, with := range map[string][]option{"native": nil, "pure": {pure}} {
			got := measured(t, dir, python, []string{"main.py", "0"}, with...)
			first := 0
			for _, r := range got.Runs {
				if r.First {
					first++
				}
			}
			if got.Stdout != "2\n" || countEvents(got, "enter __main__.work") != 3 || countEvents(got, "exit __main__.again") != 1 || first != 3 {
				t.Errorf("%s %s: %q, %d images, %v", version(python), name, got.Stdout, first, got.Events)
			}
		}
	}
}

// TestReturns: what a return computes is computed inside the function,
// whichever way it leaves. The fixture prints who calls its function value.
func TestReturns(t *testing.T) {
	for _, f := range fixtures(t) {
		if f.name != "returns" {
			continue
		}
		for _, python := range interpreters(t) {
			dir := t.TempDir()
			f.place(t, dir)
			got := measured(t, dir, python, f.args)
			var told, callers, stack []string
			for line := range strings.Lines(got.Stdout) {
				if w := strings.Fields(line); len(w) == 6 && w[0] == "value" {
					told = append(told, w[3])
				}
			}
			for _, e := range got.Events {
				kind, name, _ := strings.Cut(e, " ")
				name = name[strings.LastIndex(name, ".")+1:]
				at := len(stack) - 1
				for at >= 0 && stack[at] != name {
					at--
				}
				switch {
				case kind == "enter":
					if name == "value" {
						callers = append(callers, stack[len(stack)-1])
					}
					stack = append(stack, name)
				case kind == "unwind":
					stack = stack[:at+1]
				default:
					stack = stack[:at]
				}
			}
			if len(told) == 0 || !slices.Equal(callers, told) {
				t.Errorf("%s: events are inside %v, want %v", version(python), callers, told)
			}
		}
	}
}
