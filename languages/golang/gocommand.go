package golang

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cg/languages"
	"cg/pattern"
	"cg/tool"
)

// goCommand is the go command as it is for a working folder: there it may choose
// another version of itself (go.dev/doc/toolchain).
type goCommand struct {
	path    string
	env     []string // added to the environment
	root    string   // GOROOT as the overlay names it
	home    string   // GOROOT as it is
	cache   string   // GOMODCACHE
	version string   // 1.26.8
	minor   int      // 26
	flags   string   // GOFLAGS
	module  string   // the go.mod in force, "" for none
	work    string   // the go.work in force, "" for none
	arch    string
	cgo     bool
}

var versionPattern = pattern.Later(`^go1\.(\d+)`)

// The releases that are tested.
const oldestMinor, newestMinor = 25, 26

// findCommand finds the go command that the shell would run, or the one that was
// named, and asks it what is in force here. A program for another system or
// processor cannot run here, and is refused.
func findCommand(ctx context.Context, name string) (*goCommand, error) {
	if name == "" {
		name = "go"
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() && strings.Contains(name, "/") {
		name = filepath.Join(name, "bin", "go")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, languages.Refuse(127,
			"Go %q not found: install it (https://go.dev/dl, or apt-get install golang), or name a go command with "+
				"--go PATH", name)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	t := &goCommand{path: path}
	out, said, err := t.output(ctx, "env", "-json", "GOVERSION", "GOROOT", "GOOS", "GOARCH", "GOHOSTOS", "GOHOSTARCH",
		"GOMODCACHE", "GOFLAGS", "GOMOD", "GOWORK", "CGO_ENABLED")
	if err != nil {
		return nil, languages.Refuse(1, "%s", reason(said, err))
	}
	var e map[string]string
	if err := json.Unmarshal(out, &e); err != nil {
		return nil, languages.Refuse(126, "%s: does not run as Go: %v", path, err)
	}
	m := versionPattern().FindStringSubmatch(e["GOVERSION"])
	switch {
	case m != nil:
		t.minor, _ = strconv.Atoi(m[1])
	case strings.HasPrefix(e["GOVERSION"], "devel "):
		t.minor = newestMinor + 1
	default:
		return nil, languages.Refuse(126, "%s: does not run as Go: its version is %q", path, e["GOVERSION"])
	}
	if t.minor < oldestMinor {
		return nil, languages.Refuse(126,
			"%s is %s; cg needs Go 1.%d or later (choose another with --go PATH, or GOTOOLCHAIN=go1.%[3]d.0)", path,
			e["GOVERSION"], oldestMinor)
	}
	if e["GOOS"] != e["GOHOSTOS"] || e["GOARCH"] != e["GOHOSTARCH"] {
		return nil, languages.Refuse(126, "GOOS=%s GOARCH=%s: such a program cannot run here (%s/%s); unset them",
			e["GOOS"], e["GOARCH"], e["GOHOSTOS"], e["GOHOSTARCH"])
	}
	t.version, t.root, t.home = strings.TrimPrefix(e["GOVERSION"], "go"), e["GOROOT"], e["GOROOT"]
	t.cache, t.flags, t.work = e["GOMODCACHE"], e["GOFLAGS"], e["GOWORK"]
	t.arch, t.cgo = e["GOARCH"], e["CGO_ENABLED"] == "1"
	if e["GOMOD"] != os.DevNull {
		t.module = e["GOMOD"]
	}
	if t.work == "off" {
		t.work = ""
	}
	return t, nil
}

// output runs the go command and returns what it prints and says.
func (t *goCommand) output(ctx context.Context, args ...string) (stdout, stderr []byte, err error) {
	cmd := exec.CommandContext(ctx, t.path, args...)
	cmd.Env = append(os.Environ(), t.env...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = tool.Run(cmd)
	return o.Bytes(), e.Bytes(), err
}

// reason is the go command's own message, or else why it did not run.
func reason(said []byte, err error) string {
	if s := strings.TrimSpace(string(said)); s != "" && errors.As(err, new(*exec.ExitError)) {
		if strings.Contains(s, "requires go >= ") && !strings.Contains(s, "\n") {
			s += "; unset GOTOOLCHAIN, or name a later Go with --go PATH"
		}
		return s
	}
	return "the go command: " + err.Error()
}

// inFolder reports whether a path is in a folder.
func inFolder(folder, path string) bool {
	if folder == "" {
		return false
	}
	_, is := languages.Below(folder, path)
	return is
}

// relocate lets the overlay add files to a toolchain that go itself has
// downloaded: it lies in the module cache, where go takes no replacement. It
// gets another path, by a link; the linker, which writes the paths of the
// standard library into the program, gets the real one (build.compilerFlags).
func (t *goCommand) relocate(base string) error {
	if !inFolder(t.cache, t.home) {
		return nil
	}
	t.root = filepath.Join(base, "root-"+t.version)
	if real, err := os.Readlink(t.root); err != nil || real != t.home {
		part := t.root + fmt.Sprintf(".part-%d", os.Getpid())
		os.Remove(part)
		if err := os.Symlink(t.home, part); err != nil {
			return err
		}
		if err := os.Rename(part, t.root); err != nil {
			return err
		}
	}
	t.path = filepath.Join(t.root, "bin", "go")
	t.env = []string{"GOROOT=" + t.root, "GOTOOLCHAIN=local"}
	return nil
}

// listedPackage is a package as go list -json prints it.
type listedPackage struct {
	Dir, ImportPath, Name, ForTest string
	Standard, DepOnly              bool
	Module                         *struct {
		Path, Dir string
		Main      bool
		Replace   *struct{ Version, Dir string }
	}
	GoFiles, CgoFiles, TestGoFiles, XTestGoFiles []string
	EmbedFiles, TestEmbedFiles, XTestEmbedFiles  []string
	ImportMap                                    map[string]string // import paths by what its files import
}

const listFields = "Dir,ImportPath,Name,ForTest,Standard,DepOnly,Module," +
	"GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,EmbedFiles,TestEmbedFiles,XTestEmbedFiles,ImportMap"

// own reports whether a package is the program's: of a main module, of one
// that a workspace or a replace directive takes from a folder, or of none. The
// module that cg sdk writes is nobody's.
func (p *listedPackage) own() bool {
	m := p.Module
	switch {
	case p.Standard:
		return false
	case m != nil && m.Main: // wherever it is checked out
		return true
	case m != nil && m.Path == "codegreen", strings.Contains(p.Dir, "/vendor/"):
		return false
	case m == nil:
		return true
	}
	return m.Replace != nil && m.Replace.Version == ""
}

// file is the path of a file that the package lists.
func (p *listedPackage) file(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Dir, name)
}

// moduleFolder is the folder of the package's module, or its own.
func (p *listedPackage) moduleFolder() string {
	if p.Module != nil && p.Module.Dir != "" {
		return p.Module.Dir
	}
	return p.Dir
}

// overlaid adds the user's overlay to flags that have none.
func (t arguments) overlaid(flags []string) []string {
	if t.overlay == "" {
		return flags
	}
	return append(slices.Clone(flags), "-overlay="+t.overlay)
}

// list asks for the packages of a target and all they need.
func (t *goCommand) list(ctx context.Context, target arguments) ([]*listedPackage, error) {
	args := append([]string{"list", "-json=" + listFields, "-deps"}, target.overlaid(target.listed)...)
	if target.test {
		args = append(args, "-e", "-test")
	}
	out, said, err := t.output(ctx, append(args, target.names...)...)
	if err != nil {
		return nil, languages.Refuse(1, "%s", reason(said, err))
	}
	var all []*listedPackage
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		p := &listedPackage{}
		if err := d.Decode(p); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
	if !slices.ContainsFunc(all, func(p *listedPackage) bool { return !p.DepOnly }) {
		return nil, languages.Refuse(1, "%s: matches no packages", strings.Join(target.names, " "))
	}
	return all, nil
}

var canInline = pattern.Later(`^(.+\.go):(\d+):(\d+): can inline `)

// inlined asks the compiler which functions of the program it inlines: their
// places by file. It compiles the packages as they are, once; from then on the
// build cache has the answer. ok is false if it refuses them.
func (t *goCommand) inlined(ctx context.Context, target arguments,
	packages []*listedPackage) (places map[string][][2]int, ok bool, err error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, false, err
	}
	args := append([]string{"list", "-export", "-f", "{{if 0}}{{end}}", "-deps"}, target.overlaid(target.listed)...)
	args = append(args, "-trimpath=false")
	if target.test {
		args = append(args, "-e", "-test")
	}
	var homes []string
	for _, p := range packages {
		if p.own() && !slices.Contains(homes, p.moduleFolder()) {
			homes = append(homes, p.moduleFolder())
		}
	}
	for _, home := range homes {
		r, err := filepath.Rel(cwd, home)
		if err != nil {
			return nil, false, err
		}
		if !strings.HasPrefix(r, ".") {
			r = "./" + r
		}
		args = append(args, "-gcflags="+r+"/...=-m")
		if info, err := os.Stat(filepath.Join(home, "vendor")); err == nil && info.IsDir() {
			args = append(args, "-gcflags="+r+"/vendor/...=")
		}
	}
	for _, flags := range target.gcflags { // theirs match later, and first
		args = append(args, "-gcflags="+strings.TrimSpace(flags+" -m"))
	}
	cmd := exec.CommandContext(ctx, t.path, append(args, target.names...)...)
	cmd.Env = append(os.Environ(), t.env...)
	said, says := io.Pipe()
	cmd.Stderr = says
	ended := make(chan error, 1)
	go func() {
		err := tool.Run(cmd)
		says.Close()
		ended <- err
	}()
	places = map[string][][2]int{}
	lines := bufio.NewReader(said)
	for {
		line, err := lines.ReadString('\n')
		if m := canInline().FindStringSubmatch(line); m != nil {
			file := m[1]
			if !filepath.IsAbs(file) {
				file = filepath.Join(cwd, file)
			}
			row, _ := strconv.Atoi(m[2])
			col, _ := strconv.Atoi(m[3])
			places[file] = append(places[file], [2]int{row, col})
		}
		if err != nil {
			break
		}
	}
	err = <-ended
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return nil, false, err
	}
	return places, err == nil || target.test, ctx.Err()
}
