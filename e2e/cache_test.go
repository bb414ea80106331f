package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cg/long"
)

// attack is a cache into which somebody else has written, and a program that is
// measured with it. What is planted makes the file hit, or prints "planted code".
type attack struct {
	dir, cache, hit string
	args            []string // of cg measure
	env             []string // beside that of the tests
	want            string   // what the program prints
	fresh           func()   // changes the program, so that it is prepared anew; nil if that is not needed
}

func newAttack(t *testing.T, files map[string]string, want string, args ...string) *attack {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	for name, text := range files {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	cache, hit := filepath.Join(dir, "shared", "cg"), filepath.Join(dir, "hit")
	a := &attack{dir: dir, cache: cache, hit: hit, want: want, args: args}
	check(t, os.MkdirAll(filepath.Join(dir, "tmp"), 0o700))
	if cc, err := exec.LookPath("cc"); err == nil {
		check(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o700))
		text := fmt.Sprintf(rememberingCompiler, cc)
		check(t, os.WriteFile(filepath.Join(dir, "bin", "cc"), []byte(text), 0o700))
	}
	return a
}

// rememberingCompiler is the compiler, but that it compiles each native library of cg's once: it is wanted anew
// whenever what the cache has of it is not to be trusted, and takes most of the time of these tests.
const rememberingCompiler = `#!/bin/sh
case " $* " in
*' -shared '*) ;;
*) exec %[1]s "$@" ;;
esac
for arg; do
	[ "$before" = -o ] && made=$arg
	before=$arg
done
kept=${0%%/*}/${before##*/}.so
[ -f "$kept" ] || %[1]s "$@" || exit
[ -f "$kept" ] || cp "$made" "$kept"
cp "$kept" "$made"
`

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run measures the program, and returns what cg says of its cache.
func (a *attack) run(t *testing.T) string {
	t.Helper()
	args := append([]string{"measure", "-o", filepath.Join(a.dir, "run.json")}, a.args...)
	cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), args...)
	cmd.Dir = a.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "PATH=") || strings.HasPrefix(kv, "PYTHONDONTWRITEBYTECODE=") || strings.HasPrefix(kv, "PYTHONPYCACHEPREFIX=")
	})
	cmd.Env = append(cmd.Env, "PATH="+filepath.Join(a.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+filepath.Dir(a.cache), "TMPDIR="+filepath.Join(a.dir, "tmp"), "HIT="+a.hit)
	cmd.Env = append(cmd.Env, a.env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || string(out) != a.want {
		t.Errorf("%v, printed %q\n%s", err, out, said.String())
	}
	if _, err := os.Stat(a.hit); err == nil || strings.Contains(said.String(), "planted code") {
		t.Errorf("what was planted has run\n%s", said.String())
		os.Remove(a.hit)
	}
	text := strings.ReplaceAll(said.String(), "\n  ", " ") // as wrapped
	_, text, is := strings.Cut(text, "cache-refused: ")
	if !is {
		return ""
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// each replaces what a pattern finds in the cache, in each way in which that is
// not to be trusted. What is planted has a right name and digest: only who could
// write it tells. plant returns the path of what it has planted.
func (a *attack) each(t *testing.T, kind, pattern string, plant func(t *testing.T, path string) string) {
	for way, spoil := range map[string]func(path string) error{
		"mode":  func(path string) error { return os.Chmod(path, 0o766) },
		"owner": func(path string) error { return os.Lchown(path, 54321, 54321) },
	} {
		t.Run(kind+"/"+way, func(t *testing.T) {
			if way == "owner" && os.Geteuid() != 0 {
				t.Skip("only root can give files to another user")
			}
			if way == "owner" {
				long.Skip(t, "the same check as of the mode")
			}
			found := a.found(t, pattern)
			for _, path := range found {
				check(t, spoil(plant(t, path)))
			}
			a.refuses(t, a.cache)
		})
	}
}

// altered appends to what a pattern finds in the cache, as a broken disk or a
// program of the same user may.
func (a *attack) altered(t *testing.T, kind, pattern, text string) {
	t.Run(kind+"/altered", func(t *testing.T) {
		found := a.found(t, pattern)
		for _, path := range found {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			check(t, err)
			_, err = f.WriteString(text)
			check(t, err)
			check(t, f.Close())
		}
		a.refuses(t, a.cache)
	})
}

// found prepares the cache until all that a pattern stands for is there.
func (a *attack) found(t *testing.T, pattern string) []string {
	t.Helper()
	var found []string
	for n := 0; len(found) == 0; n++ {
		if n == 3 {
			t.Fatalf("%s: nothing in %v", pattern, listing(t, a.cache))
		}
		if n > 0 {
			a.run(t)
		}
		var err error
		found, err = filepath.Glob(filepath.Join(a.cache, pattern))
		check(t, err)
	}
	if a.fresh != nil {
		a.fresh()
	}
	return found
}

// refuses runs the program, which tells once that something below is not used.
func (a *attack) refuses(t *testing.T, below string) {
	t.Helper()
	if told := a.run(t); !strings.Contains(told, below) {
		t.Errorf("said of the cache: %q", told)
	}
	if told := a.run(t); told != "" {
		t.Errorf("the second time, too: %q", told)
	}
}

// appends appends a text.
func appends(text string) func(t *testing.T, path string) string {
	return func(t *testing.T, path string) string {
		b, err := os.ReadFile(path)
		check(t, err)
		check(t, os.WriteFile(path, append(b, text...), 0o600))
		return path
	}
}

// digested puts a file in the place of one that has the digest of its content in
// its name.
func digested(ending string, content []byte) func(t *testing.T, path string) string {
	return func(t *testing.T, path string) string {
		sum := sha256.Sum256(content)
		key := strings.TrimSuffix(path, ending)
		to := key[:strings.LastIndexByte(key, '-')+1] + hex.EncodeToString(sum[:])[:32] + ending
		check(t, os.Remove(path))
		check(t, os.WriteFile(to, content, 0o700))
		return to
	}
}

// plantPython puts code that makes the file HIT into marshalled code of cg's cache
// and of the interpreter's, with the digests of its content.
const plantPython = `
import _imp, marshal, os, sys
from importlib.util import MAGIC_NUMBER
hostile = compile("import os\nopen(os.environ['HIT'], 'w')\n", "hostile", "exec")
code = marshal.dumps(hostile)
path = sys.argv[1]
def digest(b):
    h = 0
    for w in [len(b)] + [int.from_bytes(b[i:i + 8].ljust(8, b"\0"), sys.byteorder) for i in range(0, len(b), 8)]:
        h = (h ^ w) * 0x9e3779b97f4a7c15 & 0xffffffffffffffff
        h ^= h >> 32
    return h.to_bytes(8, sys.byteorder)
with open(path, "rb") as f:
    b = f.read()
if path.endswith(".pyc"):
    b = b[:16] + code
elif b[:7] == b"cgwoven":
    sizes = [int.from_bytes(b[i:i + 4], sys.byteorder) for i in (40, 44, 48)]
    b = b[16:56 + sum(sizes)] + code
    places = 56 - 16
    b = b[:28] + (0).to_bytes(4, sys.byteorder) + b[32:places] + b[places + sizes[1]:]
    if "-pure-" in path:
        b = b"cgwoven\3" + _imp.source_hash(0x6367, b) + b
    else:
        b = b"cgwoven\3" + digest(b) + b
else:
    modules = marshal.loads(b[8:])
    modules = marshal.dumps({m: code if type(c) is bytes else hostile for m, c in modules.items()})
    about = MAGIC_NUMBER + os.path.basename(os.path.dirname(path)).encode()
    b = _imp.source_hash(0x6367, modules + about) + modules
os.chmod(path, 0o600)
with open(path, "wb") as f:
    f.write(b)
`

// TestHostileCachePython: no kind of file in the cache from which a Python
// program's processes run code is used where somebody else could write it, with
// the native module and without.
func TestHostileCachePython(t *testing.T) {
	t.Parallel()
	// Shims of pyenv are asked anew each time.
	out, err := exec.Command(python(t), "-c", "import sys; print(sys.executable)").Output()
	check(t, err)
	interpreter := strings.TrimSpace(string(out))
	modules := map[string]string{"main.py": "import mod\nprint(mod.f())\n", "mod.py": "def f(): return 42\n"}
	a := newAttack(t, modules, "42\n", "-g", "fine", "--python", interpreter, "main.py")
	plant := func(t *testing.T, path string) string {
		t.Helper()
		if out, err := exec.Command(interpreter, "-c", plantPython, path).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return path
	}
	const line = "\nimport os\nopen(os.environ['HIT'], 'w')\n"
	n := 0
	anew := func() {
		n++
		check(t, os.WriteFile(filepath.Join(a.dir, "mod.py"), fmt.Appendf(nil, "def f(): return 42\n# %d\n", n), 0o644))
	}
	for _, name := range []string{"sitecustomize.py", "in-program/start.py", "in-program/importing.py"} {
		a.each(t, name, "python-*/"+name, appends(line))
		a.altered(t, name, "python-*/"+name, line)
	}
	a.each(t, "compiled", "python-*/in-program.*-*[0-9]", plant)
	a.each(t, "bytecode", "python-*/__pycache__/sitecustomize.*.pyc", plant)
	a.each(t, "woven", "woven/*", plant)
	a.altered(t, "woven", "woven/*", "x")
	a.each(t, "interpreters", "pythons.json", func(t *testing.T, path string) string {
		evil := filepath.Join(a.dir, "evil")
		check(t, os.WriteFile(evil, []byte("#!/bin/sh\n: >$HIT\necho 42\n"), 0o755))
		b, err := os.ReadFile(path)
		check(t, err)
		text := strings.ReplaceAll(string(b), `"Path":"`+interpreter+`"`, `"Path":"`+evil+`"`)
		if text == string(b) {
			t.Fatal(text)
		}
		check(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	})
	a.fresh = anew
	a.each(t, "weave.py", "python-*/in-program/weave.py", appends(line))
	a.altered(t, "weave.py", "python-*/in-program/weave.py", line)
	a.each(t, "compiled others", "python-*/in-program.*.more", plant)
	a.fresh = nil
	t.Run("a package beside", func(t *testing.T) {
		found := a.found(t, "python-*")
		check(t, os.Mkdir(filepath.Join(found[0], "sitecustomize"), 0o700))
		check(t, os.WriteFile(filepath.Join(found[0], "sitecustomize", "__init__.py"), []byte(line), 0o600))
		a.refuses(t, a.cache)
	})
	if _, err := exec.LookPath("cc"); err == nil {
		a.each(t, "native", "native-*.so", digested(".so", hostileLibrary(t)))
		a.altered(t, "native", "native-*.so", "x")
	}
	t.Run("without the library", func(t *testing.T) {
		a.env = []string{"CC=nosuchcc"}
		defer func() { a.env = nil }()
		a.each(t, "woven", "woven/*-pure-*", plant)
		a.altered(t, "woven", "woven/*-pure-*", "x")
	})
	a.folders(t, "python-*", "python-*/in-program", "woven")
	a.whole(t)
}

// TestHostileCacheJava: the same of a Java program's virtual machine.
func TestHostileCacheJava(t *testing.T) {
	long.Skip(t, "the checks are those of a Python program's files")
	t.Parallel()
	home := newestJDK()
	if home == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no JDK is installed")
		}
		t.Skip("no JDK is installed")
	}
	const program = "public class Main { public static void main(String[] a) { System.out.println(\"42\"); } }\n"
	a := newAttack(t, map[string]string{"Main.java": program}, "42\n", "-g", "fine", "--java", home, "Main.java")
	const hit = "static { try { new java.io.FileOutputStream(System.getenv(\"HIT\")).close(); } " +
		"catch (java.io.IOException e) { throw new Error(e); } }"
	classes := t.TempDir()
	sources := map[string]string{
		"R.java": "package cg$; public final class R { " + hit +
			" public static void e(int s) {} public static void x(int s) {} }",
		"Main.java": strings.Replace(program, "{", "{ "+hit, 1),
	}
	for name, text := range sources {
		check(t, os.WriteFile(filepath.Join(classes, name), []byte(text), 0o600))
		tool(t, classes, filepath.Join(home, "bin/javac"), "-d", ".", name)
	}
	tool(t, classes, filepath.Join(home, "bin/jar"), "--create", "--file", "evil.jar", "cg$/R.class")
	jar, err := os.ReadFile(filepath.Join(classes, "evil.jar"))
	check(t, err)
	main, err := os.ReadFile(filepath.Join(classes, "Main.class"))
	check(t, err)
	a.each(t, "runtime", "java-*.jar", digested(".jar", jar))
	a.altered(t, "runtime", "java-*.jar", "x")
	a.each(t, "classes", "java/*/Main.class", func(t *testing.T, path string) string {
		check(t, os.WriteFile(path, main, 0o600))
		h := sha256.New()
		fmt.Fprintf(h, "Main.class\x00%d\x00%s", len(main), main)
		from := filepath.Dir(path)
		to := from[:strings.LastIndexByte(from, '-')+1] + hex.EncodeToString(h.Sum(nil))[:32]
		check(t, os.Rename(from, to))
		return filepath.Join(to, "Main.class")
	})
	a.altered(t, "classes", "java/*/Main.class", "x")
	if _, err := exec.LookPath("cc"); err == nil {
		a.each(t, "native", "native-*.so", digested(".so", hostileLibrary(t)))
		a.altered(t, "native", "native-*.so", "x")
	}
	a.folders(t, "java", "java/*")
}

// tool runs a command that has to succeed, and returns what it prints.
func tool(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// TestHostileCacheGo: the same of what a Go program is built from and with.
func TestHostileCacheGo(t *testing.T) {
	long.Skip(t, "the checks are those of a Python program's files")
	t.Parallel()
	const program = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(42) }\n"
	files := map[string]string{"go.mod": "module victim\n\ngo 1.25\n", "main.go": program}
	a := newAttack(t, files, "42\n", "-g", "fine", "go", ".")
	a.each(t, "compiler's command", "golang-compile-*", digested("", []byte("#!/bin/sh\n: >$HIT\nshift\nexec \"$@\"\n")))
	a.altered(t, "compiler's command", "golang-compile-*", "x")
	const line = "\nfunc init() { println(\"planted code\") }\n"
	main := func(t *testing.T) string {
		found, err := filepath.Glob(filepath.Join(a.cache, "go/text/*.go"))
		check(t, err)
		for _, name := range found {
			if b, err := os.ReadFile(name); err == nil && filepath.Base(name) != "evil.go" && strings.Contains(string(b), "fmt.Println(42)") {
				return "go/text/" + filepath.Base(name)
			}
		}
		t.Fatalf("no text of package main: %v", found)
		return ""
	}
	a.found(t, "go/text/*.go")
	a.each(t, "text", main(t), appends(line))
	a.altered(t, "text", main(t), line)
	a.each(t, "unit", "go/unit/*.json", func(t *testing.T, path string) string {
		b, err := os.ReadFile(path)
		check(t, err)
		evil := filepath.Join(a.cache, "go", "text", "evil.go")
		check(t, os.WriteFile(evil, []byte(program+line), 0o600))
		text := strings.ReplaceAll(string(b), strings.TrimPrefix(main(t), "go/"), "text/evil.go")
		if text == string(b) {
			t.Fatal(text)
		}
		check(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	})
	// The go command leaves a program alone that has the right note.
	noted := func(t *testing.T, path string) string {
		dir := t.TempDir()
		check(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program+line), 0o600))
		id := tool(t, dir, "go", "tool", "buildid", path)
		tool(t, dir, "go", "build", "-ldflags=-buildid="+id, "-o", "evil", "main.go")
		b, err := os.ReadFile(filepath.Join(dir, "evil"))
		check(t, err)
		check(t, os.WriteFile(path, b, 0o700))
		return path
	}
	a.each(t, "program", "go/bin/*/victim", noted)
	t.Run("program/altered", func(t *testing.T) {
		noted(t, a.found(t, "go/bin/*/victim")[0])
		a.refuses(t, a.cache)
	})
	for _, kind := range []string{"sites/*", "inlined/*", "bare/*", "generation*", "linked/*"} {
		a.each(t, kind, "go/"+kind, func(t *testing.T, path string) string { return path })
	}
	a.folders(t, "go", "go/text", "go/bin/*")
}

func hostileLibrary(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	source, library := filepath.Join(dir, "evil.c"), filepath.Join(dir, "evil.so")
	check(t, os.WriteFile(source, []byte("#include <stdio.h>\n#include <stdlib.h>\n"+
		"__attribute__((constructor)) static void hit(void) { fclose(fopen(getenv(\"HIT\"), \"w\")); }\n"), 0o600))
	out, err := exec.Command("cc", "-shared", "-fPIC", "-o", library, source).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(library)
	check(t, err)
	return b
}

// folders gives folders of the cache to others.
func (a *attack) folders(t *testing.T, patterns ...string) {
	for _, pattern := range patterns {
		for way, spoil := range map[string]func(path string) error{
			"mode":  func(path string) error { return os.Chmod(path, 0o777) },
			"owner": func(path string) error { return os.Lchown(path, 54321, 54321) },
		} {
			t.Run("folder "+pattern+"/"+way, func(t *testing.T) {
				if way == "owner" && os.Geteuid() != 0 {
					t.Skip("only root can give folders to another user")
				}
				if way == "owner" {
					long.Skip(t, "the same check as of the mode")
				}
				found := a.found(t, pattern)
				for _, path := range found {
					check(t, spoil(path))
				}
				a.refuses(t, a.cache)
			})
		}
	}
}

// whole gives the cache to others, or the folder that it is in.
func (a *attack) whole(t *testing.T) {
	own := filepath.Join(a.dir, "tmp", fmt.Sprintf(".cg-cache-%d", os.Geteuid()))
	for _, c := range []struct {
		name, at string
		spoil    func(path string) error
	}{
		{"the cache is another user's", a.cache, owned},
		{"the cache is for all", a.cache, func(path string) error { return os.Chmod(path, 0o777) }},
		{"its folder is another user's", filepath.Dir(a.cache), func(path string) error {
			return os.Lchown(path, 54321, 54321)
		}},
		{"its folder is for all", filepath.Dir(a.cache), func(path string) error { return os.Chmod(path, 0o777) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.name, "user") && os.Geteuid() != 0 {
				t.Skip("only root can give folders to another user")
			}
			check(t, os.RemoveAll(filepath.Dir(a.cache)))
			check(t, os.MkdirAll(filepath.Dir(a.cache), 0o755))
			a.found(t, "*")
			before := listing(t, a.cache)
			check(t, c.spoil(c.at))
			for range 2 { // in a cache of one's own then
				if told := a.run(t); !strings.Contains(told, c.at) || !strings.Contains(told, own) {
					t.Errorf("said of the cache: %q", told)
				}
			}
			if kept := listing(t, own); len(kept) < 2 {
				t.Errorf("kept in %s: %v", own, kept)
			}
			if now := listing(t, a.cache); !slices.Equal(now, before) {
				t.Errorf("what is not ours was changed: %v, before %v", now, before)
			}
			// And where somebody else was there before.
			check(t, os.Chmod(own, 0o777))
			if told := a.run(t); !strings.Contains(told, c.at) || !strings.Contains(told, "compiled anew in each run") {
				t.Errorf("said of the second cache: %q", told)
			}
			check(t, os.RemoveAll(own))
		})
	}
}

// owned gives a tree to another user.
func owned(top string) error {
	return filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, 54321, 54321)
	})
}

func listing(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
