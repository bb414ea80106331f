package c

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// described is a call in one line: what it compiles, as what, to what, and with which flags.
func described(c call) string {
	if len(c.sources) == 0 {
		return "passes"
	}
	var names []string
	for _, s := range c.sources {
		names = append(names, s.dialect.name+":"+s.name+">"+c.outOf(s))
	}
	kind := "link "
	if c.objects {
		kind = "object "
	}
	if c.left != "" {
		kind = "left "
	}
	return kind + strings.Join(names, " ") + " | " + strings.Join(c.flags, " ")
}

// TestParseCall has a case for each form of arguments that a build gives a compiler.
func TestParseCall(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"args":  "-O2 \"-DX=a b\"\n-I'in c' more\\ words.c",
		"inner": "@args -g",
		"loop":  "@loop",
		"empty": "''",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, compiler, args, want string }{
		{"an object", "cc", "-O2 -c a.c", "object c:a.c>a.o | -O2"},
		{"its name", "cc", "-c dir/a.c -o out/b.o -g", "object c:dir/a.c>out/b.o | -g"},
		{"its name without a space", "cc", "-c a.c -ob.o", "object c:a.c>b.o | "},
		{"several objects", "cc", "-c a.c dir/b.c", "object c:a.c>a.o c:dir/b.c>b.o | "},
		{"C++ by the ending", "gcc", "-c a.cc", "object cpp:a.cc>a.o | "},
		{"C++ by the compiler", "x86_64-linux-gnu-g++-12", "-c a.c", "object cpp:a.c>a.o | "},
		{"the language", "cc", "-x c++ -c a.txt", "object cpp:a.txt>a.o | "},
		{"the language in one word", "cc", "-xc -c a.txt", "object c:a.txt>a.o | "},
		{"the language by the ending again", "cc", "-x c a.txt -x none b.cc -o p", "link c:a.txt>p cpp:b.cc>p | "},
		{"a program", "cc", "-o p a.c b.o -lm", "link c:a.c>p | -lm"},
		{"the language by the ending again, in one word", "cc", "-xc a.txt -xnone b.cc -o p", "link c:a.txt>p cpp:b.cc>p | "},
		{"a processor, in one word", "icx", "-xHost -c a.c", "object c:a.c>a.o | -xHost"},
		{"what is linked beside it", "cc", "-o p a.c b.a libc.so.6 d.lds nothing", "link c:a.c>p | "},
		{"an assembler's file beside it", "cc", "-c -DX a.c b.S", "left c:a.c>a.o | -DX"},
		{"standard input beside it", "cc", "-c a.c -x c -", "left c:a.c>a.o | "},
		{"an argument that is empty", "cc", "-c a.c @empty", "object c:a.c>a.o | "},
		{"several processors", "clang", "-arch x86_64 -arch arm64 -c a.c", "left c:a.c>a.o | -arch x86_64 -arch arm64"},
		{"32 bits", "cc", "-m32 -c a.c", "left c:a.c>a.o | -m32"},
		{"values of flags", "cc", "-I a.c -include b.c -MF c.c -Xlinker d.c -c e.c",
			"object c:e.c>e.o | -I a.c -include b.c -MF c.c -Xlinker d.c"},
		{"a response file", "cc", "@args -c", "object c:more words.c>more words.o | -O2 -DX=a b -Iin c"},
		{"one in another", "cc", "-c @inner", "object c:more words.c>more words.o | -O2 -DX=a b -Iin c -g"},
		{"one that is not there", "cc", "-c @none a.c", "object c:a.c>a.o | "},
		{"one that names itself", "cc", "-c @loop a.c", "object c:a.c>a.o | "},
		{"Clang's precompiled header with its text", "clang",
			"-Xclang -include-pch -Xclang h.pch -Xclang -include -Xclang h.h -c a.c", "object c:a.c>a.o | -Xclang -include -Xclang h.h"},
		{"only a link", "cc", "a.o b.a -o p", "passes"},
		{"the preprocessor", "cc", "-E a.c", "passes"},
		{"assembly comes out", "cc", "-S a.c", "passes"},
		{"prerequisites alone", "cc", "-MM a.c", "passes"},
		{"only the syntax", "cc", "-fsyntax-only a.c", "passes"},
		{"a question", "gcc", "-print-file-name=libc.so", "passes"},
		{"the version", "gcc", "--version", "passes"},
		{"standard input", "cc", "-x c -c -", "passes"},
		{"an assembler's file", "cc", "-c a.S b.s", "passes"},
		{"Fortran", "gcc", "-c a.f90", "passes"},
		{"CUDA", "clang++", "-x cuda -c a.cu", "passes"},
		{"a header that is precompiled", "g++", "-x c++-header -c a.h -o a.gch", "passes"},
		{"preprocessed text", "cc", "-c a.i", "passes"},
		{"autoconf's probe", "cc", "-c conftest.c", "passes"},
		{"CMake's probe", "cc", "-c CMakeFiles/CMakeScratch/T-x/a.c", "passes"},
		{"CMake's unity build", "cc", "-c CMakeFiles/a.dir/Unity/unity_0_c.c -o u.o",
			"object c:CMakeFiles/a.dir/Unity/unity_0_c.c>u.o | "},
		{"Meson's probe", "cc", "-c meson-private/tmpx/testfile.c", "passes"},
		{"no C library", "cc", "-ffreestanding -c a.c", "left c:a.c>a.o | -ffreestanding"},
		{"modules", "g++", "-fmodules-ts -c a.cc", "left cpp:a.cc>a.o | -fmodules-ts"},
		{"texts that are kept", "cc", "-save-temps=obj -c a.c", "left c:a.c>a.o | -save-temps=obj"},
		{"no line markers", "cc", "-P -c a.c", "left c:a.c>a.o | -P"},
		{"what would be left, and only links", "cc", "-save-temps a.o", "passes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := described(parseCall(isPlus(c.compiler), strings.Fields(c.args))); got != c.want {
				t.Errorf("%s %s: %s, want %s", c.compiler, c.args, got, c.want)
			}
		})
	}
}

// TestDependencies: the file with the prerequisites, and what has them, are as for the object.
func TestDependencies(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-c a.c", ""},
		{"-MD -c a.c", "-MD -MF a.d -MQ a.o"},
		{"-MMD -c dir/a.c -o out/b.o", "-MMD -MF out/b.d -MQ out/b.o"},
		{"-MMD -MF x -c a.c", "-MMD -MF x -MQ a.o"},
		{"-MD -MT y -c a.c", "-MD -MT y -MF a.d"},
		{"-MD -o p a.c", "-MD -MF p.d -MQ p"},
		{"-Wp,-MD,x.d -c a.c", "-Wp,-MD,x.d"},
	} {
		k := parseCall(false, strings.Fields(c.args))
		if got := strings.Join(k.dependencies(k.sources[0]), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
	}
}

// TestLinkArguments: objects stand in the place of sources, and nothing of the preprocessor's.
func TestLinkArguments(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-o p a.c b.o -lm", "-o p A b.o -lm"},
		{"-O2 -Iinc -DX -MD -MF d a.c -L lib -o p", "-O2 A -L lib -o p"},
		{"-x c a.txt -x none b.o -o p", "-x c -x none A -x none b.o -o p"},
		{"-MJ a.json a.c -o p", "A -o p"},
	} {
		k := parseCall(false, strings.Fields(c.args))
		if got := strings.Join(k.linkArguments([]string{"A"}), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
	}
}

// TestCompiling: what is for the linker is left out, but not where it is a flag's value.
func TestCompiling(t *testing.T) {
	got := strings.Join(compiling(strings.Fields("-MQ a.o -MF a.o.d -L lib -lm -Wl,-z,now -fdirectives-only -O2 b.a")), " ")
	if want := "-MQ a.o -MF a.o.d -O2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCompilerName: what gets a stand-in.
func TestCompilerName(t *testing.T) {
	for name, want := range map[string]bool{"cc": true, "gcc": true, "g++-12": true, "clang": true, "clang++-14": true,
		"c++": true, "x86_64-linux-gnu-gcc": true, "aarch64-linux-gnu-g++-13": true, "c99": true, "gcc-ar": false,
		"clang-format": false, "mpicc": false, "ccache": false, "gcov": false, "clang-cpp-14": false, "rustc": false} {
		if got := compilerName().MatchString(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestCopy: a copy has what a build reads. Sources are newer in it than what was made of them.
func TestCopy(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	for name, text := range map[string]string{"a.c": "c", "a.o": "o", "sub/b.h": "h", ".git/config": "g",
		"build/CMakeCache.txt": "c", "run.sh": "s"} {
		full := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"whole": filepath.Join(from, "a.c"), "top": from, "near": "sub/b.h", "out": "/etc"} {
		if err := os.Symlink(text, filepath.Join(from, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	object, err := os.Stat(filepath.Join(from, "a.o"))
	if err != nil {
		t.Fatal(err)
	}
	k := &copier{from: from, to: to, now: object.ModTime().Add(3e9)}
	if err := k.copyAll(); err != nil {
		t.Fatal(err)
	}
	if len(k.left) != 1 || !strings.HasPrefix(k.left[0].Why, "is CMake's build") {
		t.Errorf("left: %v", k.left)
	}
	for name, want := range map[string]string{"whole": filepath.Join(to, "a.c"), "top": to, "near": "sub/b.h", "out": "/etc"} {
		if got, err := os.Readlink(filepath.Join(to, name)); err != nil || got != want {
			t.Errorf("%s leads to %q, want %q: %v", name, got, want, err)
		}
	}
	for _, name := range []string{".git", "build"} {
		if _, err := os.Lstat(filepath.Join(to, name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
	source, err := os.Stat(filepath.Join(to, "sub/b.h"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := os.Stat(filepath.Join(to, "a.o"))
	if err != nil {
		t.Fatal(err)
	}
	if !source.ModTime().After(made.ModTime()) || made.Mode() != object.Mode() {
		t.Errorf("b.h of %v is not newer than a.o of %v (%v)", source.ModTime(), made.ModTime(), made.Mode())
	}
}
