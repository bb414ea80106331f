package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"cg/languages"
	"cg/pattern"
	"cg/runtimes"
)

// commandLine splits a command line into the interpreter's own flags, the
// target, and the program's arguments.
type commandLine struct {
	flags   []string
	module  string // of -m
	text    string // of -c
	isText  bool
	path    string // of a script, directory or archive; "-" for standard input
	args    []string
	without string // the flag that keeps cg out of the interpreter
}

// targets is what a target can be.
const (
	targets    = "a script, a directory or archive with a __main__.py, -m MODULE, -c TEXT, or - for standard input"
	targetHelp = "name " + targets
)

// splitFlag splits a flag of the interpreter, which may be several letters
// (docs.python.org/3/using/cmdline.html). more says that its value is the next
// argument; target is the letter, m or c, that stands for a target, with value.
func splitFlag(a string) (letters string, more bool, target byte, value string, err error) {
	if a == "--check-hash-based-pycs" {
		return "", true, 0, "", nil
	}
	for i := 1; i < len(a); i++ {
		switch c := a[i]; {
		case c == 'm' || c == 'c':
			return letters, i+1 == len(a), c, a[i+1:], nil
		case c == 'W' || c == 'X':
			return letters, i+1 == len(a), 0, a[i+1:], nil
		case c == 'x':
			return "", false, 0, "", languages.Refuse(2,
				"%s: a script is instrumented with its first line, too: leave out -x", a)
		case strings.IndexByte("bBdEiIOPqRsSuv", c) >= 0:
			letters += string(c)
		default:
			return "", false, 0, "", languages.Refuse(2,
				"%s: not a flag that cg passes to Python, and not a target; %s", a, targetHelp)
		}
	}
	return letters, false, 0, "", nil
}

func splitArgs(t languages.Target) (commandLine, error) {
	var p commandLine
	for i := 0; i < len(t.Args); i++ {
		a := t.Args[i]
		if a == "-" || !strings.HasPrefix(a, "-") {
			p.path, p.args = a, t.Args[i+1:]
			return p, nil
		}
		letters, more, target, value, err := splitFlag(a)
		if err != nil {
			return p, err
		}
		if k := strings.IndexAny(letters, "IES"); k >= 0 && p.without == "" {
			p.without = "-" + letters[k:k+1]
		}
		if more {
			if i++; i == len(t.Args) {
				return p, languages.Refuse(2, "%s needs %s", a,
					map[byte]string{'m': "the name of a module", 'c': "a program text"}[target])
			}
			value = t.Args[i]
		}
		switch target {
		case 'm':
			p.module, p.args = value, t.Args[i+1:]
			return p, nil
		case 'c':
			p.text, p.isText, p.args = value, true, t.Args[i+1:]
			return p, nil
		}
		p.flags = append(p.flags, a)
	}
	return p, languages.Refuse(2, "nothing to run: %s", targetHelp)
}

// interpreterFlag reports whether an argument in front of the target is a flag of
// the interpreter, how many more arguments it takes, and whether it stands for
// the target.
func interpreterFlag(a string) (more int, target, ok bool) {
	if len(a) < 2 || a[0] != '-' {
		return 0, false, false
	}
	_, next, letter, _, err := splitFlag(a)
	if next {
		more = 1
	}
	return more, letter != 0, err == nil
}

// isInterpreter reports whether a script's first line names a Python.
func isInterpreter(command string) bool {
	return interpreterName().MatchString(filepath.Base(command))
}

var interpreterName = pattern.Later(`^(python|pypy)[0-9.]*t?$`)

func check(t languages.Target) error {
	target, err := splitArgs(t)
	if err != nil || target.module != "" || target.isText {
		return err
	}
	if target.path == "-" {
		return nil
	}
	info, err := os.Stat(target.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return languages.Refuse(127, "%s: no such script", target.path)
	case err != nil:
		return languages.Refuse(126, "%s: %v", target.path, errors.Unwrap(err))
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(target.path, "__main__.py")); err != nil {
			return languages.Refuse(126, "%s: is a directory without a __main__.py; name the script in it", target.path)
		}
		return nil
	}
	f, err := os.Open(target.path)
	if err != nil {
		return languages.Refuse(126, "%s: cannot be read: %v", target.path, errors.Unwrap(err))
	}
	return f.Close()
}

// interpreter is what cg knows of a Python interpreter.
type interpreter struct {
	Path, Version  string
	Implementation string // cpython, pypy, ...
	FreeThreaded   bool   // built without a global lock
	Size, Modified int64
}

// findInterpreter finds the interpreter that the user's shell would run. What it
// said of itself is kept in the cache for as long as its file is unchanged.
func findInterpreter(name string, cache runtimes.Cache) (interpreter, error) {
	if name == "" {
		name = defaultName()
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return interpreter{}, languages.Refuse(127,
			"Python interpreter %q not found: install Python 3.8 or later, or name one with --python PATH", name)
	}
	if path, err = filepath.Abs(path); err != nil {
		return interpreter{}, err
	}
	p := interpreter{Path: path}
	real, _ := filepath.EvalSymlinks(path)
	if info, err := os.Stat(path); err == nil {
		p.Size, p.Modified = info.Size(), info.ModTime().UnixNano()
	}
	const store = "pythons.json"
	known := map[string]interpreter{}
	if b, err := cache.Read(store); err == nil {
		json.Unmarshal(b, &known)
	}
	// A shim, a script of a few lines such as pyenv's, stands for another
	// interpreter in every folder: what it said once may be wrong here.
	shim := p.Size < 16<<10
	if k, ok := known[path+"\x00"+real]; ok && k.Size == p.Size && k.Modified == p.Modified &&
		k.Implementation != "" && !shim {
		p = k
		p.Path = path
	} else {
		if err := p.ask(); err != nil {
			return interpreter{}, languages.Refuse(126, "%s: does not run as a Python interpreter: %v", path, err)
		}
		known[path+"\x00"+real] = p
		if b, err := json.Marshal(known); err == nil && !shim {
			_ = cache.Write(store, b) // else it is asked again
		}
	}
	var major, minor int
	if n, _ := fmt.Sscanf(p.Version, "%d.%d", &major, &minor); n != 2 || major < 3 || major == 3 && minor < 8 {
		return p, languages.Refuse(126, "%s is Python %s; cg needs 3.8 or later (choose another with --python PATH)",
			path, p.Version)
	}
	return p, nil
}

// launch starts the program exactly as the user would, python TARGET
// ARGS; what is cg's comes through PYTHONPATH and CG_RUN.
func launch(t languages.Target, s languages.Setup) (languages.Command, error) {
	target, err := splitArgs(t)
	if err != nil {
		return languages.Command{}, err
	}
	p, err := findInterpreter(t.Interpreter, s.Cache)
	if err != nil {
		return languages.Command{}, err
	}
	command := languages.Command{Args: append([]string{p.Path}, t.Args...), Version: p.Version, Meta: p.meta(),
		Untested: p.untested()}
	if s.OwnCheckpoints {
		return command, nil
	}
	// The interpreter reads the program to its end before it begins, and the
	// runtime reads it again.
	command.ReadsInputTwice = target.path == "-"
	if target.without != "" {
		command.Uninstrumented = target.without + " keeps cg out of the interpreter, which then " +
			map[string]string{"-I": "ignores PYTHONPATH", "-E": "ignores PYTHONPATH",
				"-S": "does not import sitecustomize"}[target.without]
		return command, nil
	}
	here, err := runtimes.Unpack("python", s.Cache, s.Dir)
	if err != nil {
		return languages.Command{}, err
	}
	woven, err := s.CacheFolder("woven")
	if err != nil {
		return languages.Command{}, err
	}
	imports := "1"
	if s.Coarse {
		imports = ""
	}
	places, err := p.places(s)
	if err != nil {
		return languages.Command{}, err
	}
	key, placed := s.PlanKey, placedFiles(s.Options)
	if placed != "" {
		key = s.FineKey
	}
	named := ""
	if s.Options.PlacesOf != nil {
		named = "1"
	}
	run := filepath.Join(s.Dir, "run")
	write := func(name, server, ahead string) {
		var b strings.Builder
		for _, kv := range [][2]string{
			{"channel", s.Channel}, {"server", server}, {"native", s.Native.Path}, {"reason", s.Native.Reason},
			{"seals", fingerprint(s.Native.Content)}, {"cache", woven.Dir}, {"key", key}, {"here", here},
			{"imports", imports}, {"places", places}, {"placed", placed}, {"named", named}, {"program", target.program()}, {"foreign", beginnings(s.Options.Include)}, {"ahead", ahead},
		} {
			fmt.Fprintf(&b, "%s=%s\n", kv[0], strings.ReplaceAll(kv[1], "\n", " "))
		}
		err = errors.Join(err, os.WriteFile(name, []byte(b.String()), 0o600))
	}
	if work, socket := weaveAhead(&command, p, target.flags, s); work == "" {
		write(run, s.Server, "")
	} else {
		write(run, s.Server, "ask")
		write(work, socket, "work")
	}
	if err != nil {
		if command.Release != nil {
			command.Release()
		}
		return languages.Command{}, err
	}
	path := here
	if old := os.Getenv("PYTHONPATH"); old != "" {
		path += string(os.PathListSeparator) + old
	}
	command.Env = append([]string{"PYTHONPATH=" + path, "CG_RUN=" + run},
		runtimes.CGuests(context.Background(), s.Cache, s.Dir, s.Channel, "Py_GetVersion")...)
	return command, nil
}

// sourceFiles lists a script, or the modules below a directory.
func sourceFiles(t languages.Target) ([]string, error) {
	target, err := splitArgs(t)
	if err != nil {
		return nil, err
	}
	switch {
	case target.module != "":
		return nil, languages.Refuse(2, "analyze reads files: name a script or a directory instead of -m %s",
			target.module)
	case target.isText || target.path == "-":
		return nil, languages.Refuse(2, "analyze reads files: name a script or a directory")
	}
	info, err := os.Stat(target.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, languages.Refuse(1, "%s: no such file or directory", target.path)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{target.path}, nil
	}
	return languages.Sources("Python", target.path, ".py", "__pycache__", "site-packages", "node_modules")
}
