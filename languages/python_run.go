package languages

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"cg/runtimes"
)

// pythonTarget splits a command line into the interpreter's own flags, the
// target, and the program's arguments.
type pythonTarget struct {
	module string // of -m
	path   string // of a script, directory or archive
	args   []string
}

func splitPython(t Target) (pythonTarget, error) {
	if len(t.Args) == 0 {
		return pythonTarget{}, refuse(2, "nothing to run: name a script, a directory with a __main__.py, or -m MODULE")
	}
	switch first := t.Args[0]; {
	case first == "-m":
		if len(t.Args) < 2 {
			return pythonTarget{}, refuse(2, "-m needs the name of a module")
		}
		return pythonTarget{module: t.Args[1], args: t.Args[2:]}, nil
	case strings.HasPrefix(first, "-m") && len(first) > 2:
		return pythonTarget{module: first[2:], args: t.Args[1:]}, nil
	case first != "-" && strings.HasPrefix(first, "-"):
		return pythonTarget{}, refuse(2, "%s: not a target; name a script, a directory with a __main__.py, or -m MODULE", first)
	}
	return pythonTarget{path: t.Args[0], args: t.Args[1:]}, nil
}

func checkPython(t Target) error {
	target, err := splitPython(t)
	if err != nil || target.module != "" {
		return err
	}
	if target.path == "-" {
		return refuse(2, "a program on standard input cannot be instrumented: save it to a file")
	}
	info, err := os.Stat(target.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(127, "%s: no such script", target.path)
	case err != nil:
		return refuse(126, "%s: %v", target.path, errors.Unwrap(err))
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(target.path, "__main__.py")); err != nil {
			return refuse(126, "%s: is a directory without a __main__.py; name the script in it", target.path)
		}
		return nil
	}
	f, err := os.Open(target.path)
	if err != nil {
		return refuse(126, "%s: cannot be read: %v", target.path, errors.Unwrap(err))
	}
	return f.Close()
}

// interpreter is what cg knows of a Python interpreter.
type interpreter struct {
	Path, Version  string
	Size, Modified int64
}

// findPython finds the interpreter that the user's shell would run. What it
// said of itself is kept in the cache for as long as its file is unchanged.
func findPython(name, cache string) (interpreter, error) {
	if name == "" {
		name = "python3"
		if _, err := exec.LookPath(name); err != nil {
			name = "python"
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return interpreter{}, refuse(127, "Python interpreter %q not found: install Python 3.8 or later, or name one with --python PATH", name)
	}
	if path, err = filepath.Abs(path); err != nil {
		return interpreter{}, err
	}
	p := interpreter{Path: path}
	real, _ := filepath.EvalSymlinks(path)
	if info, err := os.Stat(path); err == nil {
		p.Size, p.Modified = info.Size(), info.ModTime().UnixNano()
	}
	store := filepath.Join(cache, "pythons.json")
	known := map[string]interpreter{}
	if b, err := os.ReadFile(store); err == nil && cache != "" {
		json.Unmarshal(b, &known)
	}
	// A shim, a script of a few lines such as pyenv's, stands for another
	// interpreter in every folder: what it said once may be wrong here.
	shim := p.Size < 16<<10
	if k, ok := known[path+"\x00"+real]; ok && k.Size == p.Size && k.Modified == p.Modified && !shim {
		p = k
	} else {
		out, err := exec.Command(path, "-I", "-S", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])").Output()
		if err != nil {
			return interpreter{}, refuse(126, "%s: does not run as a Python interpreter: %v", path, err)
		}
		p.Version = strings.TrimSpace(string(out))
		known[path+"\x00"+real] = p
		if b, err := json.Marshal(known); err == nil && cache != "" && !shim {
			part := fmt.Sprintf("%s.%d", store, os.Getpid())
			if os.WriteFile(part, b, 0o600) == nil {
				if os.Rename(part, store) != nil {
					os.Remove(part)
				}
			}
		}
	}
	var major, minor int
	if n, _ := fmt.Sscanf(p.Version, "%d.%d", &major, &minor); n != 2 || major < 3 || major == 3 && minor < 8 {
		return p, refuse(126, "%s is Python %s; cg needs 3.8 or later (choose another with --python PATH)", path, p.Version)
	}
	return p, nil
}

// launchPython starts the program exactly as the user would, python TARGET
// ARGS; what is cg's comes through PYTHONPATH and CG_RUN.
func launchPython(t Target, s Setup) (Command, error) {
	p, err := findPython(t.Interpreter, s.Cache)
	if err != nil {
		return Command{}, err
	}
	args := append([]string{p.Path}, t.Args...)
	meta := map[string]string{"python_version": p.Version}
	if s.Off {
		return Command{Args: args, Version: p.Version, Meta: meta}, nil
	}
	here, err := runtimes.Unpack("python", s.Cache, s.Dir)
	if err != nil {
		return Command{}, err
	}
	cache := filepath.Join(s.Dir, "woven")
	if s.Cache != "" {
		cache = filepath.Join(s.Cache, "woven")
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		cache = filepath.Join(s.Dir, "woven")
		if err := os.MkdirAll(cache, 0o700); err != nil {
			return Command{}, err
		}
	}
	imports, foreign := "1", ""
	if s.Coarse {
		imports = ""
	}
	if s.Foreign {
		foreign = "1"
	}
	run := filepath.Join(s.Dir, "run")
	var b strings.Builder
	for _, kv := range [][2]string{
		{"channel", s.Channel}, {"server", s.Server}, {"native", s.Native.Path}, {"reason", s.Native.Reason},
		{"cache", cache}, {"key", s.Key}, {"here", here}, {"imports", imports}, {"foreign", foreign},
	} {
		fmt.Fprintf(&b, "%s=%s\n", kv[0], strings.ReplaceAll(kv[1], "\n", " "))
	}
	if err := os.WriteFile(run, []byte(b.String()), 0o600); err != nil {
		return Command{}, err
	}
	path := here
	if old := os.Getenv("PYTHONPATH"); old != "" {
		path += string(os.PathListSeparator) + old
	}
	return Command{Args: args, Env: []string{"PYTHONPATH=" + path, "CG_RUN=" + run}, Version: p.Version, Meta: meta}, nil
}

// filesPython lists a script, or the modules below a directory.
func filesPython(t Target) ([]string, error) {
	target, err := splitPython(t)
	if err != nil {
		return nil, err
	}
	if target.module != "" {
		return nil, refuse(2, "analyze reads files: name a script or a directory instead of -m %s", target.module)
	}
	info, err := os.Stat(target.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(1, "%s: no such file or directory", target.path)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{target.path}, nil
	}
	var files []string
	err = filepath.WalkDir(target.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != target.path && (strings.HasPrefix(name, ".") || name == "__pycache__" || name == "site-packages" || name == "node_modules") {
			return filepath.SkipDir
		}
		if !d.IsDir() && filepath.Ext(name) == ".py" {
			files = append(files, path)
		}
		return nil
	})
	slices.Sort(files)
	if err == nil && len(files) == 0 {
		return nil, refuse(1, "%s: no Python files in it", target.path)
	}
	return files, err
}
