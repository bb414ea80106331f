package c

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/shlex"

	"cg/languages"
)

// arguments are the parts of a command line.
type arguments struct {
	own    map[*dialect][]string // flags for the compiler of a language: of CFLAGS, of CXXFLAGS
	shared []string              // those of the other variables, of --build-flags, and before the target
	files  []string              // of C and of C++
	args   []string              // the program's
	name   string                // of the target, for the program
}

// flags are those for the compiler of a language. A standard (-std) is one of C or of C++: in a program of
// both, the other's compiler does not get it.
func (a arguments) flags(d *dialect) []string {
	all := slices.Concat(a.own[d], a.shared)
	if len(a.dialects()) < 2 {
		return all
	}
	return slices.DeleteFunc(all, func(flag string) bool {
		standard, is := strings.CutPrefix(flag, "-std=")
		return is && strings.Contains(standard, "++") != d.scoped
	})
}

// dialects are the languages of the files, C before C++.
func (a arguments) dialects() (all []*dialect) {
	for _, d := range dialects {
		if slices.ContainsFunc(a.files, d.isSource) {
			all = append(all, d)
		}
	}
	return all
}

// dialectOf is the language of a file, by its ending; nil for neither.
func dialectOf(name string) *dialect {
	if i := slices.IndexFunc(dialects, func(d *dialect) bool { return d.isSource(name) }); i >= 0 {
		return dialects[i]
	}
	return nil
}

// twoWords are flags of a compiler whose value may be the next argument.
var twoWords = []string{"-I", "-D", "-U", "-L", "-l", "-include", "-imacros", "-isystem", "-iquote", "-idirafter",
	"-Xlinker", "-Xassembler", "-T", "-u", "-z", "--param", "-framework"}

// flagBeforeTarget are the flags that may stand before the target, as behind cc. Those that
// cg has, too, are cg's.
func flagBeforeTarget(a string) (more int, target, ok bool) {
	if len(a) < 2 || a[0] != '-' || a == "--" {
		return 0, false, false
	}
	if slices.Contains(twoWords, a) {
		return 1, false, true
	}
	return 0, false, hasPrefix(a, "-O", "-I", "-D", "-U", "-L", "-l", "-W", "-f", "-m", "-std=", "-pthread",
		"-pedantic", "-g", "-pg", "-ansi", "-static", "-rdynamic", "-isystem", "-include", "-x", "-c", "-S", "-E",
		"-w", "-no", "-shared", "-M")
}

func hasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// refusedFlags are those with which nothing would run.
var refusedFlags = map[string]string{
	"-c":      "nothing would run",
	"-S":      "nothing would run",
	"-E":      "nothing would run",
	"-M":      "nothing would run",
	"-MM":     "nothing would run",
	"-shared": "nothing that runs by itself",
	"-P":      "cg finds the program's functions by the line markers that it takes away",
	"-x":      "the ending of a file says its language",
	"-o":      "the program is built into cg's own folder; the compiler makes one without checkpoints",
}

// parseArguments parses a command line.
func (d *dialect) parseArguments(t languages.Target) (a arguments, err error) {
	a.own = map[*dialect][]string{}
	for _, d := range dialects {
		if a.own[d], err = flagsOf(d.flags); err != nil {
			return a, err
		}
	}
	for _, from := range []string{"CPPFLAGS", "LDFLAGS", "LDLIBS"} {
		words, err := flagsOf(from)
		if err != nil {
			return a, err
		}
		a.shared = append(a.shared, words...)
	}
	given, err := splitWords(t.Flags["build-flags"])
	if err != nil {
		return a, languages.Refuse(2, "--build-flags: %v", err)
	}
	args := t.Args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" {
		more, _, ok := flagBeforeTarget(args[0])
		if !ok {
			return a, languages.Refuse(2, "%q is no flag of the compiler before a target: name %s", args[0],
				d.targets())
		}
		if more++; more > len(args) {
			return a, languages.Refuse(2, "%s needs a value", args[0])
		}
		given, args = append(given, args[:more]...), args[more:]
	}
	a.shared = append(a.shared, given...)
	for _, flag := range slices.Concat(a.own[dialects[0]], a.own[dialects[1]], a.shared) {
		if why := refusedFlags[flag]; why != "" {
			return a, languages.Refuse(2, "%s: %s", flag, why)
		}
	}
	if len(args) == 0 {
		return a, languages.Refuse(2, "nothing to run: name %s", d.targets())
	}
	return a, a.takeTarget(d, args)
}

// flagsOf are the flags in a variable of the environment.
func flagsOf(variable string) ([]string, error) {
	words, err := splitWords(os.Getenv(variable))
	if err != nil {
		return nil, languages.Refuse(2, "%s: %v", variable, err)
	}
	return words, nil
}

// takeTarget takes the files at the beginning of the arguments, or a folder: at least one is of the language
// that was asked for.
func (a *arguments) takeTarget(d *dialect, args []string) error {
	full, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	a.name = filepath.Base(full)
	if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
		a.args = args[1:]
		a.files, err = d.sourcesBelow(args[0])
		return err
	}
	a.name = strings.TrimSuffix(a.name, filepath.Ext(a.name))
	n := 0
	for n < len(args) && dialectOf(args[n]) != nil {
		n++
	}
	a.files, a.args = args[:n], args[n:]
	if !slices.ContainsFunc(a.files, d.isSource) {
		return languages.Refuse(2, "%s: no %s file, and no folder: name %s", args[0], d.title, d.targets())
	}
	return nil
}

// sourcesBelow lists the files of a program below a folder, in order: those of C, or those of C++ with those of
// C that they call.
func (d *dialect) sourcesBelow(folder string) (all []string, err error) {
	endings := d.endings
	if d.scoped {
		endings = slices.Concat(d.endings, dialects[0].endings)
	}
	for _, ending := range endings {
		var files []string
		if files, err = languages.Sources(d.title, folder, ending); err == nil {
			all = append(all, files...)
		}
	}
	if !slices.ContainsFunc(all, d.isSource) {
		return languages.Sources(d.title, folder, d.endings[0]) // which says so
	}
	slices.Sort(all)
	return all, nil
}

// checkFiles refuses files that are not there, before the compiler does.
func (a arguments) checkFiles() error {
	for _, name := range a.files {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return languages.Refuse(127, "%s: no such file or folder", name)
		} else if err != nil {
			return languages.Refuse(126, "%s", err)
		}
	}
	return nil
}

// preprocessing reports whether a flag is for the preprocessor alone, and how many of the
// arguments behind it are its value.
func preprocessing(flag string) (more int, is bool) {
	for _, f := range []string{"-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-I", "-D", "-U", "-MF",
		"-MT", "-MQ", "-MJ"} {
		if flag == f {
			return 1, true
		}
		if strings.HasPrefix(flag, f) {
			return 0, true
		}
	}
	return 0, hasPrefix(flag, "-Wp,", "-nostdinc", "-M")
}

// linking is the same for a flag of the linker.
func linking(flag string) (more int, is bool) {
	for _, f := range []string{"-Xlinker", "-L", "-l", "-T", "-u", "-z"} {
		if flag == f {
			return 1, true
		}
	}
	return 0, hasPrefix(flag, "-l", "-L", "-Wl,", "-static", "-rdynamic", "-nostdlib", "-nostartfiles",
		"-nodefaultlibs") || strings.HasSuffix(flag, ".a") ||
		strings.HasSuffix(flag, ".o") || strings.HasSuffix(flag, ".so")
}

// without leaves out the flags that a test names, with their values.
func without(flags []string, leaves func(flag string) (more int, is bool)) (out []string) {
	for i := 0; i < len(flags); i++ {
		if more, is := leaves(flags[i]); is {
			i += more
			continue
		}
		out = append(out, flags[i])
	}
	return out
}

// splitWords splits flags as a shell does, which make gives them to.
func splitWords(s string) ([]string, error) {
	words, err := shlex.Split(s)
	if err != nil { // the one error that it has
		return nil, fmt.Errorf("a quote is not closed: %s", s)
	}
	return words, nil
}
