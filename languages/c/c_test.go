package c

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cg/instrument"
	"cg/languages"
	"cg/languages/languagetest"
	"cg/long"
	"cg/runtimes"
)

// casesOf is where the fixtures of a dialect are.
func casesOf(d *dialect) string { return "../../testdata/programs/" + d.name + "/cases" }

var plainC, plusPlus = dialects[0], dialects[1]

// needCompiler skips a test without a C compiler, but not where all is there.
func needCompiler(t testing.TB, some ...*dialect) {
	t.Helper()
	for _, d := range append(some, plainC) {
		if _, err := exec.LookPath(d.command); err != nil {
			languagetest.Missing(t, "no "+d.command+" on PATH")
		}
	}
}

// fixture is a program whose behaviour checkpoints must not change. Comment lines at its top
// say how it is made:
//
//	// flags: -pthread    more flags for the compiler
//	// unbalanced: why    calls may be open at the end
//	// gcc: why           other compilers refuse it
type fixture struct {
	file       string
	flags      string
	unbalanced bool
	gcc        bool
}

func fixtures(t testing.TB, d *dialect) (all []fixture) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(casesOf(d), "*"+d.endings[0]))
	if err != nil || len(names) < 10 {
		t.Fatal(len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f := fixture{file: filepath.Base(name)}
		for line := range strings.Lines(string(text)) {
			comment, is := strings.CutPrefix(strings.TrimSpace(line), "// ")
			if !is {
				break
			}
			switch key, value, _ := strings.Cut(comment, ": "); key {
			case "flags":
				f.flags = value
			case "unbalanced":
				f.unbalanced = true
			case "gcc":
				f.gcc = true
			}
		}
		all = append(all, f)
	}
	return all
}

// prepared is a build for a test, and what it left out.
type prepared struct {
	*build
	skipped map[string]string
}

// prepareTest prepares a target of the working folder.
func prepareTest(t testing.TB, d *dialect, cache runtimes.Cache, target languages.Target) prepared {
	t.Helper()
	p := prepared{skipped: map[string]string{}}
	b, err := d.prepare(context.Background(), target, languages.Setup{
		Dir: t.TempDir(), Cache: cache, Options: languagetest.Fine,
		Skip: func(place, why string) { p.skipped[filepath.Base(place)] = why },
	})
	if err != nil {
		t.Fatal(err)
	}
	p.build = b
	return p
}

// stub compiles what stands for the checkpoints.
func stub(t testing.TB) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "stub.o")
	if said, err := exec.Command("cc", "-O1", "-fPIC", "-c", "testdata/stub.c", "-o", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return out
}

type result struct{ stdout, stderr, status string }

func runProgram(t testing.TB, program string, more ...string) result {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), more...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return result{o.String(), e.String(), strings.TrimSuffix(cmd.ProcessState.String(), " (core dumped)")}
}

// mode is a way to build fixtures.
type mode struct {
	flags  string
	inline bool
	clang  bool                   // by clang, else by the system's compiler
	places instrument.Granularity // "" for none
}

func (m mode) compiler(d *dialect) string {
	if !m.clang {
		return d.command
	}
	return map[string]string{"c": "clang", "cpp": "clang++"}[d.name]
}

// byClang are fixtures of what clang compiles in ways of its own.
var byClang = []string{"assembly.c", "attributes.c", "jumps.c", "exceptions.cpp", "coroutines.cpp"}

// TestPrograms builds every fixture as it is and with checkpoints, with the compiler's
// optimisation and without. They print the same and end the same; what was entered was
// left, in order. Where it must not take long, one original stands for all levels, and clang builds those that
// are about what compilers do in ways of their own. CG_CLANG says that clang must be there.
func TestPrograms(t *testing.T) {
	needCompiler(t, plusPlus)
	object := stub(t)
	modes := []mode{{flags: "-O2", inline: true, places: instrument.Lines}}
	clang := true
	if _, err := exec.LookPath("clang++"); err == nil {
		modes = append(modes, mode{flags: "-O2", clang: true})
	} else if clang = false; os.Getenv("CG_CLANG") != "" {
		t.Error(err)
	}
	short := long.Without(t, "-O0, -O1, -O2 without lines, -flto=1, blocks, lines by clang, most programs by clang, and an original built as each program with checkpoints is")
	if !short {
		if clang {
			modes = append(modes, mode{flags: "-O2", inline: true, clang: true, places: instrument.Lines}, mode{flags: "-O0 -g", inline: true, clang: true})
		}
		modes = append(modes, mode{flags: "-O0 -g", inline: true, places: instrument.Lines}, mode{flags: "-O2"},
			mode{flags: "-O0 -g", inline: true}, mode{flags: "-O1", inline: true, places: instrument.Lines},
			mode{flags: "-O2 -flto=1", inline: true}, mode{flags: "-O0", places: instrument.Blocks})
	}
	for _, d := range dialects {
		all, standard := fixtures(t, d), "-std=gnu11 -w "
		if d == plusPlus {
			standard = "-std=gnu++20 -w "
		}
		for _, name := range byClang {
			if d.isSource(name) && !slices.ContainsFunc(all, func(f fixture) bool { return f.file == name }) {
				t.Errorf("there is no fixture %s", name)
			}
		}
		t.Run(d.name, func(t *testing.T) {
			t.Chdir(casesOf(d))
			cache := runtimes.Cache{Dir: t.TempDir()}
			for _, f := range all {
				o := originals{d, f, standard, short, t.TempDir(), map[string]result{}}
				for _, m := range modes {
					if m.clang && (f.gcc || short && !slices.Contains(byClang, f.file)) {
						continue
					}
					t.Run(strings.TrimSpace(f.file+" "+m.compiler(d)+" "+m.flags+" "+string(m.places)), func(t *testing.T) {
						o.compare(t, cache, m, object)
					})
				}
			}
		})
	}
}

// expected are reasons for which functions of fixtures are left alone.
var expected = []string{"attribute naked", "attribute interrupt", "is constexpr", "is consteval"}

// originals are what a fixture prints without checkpoints, by the options that it was built with.
type originals struct {
	dialect  *dialect
	fixture  fixture
	standard string // and what else all modes have
	one      bool   // of each compiler stands for all levels
	dir      string // for the programs
	said     map[string]result
}

// run builds the fixture as it is, and runs it. Compilers differ, such as in the order of arguments;
// with one, fixtures print the same at each level of optimisation, so that one original without it can stand for all.
func (o originals) run(t *testing.T, m mode) result {
	t.Helper()
	compiler, flags := m.compiler(o.dialect), m.flags
	if o.one {
		flags = "-O0"
	}
	key := compiler + " " + flags
	if said, is := o.said[key]; is {
		return said
	}
	folder := filepath.Join(o.dir, strconv.Itoa(len(o.said)))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, strings.TrimSuffix(o.fixture.file, o.dialect.endings[0]))
	args := strings.Fields(o.standard + flags + " " + o.fixture.flags)
	args = append(args, o.fixture.file, "-lm", "-o", program)
	if said, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	o.said[key] = runProgram(t, program)
	return o.said[key]
}

// compare builds the fixture with checkpoints, and compares it with the original.
func (o originals) compare(t *testing.T, cache runtimes.Cache, m mode, object string) {
	t.Helper()
	d, f, first := o.dialect, o.fixture, m
	first.clang = first.clang && !o.one // most fixtures print the same with each compiler
	want := o.run(t, first)
	own := m
	m.flags = o.standard + m.flags + " " + f.flags
	target := languages.Target{Args: []string{f.file}, Flags: map[string]string{"build-flags": m.flags},
		Interpreter: m.compiler(d)}
	b := prepareTest(t, d, cache, target)
	if m.places != "" {
		b.setup.Options.Granularity = m.places
	}
	if err := b.compile(context.Background(), choices{Inline: m.inline}); err != nil {
		t.Fatal(err)
	}
	for place, why := range b.skipped {
		if !slices.ContainsFunc(expected, func(e string) bool { return strings.Contains(why, e) }) {
			t.Errorf("%s: %s", place, why)
		}
	}
	program, said, err := b.link(context.Background(), object)
	if err != nil || len(said) > 0 {
		t.Fatalf("%v\n%s", err, said)
	}
	if own.clang != first.clang && runProgram(t, program) != want {
		want = o.run(t, own)
	}
	compareRuns(t, f, want, program)
}

// compareRuns runs a program with checkpoints, which end and print what the original did.
func compareRuns(t *testing.T, f fixture, want result, program string) {
	t.Helper()
	counts := filepath.Join(t.TempDir(), "counts")
	if err := os.WriteFile(counts, make([]byte, 24), 0o600); err != nil {
		t.Fatal(err)
	}
	got := runProgram(t, program, "CG_COUNTS="+counts)
	if got != want {
		t.Errorf("with checkpoints:\n%+v\nwant\n%+v", got, want)
	}
	if again := runProgram(t, program); again != want {
		t.Errorf("without counts:\n%+v\nwant\n%+v", again, want)
	}
	b, err := os.ReadFile(counts)
	if err != nil {
		t.Fatal(err)
	}
	var n [3]uint64
	for i := range n {
		n[i] = binary.NativeEndian.Uint64(b[8*i:])
	}
	if n[0] == 0 || n[2] != 0 || !f.unbalanced && n[0] != n[1] {
		t.Errorf("%d calls began, %d ended, %d tokens of no call", n[0], n[1], n[2])
	}
}

// writeFiles writes the files of a test, which becomes the working folder.
func writeFiles(t testing.TB, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// What the compiler says of a program is what it says without checkpoints: its lines,
// columns, source lines and carets, once, and with -Werror.
func TestDiagnostics(t *testing.T) {
	needCompiler(t)
	writeFiles(t, map[string]string{"w.c": `#include <stdio.h>
#define LESS(a, b) (a < b)
static int unused(int n) { int never; while (n) n--; return LESS(n, 4u); }
int main(int argc, char **argv) { int k = 0; switch (argc) { case 1: k = 1; /* fallthrough */ case 2: k++; }
	printf("%s\n", k); int later; return later; }
`, "e.c": "int main(void) { for (;;) return nothing; }\n"})
	cache := runtimes.Cache{Dir: t.TempDir()}
	for _, flags := range []string{"-Wall -Wextra", "-O2 -Wall -Wextra -pedantic -std=c90", "-O1 -Wall -Wno-format"} {
		want, err := exec.Command("cc", append(strings.Fields(flags), "-c", "w.c", "-o", os.DevNull)...).CombinedOutput()
		if err != nil || len(want) == 0 && flags != "" {
			t.Fatalf("%v\n%s", err, want)
		}
		for _, kept := range []bool{false, true} {
			b := prepareTest(t, plainC, cache, languages.Target{Args: []string{"w.c"}, Flags: map[string]string{"build-flags": flags}})
			if err := b.compile(context.Background(), choices{Inline: true}); err != nil {
				t.Fatal(err)
			}
			if got := b.objects[0].Said; got != string(want) || len(b.skipped) > 0 {
				t.Errorf("%s, kept %v: the compiler said\n%swant\n%s%v", flags, kept, got, want, b.skipped)
			}
		}
	}
	for file, flags := range map[string]string{"w.c": "-Wall -Werror", "e.c": ""} {
		want, _ := exec.Command("cc", append(strings.Fields(flags), "-c", file, "-o", os.DevNull)...).CombinedOutput()
		b := prepareTest(t, plainC, cache, languages.Target{Args: []string{file}, Flags: map[string]string{"build-flags": flags}})
		err := b.compile(context.Background(), choices{Inline: true})
		if err == nil || err.Error() != "the compiler refuses the program:\n"+strings.TrimSpace(string(want)) {
			t.Errorf("%s: %v\nwant\n%s", file, err, want)
		}
	}
}

// What the compiler refuses only with checkpoints is compiled without them: the function,
// or else the file.
func TestLeftOut(t *testing.T) {
	needCompiler(t, plusPlus)
	writeFiles(t, map[string]string{
		"function.c": `static int jumps(int n)
{
	for (;;) return n;
}
int sections __attribute__((section(".other"))) = 1;
static int twice(int n) { extern int __codegreen_call; while (n > 4) n--; return __codegreen_call + n; }
int __codegreen_call = 1;
int main(void) { return jumps(3) + twice(4); }
`,
		"file.c": "int __codegreen_sites = 4;\nint main(void) { for (;;) return __codegreen_sites; }\n",
		"inner.cpp": "int main() { int n = 4;\n\tauto refused = [](int k) {\n\t\textern int __codegreen_call; while (k > 3) k--; return k; };\n" +
			"\twhile (n > 4) n--; return refused(n); }\n",
		"alone.c": "__attribute__((no_instrument_function)) static int quiet(int n) { while (n > 3) n--; return n; }\nint main(void) { return quiet(9); }\n",
	})
	cache := runtimes.Cache{Dir: t.TempDir()}
	for file, want := range map[string]map[string]string{
		"function.c": {"function.c:6": "twice is refused by the compiler with checkpoints: "},
		"file.c":     {"file.c": "the compiler refuses it with checkpoints: "},
		"inner.cpp":  {"inner.cpp:2": "main::<lambda> is refused by the compiler with checkpoints: "},
		"alone.c":    {"alone.c:1": "quiet has the attribute no_instrument_function"},
	} {
		for _, kept := range []bool{false, true} {
			d := plainC
			if plusPlus.isSource(file) {
				d = plusPlus
			}
			b := prepareTest(t, d, cache, languages.Target{Args: []string{file}})
			if err := b.compile(context.Background(), choices{Inline: true}); err != nil {
				t.Fatal(err)
			}
			for place, why := range want {
				if !strings.HasPrefix(b.skipped[place], why) || len(b.skipped) != len(want) {
					t.Errorf("%s, kept %v: %q", file, kept, b.skipped)
				}
			}
		}
	}
}

// The functions of a header have a number of their own in each unit that has them, and those of
// a library's header have none.
func TestRecords(t *testing.T) {
	needCompiler(t)
	writeFiles(t, map[string]string{
		"lib/theirs.h": "static inline int theirs(int n) { while (n > 2) n--; return n; }\n",
		"src/ours.h":   "static inline int ours(int n) { while (n > 2) n--; return n; }\nstatic inline int also(int n) { return ours(n); }\n",
		"src/a.c":      "#include \"ours.h\"\n#include <theirs.h>\nint b(void); static int own(void) { return ours(theirs(5)) + also(1); }\nint main(void) { return own() + b(); }\n",
		"src/b.c":      "#include \"ours.h\"\n#include <theirs.h>\nint b(void) { return ours(theirs(6)); }\n",
	})
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("src")
	source, err := exec.Command("cc", "-E", "-I../lib", "a.c").Output()
	if err != nil {
		t.Fatal(err)
	}
	p, err := plainC.planUnit(source, owner{dir: root + "/src", folders: []string{root + "/src"}, options: languagetest.Fine},
		choices{Inline: true}, refused{})
	if err != nil {
		t.Fatal(err)
	}
	records, order := p.records()
	want := []string{root + "/src/ours.h", "S\tfunction\t1\t18\t1\tours", root + "/src/ours.h", "S\tfunction\t2\t18\t2\talso",
		root + "/src/a.c", "S\tfunction\t3\t24\t3\town\nS\tfunction\t4\t4\t4\tmain", ""}
	if !slices.Equal(records, want) || !slices.Equal(order, []int{0, 1, 2, 3}) {
		t.Errorf("%q\nwant\n%q\n%v", records, want, order)
	}
	b := prepareTest(t, plainC, runtimes.Cache{Dir: t.TempDir()}, languages.Target{Args: []string{"."},
		Flags: map[string]string{"build-flags": "-I../lib"}})
	if err := b.compile(context.Background(), choices{Inline: true}); err != nil || len(b.objects) != 2 || len(b.skipped) > 0 {
		t.Error(err, len(b.objects), b.skipped)
	}
}

// An unchanged file is compiled once, and a change of it, of its flags or of its header is seen.
func TestKept(t *testing.T) {
	needCompiler(t)
	writeFiles(t, map[string]string{"k.h": "#define K 3\n", "k.c": "#include \"k.h\"\nint main(void) { for (;;) return K; }\n"})
	cache := runtimes.Cache{Dir: t.TempDir()}
	digestOf := func(flags string) string {
		t.Helper()
		b := prepareTest(t, plainC, cache, languages.Target{Args: []string{"k.c"}, Flags: map[string]string{"build-flags": flags}})
		if err := b.compile(context.Background(), choices{}); err != nil {
			t.Fatal(err)
		}
		return b.objects[0].path
	}
	first := digestOf("-O2")
	if again := digestOf("-O2"); again != first {
		t.Error("compiled twice", first, again)
	}
	if other := digestOf("-O0"); other == first {
		t.Error("other flags, the same object")
	}
	if err := os.WriteFile("k.h", []byte("#define K 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if other := digestOf("-O2"); other == first {
		t.Error("another header, the same object")
	}
	// What the assembler reads is in no text.
	writeFiles(t, map[string]string{
		"k.c": "__asm__(\".data\\n.incbin \\\"data.bin\\\"\\n.text\");\nint main(void) { for (;;) return 0; }\n"})
	contentOf := func(data string) string {
		t.Helper()
		if err := os.WriteFile("data.bin", []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		b := prepareTest(t, plainC, cache, languages.Target{Args: []string{"k.c"}})
		if err := b.compile(context.Background(), choices{}); err != nil {
			t.Fatal(err)
		}
		return b.objects[0].digest
	}
	if contentOf("first") == contentOf("other") {
		t.Error("another file of the assembler, the same object")
	}
}

// Arguments: flags of the compiler, files or a folder, and the program's own.
func TestArguments(t *testing.T) {
	writeFiles(t, map[string]string{"a.c": "", "b.c": "", "d/x.c": "", "d/sub/y.c": "", "d/.hidden/z.c": "", "n/t.txt": "",
		"d/w.cpp": "", "lib.cpp": ""})
	for _, name := range []string{"CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LDLIBS"} {
		t.Setenv(name, "")
	}
	t.Setenv("CFLAGS", `-DX='"a b"'`)
	if a, err := plainC.parseArguments(languages.Target{Args: []string{"a.c"}}); err != nil ||
		!slices.Equal(a.flags(plainC), []string{`-DX="a b"`}) {
		t.Errorf("%v %q", err, a.flags(plainC))
	}
	t.Setenv("CFLAGS", "")
	t.Setenv("LDLIBS", "-lz")
	for _, c := range []struct{ flags, line, files, args, all string }{
		{"", "a.c b.c one two.c", "a.c b.c", "one two.c", "-lz"},
		{"-DX='a b'", "-O2 -I inc d one", "d/sub/y.c d/x.c", "one", "-lz -DX=a b -O2 -I inc"},
		{`-DX=\"a\"`, "a.c", "a.c", "", `-lz -DX="a"`},
		{"-P", "a.c", "", "", "-P: cg finds the program's functions by the line markers"},
		{"", "", "", "", "nothing to run"},
		{"", "n", "", "", "n: no C files in it"},
		{"", "b.txt", "", "", "b.txt: no C file"},
		{"-shared", "a.c", "", "", "-shared: nothing that runs by itself"},
		{"'x", "a.c", "", "", "--build-flags: a quote is not closed"},
		{"", "-I", "", "", "-I needs a value"},
		{"", "a.c lib.cpp one", "a.c lib.cpp", "one", "-lz"},
		{"-std=c11 -std=gnu++17", "a.c lib.cpp", "a.c lib.cpp", "", "-lz -std=c11"},
		{"", "lib.cpp", "", "", "lib.cpp: no C file"},
		{"", "-q a.c", "", "", `"-q" is no flag of the compiler`},
	} {
		a, err := plainC.parseArguments(languages.Target{Args: strings.Fields(c.line), Flags: map[string]string{"build-flags": c.flags}})
		if c.files == "" {
			if err == nil || !strings.Contains(err.Error(), c.all) {
				t.Errorf("%q: %v; want %s", c.line, err, c.all)
			}
			continue
		}
		if got := strings.Join(a.flags(plainC), " "); err != nil || got != c.all || strings.Join(a.files, " ") != c.files ||
			strings.Join(a.args, " ") != c.args {
			t.Errorf("%q: %v %+v", c.line, err, a)
		}
	}
	t.Setenv("CXXFLAGS", "-O3")
	a, err := plusPlus.parseArguments(languages.Target{Args: []string{"-std=c++20", "d"}})
	if want := []string{"d/sub/y.c", "d/w.cpp", "d/x.c"}; err != nil || !slices.Equal(a.files, want) ||
		!slices.Equal(a.flags(plusPlus), []string{"-O3", "-lz", "-std=c++20"}) ||
		!slices.Equal(a.flags(plainC), []string{"-lz"}) {
		t.Errorf("a folder of both languages: %v %+v", err, a)
	}
}
