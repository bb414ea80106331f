package c

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// call is a call of a compiler as a build makes it.
type call struct {
	args []string // with those of response files in their place
	// sources are the files that get checkpoints; none if the call is the compiler's alone.
	sources []source
	// left says why sources get none, "" where there are none, or where the call compiles nothing.
	left    string
	objects bool     // -c
	out     string   // of -o, "" for none
	flags   []string // without files, -c and -o
	chosen  bool     // -x says what a file is
}

// source is a file of C or C++ among the arguments.
type source struct {
	at       int // among the arguments
	name     string
	dialect  *dialect
	language string // of -x, "" where the ending says it
}

// valued are the flags of GCC's and Clang's drivers whose value may be the next argument.
var valued = append([]string{"-o", "-x", "-iprefix", "-iwithprefix", "-iwithprefixbefore", "-isysroot", "-imultilib",
	"-MF", "-MT", "-MQ", "-MJ", "-Xpreprocessor", "-Xclang", "-e", "-aux-info", "-A", "-B", "-G", "-b", "-wrapper",
	"-dumpbase", "-dumpbase-ext", "-dumpdir", "-target", "--sysroot", "-arch", "-mllvm", "-gcc-toolchain",
	"-include-pch", "-Tbss", "-Tdata", "-Ttext", "-stdlib++-isystem", "-rpath", "-soname"}, twoWords...)

// passing are flags with which nothing is compiled to an object.
var passing = []string{"-E", "-S", "-M", "-MM", "-fsyntax-only", "-###", "--version", "--help", "-dumpversion",
	"-dumpmachine", "--preprocess", "--assemble"}

// unwrapped are flags with which a file gets no checkpoints, and why.
var unwrapped = []struct{ prefix, why string }{
	{"-ffreestanding", "is compiled with -ffreestanding: no C library is there"},
	{"-fmodules", "is compiled with modules (-fmodules)"},
	{"-fmodule-", "is compiled with modules (-fmodule)"},
	{"-fpreprocessed", "is preprocessed before it is compiled"},
	{"-save-temps", "is compiled with -save-temps, whose files would have the checkpoints"},
	{"--save-temps", "is compiled with --save-temps, whose files would have the checkpoints"},
	{"-include-pch", "is compiled with -include-pch, and cg needs the header's text"},
	{"-arch", "is compiled for several processors (-arch)"},
	{"-m32", "is compiled for 32 bits (-m32), and checkpoints are for programs of 64"},
	{"-mx32", "is compiled for 32 bits (-mx32), and checkpoints are for programs of 64"},
}

// parseCall reads the arguments of a compiler. plus is set for one of C++, which takes .c for
// C++, too.
func parseCall(plus bool, given []string) call {
	c := call{args: expand(given, 0)}
	language, passes, mixed := "", false, false
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case a == "-c" || a == "--compile":
			c.objects = true
			continue
		case slices.Contains(passing, a) || hasPrefix(a, "-print-", "--print-", "-dumpspecs"):
			passes = true
		case a == "-P" || a == "-Wp,-P":
			c.left = "is compiled with -P: cg finds functions by the line markers that it takes away"
		case a == "-x" && i+1 < len(c.args):
			i++
			language, c.chosen = c.args[i], true
			continue
		case len(a) > 2 && hasPrefix(a, "-x") && a[2] >= 'a': // icx has -xHost and the like, for processors
			language, c.chosen = a[2:], true
			continue
		case a == "-o" && i+1 < len(c.args):
			i++
			c.out = c.args[i]
			continue
		case hasPrefix(a, "-o") && !slices.Contains(valued, a) && a != "-openmp":
			c.out = a[2:]
			continue
		case a == "-" || !strings.HasPrefix(a, "-"):
			is := c.addFile(i, language, plus)
			other := language != "" && language != "none" || a == "-" || slices.Contains(otherEndings, filepath.Ext(a))
			mixed = mixed || !is && (other || isProbe(a))
			continue
		}
		if more, flags := header(c.args[i:]); more > 0 {
			c.flags = append(c.flags, flags...)
			i += more - 1
			continue
		}
		for _, u := range unwrapped {
			if strings.HasPrefix(a, u.prefix) {
				c.left = u.why
			}
		}
		if c.flags = append(c.flags, a); slices.Contains(valued, a) && i+1 < len(c.args) {
			i++
			c.flags = append(c.flags, c.args[i])
		}
	}
	if mixed && c.left == "" {
		c.left = "is compiled in one call with files of other languages"
	}
	if passes || len(c.sources) == 0 {
		c.sources, c.left = nil, ""
	}
	return c
}

// compiling are the flags of a call without the linker's, and without those that do not go with -E.
func compiling(flags []string) (out []string) {
	for i := 0; i < len(flags); i++ {
		a := flags[i]
		if more, is := linking(a); is || a == "-fdirectives-only" {
			i += more
			continue
		}
		if out = append(out, a); slices.Contains(valued, a) && i+1 < len(flags) {
			i++
			out = append(out, flags[i])
		}
	}
	return out
}

// header reads how CMake names a header that is compiled before to Clang, with its text behind
// it: -Xclang -include-pch -Xclang FILE -Xclang -include -Xclang FILE. The text alone counts for
// cg; without -Xclang, Clang would take the compiled header for it. more is how many arguments are read.
func header(args []string) (more int, flags []string) {
	is := func(name string) bool {
		return len(args) > 3 && args[0] == "-Xclang" && args[1] == name && args[2] == "-Xclang"
	}
	switch {
	case is("-include-pch"):
		return 4, nil
	case is("-include"):
		return 4, args[:4]
	}
	return 0, nil
}

// withoutHeaders are flags without those that header reads.
func withoutHeaders(flags []string) (out []string) {
	for i := 0; i < len(flags); i++ {
		if more, _ := header(flags[i:]); more > 0 {
			i += more - 1
			continue
		}
		out = append(out, flags[i])
	}
	return out
}

// addFile takes note of a file among the arguments. It reports whether the file is a source.
func (c *call) addFile(at int, language string, plus bool) (is bool) {
	s := source{at: at, name: c.args[at]}
	switch language {
	case "":
		s.dialect = dialectOf(s.name)
		if plus && s.dialect == dialects[0] {
			s.dialect, s.language = dialects[1], "c++"
		}
	case "c":
		s.dialect, s.language = dialects[0], language
	case "c++":
		s.dialect, s.language = dialects[1], language
	case "none":
		return c.addFile(at, "", plus)
	}
	if s.dialect == nil || s.name == "-" || s.name == os.Stdin.Name() || isProbe(s.name) {
		return false
	}
	c.sources = append(c.sources, s)
	return true
}

// otherEndings are those of files besides C and C++ that drivers compile; any other is the linker's
// (https://gcc.gnu.org/onlinedocs/gcc/Overall-Options.html).
var otherEndings = []string{".s", ".S", ".sx", ".i", ".ii", ".h", ".hh", ".hpp", ".hxx", ".H", ".m", ".mi", ".mm", ".M",
	".mii", ".f", ".for", ".ftn", ".fpp", ".f90", ".f95", ".f03", ".f08", ".F", ".FOR", ".FTN", ".FPP", ".F90", ".F95",
	".F03", ".F08", ".go", ".d", ".di", ".ads", ".adb", ".cu", ".cl", ".hip", ".bc", ".ll"}

// isProbe reports whether a file is one with which autoconf, CMake or Meson tries out what the
// compiler can do.
func isProbe(name string) bool {
	full, err := filepath.Abs(name)
	if err != nil {
		return false
	}
	if strings.HasPrefix(filepath.Base(full), "conftest") {
		return true
	}
	for _, part := range []string{"/CMakeFiles/CMakeTmp/", "/CMakeFiles/CMakeScratch/", "/CMakeFiles/ShowIncludes/",
		"/CompilerIdC/", "/CompilerIdCXX/", "/meson-private/"} {
		if strings.Contains(full, part) {
			return true
		}
	}
	return strings.Contains(full, "/CMakeFiles/") && strings.HasPrefix(filepath.Base(full), "CMakeC") // ABI tests
}

// expand puts the arguments of response files (@FILE) in their place. One that cannot be
// read stays, as with the compiler.
func expand(args []string, depth int) (all []string) {
	for _, a := range args {
		name, is := strings.CutPrefix(a, "@")
		if !is || depth > 8 {
			all = append(all, a)
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			all = append(all, a)
			continue
		}
		all = append(all, expand(responseWords(string(content)), depth+1)...)
	}
	return all
}

// responseWords splits the text of a response file: words between spaces, quotes around a
// word or a part of one, a backslash before any character
// (https://gcc.gnu.org/onlinedocs/gcc/Overall-Options.html, @file).
func responseWords(text string) (words []string) {
	var word []byte
	in, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			word, in = append(word, text[i]), true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '"' || c == '\'':
			quote, in = c, true
		case strings.IndexByte(" \t\n\r\v\f", c) >= 0:
			if in {
				words = append(words, string(word))
			}
			word, in = nil, false
		default:
			word, in = append(word, c), true
		}
	}
	if in {
		words = append(words, string(word))
	}
	return words
}

// outOf is the object that a source becomes with -c.
func (c *call) outOf(s source) string {
	if c.out != "" {
		return c.out
	}
	base := filepath.Base(s.name)
	return strings.TrimSuffix(base, filepath.Ext(base)) + ".o"
}

// dependencies adds to flags what the compiler would choose by the object's name: the file
// with the prerequisites, and what has them.
func (c *call) dependencies(s source) (flags []string) {
	flags = slices.Clone(c.flags)
	has := func(names ...string) bool {
		return slices.ContainsFunc(flags, func(f string) bool { return hasPrefix(f, names...) })
	}
	if !slices.Contains(flags, "-MD") && !slices.Contains(flags, "-MMD") {
		return flags
	}
	out := c.outOf(s)
	if !has("-MF") {
		flags = append(flags, "-MF", strings.TrimSuffix(out, filepath.Ext(out))+".d")
	}
	if !has("-MT", "-MQ") {
		flags = append(flags, "-MQ", out)
	}
	return flags
}

// linkArguments are those of the call with objects in the place of the sources.
func (c *call) linkArguments(objects []string) (args []string) {
	place := map[int]string{}
	for i, s := range c.sources {
		place[s.at] = objects[i]
	}
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		if object, is := place[i]; is {
			if c.chosen {
				args = append(args, "-x", "none")
			}
			args = append(args, object)
			continue
		}
		if more, is := preprocessing(a); is && strings.HasPrefix(a, "-") {
			i += more
			continue
		}
		if args = append(args, a); slices.Contains(valued, a) && i+1 < len(c.args) {
			i++
			args = append(args, c.args[i])
		}
	}
	return args
}
