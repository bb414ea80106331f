// Package runtimes holds what rides inside the measured program: real files,
// tested in their own language and embedded whole.
//
// In goes the user's cache folder; out come the folder of a language's runtime
// and the native library, compiled by the system's C compiler at first use.
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
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"cg/tool"
)

// Files are the runtimes, a folder for each language and "native".
//
//go:embed all:python all:native all:java all:golang
var Files embed.FS

// hash names the content of a folder.
func hash(folder string) (string, error) {
	h := sha256.New()
	err := walk(folder, func(name string, content []byte) error {
		fmt.Fprintf(h, "%s\x00%d\x00", name, len(content))
		h.Write(content)
		return nil
	})
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

func walk(folder string, f func(name string, content []byte) error) error {
	return fs.WalkDir(Files, folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == "__pycache__" {
				return fs.SkipDir
			}
			return err
		}
		b, err := Files.ReadFile(path)
		if err != nil {
			return err
		}
		return f(strings.TrimPrefix(path, folder+"/"), b)
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
// returns where it is: below cache, or below scratch when cache is "" or
// cannot be written. Several processes may unpack at the same time.
func Unpack(folder, cache, scratch string) (string, error) {
	sum, err := hash(folder)
	if err != nil {
		return "", err
	}
	var last error
	for _, base := range []string{cache, scratch} {
		if base == "" {
			continue
		}
		dir := filepath.Join(base, folder+"-"+sum)
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		}
		if last = unpack(folder, dir); last == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("runtimes: unpacking the %s runtime: %w", folder, last)
}

func unpack(folder, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), folder+"-part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	err = walk(folder, func(name string, content []byte) error {
		file := filepath.Join(part, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		return os.WriteFile(file, content, 0o600)
	})
	if err != nil {
		return err
	}
	if err := os.Rename(part, dir); err != nil {
		if _, there := os.Stat(dir); there == nil {
			return nil // another process was faster
		}
		return err
	}
	return nil
}

// ErrNoCompiler says that there is no C compiler.
var ErrNoCompiler = errors.New("no C compiler found (cc); install gcc or clang for much faster checkpoints")

// Library returns the path of the native library made from one C file of the
// folder "native". It is compiled once for each content, compiler command and
// architecture and kept below cache, else below scratch.
func Library(ctx context.Context, source, cache, scratch string) (string, error) {
	sum, err := hash("native")
	if err != nil {
		return "", err
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	command := strings.Fields(cc)
	key := sha256.Sum256([]byte(sum + "\x00" + cc + "\x00" + runtime.GOARCH + "\x00" + source))
	name := "native-" + hex.EncodeToString(key[:8]) + ".so"
	for _, base := range []string{cache, scratch} {
		if base != "" {
			if _, err := os.Stat(filepath.Join(base, name)); err == nil {
				return filepath.Join(base, name), nil
			}
		}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return "", ErrNoCompiler
	}
	var last error
	for _, base := range []string{cache, scratch} {
		if base == "" {
			continue
		}
		if last = compile(ctx, command, source, base, name, scratch); last == nil {
			return filepath.Join(base, name), nil
		}
		if !errors.Is(last, fs.ErrPermission) && !errors.Is(last, fs.ErrExist) && !errors.As(last, new(*fs.PathError)) {
			break
		}
	}
	return "", last
}

func compile(ctx context.Context, command []string, source, base, name, scratch string) error {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return err
	}
	src, err := Unpack("native", base, scratch)
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(base, name+".part-")
	if err != nil {
		return err
	}
	part.Close()
	defer os.Remove(part.Name())
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	args := append(command[1:], "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread", "-o", part.Name(), filepath.Join(src, source))
	cmd := exec.CommandContext(ctx, command[0], args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := tool.Run(cmd); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
		return fmt.Errorf("compiling the native runtime with %s: %w: %s", command[0], err, line)
	}
	return os.Rename(part.Name(), filepath.Join(base, name))
}
