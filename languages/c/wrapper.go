package c

import (
	"bytes"
	"context"
	"crypto/sha256"
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

	"golang.org/x/sys/unix"

	"cg/instrument"
	"cg/languages"
	"cg/runtimes"
)

// wrapping is what a compiler's stand-in has to know, as a file that the run has written.
type wrapping struct {
	Shims    string // the folder of the stand-ins
	Kept     string // the folder of the cache
	Scratch  string // the folder of the run
	Log      string // where calls are told, a line each
	Copy     string // the folder that the build is in
	Original string // the user's
	Choices  choices
	Options  instrument.Options
}

// told is a line of the log: a source that went by a stand-in, or what a call of a compiler took.
type told struct {
	File  string
	Short int
	Left  []left
	CPU   float64 // seconds of processor time, of the stand-in and of the compilers that it has run
}

// wrap stands in the place of a compiler that a build calls: args are the file of the
// wrapping, the compiler's name, and its arguments. What is not C or C++ that is compiled, and what
// the compiler refuses, is the compiler's alone.
func wrap(args []string) (languages.Call, error) {
	if len(args) < 2 {
		return languages.Call{}, languages.Refuse(2, "a stand-in needs its file and the name of a compiler")
	}
	content, err := os.ReadFile(args[0])
	if errors.Is(err, fs.ErrNotExist) {
		return orphaned(args)
	}
	w := &wrapping{}
	if err == nil {
		err = json.Unmarshal(content, w)
	}
	if err != nil {
		return languages.Call{}, err
	}
	// What the compiler itself starts by its name is no stand-in.
	if err := os.Setenv("PATH", w.plainPath(os.Getenv("PATH"))); err != nil {
		return languages.Call{}, err
	}
	name, args := args[1], args[2:]
	path, err := exec.LookPath(name)
	if err != nil {
		return languages.Call{}, languages.Refuse(127, "%s: command not found", name)
	}
	plain := languages.Call{Exec: append([]string{path}, args...)}
	c := parseCall(isPlus(name), args)
	if len(c.sources) == 0 || !w.inCopy(c) {
		return plain, nil
	}
	prerequisites := slices.Contains(c.flags, "-MD") || slices.Contains(c.flags, "-MMD")
	if prerequisites && !c.objects && c.out == "" {
		c.left = "is compiled and linked in one call with -MD, and without -o"
	}
	if c.left != "" {
		for _, s := range c.sources {
			w.tell(told{File: s.name, Left: []left{{w.shown(s.name), c.left}}})
		}
		return plain, nil
	}
	left, err := w.compile(path, c, plain)
	w.tell(told{CPU: used()})
	return left, err
}

// orphaned runs the compiler of a stand-in whose run has ended. What the build has installed may name the stand-in.
func orphaned(args []string) (languages.Call, error) {
	isStandIn := func(folder string) bool { // of the same run: it would come here again
		content, err := os.ReadFile(filepath.Join(folder, args[1]))
		return err == nil && bytes.Contains(content, []byte(shellQuoted(args[0])))
	}
	if !filepath.IsAbs(args[1]) {
		folders := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), isStandIn)
		if err := os.Setenv("PATH", strings.Join(folders, string(os.PathListSeparator))); err != nil {
			return languages.Call{}, err
		}
	}
	path, err := exec.LookPath(args[1])
	if err != nil {
		return languages.Call{}, languages.Refuse(127, "%s: command not found", args[1])
	}
	return languages.Call{Exec: append([]string{path}, args[2:]...)}, nil
}

// used is the processor time of this process, and of those that it has started and that have ended, in seconds.
func used() (seconds float64) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			seconds += time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
		}
	}
	return seconds
}

// isPlus reports whether a compiler takes its files for C++.
func isPlus(name string) bool {
	base := filepath.Base(name)
	return strings.Contains(base, "++") || strings.HasPrefix(base, "icpx")
}

// plainPath is a PATH without the folder of the stand-ins.
func (w *wrapping) plainPath(path string) string {
	folders := slices.DeleteFunc(filepath.SplitList(path), func(f string) bool { return filepath.Clean(f) == w.Shims })
	return strings.Join(folders, string(os.PathListSeparator))
}

// inCopy reports whether one of the sources, or the folder where the compiler runs, is the
// project's. Else nothing in a unit can be.
func (w *wrapping) inCopy(c call) bool {
	cwd, err := os.Getwd()
	if _, is := languages.Below(w.Copy, cwd); err == nil && is {
		return true
	}
	return slices.ContainsFunc(c.sources, func(s source) bool {
		full, err := filepath.Abs(s.name)
		_, is := languages.Below(w.Copy, full)
		return err == nil && is
	})
}

// shown is what the user calls a file of the copy.
func (w *wrapping) shown(name string) string {
	if full, err := filepath.Abs(name); err == nil {
		return moved(full, w.Copy, w.Original)
	}
	return name
}

// tell writes a line of the log. What cannot be told is not counted.
func (w *wrapping) tell(t told) {
	line, err := json.Marshal(t)
	if err != nil {
		return
	}
	f, err := os.OpenFile(w.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	f.Write(append(line, '\n'))
	f.Close()
}

// compile makes the objects of a call's sources, and says what is left to be done: nothing, or
// the link.
func (w *wrapping) compile(path string, c call, plain languages.Call) (languages.Call, error) {
	ctx := context.Background()
	said, objects := []byte{}, []string{}
	for i, s := range c.sources {
		o, err := w.object(ctx, path, c, i)
		if err != nil { // the compiler says why, as it does without cg
			return plain, nil
		}
		said = append(said, o.Said...)
		objects = append(objects, o.path)
		if !c.objects {
			continue
		}
		content, err := os.ReadFile(o.path)
		if err != nil {
			return plain, nil
		}
		if out := c.outOf(s); out != o.path && os.WriteFile(out, content, 0o666) != nil {
			return plain, nil
		}
	}
	done := languages.Call{Stderr: said}
	if !c.objects {
		done.Exec = append([]string{path}, c.linkArguments(objects)...)
	}
	return done, nil
}

// named are flags that make files besides the object, by its name, or read such: the object
// is made in its place, and is not kept.
var named = []string{"--coverage", "-ftest-coverage", "-fprofile-", "-fbranch-probabilities", "-fauto-profile",
	"-gsplit-dwarf", "-fstack-usage", "-fdump-", "-fcallgraph-info", "-ftime-trace", "-fsave-optimization-record",
	"-fplugin=", "-wrapper", "-specs="}

// filePrefix puts the user's folder in the place of the copy in debug information and in __FILE__, since GCC 8 and
// Clang 10. debugPrefix does so in debug information alone.
const (
	filePrefix  = "-ffile-prefix-map="
	debugPrefix = "-fdebug-prefix-map="
)

// object makes the object of a source.
func (w *wrapping) object(ctx context.Context, path string, c call, i int) (*object, error) {
	s := c.sources[i]
	compiler, err := describe(ctx, []string{path})
	if err != nil {
		return nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(w.Scratch, "unit-")
	if err != nil {
		return nil, err
	}
	u := &unit{dialect: s.dialect, compiler: compiler, file: s.name, choices: w.Choices, loaded: true, dir: dir,
		key: "unit", owner: owner{dir: cwd, folders: []string{w.Copy}, options: w.Options, copy: w.Copy,
			original: w.Original}}
	if u.kept, err = runtimes.OpenCache(w.Kept); err != nil {
		u.kept = runtimes.Cache{}
	}
	u.flags = append(compiling(c.dependencies(s)), filePrefix+w.Copy+"="+w.Original)
	if s.language != "" {
		u.flags = append(u.flags, "-x", s.language)
	}
	u.more, err = contents(u.flags)
	if slices.ContainsFunc(c.flags, func(f string) bool { return hasPrefix(f, named...) }) || err != nil {
		u.unkept = true
		if c.objects {
			if u.out, err = filepath.Abs(c.outOf(s)); err != nil {
				return nil, err
			}
		}
	}
	o, err := u.compile(ctx)
	if err != nil && strings.Contains(err.Error(), strings.Trim(filePrefix, "-=")) { // what older compilers lack
		for i, f := range u.flags {
			if after, is := strings.CutPrefix(f, filePrefix); is {
				u.flags[i] = debugPrefix + after
			}
		}
		o, err = u.compile(ctx)
	}
	if bare := (*bareError)(nil); errors.As(err, &bare) {
		w.tell(told{File: w.shown(s.name), Left: w.shownLeft(bare.left)})
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	w.tell(told{File: w.shown(s.name), Short: o.Short, Left: w.shownLeft(o.Left)})
	if filepath.Dir(o.path) != dir {
		return o, os.RemoveAll(dir)
	}
	texts, _ := filepath.Glob(filepath.Join(dir, "*.i")) // the object is still to be linked
	for _, name := range texts {
		os.Remove(name)
	}
	return o, nil
}

func (w *wrapping) shownLeft(all []left) (out []left) {
	for _, l := range all {
		out = append(out, left{moved(l.Place, w.Copy, w.Original), l.Why})
	}
	return out
}

// contents stands for what the files hold that flags name, which objects depend on.
func contents(flags []string) (string, error) {
	var b strings.Builder
	for _, f := range flags {
		_, name, is := strings.Cut(f, "=")
		if !is || !strings.HasPrefix(f, "-f") && !strings.HasPrefix(f, "-m") {
			continue
		}
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %x\n", name, sha256.Sum256(content))
	}
	return b.String(), nil
}

// readLog reads what the stand-ins have told.
func readLog(name string) (all []told, err error) {
	content, err := os.ReadFile(name)
	for line := range bytes.Lines(content) {
		var t told
		if json.Unmarshal(line, &t) == nil {
			all = append(all, t)
		}
	}
	return all, err
}
