package python

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
)

// settle makes the entries of the files below dir that are up to date as if the
// files had been there for a while when they were woven, so that their times
// are trusted.
func settle(t testing.TB, dir string) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(cacheDir, "woven", "*"))
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil || len(b) < 56 {
			continue
		}
		at := 56 + binary.NativeEndian.Uint32(b[44:])
		path := string(b[at : at+binary.NativeEndian.Uint32(b[40:])])
		var st syscall.Stat_t
		if !strings.HasPrefix(path, dir+"/") || syscall.Stat(path, &st) != nil {
			continue
		}
		source, err := os.ReadFile(path)
		rounds := [2]int{1, 3} // SipHash of 3.11 and later
		for _, old := range []string{"-cpython-38", "-cpython-39", "-cpython-310"} {
			if strings.Contains(name, old) {
				rounds = [2]int{2, 4}
			}
		}
		if err != nil || binary.LittleEndian.Uint64(b[24:]) != sipHash(0x6367, source, rounds) {
			continue
		}
		var times []byte
		for _, w := range []uint64{uint64(st.Mtim.Nano()), uint64(st.Ctim.Nano()), uint64(st.Size), st.Ino} {
			times = binary.NativeEndian.AppendUint64(times, w)
		}
		binary.NativeEndian.PutUint64(b[16:], channelDigest(times))
		seal := channelDigest(b[16:])
		if strings.Contains(name, "-pure-") {
			seal = sipHash(0x6367, b[16:], rounds)
		}
		binary.NativeEndian.PutUint64(b[8:], seal)
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// channelDigest is cg_digest of checkpoint/FORMAT.md.
func channelDigest(part []byte) uint64 {
	h := uint64(len(part)) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	for len(part) > 0 {
		var w [8]byte
		part = part[copy(w[:], part):]
		h = (h ^ binary.NativeEndian.Uint64(w[:])) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return h
}

// counted is a run with how often a module was woven or planned, and the sites that were given out.
func counted(t *testing.T, dir, python string, args ...string) (r ran, plans int, sites []checkpoint.Site) {
	t.Helper()
	var n atomic.Int32
	var server *instrument.Server
	r = measured(t, dir, python, args, func(_ *languages.Setup, s *instrument.Server, _ *int) {
		server = s
		plan := s.Planner
		s.Planner = func(source []byte, o instrument.Options) (*instrument.Plan, error) {
			n.Add(1)
			return plan(source, o)
		}
		weave := s.Weaver
		s.Weaver = func(source, code []byte, version string, o instrument.Options) (*instrument.Woven, error) {
			w, err := weave(source, code, version, o)
			if err == nil {
				n.Add(1)
			}
			return w, err
		}
	})
	return r, int(n.Load()), server.Sites()
}

// named counts the sites of a name.
func named(sites []checkpoint.Site, name string) int {
	n := 0
	for _, s := range sites {
		if s.Func == name {
			n++
		}
	}
	return n
}

func entered(r ran, name string) int {
	n := 0
	for _, e := range r.Events {
		if e == "enter "+name {
			n++
		}
	}
	return n
}

// TestCache: a module is woven anew when its text has changed, and only
// then.
func TestCache(t *testing.T) {
	for _, python := range interpreters(t) {
		t.Run(version(python), func(t *testing.T) {
			dir := write(t, map[string]string{
				"main.py": "import mod\nprint(mod.value())\n# " + time.Now().String(), "mod.py": "def value(): return 1\n",
			})
			mod := filepath.Join(dir, "mod.py")
			begin, err := os.Stat(mod)
			if err != nil {
				t.Fatal(err)
			}
			run := func(why, out string, want int) {
				t.Helper()
				r, plans, sites := counted(t, dir, python, "main.py")
				if r.Stdout != out+"\n" || r.Stderr != "" || plans != want || entered(r, "mod.value") != 1 || named(sites, "mod.value") != 1 {
					t.Errorf("%s: %q %q, woven %d times, want %q and %d; events %v", why, r.Stdout, r.Stderr, plans, out, want, r.Events)
				}
			}
			run("new", "1", 2)
			run("again, before its time is trusted", "1", 0)
			settle(t, dir)
			run("trusted", "1", 0)
			// cg, which would say no, is not asked.
			r := measured(t, dir, python, []string{"main.py"}, func(_ *languages.Setup, s *instrument.Server, _ *int) { s.Options.Exclude = []string{"*.py"} })
			if entered(r, "mod.value") != 1 || len(r.Skipped) != 0 {
				t.Errorf("asked for a module in the cache: %v %v", r.Events, r.Skipped)
			}
			// As long, in the same second, with the same time of modification.
			if err := os.WriteFile(mod, []byte("def value(): return 2\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			os.Chtimes(mod, time.Time{}, begin.ModTime())
			run("changed", "2", 1)
			os.WriteFile(mod, []byte("def value(): return 3\n"), 0o644)
			run("changed in the same second", "3", 1)
			os.Chtimes(mod, time.Time{}, time.Now().Add(time.Hour))
			run("touched", "3", 0)
			settle(t, dir)
			os.Chtimes(mod, time.Time{}, begin.ModTime().Add(-time.Hour))
			run("touched after it was trusted", "3", 0)
		})
	}
}

// TestCacheNames: files of one content, and a tree that has another name
// now, are listed under their own names.
func TestCacheNames(t *testing.T) {
	text := "import sys\ndef f(): return f.__code__.co_filename, sys._getframe(0).f_code.co_filename, (lambda: 0).__code__.co_filename\n"
	for _, python := range interpreters(t) {
		t.Run(version(python), func(t *testing.T) {
			dir := write(t, map[string]string{
				"old/main.py": "import a, b, importlib\nprint(a.f(), b.f())\nf = a.f\nimportlib.reload(a)\nprint(f.__code__ == a.f.__code__, hash(f.__code__) == hash(a.f.__code__))\n", "old/a.py": text, "old/b.py": text,
			})
			for _, name := range []string{"old", "new"} {
				if name == "new" {
					if err := os.Rename(filepath.Join(dir, "old"), filepath.Join(dir, "new")); err != nil {
						t.Fatal(err)
					}
				}
				want := plainly(t, filepath.Join(dir, name), python, "main.py")
				for range 2 {
					r, _, sites := counted(t, filepath.Join(dir, name), python, "main.py")
					same(t, want, r)
					for _, module := range []string{"a", "b"} {
						for _, s := range sites {
							if s.Func == module+".f" && s.File != filepath.Join(dir, name, module+".py") {
								t.Errorf("%s: %s is in %s", name, s.Func, s.File)
							}
						}
						if named(sites, module+".f") != 1 || entered(r, module+".f") != 1 {
							t.Errorf("%s: %v", name, r.Events)
						}
					}
					settle(t, dir)
				}
			}
		})
	}
}

// TestNumbers: processes that load the same file, with and without the
// native module, share its numbers, and a program that is killed right after
// it has loaded a file leaves its names.
func TestNumbers(t *testing.T) {
	dir := write(t, map[string]string{
		"main.py": `
import os, subprocess, sys
import mod
mod.f()
pure = dict(os.environ, CG_RUN=os.environ.get("CG_RUN", "") + ".pure")
if "CG_RUN" in os.environ:
    with open(os.environ["CG_RUN"]) as f, open(pure["CG_RUN"], "w") as g:
        g.write("".join("native=\n" if line.startswith("native=") else line for line in f))
for env in os.environ, pure, os.environ, pure:
    subprocess.run([sys.executable, "child.py"], env=env)
at_once = [subprocess.Popen([sys.executable, "child.py"], stdout=subprocess.DEVNULL) for _ in range(6)]
print([p.wait() for p in at_once])
`,
		"child.py": "import mod, late\nmod.f()\nimport os\nif os.fork() == 0:\n    import later\n    later.h()\n    os.kill(os.getpid(), 9)\nprint(os.wait()[1])\n",
		"mod.py":   "def f(): pass\n", "late.py": "def g(): pass\ng()\n", "later.py": "def h(): pass\n",
	})
	for _, python := range interpreters(t) {
		t.Run(version(python), func(t *testing.T) {
			want := plainly(t, dir, python, "main.py")
			for _, mode := range []string{"cold", "warm"} {
				if mode == "warm" {
					settle(t, dir)
				}
				r, plans, sites := counted(t, dir, python, "main.py")
				same(t, want, r)
				if mode == "warm" && plans != 0 {
					t.Errorf("%d modules woven anew", plans)
				}
				for name, calls := range map[string]int{"mod.f": 11, "late.g": 10, "later.h": 10} {
					if n := named(sites, name); n != 1 {
						t.Errorf("%s: %s is %d sites", mode, name, n)
					}
					if n := entered(r, name); n != calls {
						t.Errorf("%s: %s was called %d times, want %d", mode, name, n, calls)
					}
				}
				for _, e := range r.Events {
					if strings.HasSuffix(e, " ") {
						t.Errorf("%s: an event of a site without a name: %q", mode, e)
					}
				}
			}
		})
	}
}
