package runtimes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stranger is a user who owns nothing.
const stranger = 54321

// asStranger runs a test of this binary as another user; only root can. The
// test finds the folder that it is to look at in the environment.
func asStranger(t *testing.T, name, folder string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+name+"$", "-test.v")
	cmd.Env = []string{"CG_TEST_STRANGER=" + folder, "PATH=" + os.Getenv("PATH")}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// made is a folder with this mode, whatever the umask.
func made(t testing.TB, mode os.FileMode, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.Chmod(dir, mode))
	return dir
}

// reachable lets other users come to a folder of the test.
func reachable(t testing.TB, dir string) string {
	t.Helper()
	for at := dir; at != "/" && at != filepath.Clean(os.TempDir()); at = filepath.Dir(at) {
		must(t, os.Chmod(at, 0o755))
	}
	return dir
}

// TestOpenCache: a cache is used where no other user can put a folder in its
// place, or something in it.
func TestOpenCache(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, top string) string
		want string // of the refusal
		root bool   // only root can make it
	}{
		{"new", func(t *testing.T, top string) string { return filepath.Join(top, "a/b/cg") }, "", false},
		{"own", func(t *testing.T, top string) string { return made(t, 0o755, top, "cg") }, "", false},
		{"for all to write", func(t *testing.T, top string) string {
			return made(t, 0o777, top, "cg")
		}, "cg can be written by others (mode 0777)", false},
		{"for the group to write", func(t *testing.T, top string) string {
			return made(t, 0o770, top, "cg")
		}, "cg can be written by others (mode 0770)", false},
		{"sticky", func(t *testing.T, top string) string {
			return made(t, 0o777|fs.ModeSticky, top, "cg")
		}, "cg can be written by others", false},
		{"in a shared folder", func(t *testing.T, top string) string {
			return filepath.Join(made(t, 0o777, top, "all"), "cg")
		}, "all can be written by others (mode 0777)", false},
		{"in a sticky folder", func(t *testing.T, top string) string {
			return filepath.Join(made(t, 0o777|fs.ModeSticky, top, "all"), "cg")
		}, "", false},
		{"link", func(t *testing.T, top string) string {
			must(t, os.Symlink(made(t, 0o700, top, "far"), filepath.Join(top, "cg")))
			return filepath.Join(top, "cg")
		}, "", false},
		{"link to a shared folder", func(t *testing.T, top string) string {
			must(t, os.Symlink(filepath.Join(made(t, 0o777, top, "all"), "cg"), filepath.Join(top, "cg")))
			return filepath.Join(top, "cg")
		}, "all can be written by others", false},
		{"of another user", func(t *testing.T, top string) string {
			must(t, os.Chown(made(t, 0o700, top, "cg"), stranger, stranger))
			return filepath.Join(top, "cg")
		}, "cg belongs to user 54321", true},
		{"below another user's", func(t *testing.T, top string) string {
			made(t, 0o700, top, "home/.cache/cg")
			must(t, os.Chown(filepath.Join(top, "home"), stranger, stranger))
			return filepath.Join(top, "home/.cache/cg")
		}, "home belongs to user 54321", true},
		{"a link of another user's", func(t *testing.T, top string) string {
			name := filepath.Join(made(t, 0o777|fs.ModeSticky, top, "all"), "cg")
			must(t, os.Symlink(made(t, 0o700, top, "far"), name))
			must(t, os.Lchown(name, stranger, stranger))
			return name
		}, "all/cg belongs to user 54321", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				t.Skip("only root can give files to another user")
			}
			dir := c.make(t, t.TempDir())
			cache, err := OpenCache(dir)
			var r *Refusal
			switch {
			case c.want == "":
				if err == nil {
					err = cache.Write("sub/file", []byte("x"))
				}
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &r) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n"):
				t.Errorf("%v, want %q", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); c.want != "" && len(left) > 0 {
				t.Errorf("written into what is refused: %v", left)
			}
		})
	}
	if _, err := OpenCache("relative"); err == nil {
		t.Error("a relative path is opened")
	}
}

// TestOpenCacheOfRoot: an ordinary user does not use the cache of root, and one
// of their own beside it.
func TestOpenCacheOfRoot(t *testing.T) {
	top := os.Getenv("CG_TEST_STRANGER")
	if top == "" {
		if os.Geteuid() != 0 {
			t.Skip("only root can become another user")
		}
		top = reachable(t, t.TempDir())
		made(t, 0o777|fs.ModeSticky, top)
		made(t, 0o755, top, "roots")
		asStranger(t, "TestOpenCacheOfRoot", top)
		return
	}
	if os.Geteuid() != stranger {
		t.Fatal("still ", os.Geteuid())
	}
	_, err := OpenCache(filepath.Join(top, "roots"))
	if err == nil || !strings.Contains(err.Error(), "roots belongs to user 0") {
		t.Error(err)
	}
	cache, err := OpenCache(filepath.Join(top, "mine"))
	if err == nil {
		err = cache.Write("a/b", nil)
	}
	if err != nil {
		t.Error(err)
	}
}

// spoil are the ways in which something in a cache is not to be trusted.
var spoil = map[string]func(t *testing.T, path string){
	"for all to write":       func(t *testing.T, path string) { must(t, os.Chmod(path, 0o666|0o111)) },
	"for the group to write": func(t *testing.T, path string) { must(t, os.Chmod(path, 0o620|0o111)) },
	"of another user": func(t *testing.T, path string) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give files to another user")
		}
		must(t, os.Lchown(path, stranger, stranger))
	},
	"a link": func(t *testing.T, path string) {
		must(t, os.Rename(path, path+".away"))
		must(t, os.Symlink(path+".away", path))
	},
}

// TestCacheEntries: what is not ours, or not as it was, is not read; it is made
// anew, and this is reported once.
func TestCacheEntries(t *testing.T) {
	type entry struct {
		fill func(c Cache) (path string, err error) // and again
		get  func(c Cache) (content string, ok bool)
	}
	file := entry{
		func(c Cache) (string, error) {
			return filepath.Join(c.Dir, "sub/file"), c.Write("sub/file", []byte("good"))
		},
		func(c Cache) (string, bool) { b, err := c.Read("sub/file"); return string(b), err == nil },
	}
	for name, e := range map[string]entry{
		"file": file,
		"folder": {
			func(c Cache) (string, error) { return filepath.Join(c.Dir, "sub"), c.Write("sub/file", []byte("good")) },
			file.get,
		},
		"kept": {
			func(c Cache) (string, error) { return c.Keep("key", ".so", []byte("good"), 0o600) },
			func(c Cache) (string, bool) {
				path, content, ok := c.Find("key", ".so")
				if on, _ := os.ReadFile(path); ok && string(on) != string(content) {
					return "other than what is there", true
				}
				return string(content), ok
			},
		},
		"tree": {
			func(c Cache) (string, error) { return c.KeepTree("key", tree) },
			inTree,
		},
		"file of a tree": {
			func(c Cache) (string, error) {
				path, err := c.KeepTree("key", tree)
				return filepath.Join(path, "a/b.class"), err
			},
			inTree,
		},
		"folder of a tree": {
			func(c Cache) (string, error) {
				path, err := c.KeepTree("key", tree)
				return filepath.Join(path, "a"), err
			},
			inTree,
		},
	} {
		ways := map[string]func(t *testing.T, path string){}
		for way, f := range spoil {
			ways[way] = f
		}
		if name == "kept" || name == "file of a tree" {
			ways["other content"] = func(t *testing.T, path string) {
				f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
				must(t, err)
				_, err = f.WriteString("bad")
				must(t, errors.Join(err, f.Close()))
			}
		}
		if strings.HasSuffix(name, "tree") {
			ways["one file more"] = func(t *testing.T, path string) {
				if name == "file of a tree" {
					path = filepath.Dir(path)
				}
				must(t, os.WriteFile(filepath.Join(path, "c.class"), []byte("bad"), 0o600))
			}
		}
		for way, spoil := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				cache, err := OpenCache(filepath.Join(t.TempDir(), "cg"))
				must(t, err)
				path, err := e.fill(cache)
				must(t, err)
				if got, ok := e.get(cache); !ok || got != "good" {
					t.Fatalf("%q, %v", got, ok)
				}
				spoil(t, path)
				again, err := OpenCache(cache.Dir)
				must(t, err)
				if got, ok := e.get(again); ok {
					t.Errorf("read %q", got)
				}
				told := again.Refused()
				if len(told) != 1 || !strings.HasPrefix(told[0], cache.Dir) || strings.Contains(told[0], "\n") {
					t.Errorf("told %q", told)
				}
				_, err = e.fill(again)
				must(t, err)
				if got, ok := e.get(again); !ok || got != "good" || len(again.Refused()) != 1 {
					t.Errorf("made anew: %q, %v, %q", got, ok, again.Refused())
				}
			})
		}
	}
}

func tree(folder string) error {
	if err := os.Mkdir(filepath.Join(folder, "a"), 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "a", "b.class"), []byte("good"), 0o666)
}

func inTree(c Cache) (string, bool) {
	path, ok := c.FindTree("key")
	b, _ := os.ReadFile(filepath.Join(path, "a/b.class"))
	if entries, _ := filepath.Glob(filepath.Join(path, "*/*")); ok && len(entries) != 1 {
		return fmt.Sprint(entries), true
	}
	return string(b), ok
}

// TestCacheWithAnyUmask: what cg writes is its own, whatever umask it runs with.
func TestCacheWithAnyUmask(t *testing.T) {
	dir, scratch := t.TempDir(), t.TempDir()
	defer syscall.Umask(syscall.Umask(0))
	cache, err := OpenCache(filepath.Join(dir, "cg"))
	must(t, err)
	_, err = cache.Keep("k", "", nil, 0o700)
	must(t, errors.Join(err, cache.Write("a/b", nil)))
	_, err = cache.KeepTree("t", tree)
	must(t, err)
	_, err = Unpack("python", cache, scratch)
	must(t, err)
	must(t, filepath.WalkDir(cache.Dir, func(path string, d fs.DirEntry, err error) error {
		if info, _ := d.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, info.Mode())
		}
		return err
	}))
}

// TestCacheAtOnce: many that write the same leave one whole file or folder.
func TestCacheAtOnce(t *testing.T) {
	cache, err := OpenCache(filepath.Join(t.TempDir(), "cg"))
	must(t, err)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				_, err := cache.Keep("k", ".so", []byte("good"), 0o600)
				path, treeErr := cache.KeepTree("t", tree)
				if _, ok := cache.FindTree("t"); !ok || err != nil || treeErr != nil || path == "" {
					t.Error(ok, err, treeErr)
				}
				if _, content, ok := cache.Find("k", ".so"); !ok || string(content) != "good" {
					t.Error(ok, string(content))
				}
			}
		})
	}
	wait.Wait()
	if names := entries(t, cache.Dir); len(names) != 2 || len(cache.Refused()) != 0 {
		t.Error(names, cache.Refused())
	}
}

// TestUnpackedIsChecked: a runtime that was unpacked is used only as it was; what
// interpreters put beside it may be there.
func TestUnpackedIsChecked(t *testing.T) {
	begin := time.Now() // so nothing is old enough for a stamp
	cache, err := OpenCache(filepath.Join(t.TempDir(), "cg"))
	must(t, err)
	put := func(dir, name string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		must(t, err)
		_, err = f.WriteString("\nprint('hostile')\n")
		must(t, errors.Join(err, f.Close()))
	}
	dir, err := unpackAt("python", cache, t.TempDir(), begin)
	must(t, err)
	for _, name := range []string{
		"in-program.cpython-311", "in-program.cpython-311.more", "in-program.cpython-311.more.123.456", "in-program.pypy39",
		"__pycache__/sitecustomize.cpython-311.pyc", "__pycache__/sitecustomize.cpython-311.pyc.1234",
		"sdk/codegreen/__pycache__/__init__.cpython-38.opt-1.pyc", "offered/__pycache__/codegreen.pypy311-pp73.pyc",
	} {
		put(dir, name)
		if _, err := unpackAt("python", cache, t.TempDir(), begin); err != nil || len(cache.Refused()) != 0 {
			t.Errorf("%s: %v, %q", name, err, cache.Refused())
		}
	}
	for _, name := range []string{
		"in-program/start.py", "in-program/json.py", "in-program/start.so", "in-program/in-program.cpython-311", "in-program.py",
		"in-program.cpython-311.pyc", "in-program.cpython-311-x86_64-linux-gnu.so", "hook.cpython-311.0", "sitecustomize.py",
		"sdk/codegreen/_ring.py", "os.py", "sitecustomize/__init__.py",
		"sitecustomize.abi3.so", "__pycache__/os.cpython-311.pyc", "sitecustomize.pyc", "encodings/__init__.py", "sdk/codegreen/new.py",
	} {
		before := len(cache.Refused())
		put(dir, name)
		again, err := unpackAt("python", cache, t.TempDir(), begin)
		if err != nil || again != dir || len(cache.Refused()) != before+1 {
			t.Errorf("%s: %s, %v, told %q", name, again, err, cache.Refused()[before:])
		}
		files, err := Folder("python")
		must(t, err)
		if err := unpacked(dir, files); err != nil {
			t.Errorf("%s: made anew: %v", name, err)
		}
	}
	if names := entries(t, cache.Dir); !slices.Equal(names, []string{filepath.Base(dir)}) {
		t.Error(names)
	}
}

// A cache's own folder is no file of it, and is not removed as one that is refused.
func TestCacheIsNoFileOfItself(t *testing.T) {
	dir := t.TempDir()
	cache := Cache{Dir: dir}
	if err := cache.Write("kept", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "a/..", "..", "/"} {
		if b, err := cache.Read(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %q, %v", name, b, err)
		}
	}
	if b, err := cache.Read("kept"); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
}

// A folder that was compared is not compared again before the system shows a change of it; each change
// is seen. What was changed just now gets no stamp.
func TestStamp(t *testing.T) {
	cache, err := OpenCache(filepath.Join(t.TempDir(), "cg"))
	must(t, err)
	dir, err := Unpack("python", cache, t.TempDir())
	must(t, err)
	name, file := filepath.Base(dir), filepath.Join(dir, "in-program", "start.py")
	if cache.isStamped(name) {
		t.Error("it has a stamp at once")
	}
	later := time.Now().Add(time.Hour)
	unpack := func() {
		t.Helper()
		again, err := unpackAt("python", cache, t.TempDir(), later)
		if err != nil || again != dir || !cache.isStamped(name) {
			t.Fatalf("%s, %v, %q", again, err, cache.Refused())
		}
	}
	unpack()
	content, err := os.ReadFile(file)
	must(t, err)
	info, err := os.Stat(file)
	must(t, err)
	content[0] ^= 1
	for what, change := range map[string]func() error{
		"a content of the same length, with the old time": func() error {
			err := os.WriteFile(file, content, 0o600)
			return errors.Join(err, os.Chtimes(file, info.ModTime(), info.ModTime()))
		},
		"another file in its place": func() error {
			err := os.WriteFile(file+".new", content, 0o600)
			return errors.Join(err, os.Chtimes(file+".new", info.ModTime(), info.ModTime()), os.Rename(file+".new", file))
		},
		"a file more":               func() error { return os.WriteFile(filepath.Join(dir, "os.py"), content, 0o600) },
		"a file less":               func() error { return os.Remove(file) },
		"others may write":          func() error { return os.Chmod(file, 0o666) },
		"others may write a folder": func() error { return os.Chmod(filepath.Dir(file), 0o777) },
		"a link":                    func() error { return errors.Join(os.Remove(file), os.Symlink("/dev/null", file)) },
		"a damaged stamp": func() error {
			return os.WriteFile(filepath.Join(cache.Dir, stampOf(name)), []byte("x ./../y\n"), 0o600)
		},
		"an empty stamp":             func() error { return os.WriteFile(filepath.Join(cache.Dir, stampOf(name)), nil, 0o600) },
		"a stamp others could write": func() error { return os.Chmod(filepath.Join(cache.Dir, stampOf(name)), 0o666) },
		"the whole folder is gone":   func() error { return os.RemoveAll(dir) },
	} {
		must(t, change())
		if cache.isStamped(name) {
			t.Errorf("%s: the stamp says that nothing changed", what)
		}
		if _, err := unpackAt("python", cache, t.TempDir(), later); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		files, err := Folder("python")
		must(t, err)
		if err := unpacked(dir, files); err != nil {
			t.Errorf("%s: made anew: %v", what, err)
		}
		unpack()
	}
}
