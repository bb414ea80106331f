package java

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cg/languages"
)

// jarFile is a program that comes as classes, with its sources.
type jarFile struct {
	jar, sources string
	main         string   // Main-Class of its manifest
	options      []string // of the java command, for what else the manifest asks for
	javac        []string // options with which the classes are made as they were
	feature      int      // the Java that its classes need
	classes      map[string]bool
}

// jarSources is the jar or the folder with the sources of a jar: the one that
// was named, else NAME-sources.jar beside NAME.jar, as Maven calls it.
func jarSources(jar, named string) (string, error) {
	if named == "" {
		named = strings.TrimSuffix(jar, ".jar") + "-sources.jar"
		if _, err := os.Stat(named); err != nil {
			return "", languages.Refuse(2,
				"%s: classes get no checkpoints without their source: name it with --sources JAR (or a folder); "+
					"there is no %s", jar, named)
		}
		return named, nil
	}
	if _, err := os.Stat(named); errors.Is(err, fs.ErrNotExist) {
		return "", languages.Refuse(127, "--sources: %s: no such file or folder", named)
	} else if err != nil {
		return "", languages.Refuse(126, "--sources: %s: %v", named, errors.Unwrap(err))
	}
	return named, nil
}

// openJar reads what a jar says of itself.
func openJar(name, sources string) (*jarFile, error) {
	z, err := zip.OpenReader(name)
	if err != nil {
		return nil, languages.Refuse(126, "%s: not a jar: %v", name, err)
	}
	defer z.Close()
	j := &jarFile{jar: name, sources: sources, classes: map[string]bool{}}
	debug, parameters := false, false
	for _, f := range z.File {
		if strings.HasPrefix(f.Name, "META-INF/") {
			if f.Name == "META-INF/MANIFEST.MF" {
				b, err := inZip(f)
				if err != nil {
					return nil, languages.Refuse(126, "%s: %v", name, err)
				}
				if err := j.manifest(b); err != nil {
					return nil, err
				}
			}
			continue
		}
		class, is := strings.CutSuffix(f.Name, ".class")
		if !is {
			continue
		}
		j.classes[class] = true
		b, err := inZip(f)
		if err != nil {
			return nil, languages.Refuse(126, "%s: %s: %v", name, f.Name, err)
		}
		if len(b) < 8 || binary.BigEndian.Uint32(b) != 0xcafebabe {
			continue
		}
		j.feature = max(j.feature, int(binary.BigEndian.Uint16(b[6:]))-44) // JVMS 4.1
		debug = debug || bytes.Contains(b, []byte("LocalVariableTable"))
		parameters = parameters || bytes.Contains(b, []byte("MethodParameters"))
	}
	if debug {
		j.javac = append(j.javac, "-g")
	}
	if parameters {
		j.javac = append(j.javac, "-parameters")
	}
	return j, nil
}

func inZip(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// manifestLines are the lines of the main section of a manifest.
func manifestLines(b []byte) (lines []string) {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(b))
	text = strings.ReplaceAll(text, "\n ", "")
	main, _, _ := strings.Cut(text, "\n\n")
	for line := range strings.Lines(main) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// manifest reads the main section (docs.oracle.com/en/java/javase/17/docs/specs/jar/jar.html):
// what java -jar does for it and java -cp does not.
func (j *jarFile) manifest(b []byte) error {
	for _, line := range manifestLines(b) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(key) {
		case "main-class":
			j.main = value
		case "add-opens", "add-exports":
			for p := range strings.FieldsSeq(value) {
				j.options = append(j.options, "--"+strings.ToLower(key)+"="+p+"=ALL-UNNAMED")
			}
		case "launcher-agent-class":
			return languages.Refuse(2,
				"%s: it starts an agent of its own (Launcher-Agent-Class), which only java -jar does: measure it "+
					"from its sources", j.jar)
		case "sealed":
			if strings.EqualFold(value, "true") {
				return languages.Refuse(2,
					"%s: its packages are sealed: no classes beside it may take the place of its own", j.jar)
			}
		}
	}
	return nil
}

// read returns the sources whose classes the jar has.
func (j *jarFile) read() ([]*sourceFile, error) {
	var files []*sourceFile
	add := func(below string, text func() ([]byte, error)) error {
		name := path.Base(below)
		if path.Ext(name) != ".java" || name == "module-info.java" || name == "package-info.java" ||
			strings.HasPrefix(below, "META-INF/") {
			return nil
		}
		b, err := text()
		if err != nil {
			return err
		}
		f := &sourceFile{name: filepath.Join(j.sources, below), text: b}
		if f.parsed, f.fault = parse(b); f.fault == nil {
			if class := strings.ReplaceAll(f.parsed.firstType(f.name), ".", "/"); !j.classes[class] {
				return nil // a source of something else
			}
		}
		files = append(files, f)
		return nil
	}
	if info, err := os.Stat(j.sources); err == nil && info.IsDir() {
		names, err := languages.Sources("Java", j.sources, ".java")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			rel, err := filepath.Rel(j.sources, name)
			if err == nil {
				err = add(filepath.ToSlash(rel), func() ([]byte, error) { return os.ReadFile(name) })
			}
			if err != nil {
				return nil, languages.Refuse(126, "%s: %v", name, err)
			}
		}
	} else {
		z, err := zip.OpenReader(j.sources)
		if err != nil {
			return nil, languages.Refuse(126, "--sources: %s: not a jar: %v", j.sources, err)
		}
		defer z.Close()
		for _, f := range z.File {
			if err := add(f.Name, func() ([]byte, error) { return inZip(f) }); err != nil {
				return nil, languages.Refuse(126, "%s: %s: %v", j.sources, f.Name, err)
			}
		}
	}
	if len(files) == 0 {
		return nil, languages.Refuse(2,
			"%s: has none of the classes whose sources are in %s (a jar that has jars in it is measured with "+
				"--project)", j.jar, j.sources)
	}
	slices.SortFunc(files, func(a, b *sourceFile) int { return strings.Compare(a.name, b.name) })
	return files, nil
}
