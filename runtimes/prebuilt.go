package runtimes

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"cg/tool"
)

// prebuilt holds what cg would compile at first use, where the build brought it along (the
// build tag "prebuilt"), else nil. A file has the digest of its source in its name, so that
// one of another source is not found.
var prebuilt fs.FS

// prebuiltCommand stands for the compiler's command in the key of a prebuilt library.
const prebuiltCommand = "prebuilt"

// prebuiltLibrary is the name of the library of one C file of the folder "native", of which
// sum is the digest.
func prebuiltLibrary(sum, goarch, source string) string {
	return "native-" + sum + "-" + goarch + "-" + strings.TrimSuffix(source, ".c") + ".so"
}

// prebuiltArchive is the name of the jar with the Java runtime, of which sum is the digest.
func prebuiltArchive(sum string) string { return "java-" + sum + ".jar" }

// prebuiltCompiler is the name of the command that stands before Go's compiler, which has this source.
func prebuiltCompiler(source []byte, goarch string) string {
	return "golang-compile-" + digest(source) + "-" + goarch
}

// prebuiltTried is the name of the file which says that files for Go's standard library were tried.
func prebuiltTried(tried string) string { return "golang-tried-" + tried }

// brought is the content of a prebuilt file, nil where there is none.
func brought(name string) []byte {
	if prebuilt == nil {
		return nil
	}
	content, err := fs.ReadFile(prebuilt, "prebuilt/"+name)
	if err != nil {
		return nil
	}
	return content
}

// Prebuild compiles into a folder what a build with the tag "prebuilt" embeds from the
// folder "prebuilt" of this package: all libraries for an architecture, by a compiler
// command for it, the command that stands before Go's compiler, by go, and with a javac the archive of Java. It
// returns the names of the files. It sets no limit of time: ctx may have one.
func Prebuild(ctx context.Context, dir, goarch string, command []string, javac string) (names []string, err error) {
	if dir, err = filepath.Abs(dir); err != nil { // javac runs in a folder of its own
		return nil, err
	}
	work, err := os.MkdirTemp(dir, "prebuild-part-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	sum, err := hash("native")
	if err != nil {
		return nil, err
	}
	files, err := Folder("native")
	if err != nil {
		return nil, err
	}
	source := filepath.Join(work, "native")
	if err := writeFiles(files, source); err != nil {
		return nil, err
	}
	keep := func(name string, content []byte, err error) error {
		if err != nil {
			return fmt.Errorf("runtimes: %s: %w", name, err)
		}
		names = append(names, name)
		return os.WriteFile(filepath.Join(dir, name), content, 0o644)
	}
	for file := range files {
		if !strings.HasSuffix(file, ".c") {
			continue
		}
		content, err := compile(ctx, command, filepath.Join(source, file), work, "-shared", "-s")
		if err := keep(prebuiltLibrary(sum, goarch, file), content, err); err != nil {
			return nil, err
		}
	}
	if err := prebuildGo(ctx, goarch, work, keep); err != nil || javac == "" {
		return names, err
	}
	if sum, err = hash("java"); err != nil {
		return nil, err
	}
	content, err := archive(ctx, javac, work)
	return names, keep(prebuiltArchive(sum), content, err)
}

// prebuildGo keeps the command that stands before Go's compiler. For this machine's architecture it tries the files for
// the standard library with the go command, too, so that no user of a toolchain with the same sources waits for that.
func prebuildGo(ctx context.Context, goarch, work string, keep func(string, []byte, error) error) error {
	source, err := Files.ReadFile(golangCompileSource)
	if err != nil {
		return err
	}
	g := GoToolchain{Command: "go", Arch: goarch, Env: append(os.Environ(), "GOOS=linux", "GOARCH="+goarch)}
	made, err := g.compiler(ctx, source, work)
	if err := keep(prebuiltCompiler(source, goarch), made, err); err != nil || goarch != runtime.GOARCH {
		return err
	}
	root, err := tool.Output(exec.CommandContext(ctx, g.Command, "env", "GOROOT"))
	if err != nil {
		return fmt.Errorf("runtimes: go env GOROOT: %w", err)
	}
	g.Root = strings.TrimSpace(string(root))
	o, err := goScheduler(g)
	if err != nil {
		return fmt.Errorf("runtimes: the scheduler of %s: %w", g.Root, err)
	}
	tests, err := goTesting(g)
	if err != nil {
		return fmt.Errorf("runtimes: package testing of %s: %w", g.Root, err)
	}
	all := GoOverlay{Files: maps.Clone(o.Files)}
	maps.Copy(all.Files, tests.Files)
	for _, trial := range []struct {
		overlay GoOverlay
		main    string
	}{{o, goProbeMain}, {all, goProbeTesting}} {
		dir, err := os.MkdirTemp(work, "golang-probe-")
		if err != nil {
			return err
		}
		err = g.try(ctx, trial.overlay, dir, trial.main)
		if err := keep(prebuiltTried(trial.overlay.tried(goarch, trial.main)), []byte("yes\n"), err); err != nil {
			return err
		}
	}
	return nil
}

// broughtLibrary is the prebuilt library of one C file, nil where there is none.
func broughtLibrary(sum, source string) []byte {
	return brought(prebuiltLibrary(sum, runtime.GOARCH, source))
}
