package python

import (
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cg/checkpoint"
	"cg/pattern"
)

// Language is that of the functions.
const Language = "python"

// Names names functions as cg's checkpoints do: the module, the qualified name, and the line of
// the definition.
type Names struct {
	pid    int
	script string // the file of __main__, as the process names it; "" for none
	module string // or its module (-m)
	folder string // of the script
	lines  map[string][]string
}

// NamesOf reads the command line of a process.
func NamesOf(pid int) *Names {
	n := &Names{pid: pid, lines: map[string][]string{}}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	n.take(strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"), cwd)
	return n
}

// take finds the script in a command line of the interpreter (python --help).
func (n *Names) take(argv []string, cwd string) {
	n.folder = cwd
	for i := 1; i < len(argv); i++ {
		arg := argv[i]
		next := ""
		if i+1 < len(argv) {
			next = argv[i+1]
		}
		switch {
		case strings.HasPrefix(arg, "--"):
			if arg == "--check-hash-based-pycs" {
				i++
			}
		case arg == "-" || arg == "":
			return
		case strings.HasPrefix(arg, "-"):
			letters := arg[1:]
			for k, c := range letters {
				value := letters[k+1:]
				if value == "" {
					value = next
				}
				switch c {
				case 'c':
					return
				case 'm':
					n.module = value
					return
				case 'W', 'X':
					if letters[k+1:] == "" {
						i++
					}
				default:
					continue
				}
				break
			}
		default:
			n.script = path.Join(cwd, arg)
			if path.IsAbs(arg) {
				n.script = path.Clean(arg)
			}
			n.folder = path.Dir(n.script)
			return
		}
	}
}

// libraries end the folders in which modules are.
var libraries = pattern.Later(`^.*/(?:site-packages|dist-packages|lib-dynload|python3(?:\.\d+)?)/`)

const mainModule = "__main__"

// moduleOf is the module that a file is, as far as paths tell.
func (n *Names) moduleOf(file string) string {
	if inside, ok := strings.CutPrefix(file, "<frozen "); ok {
		return strings.TrimSuffix(inside, ">")
	}
	if strings.HasPrefix(file, "<") {
		return mainModule
	}
	if !path.IsAbs(file) { // of a script, before 3.9
		file = path.Join(n.folder, path.Base(file))
	}
	if file == n.script {
		return mainModule
	}
	if script, ok := strings.CutSuffix(n.script, "/"); ok || n.script != "" {
		if file == path.Join(script, "__main__.py") {
			return mainModule
		}
	}
	inside := path.Base(file)
	if at := libraries().FindString(file); at != "" {
		inside = file[len(at):]
	} else if below, ok := strings.CutPrefix(file, n.folder+"/"); ok {
		inside = below
	}
	inside = strings.TrimSuffix(inside, path.Ext(inside))
	module := strings.ReplaceAll(strings.TrimSuffix(inside, "/__init__"), "/", ".")
	if n.module != "" && (module == n.module || module == n.module+".__main__") {
		return mainModule
	}
	return module
}

// Site is the site of a function. Its number is left out.
func (n *Names) Site(f Function) checkpoint.Site {
	s := checkpoint.Site{Language: Language, File: f.File, Line: f.Line, Kind: checkpoint.Function}
	if f.File == n.relative() {
		s.File = n.script
	}
	qualname, line := f.Qualname, 0
	if inner, l := n.definition(s.File, f); l > 0 {
		line = l
		if qualname == "" {
			qualname = inner
		}
	}
	if line > 0 {
		s.Line = line
	}
	if qualname == "" {
		qualname = f.Name
	}
	switch f.Name {
	case "<module>":
		s.Kind, s.Line = checkpoint.Module, 1
	case "<lambda>":
		s.Kind = checkpoint.Lambda
	default:
		outer := strings.Split(qualname, ".")
		if k := len(outer); k > 1 && outer[k-2] != "<locals>" {
			s.Kind = checkpoint.Method
		}
	}
	s.Func = n.moduleOf(f.File) + "." + qualname
	return s
}

// relative is how a script's own code names its file before 3.9.
func (n *Names) relative() string {
	if n.script == "" {
		return ""
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", n.pid))
	for _, arg := range strings.Split(string(text), "\x00") {
		if arg != "" && !path.IsAbs(arg) && path.Join(n.folder, path.Base(arg)) == n.script {
			return arg
		}
	}
	return ""
}

// definition finds the def of a function in its file, whose code begins at the first decorator,
// and its qualified name. The line is 0 where there is none: no file, or another text.
func (n *Names) definition(file string, f Function) (qualname string, line int) {
	if strings.HasPrefix(f.Name, "<") || strings.HasPrefix(file, "<") {
		return n.around(file, f)
	}
	lines := n.text(file)
	for at := f.Line; at >= 1 && at <= len(lines) && at < f.Line+mostDecorators; at++ {
		if defines(lines[at-1], f.Name) {
			return n.enclosing(lines, at) + f.Name, at
		}
	}
	return "", 0
}

// defines tells whether a line begins the definition of a function or a class.
func defines(line, name string) bool {
	words := strings.Fields(line)
	if len(words) > 0 && words[0] == "async" {
		words = words[1:]
	}
	if len(words) < 2 || words[0] != "def" && words[0] != "class" {
		return false
	}
	rest, ok := strings.CutPrefix(words[1], name)
	next, _ := utf8.DecodeRuneInString(rest)
	return ok && (rest == "" || next != '_' && !unicode.IsLetter(next) && !unicode.IsDigit(next))
}

// mostDecorators is how many lines decorators are expected to have.
const mostDecorators = 64

// around is the qualified name of what has no def of its own, such as a lambda.
func (n *Names) around(file string, f Function) (qualname string, line int) {
	lines := n.text(file)
	if f.Name == "<module>" || f.Line < 1 || f.Line > len(lines) {
		return "", 0
	}
	return n.enclosing(lines, f.Line) + f.Name, f.Line
}

// outer finds the head of a definition.
var outer = pattern.Later(`^(\s*)(?:async\s+)?(def|class)\s+(\w+)`)

// enclosing is the qualified name of what a line is in, by the indentation of the lines above.
func (n *Names) enclosing(lines []string, line int) string {
	indent := indentation(lines[line-1])
	var names []string
	for at := line - 1; at >= 1 && indent > 0; at-- {
		text := lines[at-1]
		if trimmed := strings.TrimSpace(text); trimmed == "" || indentation(text) >= indent {
			continue
		}
		m := outer().FindStringSubmatch(text)
		if m == nil {
			if strings.HasSuffix(strings.TrimSpace(text), ":") { // if, for, try
				indent = indentation(text)
			}
			continue
		}
		indent = indentation(text)
		name := m[3] + "."
		if m[2] == "def" {
			name += "<locals>."
		}
		names = append(names, name)
	}
	slices.Reverse(names)
	return strings.Join(names, "")
}

func indentation(line string) (columns int) {
	for _, c := range line {
		switch c {
		case ' ':
			columns++
		case '\t':
			columns += 8 - columns%8
		default:
			return columns
		}
	}
	return columns
}

// text is a file of the process, in lines; none where it cannot be read.
func (n *Names) text(file string) []string {
	if lines, ok := n.lines[file]; ok {
		return lines
	}
	var lines []string
	if path.IsAbs(file) {
		name := fmt.Sprintf("/proc/%d/root%s", n.pid, file)
		if f, _, err := openFile(name); err == nil {
			b, err := io.ReadAll(io.LimitReader(f, longestFile+1))
			f.Close()
			if err == nil && len(b) <= longestFile {
				lines = strings.Split(withoutTexts(string(b)), "\n")
			}
		}
	}
	n.lines[file] = lines
	return lines
}

// longestFile is more than a source has.
const longestFile = 16 << 20
