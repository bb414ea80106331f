package java

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/languages"
	"cg/runtimes"
)

// launcherFlag has java compile and run the rewritten file itself.
const launcherFlag = "source-launcher"

// launcherCommand starts the rewritten file in the source launcher, which compiles it in
// memory as it does the user's: traces end with the launcher's frames, and the class
// loader is the launcher's.
func (b *build) launcherCommand() (languages.Command, error) {
	if b.pkg != "cg$" {
		return languages.Command{}, languages.Refuse(2,
			"--%s: %s has the name cg$ in it: run it without the flag", launcherFlag, b.files[0].name)
	}
	root := filepath.Join(b.setup.Dir, "launcher")
	names := map[string]string{}
	var started string
	for i, f := range b.files {
		path := filepath.Join(root, filepath.Base(f.name))
		if f.parsed != nil {
			inside := filepath.Join(strings.Split(f.parsed.packageName(), ".")...)
			path = filepath.Join(root, inside, filepath.Base(f.name))
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return languages.Command{}, err
		}
		if err := os.WriteFile(path, b.sources[sourceName(i, f)], 0o600); err != nil {
			return languages.Command{}, err
		}
		if names[path] = f.name; i == 0 {
			started = path
		}
	}
	args := append([]string{b.jdk.java},
		runtimes.JavaFlags(b.jdk.feature, b.jar, b.setup.Native.Path != "", !b.setup.Coarse)...)
	path := b.classpath() + string(os.PathListSeparator) + b.jar
	args = slices.Concat(args, b.target.flags, []string{"-cp", path, started}, b.target.args)
	c := languages.Command{Args: args, Version: b.jdk.version, Marks: []string{"cg$", root}}
	var quoted [2]quotedLine
	c.Change = func(line []byte, stderr bool) []byte {
		stream := 0
		if stderr {
			stream = 1
		}
		line = quoted[stream].original(line)
		for path, name := range names {
			line = bytes.ReplaceAll(line, []byte(path), []byte(name))
		}
		return line
	}
	return c, nil
}
