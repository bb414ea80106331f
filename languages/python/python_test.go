package python

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
	"cg/long"
)

const casesDir = "../../testdata/programs/python/cases"

// fixture is a program whose behaviour checkpoints must not change. Comment
// lines at the top of its script say how it is run:
//
//	# needs 3.12           the lowest Python that takes it
//	# run: -m pkg.tool a   the command line; SCRIPT stands for the script
//	# env: NAME=VALUE
//	# unbalanced: why      frames may be open at the end
//	# not saved: why       the rendered text is not run
//	# not alike: why       the rendered text tells other events
//	# closed late: why     the rendered text tells its events before the last ones
//	# not by line: why     differs with -g line and -g block
//	# not pure: why        differs without the native module
//	# loses: why           without the native module, events may be lost (and counted)
//	# skipped: why         a file of it may run without checkpoints
type fixture struct {
	name       string
	files      map[string]string
	script     string
	args       []string
	env        []string
	needs      int
	unbalanced bool
	notSaved   bool
	notAlike   bool
	closedLate bool
	notPure    bool
	notByLine  bool
	loses      bool
	skipped    bool
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	entries, err := os.ReadDir(casesDir)
	if err != nil {
		t.Fatal(err)
	}
	var all []fixture
	for _, e := range entries {
		f := fixture{name: strings.TrimSuffix(e.Name(), ".py"), files: map[string]string{}, script: "main.py"}
		dir := filepath.Join(casesDir, e.Name())
		if !e.IsDir() {
			f.script, dir = e.Name(), casesDir
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			f.files[e.Name()] = string(text)
		} else {
			filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err == nil && filepath.Ext(path) == ".py" {
					text, _ := os.ReadFile(path)
					rel, _ := filepath.Rel(dir, path)
					f.files[rel] = string(text)
				}
				return err
			})
		}
		f.read()
		all = append(all, f)
	}
	return all
}

// read takes the comment lines at the top.
func (f *fixture) read() {
	f.args = []string{f.script}
	for line := range strings.Lines(f.files[f.script]) {
		text, comment := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !comment {
			break
		}
		key, value, _ := strings.Cut(text, ":")
		value = strings.TrimSpace(value)
		switch {
		case strings.HasPrefix(text, "needs 3."):
			fmt.Sscanf(text, "needs 3.%d", &f.needs)
		case key == "run":
			f.args = strings.Fields(strings.ReplaceAll(value, "SCRIPT", f.script))
		case key == "env":
			f.env = append(f.env, value)
		case key == "unbalanced":
			f.unbalanced = true
		case key == "not alike":
			f.notAlike = true
		case key == "closed late":
			f.closedLate = true
		case key == "not by line":
			f.notByLine = true
		case key == "not pure":
			f.notPure = true
		case key == "loses":
			f.loses = true
		case key == "skipped":
			f.skipped = true
		case key == "not saved":
			f.notSaved = true
		}
	}
}

func minor(python string) int {
	var n int
	fmt.Sscanf(version(python), "3.%d", &n)
	return n
}

// interpreters are the default of this machine, in CI the lowest and the newest, too, or all of them with
// CG_ALL_PYTHONS. With -short a test has the default alone, and those that are about the differences of versions ask for
// the lowest and the newest themselves (bounds).
func interpreters(t testing.TB) []string { return interpretersFrom(t, 0) }

// interpretersFrom are those that are Python 3.needs or later. Where the default is not, the newest takes its place.
func interpretersFrom(t testing.TB, needs int) []string {
	t.Helper()
	more := bounds(t)
	if !long.Runs() && len(more) > 0 {
		more = more[1:]
		if minor(byDefault(t)) >= needs {
			more = nil
		}
	}
	return interpretersAmong(t, needs, more)
}

// interpretersAmong are the default of this machine and more, of Python 3.needs or later, or all with CG_ALL_PYTHONS.
func interpretersAmong(t testing.TB, needs int, more []string) []string {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(pythons(t)), func(python string) bool {
		used := python == byDefault(t) || slices.Contains(more, python) || os.Getenv("CG_ALL_PYTHONS") != ""
		return minor(python) < needs || !used
	})
}

// bounds are, in CI, the lowest and the newest interpreter of this machine.
func bounds(t testing.TB) []string {
	t.Helper()
	if os.Getenv("CI") != "true" {
		return nil
	}
	all := pythons(t)
	return []string{all[0], all[len(all)-1]}
}

// TestInterpreters names the interpreters that the other tests use, and those
// that they leave out (go test -v).
func TestInterpreters(t *testing.T) {
	all := pythons(t)
	some := append(interpreters(t), bounds(t)...)
	if os.Getenv("CI") == "true" && os.Getenv("CG_ALL_PYTHONS") == "" {
		long.Without(t, version(all[0])+" and "+version(all[len(all)-1])+" in tests that are not about versions")
	}
	var used, left []string
	for _, python := range all {
		if slices.Contains(some, python) {
			used = append(used, version(python))
		} else {
			left = append(left, version(python))
		}
	}
	t.Logf("Pythons tested: %s; here and not tested: %s", strings.Join(used, " "), strings.Join(left, " "))
	if !slices.Contains(used, version(byDefault(t))) || len(used)+len(left) != len(pythons(t)) {
		t.Errorf("of %v", pythons(t))
	}
}

// byDefault is the interpreter that "python3" stands for.
func byDefault(t testing.TB) string {
	t.Helper()
	all := pythons(t)
	if i := slices.IndexFunc(all, func(p string) bool { return version(p) == defaultVersion() }); i >= 0 {
		return all[i]
	}
	return all[len(all)/2]
}

var defaultVersion = sync.OnceValue(func() string {
	out, _ := exec.Command("python3", "-c", "import sys; print('3.%d' % sys.version_info[1])").Output()
	return strings.TrimSpace(string(out))
})

// place writes the files of a fixture anew and sets its environment.
func (f *fixture) place(t testing.TB, dir string) {
	t.Helper()
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		os.RemoveAll(filepath.Join(dir, e.Name()))
	}
	for name, text := range f.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// differing are fixtures of what versions of Python do in ways of their own: how code is compiled and how frames are
// suspended, closed and unwound.
var differing = []string{"async_generators", "async_thrown", "code_objects", "comprehensions", "comprehension_thrown", "exceptions", "exec_again",
	"fork", "generator_ends", "generators", "nested_blocks", "threads", "tracebacks"}

// transferring are fixtures in which control goes other ways than by call and return, or threads and processes come and
// go: what a runtime must follow, whichever way it has.
var transferring = []string{"async_generators", "bytecode", "cancelled_blocks", "comprehension_thrown", "coroutines", "customized", "exceptions",
	"exits_nested", "fork", "generator_ends", "generators", "generators_closed_within", "interrupts", "killed", "profilers", "recursion",
	"resumed_elsewhere", "shutdown", "subinterpreters", "subprocesses", "tasks", "threads", "tracing", "uncaught"}

// TestCases runs every fixture as it is and with checkpoints: woven anew, from the cache, without the native module,
// and with events added up. Where it must not take long, each fixture is woven with the default interpreter, in functions
// and in lines (those of bytes, which differ in how a text is read, in functions alone), the lowest and the newest
// interpreter run those that differ, and those that transfer control run with the other runtimes.
func TestCases(t *testing.T) {
	all := []string{"cold", "warm", "added", "pure", "line", "block"}
	short := long.Without(t, "each program again, from the cache, by every runtime and with each interpreter, and lines of texts in odd bytes")
	fixtures := append(fixtures(t), encodings()...)
	for _, name := range slices.Concat(differing, transferring) {
		if !slices.ContainsFunc(fixtures, func(f fixture) bool { return f.name == name }) {
			t.Errorf("there is no fixture %s", name)
		}
	}
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			for _, kv := range f.env {
				name, value, _ := strings.Cut(kv, "=")
				t.Setenv(name, value)
			}
			interpreters := interpretersFrom(t, f.needs)
			if short && slices.Contains(differing, f.name) {
				interpreters = interpretersAmong(t, f.needs, bounds(t))
			}
			for _, python := range interpreters {
				t.Run(version(python), func(t *testing.T) {
					modes := all
					switch {
					case short && (python != byDefault(t) || strings.HasPrefix(f.name, "bytes/")):
						modes = []string{"cold"}
					case short && slices.Contains(transferring, f.name):
						modes = []string{"cold", "added", "pure", "line"}
					case short:
						modes = []string{"cold", "line"}
					}
					f.compare(t, python, modes)
				})
			}
		})
	}
}

func (f *fixture) compare(t *testing.T, python string, modes []string) {
	dir := t.TempDir()
	f.place(t, dir)
	want := plainly(t, dir, python, f.args...)
	var told map[string]turns
	for _, mode := range modes {
		if mode == "pure" && python != byDefault(t) {
			continue
		}
		without := mode == "pure" || purely(python)
		places := mode == "line" || mode == "block"
		if places && (without || f.notByLine) || without && f.notPure || mode == "added" && (without || python != byDefault(t)) {
			continue
		}
		f.place(t, dir)
		var options []option
		if mode == "pure" {
			options = append(options, pure)
		}
		if mode == "warm" {
			settle(t, dir)
		}
		if mode == "added" {
			options = append(options, adding)
		}
		if places {
			options = append(options, placing(instrument.Granularity(mode)))
		}
		got := measured(t, dir, python, f.args, options...)
		ok := t.Run(mode, func(t *testing.T) {
			if got.Pure != without {
				t.Errorf("run without the native module: %v", got.Pure)
			}
			if without {
				got.Stderr = want.Stderr
			}
			same(t, want, got)
			loses := mode == "pure" && f.loses && got.Lost > 0
			if got.Lost > 0 && !loses {
				t.Errorf("%d events lost", got.Lost)
			}
			for _, s := range got.Skipped {
				if !f.skips(s.Reason) {
					t.Errorf("skipped %s: %s", s.File, s.Reason)
				}
			}
			if problems := balance(got, f.unbalanced); len(problems) > 0 && !loses {
				t.Errorf("events do not balance:\n%s", strings.Join(problems, "\n"))
			}
			if without && got.Summing > 0 || mode == "added" && (got.Summing == 0 || len(got.Events) > 0) {
				t.Errorf("%d threads added up, %d events were told", got.Summing, len(got.Events))
			}
			if !without && mode != "added" && got.Lost == 0 && !maps.Equal(got.added, got.single) {
				t.Errorf("added up: %v\ntold: %v", got.added, got.single)
			}
			if mode == "added" && !f.notAlike && !maps.Equal(got.Sums, told) {
				t.Errorf("added up: %v\ntold: %v", got.Sums, told)
			}
		})
		told = got.Sums // also where this mode alone is run again
		if !ok {
			break
		}
	}
}

// balance runs the events of every thread through a stack, as package
// checkpoint defines them, and tells what does not fit.
func balance(r ran, open bool) []string {
	var problems []string
	note := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	stacks := map[checkpoint.Thread][]string{}
	inherited := map[checkpoint.Thread]int{}
	forks := map[checkpoint.Thread]map[checkpoint.Tick][]string{}
	type frame struct {
		pid  uint32
		name string
	}
	suspended := map[frame]int{}
	forked := map[uint32]bool{}
	for _, e := range r.Runs {
		stack := stacks[e.Thread]
		if e.First {
			if len(stack) > inherited[e.Thread] && !open {
				note("%v ended inside %v", e.Thread, stack)
			}
			stack, inherited[e.Thread] = nil, 0
		}
		if e.Forked {
			forked[e.Thread.PID] = true
			stack = slices.Clone(forks[e.Parent][e.ForkTick.Low()])
			inherited[e.Thread] = len(stack)
		}
		for i, kind := range e.Kinds {
			name := e.Names[i]
			at := -1
			for k := len(stack) - 1; k >= 0 && at < 0; k-- {
				if stack[k] == name {
					at = k
				}
			}
			out := frame{e.Thread.PID, name}
			switch kind {
			case checkpoint.Enter:
				stack = append(stack, name)
			case checkpoint.Exit:
				if at >= 0 {
					stack = stack[:at]
				} else if !open {
					note("%v: exit of %s, which does not run: %v", e.Thread, name, stack)
				}
			case checkpoint.Close:
				suspended[out]--
			case checkpoint.Suspend:
				if at < 0 {
					note("%v: suspend of %s, which does not run: %v", e.Thread, name, stack)
					continue
				}
				stack = stack[:at]
				suspended[out]++
			case checkpoint.Resume:
				stack = append(stack, name)
				suspended[out]--
			case checkpoint.Unwind:
				if at >= 0 {
					stack = stack[:at+1]
				} else if !open {
					note("%v: unwind to %s, which does not run: %v", e.Thread, name, stack)
				}
			default:
				if e.Sites[i] != 0 {
					note("%v: kind %v of %s", e.Thread, kind, name)
				}
				if forks[e.Thread] == nil {
					forks[e.Thread] = map[checkpoint.Tick][]string{}
				}
				forks[e.Thread][e.Low[i]] = slices.Clone(stack)
			}
			inherited[e.Thread] = min(inherited[e.Thread], len(stack))
		}
		stacks[e.Thread] = stack
	}
	for thread, stack := range stacks {
		if len(stack) > inherited[thread] && !open {
			note("%v ended inside %v", thread, stack)
		}
	}
	for _, f := range slices.SortedFunc(maps.Keys(suspended), func(a, b frame) int { return strings.Compare(a.name, b.name) }) {
		if suspended[f] < 0 && !forked[f.pid] && (!r.Pure || f.pid == r.Runs[0].Thread.PID) {
			note("%s came back %d times more often than it left", f.name, -suspended[f])
		}
	}
	return problems
}

// encodings are the fixtures whose bytes an editor would not leave alone.
func encodings() []fixture {
	const body = "def f(x):\n    return x + 'é'\n\n\nclass A:\n    def g(self): return [f('1'), (lambda: f('2'))()]\n\n\nprint(ascii(A().g()), ascii('ü'))\nf(1)\n"
	crlf := strings.ReplaceAll(body, "\n", "\r\n")
	var all []fixture
	for name, text := range map[string]string{
		"bom":               "\ufeff" + body,
		"bom and cookie":    "\ufeff# coding: utf-8\n" + body,
		"crlf":              crlf,
		"crlf in a string":  "s = '''a\r\nb'''\r\ndef f():\r\n    return s\r\nprint(ascii(f()))\r\n",
		"lone cr":           strings.ReplaceAll("x = 1\ndef f():\n    return x\nprint(f())\nf(2)\n", "\n", "\r"),
		"mixed newlines":    "x = 1\rdef f():\r\n    return (lambda: x)()\rprint(f())\nf(2)\n",
		"tabs":              "def f(x):\n\tif x:\n\t        return [\n  x]\n\treturn (\tlambda: 0)()\nclass A:\n\tdef g(self):\n\t\treturn f(1)\nprint(f(0), A().g())\nf()\n",
		"form feed":         "\fdef f():\n    \"\"\"doc\"\"\"\n\f\n    return 1\n\f\nclass A:\n \f   x = 2\n    def g(self): return 2\n\fprint(f(), A().g())\nf(3)\n",
		"latin-1":           "# -*- coding: latin-1 -*-\ndef \xe9t\xe9(x): return '\xfc' + (lambda \xe8: \xe8)(x)\nprint(ascii(\xe9t\xe9('\xe4')), '\xe9'.encode('utf-8'))\n\xe9t\xe9(1)\n",
		"cookie in line 2":  "#!/usr/bin/python\n# vim: set fileencoding=iso-8859-15 :\ndef f(): return ascii('\xa4')\nprint(f())\nf(1)\n",
		"shift-jis":         "# coding: shift_jis\ndef f(): return ascii('\x83e\x83X\x83g')\nprint(f())\n",
		"unknown encoding":  "# coding: no-such-thing\nprint(1)\n",
		"not utf-8":         "def f(): return 'caf\xe9'\nprint(f())\n",
		"zero byte":         "def f(): return 1\nprint(f())\x00\n",
		"no final newline":  "def f(): return 1\nprint(f()); (lambda: f(1))()",
		"no newline, block": "def f():\n    return 1\nif f():\n    print(f())\n    def g(): pass",
		"empty":             "",
		"only a comment":    "# nothing\n",
		"only a docstring":  "'''nothing'''",
		"only future":       "from __future__ import annotations",
		"identifiers":       "def ﬁ(ª): return ª\nprint(ﬁ(1), fi(2), fi.__name__)\nclass ℂ:\n    def µ(self): return 'μ', self.__class__.__name__\nprint(ascii(C().μ()) if 'C' in globals() else 0)\n",
		"line separators":   "s = 'a\u2028b\x0bc\x1cd\u0085e'\ndef f(): return len(s)\nprint(f(), ascii(s))\nf(1)\n",
		"backslashes":       "def f(x): \\\n  return x + \\\n    1\nif f(1) and \\\n   f(2): print('a' \\\n 'b')\nf\\\n(\n'')\n",
		"syntax error":      "def f():\n    return 1\nprint(f())\nx = = 2\n",
		"indentation":       "def f():\n    return 1\n  print(f())\n",
		"mixed indentation": "def f():\n\tif 1:\n        return 1\n",
		"return outside":    "def f(): return 1\nprint(f())\nreturn 3\n",
		"open bracket":      "def f():\n    return (1,\nprint(f())\n",
		"open string":       "def f():\n    return '''text\n",
		"late future":       "def f(): return 1\nfrom __future__ import annotations\n",
		"await outside":     "def f(): await x\n",
		"print statement":   "def f(): return 1\nprint f()\n",
		"type comments":     "def f(x):  # type: (int) -> int\n    return x  # type: ignore\nprint(f(1))\n",
		"long line":         "def f(): return [" + strings.Repeat("1, ", 20000) + "]\nprint(len(f()))\n",
		"deep expression":   "def f(): return " + strings.Repeat("(", 60) + "1" + strings.Repeat(")", 60) + "\nprint(f())\n",
		"long expression":   "def f(x): return " + strings.Repeat("x + ", 400) + "x\nprint(f(1))\n",
		"long elif":         "def f(x):\n    if x == 0: return 0\n" + elifs(150) + "print(f(149))\n",
	} {
		all = append(all, fixture{name: "bytes/" + name, files: map[string]string{"main.py": text}, script: "main.py", args: []string{"main.py"}})
	}
	broken := map[string]string{"main.py": "# Python's own error, and the program goes on\ntry:\n    import broken\nexcept SyntaxError as e:\n    print(e)\nimport broken\n", "broken.py": "def f():\n    x = = 1\n"}
	all = append(all, fixture{name: "bytes/module with a syntax error", files: broken, script: "main.py", args: []string{"main.py"}})
	slices.SortFunc(all, func(a, b fixture) int { return strings.Compare(a.name, b.name) })
	return all
}

func elifs(n int) string {
	var b strings.Builder
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "    elif x == %d: return %d\n", i, i)
	}
	return b.String()
}

// skips reports whether a file of the fixture may run without checkpoints.
func (f *fixture) skips(reason string) bool {
	return f.skipped || strings.HasPrefix(f.name, "bytes/")
}
