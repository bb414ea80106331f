package java

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/languages"
)

// modulePaths are the flags that both the compiler and the machine need to find
// modules and what these may see.
var modulePaths = []string{"-p", "--module-path", "--upgrade-module-path", "--add-modules", "--limit-modules",
	"--add-exports", "--add-reads"}

// moduleName is the name of the module that a folder of sources declares, ""
// for none: what its classes are of, in place of the class path.
func moduleName(files []*sourceFile) (string, error) {
	module, where := "", ""
	for _, f := range files {
		if filepath.Base(f.name) != "module-info.java" {
			continue
		}
		if where != "" {
			return "", languages.Refuse(2, "%s and %s: one module at a time: name the folder of one", where, f.name)
		}
		where = f.name
		j, err := parse(f.text)
		if err != nil {
			return "", languages.Refuse(1, "%s: %v", f.name, err)
		}
		j.Children(0, func(c int) {
			if j.Nodes[c].Type == "module_declaration" {
				module = j.erased(j.Field(c, "name"))
			}
		})
	}
	return module, nil
}

// readsUnnamed lets a module see the runtime, which is in none.
func readsUnnamed(module string) []string { return []string{"--add-reads", module + "=ALL-UNNAMED"} }

// compilerFlags are those of the target's flags that the compiler needs, too, with
// paths that do not depend on the working folder.
func (t commandLine) compilerFlags() []string {
	var args []string
	for i := 0; i+1 < len(t.flags); i++ {
		name, value := t.flags[i], t.flags[i+1]
		switch {
		case name == "-p", name == "--module-path", name == "--upgrade-module-path":
			value = absolute(value)
		case !slices.Contains(modulePaths, name):
			if slices.Contains(valueFlags, name) {
				i++
			}
			continue
		}
		args = append(args, name, value)
		i++
	}
	return args
}

// inModule are the arguments of java that start the main class of a module
// whose classes lie in a folder: in front of the user's module path. The class
// path is the user's, if there is one, and the runtime.
func (b *build) inModule(flags []string, classes string) []string {
	path := []string{classes}
	var args []string
	for i := 0; i < len(flags); i++ {
		if (flags[i] == "-p" || flags[i] == "--module-path") && i+1 < len(flags) {
			path = append(path, flags[i+1])
			i++
			continue
		}
		args = append(args, flags[i])
	}
	classpath := b.jar
	if b.target.classpath != "" || os.Getenv("CLASSPATH") != "" {
		classpath = b.classpath() + string(os.PathListSeparator) + b.jar
	}
	args = append(args, readsUnnamed(b.module)...)
	main := strings.TrimPrefix(b.main, b.module+"/") // as java -m takes it
	return append(args, "-p", strings.Join(path, string(os.PathListSeparator)), "-cp", classpath, "-m",
		b.module+"/"+main)
}
