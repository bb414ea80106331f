package python

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
)

// texts are programs for "python -c". Each ends in a way of its own.
var texts = map[string]string{
	"end":         "import sys\ndef f(x): return x * 2\nprint(f(2), sys.argv, __name__, '__file__' in globals(), sys._getframe().f_back)",
	"one line":    "print((lambda: 3)())",
	"exit":        "import sys\ndef f(): sys.exit(3)\nf()",
	"exit none":   "def f(): raise SystemExit\nf()",
	"exit text":   "import sys\nsys.exit('so')",
	"uncaught":    "def f():\n    return 1 / 0\ntry:\n    f()\nexcept ZeroDivisionError:\n    raise KeyError('later')",
	"interrupted": "import os, signal, sys\ndef f():\n    signal.signal(signal.SIGINT, signal.default_int_handler)\n    os.kill(os.getpid(), signal.SIGINT)\n    while True: pass\ntry:\n    f()\nfinally:\n    print('left', flush=True)",
	"warning":     "def f(): return 1 is 1\nprint(f())",
	"error":       "def f(): return 1\nprint(f())\nx = = 1",
	"at exit":     "import atexit\ndef f(): print('bye', '__file__' in globals())\natexit.register(f)\n__file__ = 'kept'\nprint('here')",
	"threads":     "import threading\ndef f(): print(threading.current_thread() is threading.main_thread())\nt = threading.Thread(target=f)\nt.start()",
	"await":       "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 4\nprint(asyncio.run(f()))",
	"trace":       "import sys\nlines = []\ndef t(frame, event, arg):\n    lines.append((event, frame.f_lineno))\n    return t\ndef f(x):\n    y = x\n    return y\nsys.settrace(t)\nf(1)\nsys.settrace(None)\nprint(lines)",
	"audit":       "import sys\nseen = []\nsys.addaudithook(lambda name, args: seen.append(name) if name == 'exec' else None)\nexec('x = 1')\ndef f(): return seen\nprint(f())",
	"cookie":      "# coding: latin-1\ndef f(): return 'é'\nprint(ascii(f()))",
	"not text":    "def f(): return '\xff'\nprint(ascii(f()))",
	"beyond":      "def f(x):\n    return [\n x, (lambda: x\n)()]\nprint(f(2))",
	"compiled":    "def f(): return 5\nexec(compile('print(f())', '<string>', 'exec'))\nexec('def g(): return 6')\nprint(g())",
}

// TestText runs programs that stand on the command line.
func TestText(t *testing.T) {
	for _, python := range interpreters(t) {
		for i, name := range slices.Sorted(maps.Keys(texts)) {
			for mode, options := range map[string][]option{"native": nil, "pure": {pure}} {
				if mode == "pure" && (python != byDefault(t) || name == "end" || name == "trace" || name == "interrupted") {
					continue // without the native module a frame of cg's is below the program's
				}
				if name == "trace" && minor(python) < 10 || name == "cookie" && minor(python) < 10 {
					continue // more line events before 3.10; 3.8 and 3.9 take the cookie and have no text without it
				}
				t.Run(version(python)+"/"+name+"/"+mode, func(t *testing.T) {
					text := texts[name]
					args := [][]string{{"-c", text, "a", "-b"}, {"-Bc" + text}, {"-W", "error::DeprecationWarning", "-X", "dev", "-c", text}}[i%3]
					dir := t.TempDir()
					want := plainly(t, dir, python, args...)
					got := measured(t, dir, python, args, options...)
					if mode == "pure" {
						got.Stderr = want.Stderr
					}
					same(t, want, got)
					if problems := balance(got, false); len(problems) > 0 {
						t.Errorf("events do not balance:\n%s", strings.Join(problems, "\n"))
					}
					if n := countEvents(got, "enter __main__.<module>"); n != 1 && name != "error" && name != "not text" {
						t.Errorf("the module was entered %d times; skipped: %v", n, got.Skipped)
					}
				})
			}
		}
	}
}

// TestArchive runs an archive with a __main__ and modules in it.
func TestArchive(t *testing.T) {
	for _, python := range interpreters(t) {
		dir := write(t, map[string]string{
			"app/__main__.py":      "import sys\nfrom shop import stock\ndef main():\n    print(stock.count(3), __name__, __file__ == sys.argv[0] + '/__main__.py', stock.__file__[-8:])\nmain()\nstock.fail()\n",
			"app/shop/__init__.py": "",
			"app/shop/stock.py":    "import inspect\ndef count(n):\n    \"\"\"doc\"\"\"\n    return sum(i for i in range(n)), inspect.getsource(count)\r\ndef fail():\n    raise ValueError(1)\n",
		})
		if out, err := exec.Command(python, "-m", "zipapp", filepath.Join(dir, "app"), "-o", filepath.Join(dir, "app.pyz")).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		// One for the shell begins with a line that names the interpreter.
		if out, err := exec.Command(python, "-m", "zipapp", filepath.Join(dir, "app"), "-p", "/usr/bin/env python3", "-o",
			filepath.Join(dir, "shell.pyz")).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for mode, options := range map[string][]option{"native": nil, "pure": {pure}} {
			shell := measured(t, dir, python, []string{"shell.pyz", "x"}, options...)
			if len(shell.Skipped) > 0 || countEvents(shell, "exit __main__.main") != 1 {
				t.Errorf("%s %s: skipped %v, events %v", version(python), mode, shell.Skipped, shell.Events)
			}
			want := plainly(t, dir, python, "app.pyz", "x")
			got := measured(t, dir, python, []string{"app.pyz", "x"}, options...)
			same(t, want, got)
			for _, event := range []string{"enter __main__.<module>", "exit __main__.main", "exit shop.stock.fail", "enter shop.<module>"} {
				if countEvents(got, event) != 1 {
					t.Errorf("%s %s: %d of %q in %v", version(python), mode, countEvents(got, event), event, got.Events)
				}
			}
		}
	}
}

// tested is a suite with each kind of outcome.
const tested = `
import unittest

def work(n):
    return sum(i for i in range(n))

class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.x = 1
    def test_one(self): self.assertEqual(self.x, work(2))
    def test_two(self):
        for i in range(3):
            with self.subTest(i=i): self.assertLess(work(i), 1)
    @unittest.skip("not now")
    def test_skipped(self): pass
    @unittest.expectedFailure
    def test_fails(self): self.fail()
    def test_error(self): raise KeyError(1)

if __name__ == "__main__":
    unittest.main()
`

// spans lists the tasks of a run in the order in which they began.
func spans(r ran) []string {
	var names []string
	for _, e := range r.Runs {
		for i, name := range e.Names {
			if e.Kinds[i] == checkpoint.Enter && slices.Contains(r.Tasks, e.Sites[i]) {
				names = append(names, name)
			}
		}
	}
	return names
}

var unsteady = regexp.MustCompile(`in [0-9.]+ ?s|0x[0-9a-f]+`)

// timeless replaces what a test runner says of times and addresses.
func timeless(r ran) ran {
	r.Stdout, r.Stderr = unsteady.ReplaceAllString(r.Stdout, "..."), unsteady.ReplaceAllString(r.Stderr, "...")
	return r
}

// TestUnittest has a task for each test, with the granularity of either.
func TestUnittest(t *testing.T) {
	dir := write(t, map[string]string{"test_shop.py": tested})
	want := []string{"test_error", "test_fails", "test_one", "test_skipped", "test_two"}
	for _, python := range interpreters(t) {
		for module, args := range map[string][]string{"__main__": {"test_shop.py", "-v"}, "test_shop": {"-m", "unittest", "-v", "test_shop"}} {
			for mode, options := range map[string][]option{"native": nil, "pure": {pure}, "coarse": {coarsely}} {
				plain := timeless(plainly(t, dir, python, args...))
				got := timeless(measured(t, dir, python, args, options...))
				same(t, plain, got)
				var names []string
				for _, w := range want {
					names = append(names, module+".Case."+w)
				}
				found := spans(got)
				if python != "" && minor(python) >= 12 && !slices.Contains(found, module+".Case.test_skipped") {
					names = slices.DeleteFunc(names, func(n string) bool { return strings.HasSuffix(n, "skipped") })
				}
				if !slices.Equal(found, names) {
					t.Errorf("%s %s %s: tasks %v, want %v", version(python), module, mode, found, names)
				}
				if problems := balance(got, false); len(problems) > 0 {
					t.Errorf("events do not balance:\n%s", strings.Join(problems, "\n"))
				}
			}
		}
	}
}

// withPytest finds an interpreter that has pytest. CI must have one.
func withPytest(t *testing.T) string {
	t.Helper()
	pythons(t)
	for _, python := range append(slices.Clone(installed), "/usr/bin/python3") {
		if exec.Command(python, "-c", "import pytest").Run() == nil {
			return python
		}
	}
	if os.Getenv("CI") == "true" && os.Getenv("CG_PYTHONS") == "" {
		t.Fatal("no Python here has pytest")
	}
	t.Skip("no Python here has pytest: apt-get install python3-pytest")
	return ""
}

// TestPytest has a task for each test, rewrites assertions as pytest does, and
// leaves pytest's cache of rewritten modules without a checkpoint.
func TestPytest(t *testing.T) {
	python := withPytest(t)
	files := map[string]string{
		"conftest.py": "import pytest\n@pytest.fixture\ndef five():\n    yield 5\n",
		"test_shop.py": `
import pytest, unittest

def work(n):
    return sum(i for i in range(n))

@pytest.mark.parametrize("n", [1, 3])
def test_work(n, five):
    assert work(n) < five

class TestPlain:
    def test_says_why(self):
        """doc"""
        value = [work(3), 4]
        assert value == [3, 5], (lambda: "why")()

class TestCase(unittest.TestCase):
    def test_case(self):
        self.assertEqual(work(5), 10)

@pytest.fixture
def broken():
    raise OSError("no")

def test_broken(broken):
    pass

def test_raises():
    with pytest.raises(ZeroDivisionError) as e:
        1 / 0
    assert "division" in str(e.value)

@pytest.mark.skip
def test_skipped():
    assert False
`}
	want := []string{"test_shop.py::test_work[1]", "test_shop.py::test_work[3]", "test_shop.py::TestPlain::test_says_why",
		"test_shop.py::TestCase::test_case", "test_shop.py::test_broken", "test_shop.py::test_raises", "test_shop.py::test_skipped"}
	t.Setenv("PYTHONDONTWRITEBYTECODE", "")
	for mode, options := range map[string][]option{"native": nil, "pure": {pure}, "coarse": {coarsely}} {
		t.Run(mode, func(t *testing.T) {
			dir := write(t, files)
			args := []string{"-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider"}
			plain := timeless(plainly(t, dir, python, args...))
			cached, _ := filepath.Glob(filepath.Join(dir, "__pycache__", "*-pytest-*.pyc"))
			for _, round := range []string{"cold", "warm"} {
				if round == "cold" {
					os.RemoveAll(filepath.Join(dir, "__pycache__"))
				}
				got := timeless(measured(t, dir, python, args, options...))
				same(t, plain, got)
				if found := spans(got); !slices.Equal(found, want) {
					t.Errorf("%s: tasks %v, want %v", round, found, want)
				}
				calls := map[string]int{"enter test_shop.work": 4, "exit test_shop.test_work": 2, "enter test_shop.TestPlain.test_says_why": 1, "enter conftest.five": 2}
				for event, n := range calls {
					if mode != "coarse" && countEvents(got, event) != n {
						t.Errorf("%s: %d of %q, want %d", round, countEvents(got, event), event, n)
					}
				}
				if len(got.Skipped) > 0 {
					t.Errorf("skipped: %v", got.Skipped)
				}
				if problems := balance(got, false); len(problems) > 0 {
					t.Errorf("events do not balance:\n%s", strings.Join(problems, "\n"))
				}
			}
			again, _ := filepath.Glob(filepath.Join(dir, "__pycache__", "*-pytest-*.pyc"))
			if len(cached) == 0 || !slices.Equal(again, cached) {
				t.Errorf("pytest cached %v, plainly %v", again, cached)
			}
			for _, name := range again {
				if b, err := os.ReadFile(name); err != nil || strings.Contains(string(b), "cg-checkpoint") {
					t.Errorf("%s holds checkpoints, or cannot be read: %v", name, err)
				}
			}
			same(t, plain, timeless(plainly(t, dir, python, args...)))
		})
	}
}

func coarsely(s *languages.Setup, server *instrument.Server, _ *int) {
	s.Coarse, s.PlanKey = true, "coarse"
	server.Options.Granularity = instrument.Coarse
}

// TestFlags splits command lines as the interpreter does.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want commandLine
		err  string
	}{
		{"a.py b -m", commandLine{path: "a.py", args: []string{"b", "-m"}}, ""},
		{"-m pkg x", commandLine{module: "pkg", args: []string{"x"}}, ""},
		{"-mpkg -c", commandLine{module: "pkg", args: []string{"-c"}}, ""},
		{"-Bm pkg", commandLine{module: "pkg", args: []string{}}, ""},
		{"-c pass -", commandLine{text: "pass", isText: true, args: []string{"-"}}, ""},
		{"-OOucpass", commandLine{text: "pass", isText: true, args: []string{}}, ""},
		{"-O -W error -Xdev - a", commandLine{flags: []string{"-O", "-W", "-Xdev"}, path: "-", args: []string{"a"}}, ""},
		{"-bWerror a.py", commandLine{flags: []string{"-bWerror"}, path: "a.py", args: []string{}}, ""},
		{"--check-hash-based-pycs never a.py", commandLine{flags: []string{"--check-hash-based-pycs"}, path: "a.py", args: []string{}}, ""},
		{"-sE -I a.py", commandLine{flags: []string{"-sE", "-I"}, path: "a.py", args: []string{}, without: "-E"}, ""},
		{"", commandLine{}, "nothing to run"},
		{"-O", commandLine{}, "nothing to run"},
		{"-m", commandLine{}, "-m needs the name of a module"},
		{"-c", commandLine{}, "-c needs a program text"},
		{"-x a.py", commandLine{}, "leave out -x"},
		{"-V", commandLine{}, "not a flag that cg passes"},
		{"--help", commandLine{}, "not a flag that cg passes"},
	} {
		got, err := splitArgs(languages.Target{Args: strings.Fields(c.args)})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want %q", c.args, err, c.err)
			}
			continue
		}
		if err != nil || fmt.Sprintf("%v", got) != fmt.Sprintf("%v", c.want) {
			t.Errorf("%q: %v (%v), want %v", c.args, got, err, c.want)
		}
	}
}

// TestForScript finds a language by a script's first line.
func TestForScript(t *testing.T) {
	dir := write(t, map[string]string{
		"direct": "#!/opt/python3.9\nx\n", "env": "#!/usr/bin/env -S python3 -u\n", "pypy": "#! /usr/bin/pypy3",
		"shell": "#!/bin/sh\n", "none": "print(1)\n", "empty": "", "pythonic": "#!/usr/bin/pythonic\n",
	})
	for name, want := range map[string]string{"direct": "/opt/python3.9", "env": "python3", "pypy": "/usr/bin/pypy3", "shell": "", "none": "", "empty": "", "pythonic": "", "absent": ""} {
		l, path, interpreter := languages.ForScript(filepath.Join(dir, name))
		if (l != nil) != (want != "") || interpreter != want || want != "" && path != filepath.Join(dir, name) {
			t.Errorf("%s: %v %q %q, want %q", name, l, path, interpreter, want)
		}
	}
	os.Chmod(filepath.Join(dir, "direct"), 0o755)
	t.Setenv("PATH", dir)
	if l, path, _ := languages.ForScript("direct"); l == nil || path != filepath.Join(dir, "direct") {
		b, _ := json.Marshal(path)
		t.Errorf("not found on the PATH: %s", b)
	}
}
