package c

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cg/instrument"
	"cg/languages"
	"cg/pattern"
	"cg/runtimes"
)

const projectUsage = "cg measure c --project DIR -- make test"

// project is a project that its own build compiles, in a copy of its folder.
type project struct {
	given    string // the folder as the user named it
	original string // absolute, without links
	copy     string
	place    runtimes.Cache
	setup    languages.Setup
	dialect  *dialect
	wrapping wrapping
	config   string // the file of the wrapping
	release  func()
	compiler string // of cg's flag, "" without one
	// named are the compilers that something names by their whole paths, by the paths of their stand-ins.
	named map[string]string
}

// ownsProject reports whether a folder has a build of C or C++. make starts the builds of other languages, too: a
// Makefile counts where there are sources of C or C++, and no build file of another language.
func ownsProject(folder string) bool {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			_, err := os.Stat(filepath.Join(folder, name))
			return err == nil
		})
	}
	return has("CMakeLists.txt", "meson.build", "configure", "configure.ac") ||
		has("Makefile", "makefile", "GNUmakefile") &&
			!has("pom.xml", "build.gradle", "build.gradle.kts", "build.xml") && hasSources(folder)
}

// hasSources reports whether there is a source of C or C++ below a folder.
func hasSources(folder string) (found bool) {
	filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read is not built, either
		}
		isSource := func(l *dialect) bool { return l.isSource(d.Name()) }
		if found = !d.IsDir() && slices.ContainsFunc(dialects, isSource); found {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// checkProject refuses a project that cannot be built, or a build that cannot be started.
func checkProject(t languages.Target) error {
	dir := t.Flags["project"]
	info, err := os.Stat(dir)
	switch {
	case dir == "":
		return languages.Refuse(2, "--project needs a folder: %s", projectUsage)
	case errors.Is(err, fs.ErrNotExist):
		return languages.Refuse(127, "--project: %s: no such folder", dir)
	case err != nil:
		return languages.Refuse(126, "--project: %s: %v", dir, errors.Unwrap(err))
	case !info.IsDir():
		return languages.Refuse(2, "--project: %s is no folder: name the one that the build is started in", dir)
	case len(t.Args) == 0:
		return languages.Refuse(2, "--project: nothing to run: name the command that builds, such as %s", projectUsage)
	case t.Flags["build-flags"] != "":
		return languages.Refuse(2, "--build-flags does not go with --project: the build says them (make CFLAGS=...)")
	}
	for i, a := range t.Args[1:] {
		if !slices.Contains([]string{"-C", "--build", "--test-dir"}, t.Args[i]) {
			continue
		}
		folder := filepath.Join(dir, a)
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			if by := configuredBy(folder, fs.FileInfoToDirEntry(info)); by != "" {
				return languages.Refuse(2, "%s is %s's build of the folder itself, and cg builds in a copy: configure "+
					"one in the command (sh -c 'cmake -B build && cmake --build build')", a, by)
			}
		}
	}
	if !strings.Contains(t.Args[0], "/") {
		if _, err := exec.LookPath(t.Args[0]); err != nil {
			return languages.Refuse(127, "%s: command not found: install it, or name it with its path", t.Args[0])
		}
	}
	return nil
}

// launchProject copies the project to cg's own folder, and starts the build there, with
// stand-ins for its compilers.
func (d *dialect) launchProject(t languages.Target, s languages.Setup) (_ languages.Command, err error) {
	ctx := context.Background()
	p := &project{given: t.Flags["project"], setup: s, dialect: d, compiler: t.Interpreter,
		named: map[string]string{}}
	c := languages.Command{Meta: map[string]string{}}
	compiler, err := d.findCompiler(ctx, t.Interpreter)
	if err != nil {
		return c, err
	}
	c.Version = compiler.version
	if err := p.open(); err != nil {
		return c, err
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	runtime, _, err := runtimes.Library(ctx, "c.c", s.Cache, s.Dir)
	if err != nil {
		return c, fmt.Errorf("%w: install gcc or clang", err)
	}
	if err := p.makeCopy(); err != nil {
		return c, fmt.Errorf("copying %s: %w", p.given, err)
	}
	kept, err := s.CacheFolder("c")
	if err != nil {
		return c, err
	}
	options := s.Options
	options.Entry = true
	p.wrapping = wrapping{Shims: filepath.Join(p.place.Dir, "bin"), Kept: kept.Dir, Scratch: s.Dir,
		Log: filepath.Join(s.Dir, "units"), Copy: p.copy, Original: p.original, Choices: chosen(t),
		Options: options}
	env, args, err := p.standIns(t.Args)
	if err != nil {
		return c, err
	}
	if err := p.redirect(); err != nil {
		return c, fmt.Errorf("the build files of %s: %w", p.given, err)
	}
	c.Args, c.Dir, c.Release, c.Ended = args, p.copy, p.close, p.ended(c.Meta)
	c.Marks, c.Change = []string{p.copy, p.wrapping.Shims}, p.shown
	c.Env = append(env, "CG_CHANNEL="+s.Channel, "CG_C_RUNTIME="+runtime)
	return c, nil
}

// shown is a line of the build's output as it would be in the user's folder.
func (p *project) shown(line []byte, _ bool) []byte {
	for standIn, compiler := range p.named {
		line = bytes.ReplaceAll(line, []byte(standIn), []byte(compiler))
	}
	return bytes.ReplaceAll(line, []byte(p.copy), []byte(p.original))
}

// open claims a place for the copy.
func (p *project) open() error {
	named, err := filepath.Abs(p.given)
	if err != nil {
		return err
	}
	if p.original, err = filepath.EvalSymlinks(named); err != nil {
		return languages.Refuse(126, "--project: %v", err)
	}
	if p.original == "/" {
		return languages.Refuse(2, "--project: /: name the folder of a project")
	}
	projects, err := p.setup.CacheFolder("c-projects")
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(p.original))
	if p.place, p.release, err = claim(projects, hex.EncodeToString(sum[:8])); err != nil {
		return err
	}
	p.copy = filepath.Join(p.place.Dir, filepath.Base(p.original))
	if filepath.Base(p.original) == "bin" || filepath.Base(p.original) == "lock" {
		p.copy = filepath.Join(p.place.Dir, "project")
	}
	return nil
}

// close removes the copy, and lets go of its place.
func (p *project) close() {
	removeTree(p.copy)
	p.release()
}

// makeCopy copies the project.
func (p *project) makeCopy() error {
	if err := removeTree(p.copy); err != nil { // of a run that was killed
		return err
	}
	if err := os.Mkdir(p.copy, 0o700); err != nil {
		return err
	}
	k := &copier{from: p.original, to: p.copy, now: time.Now()}
	for _, path := range []string{p.setup.Cache.Dir, p.setup.Dir} { // of cg, not of the project
		if real, err := filepath.EvalSymlinks(path); err == nil {
			k.excluded = append(k.excluded, real)
		}
	}
	if by := configuredBy(p.original, rootEntry{}); by != "" {
		return languages.Refuse(1, "it is %s's build of itself, which names its own path: remove what %[1]s has made, "+
			"and configure in the command", by)
	}
	err := k.copyAll()
	for _, l := range k.left {
		p.setup.Skip(l.Place, l.Why)
	}
	return err
}

// rootEntry is the folder of a project.
type rootEntry struct{ fs.DirEntry }

func (rootEntry) IsDir() bool { return true }

// compilerName is what compilers of C and C++ are called: also with a version, or with the
// kind of machine that they compile for.
var compilerName = pattern.Later(`^(?:[a-z0-9_]+(?:-[a-z0-9_]+){1,3}-)?` +
	`(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+|c89|c99|icx|icpx)(?:-[0-9.]+)?$`)

// standIns writes the folder of stand-ins, which is the first of PATH, and gives the
// environment and the arguments of the build.
func (p *project) standIns(args []string) (env, changed []string, err error) {
	if err := removeTree(p.wrapping.Shims); err != nil {
		return nil, nil, err
	}
	if err := os.Mkdir(p.wrapping.Shims, 0o700); err != nil {
		return nil, nil, err
	}
	p.config = filepath.Join(p.setup.Dir, "wrapping.json")
	content, err := json.Marshal(p.wrapping)
	if err == nil {
		err = os.WriteFile(p.config, content, 0o600)
	}
	if err != nil {
		return nil, nil, err
	}
	path := p.wrapping.plainPath(os.Getenv("PATH"))
	for _, folder := range filepath.SplitList(path) {
		entries, _ := os.ReadDir(folder) // a folder of PATH need not be there
		for _, e := range entries {
			if !compilerName().MatchString(e.Name()) {
				continue
			}
			if _, err := p.standIn(e.Name(), e.Name()); err != nil {
				return nil, nil, err
			}
		}
	}
	env = []string{"PATH=" + p.wrapping.Shims + string(os.PathListSeparator) + path, "PWD=" + p.copy,
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(p.copy), // the copy is in no repository
		// cg keeps objects itself: what these keep would have checkpoints, or would lack them.
		"CCACHE_DISABLE=1", "SCCACHE_DISABLE=1", "DISTCC_HOSTS=localhost"}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains([]string{"HOME", "PATH", "OLDPWD", "TMPDIR", "PWD"}, name) ||
			strings.HasPrefix(name, "XDG_") {
			continue
		}
		ours := p.toCopy(value)
		if slices.Contains(compilerVariables, name) {
			if ours, err = p.wrapped(ours); err != nil {
				return nil, nil, err
			}
		}
		if ours != value {
			env = append(env, name+"="+ours)
		}
	}
	if p.compiler != "" {
		words, err := p.wrapped(p.compiler)
		if err != nil {
			return nil, nil, err
		}
		env = append(env, p.dialect.variable+"="+words)
	}
	for i, a := range args {
		a = p.toCopy(a)
		if i == 0 { // the build may be a compiler's call, which cg finds in its own PATH
			if a, err = p.compilerCommand(a); err != nil {
				return nil, nil, err
			}
		}
		if m := compilerArgument().FindStringSubmatch(a); m != nil {
			words, err := p.wrapped(m[2])
			if err != nil {
				return nil, nil, err
			}
			a = m[1] + words
		}
		changed = append(changed, a)
	}
	return env, changed, nil
}

// compilerVariables name compilers of C and C++ in an environment.
var compilerVariables = []string{"CC", "CXX", "HOSTCC", "HOSTCXX", "BUILD_CC", "CC_FOR_BUILD", "OMPI_CC", "OMPI_CXX",
	"MPICH_CC", "MPICH_CXX", "I_MPI_CC", "I_MPI_CXX", "NVCC_CCBIN"}

// compilerArgument is how arguments of make, cmake and configure name compilers.
var compilerArgument = pattern.Later(`^((?:-D)?(?:CC|CXX|HOSTCC|HOSTCXX|CMAKE_C_COMPILER|CMAKE_CXX_COMPILER)` +
	`(?::[A-Z]+)?=)(/.*)$`)

// compilerCommand is the stand-in for a compiler that is the whole build; any other command stays.
func (p *project) compilerCommand(command string) (string, error) {
	if filepath.IsAbs(command) && compilerName().MatchString(filepath.Base(command)) {
		return p.standInOf(command)
	}
	if path := filepath.Join(p.wrapping.Shims, command); compilerName().MatchString(command) {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return command, nil
}

// wrapped gives a compiler's command with a stand-in where it names the compiler by its whole
// path. Shells and make divide such a command at blanks, and read some other characters as their own: where a
// stand-in's path would have one, the command stays.
func (p *project) wrapped(command string) (string, error) {
	if wholePath().FindString(p.wrapping.Shims) != p.wrapping.Shims {
		return command, nil
	}
	words := strings.Split(command, " ")
	for i, w := range words {
		if !filepath.IsAbs(w) || !compilerName().MatchString(filepath.Base(w)) {
			continue
		}
		path, err := p.standInOf(w)
		if err != nil {
			return "", err
		}
		words[i] = path
	}
	return strings.Join(words, " "), nil
}

// standInOf writes the stand-in of a compiler that is named by its whole path, and returns its path.
func (p *project) standInOf(compiler string) (string, error) {
	sum := sha256.Sum256([]byte(compiler))
	path, err := p.standIn(hex.EncodeToString(sum[:4])+"/"+filepath.Base(compiler), compiler)
	if err == nil {
		p.named[path] = compiler
	}
	return path, err
}

// standIn writes the stand-in of a compiler, and returns its path.
func (p *project) standIn(name, of string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(p.wrapping.Shims, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	script := fmt.Sprintf("#!/bin/sh\nexec %s compiler -- %s %s %s \"$@\"\n", shellQuoted(self), p.dialect.name,
		shellQuoted(p.config), shellQuoted(of))
	return path, os.WriteFile(path, []byte(script), 0o700)
}

func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// toCopy puts the copy's path where a text names the project's: whole, or followed by more of
// a path.
func (p *project) toCopy(text string) string {
	var b strings.Builder
	for {
		before, after, is := strings.Cut(text, p.original)
		b.WriteString(before)
		if !is {
			return b.String()
		}
		name := after != "" && (isWord(after[0]) || after[0] == '-' || after[0] == '.')
		inner := before != "" && (isWord(before[len(before)-1]) || before[len(before)-1] == '/')
		if name || inner || strings.HasPrefix(p.original+after, p.copy) {
			b.WriteString(p.original)
		} else {
			b.WriteString(p.copy)
		}
		text = after
	}
}

// ended reads what the stand-ins have told when the build has ended, and says why nothing had
// checkpoints.
func (p *project) ended(meta map[string]string) func(int) string {
	return func(sites int) string {
		all, err := readLog(p.wrapping.Log)
		if sites == 0 && (err != nil || len(all) == 0) {
			return "no file of the project was compiled by a compiler that the build finds in PATH, in CC or in " +
				"CXX, or that its build files name: if it names one in another way, let it find that by its name " +
				"(make CC=gcc)"
		}
		short, used := map[string]int{}, 0.0
		for _, t := range all {
			if used += t.CPU; t.File != "" {
				short[t.File] = t.Short
			}
			for _, l := range t.Left {
				p.setup.Skip(l.Place, l.Why)
			}
		}
		n := 0
		for _, k := range short {
			n += k
		}
		if used > 0 {
			meta["compilers_cpu_s"] = fmt.Sprint(used)
		}
		if n > 0 && p.setup.Options.Granularity == instrument.Fine {
			meta["short_functions"] = fmt.Sprint(n)
		}
		return ""
	}
}
