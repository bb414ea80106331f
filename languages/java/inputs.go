package java

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/pattern"
)

// compilerVariables change what javac makes of a source or what it says: the locale gives
// the encoding that it takes (before Java 18) and the language of its messages, the others
// give it and its virtual machine options.
var compilerVariables = []string{"LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANG", "LANGUAGE", "JAVA_TOOL_OPTIONS",
	"_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JDK_JAVAC_OPTIONS"}

// maxClassPathEntries is how many names below the folders of a class path are looked at.
const maxClassPathEntries = 20_000

// errManyFiles says that a class path has more files than are looked at.
var errManyFiles = errors.New("too many files")

// inputs writes down what decides what the compiler makes.
type inputs struct {
	io.Writer
	jars    []string // that are written down
	sources bool     // the compiler takes sources from the class path, too
	names   int      // that may still be looked at
}

// classesKey stands for all that decides what the compiler makes: itself, its
// arguments, its environment, the class path and the sources. "" says that there is too
// much of it to be looked at.
func (b *build) classesKey(args, names []string, sources map[string][]byte) string {
	h := sha256.New()
	in := &inputs{Writer: h, sources: !b.isOneFile(), names: maxClassPathEntries}
	fmt.Fprintf(h, "%s %q\n", b.jdk.version, args)
	in.file(b.jdk.javac)
	if real, err := filepath.EvalSymlinks(b.jdk.javac); err == nil { // all that it is of
		in.file(filepath.Join(filepath.Dir(real), "..", "lib", "modules"))
	}
	for _, name := range compilerVariables {
		fmt.Fprintf(h, "%s %q\n", name, os.Getenv(name))
	}
	for _, word := range strings.Fields(os.Getenv("JDK_JAVAC_OPTIONS")) {
		if file, is := strings.CutPrefix(word, "@"); is { // more options
			text, _ := os.ReadFile(file)
			fmt.Fprintf(h, "%s %q\n", file, text)
		}
	}
	if cwd, err := os.Getwd(); err == nil { // relative paths
		fmt.Fprintln(h, cwd)
	}
	err := in.classPath(b.classpath(), false)
	for i := 0; i+1 < len(args) && err == nil; i++ {
		if slices.Contains([]string{"-p", "--module-path", "--upgrade-module-path"}, args[i]) {
			err = in.classPath(args[i+1], true)
		}
	}
	if err != nil {
		return ""
	}
	for _, name := range names {
		fmt.Fprintf(h, "%s %d\n", name, len(sources[name]))
		h.Write(sources[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:24]
}

// file writes down a file by what changes with its content.
func (in *inputs) file(path string) {
	if info, err := os.Stat(path); err == nil {
		fmt.Fprintf(in, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
	}
}

// classPath writes down the parts of a class path, or of a path of modules.
func (in *inputs) classPath(path string, modules bool) error {
	for _, part := range filepath.SplitList(path) {
		info, err := os.Stat(part)
		switch {
		case filepath.Base(part) == "*":
			jars, _ := filepath.Glob(filepath.Join(filepath.Dir(part), "*.[jJ][aA][rR]"))
			for _, jar := range jars {
				in.jar(jar)
			}
		case err != nil: // javac goes without it, too
		case info.IsDir():
			if err := in.folder(part, modules); err != nil {
				return err
			}
		default:
			in.jar(part)
		}
	}
	return nil
}

// jar writes down a jar, and those that its manifest names.
func (in *inputs) jar(path string) {
	if slices.Contains(in.jars, path) {
		return
	}
	in.jars = append(in.jars, path)
	in.file(path)
	z, err := zip.OpenReader(path)
	if err != nil {
		return
	}
	defer z.Close()
	for _, f := range z.File {
		if f.Name != "META-INF/MANIFEST.MF" {
			continue
		}
		text, _ := inZip(f)
		for _, line := range manifestLines(text) {
			key, value, _ := strings.Cut(line, ":")
			if !strings.EqualFold(key, "Class-Path") {
				continue
			}
			for name := range strings.FieldsSeq(value) {
				in.jar(filepath.Join(filepath.Dir(path), strings.TrimPrefix(name, "file:")))
			}
		}
	}
}

var packageFolder = pattern.Later(`^[\pL_$][\pL\pN_$]*$`)

// folder writes down the classes below a folder, in folders that can be packages, and
// the sources if the compiler takes them from there.
func (in *inputs) folder(root string, modules bool) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if in.names--; in.names < 0 {
			return errManyFiles
		}
		if err != nil {
			return nil // javac cannot read it, either
		}
		if d.IsDir() {
			isModule := modules && filepath.Dir(path) == filepath.Clean(root)
			if path != root && !isModule && !packageFolder().MatchString(d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		switch ending := filepath.Ext(path); {
		case ending == ".class", ending == ".java" && in.sources, modules && ending == ".jar":
			in.file(path)
		}
		return nil
	})
}
