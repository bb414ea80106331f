// Package runtimes holds the files that run inside the measured program: real files,
// tested in their own language and embedded whole.
//
// It takes the user's cache folder. It returns the folder of a language's runtime, and the
// native library, which the build brought along or the system's C compiler makes at first use.
// The package knows no language beyond the names of its folders.
package runtimes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"cg/tool"
)

// Files are the runtimes, a folder for each language and "native".
var Files = files{}

// files are embedded folders by their names.
type files map[string]embed.FS

//go:embed all:native
var native embed.FS

func init() { register("native", native) }

// kept are patterns of what is kept in the cache folder.
var kept = []string{"*-part-*", "part-*", "idle/*", "stamp-*"}

// register adds a folder with the runtime of a language. Each language calls it from a
// file of its own. What is kept in the cache under the folder's name and "-" is pruned,
// and what the patterns in keeps match.
func register(folder string, content embed.FS, keeps ...string) {
	Files[folder] = content
	kept = append(append(kept, folder+"-*"), keeps...)
}

// Open opens a file or a folder, as fs.FS does.
func (f files) Open(name string) (fs.File, error) {
	folder, _, _ := strings.Cut(name, "/")
	return f[folder].Open(name)
}

// ReadFile reads a file by its path, which begins with the name of a folder.
func (f files) ReadFile(name string) ([]byte, error) {
	folder, _, _ := strings.Cut(name, "/")
	return f[folder].ReadFile(name)
}

// Digest names the content of a folder, as the names in the cache do.
func Digest(folder string) (string, error) { return hash(folder) }

// hash names the content of a folder. It copies none of it: each run of cg needs some of these names.
func hash(folder string) (string, error) {
	h, buffer := sha256.New(), make([]byte, 32<<10)
	err := visit(folder, func(path, name string) error {
		file, err := Files.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s\x00%d\x00", name, info.Size())
		_, err = io.CopyBuffer(h, file, buffer)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

// visit calls f with the path of each file of a folder, and with its name in it.
func visit(folder string, f func(path, name string) error) error {
	return fs.WalkDir(Files, folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == "__pycache__" {
				return fs.SkipDir
			}
			return err
		}
		return f(path, strings.TrimPrefix(path, folder+"/"))
	})
}

func walk(folder string, f func(name string, content []byte) error) error {
	return visit(folder, func(path, name string) error {
		b, err := Files.ReadFile(path)
		if err != nil {
			return err
		}
		return f(name, b)
	})
}

// Folder lists the files of a folder by their names in it, with their content.
func Folder(folder string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := walk(folder, func(name string, content []byte) error {
		files[name] = content
		return nil
	})
	return files, err
}

// Unpack writes a folder to disk, once for each version of its content, and
// returns where it is: below cache, or below scratch when nothing can be kept
// there. Several processes may unpack at the same time.
func Unpack(folder string, cache Cache, scratch string) (string, error) {
	return unpackAt(folder, cache, scratch, time.Now())
}

func unpackAt(folder string, cache Cache, scratch string, now time.Time) (string, error) {
	sum, err := hash(folder)
	if err != nil {
		return "", err
	}
	var last error
	var files map[string][]byte
	name := folder + "-" + sum
	for _, c := range places(cache, scratch) {
		dir := filepath.Join(c.Dir, name)
		if c.isStamped(name) {
			return dir, nil
		}
		if files == nil {
			if files, err = Folder(folder); err != nil {
				return "", err
			}
		}
		for range 3 { // refused, or put there by another process
			last = c.absent(inside(dir, c.stamp(name, now, func() error { return unpacked(dir, files) })))
			if !errors.Is(last, fs.ErrNotExist) {
				break
			}
			if last = c.unpack(files, dir); last != nil {
				break
			}
			last = fs.ErrNotExist
		}
		if last == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("runtimes: unpacking the %s runtime: %w", folder, last)
}

// places are where something can be kept, the best first.
func places(cache Cache, scratch string) []Cache {
	if cache.Dir == "" {
		return []Cache{{Dir: scratch}}
	}
	return []Cache{cache, {Dir: scratch}}
}

// unpacked compares a folder with the files that were written there. What the
// interpreters put into the folder is theirs to check but for its owner: the
// folder is on a path of modules, so nothing else may be in it.
func unpacked(dir string, files map[string][]byte) error {
	if err := ownFolder(dir); err != nil {
		return err
	}
	left := len(files)
	err := walkOwn(dir, func(name string, read func() ([]byte, error)) error {
		path := filepath.Join(dir, name)
		want, is := files[name]
		if !is && !besides(name, files) {
			return &Refusal{path, "is not of cg"}
		} else if !is {
			return nil
		}
		content, err := read()
		if err != nil {
			return err
		}
		if !bytes.Equal(content, want) {
			return &Refusal{path, "is not what cg has written"}
		}
		left--
		return nil
	})
	if err == nil && left > 0 {
		err = &Refusal{dir, "is not whole"}
	}
	return err
}

// importable are the endings of files that Python's import statement finds.
var importable = []string{".py", ".pyc", ".so"}

// besides reports whether a file may be in the folder of the unpacked ones: bytecode that
// the interpreter has made of one, and what compiling.py keeps.
func besides(name string, files map[string][]byte) bool {
	folder, base := filepath.Split(name)
	module, rest, _ := strings.Cut(base, ".")
	if up, is := strings.CutSuffix(folder, "__pycache__/"); is {
		_, is = files[up+module+".py"]
		return is && strings.Contains(rest, "pyc")
	}
	return folder == "" && module == "in-program" && rest != "" && !slices.Contains(importable, filepath.Ext(base))
}

func (c Cache) unpack(files map[string][]byte, dir string) error {
	part, err := os.MkdirTemp(c.Dir, "part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := writeFiles(files, part); err != nil {
		return err
	}
	if err := os.Rename(part, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func writeFiles(files map[string][]byte, dir string) error {
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// ErrNoCompiler says that there is no C compiler.
var ErrNoCompiler = errors.New("no C compiler found (cc); install gcc or clang for much faster checkpoints")

// Library returns the path of the native library made from one C file of the
// folder "native", and its content. The build brought it along, or it is compiled, once for each
// content of that folder, compiler command and architecture. A compiler that CC names is always
// used. The library is kept below cache, else below scratch.
func Library(ctx context.Context, source string, cache Cache, scratch string) (path string, content []byte, err error) {
	sum, err := hash("native")
	if err != nil {
		return "", nil, err
	}
	cc := strings.TrimSpace(os.Getenv("CC"))
	made := []byte(nil)
	if cc == "" {
		cc = "cc"
		if made = broughtLibrary(sum, source); made != nil {
			cc = prebuiltCommand
		}
	}
	sha := sha256.Sum256([]byte(sum + "\x00" + cc + "\x00" + runtime.GOARCH + "\x00" + source))
	key := "native-" + hex.EncodeToString(sha[:8])
	for _, c := range places(cache, scratch) {
		if path, content, ok := c.Find(key, ".so"); ok {
			return path, content, nil
		}
	}
	if content = made; content == nil {
		release := cache.alone(ctx)
		defer release()
		if path, content, ok := cache.Find(key, ".so"); ok { // another has made it meanwhile
			return path, content, nil
		}
		if content, err = compiled(ctx, strings.Fields(cc), source, cache, scratch); err != nil {
			return "", nil, err
		}
	}
	for _, c := range places(cache, scratch) {
		if path, err = c.Keep(key, ".so", content, 0o600); err == nil {
			return path, content, nil
		}
	}
	return "", nil, err
}

// compiled makes the library of one C file of the folder "native".
func compiled(ctx context.Context, command []string, source string, cache Cache, scratch string) ([]byte, error) {
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil, ErrNoCompiler
	}
	src, err := Unpack("native", cache, scratch)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, compilerLimit)
	defer cancel()
	return compile(ctx, command, filepath.Join(src, source), scratch, "-shared")
}

// compilerLimit is how long a run waits for a compiler.
const compilerLimit = time.Minute

// compile makes a shared library (-shared) or an object (-c) of a file.
func compile(ctx context.Context, command []string, source, scratch string, kind ...string) ([]byte, error) {
	dir, err := os.MkdirTemp(scratch, "native-part-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "made")
	args := slices.Concat(command[1:], kind, []string{"-O2", "-fPIC", "-fvisibility=hidden", "-pthread", "-o", made,
		source})
	cmd := exec.CommandContext(ctx, command[0], args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := tool.Run(cmd); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
		return nil, fmt.Errorf("compiling the native runtime with %s: %w: %s", command[0], err, line)
	}
	return os.ReadFile(made)
}
