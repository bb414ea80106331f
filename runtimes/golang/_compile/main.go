// Command compile runs the Go compiler on rewritten source, and takes the
// checkpoints out of the functions that it inlines.
//
//	go build -toolexec='compile [-embed] FOLDER' ...
//
// Of rewritten source that the program embeds, the compiler gets the original:
// FOLDER/originals has a file for each, with the original's name below FOLDER. With -embed
// that is all, and every checkpoint stays.
//
// The source says which functions may lose theirs: the number of such a site stands
// behind the variable of its file, and that of another one before it. The events of its places
// go with it. Which of them it
// inlines the compiler says itself, of the source without their checkpoints: it is run
// with -m, and ended once it has said so, before it makes code. The packages that this
// one imports have been through this command, too. FOLDER/sites has a file for each
// rewritten one, named by its key: for each site its number and where the head of
// its function begins and ends, as line and column. What is left without checkpoints
// is written to FOLDER/inlined, in a file named by the compiler's action: a line with the key
// of each rewritten file and 0, and one with the key and the number of each such site.
// When the program is linked, the build IDs of its packages are written to FOLDER/linked, to a
// file named by the linker's action, a line each.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

var (
	declared = regexp.MustCompile(`(cga[0-9a-f]{8}[_0-9]*_b\d+) = \w+\.CodegreenFile\(0x([0-9a-f]+)\);`)
	imported = regexp.MustCompile(`; import (cga[0-9a-f]{8}[_0-9]*) "container/ring"`)
	inserted = regexp.MustCompile(
		`defer cga[0-9a-f]{8}[_0-9]*\.CodegreenEnter\((cga[0-9a-f]{8}[_0-9]*_b\d+) \+ (\d+)\)\(\);`)
	// Events of places, in one of the two ways in which they stand between statements.
	placed = regexp.MustCompile(`(?:` + event + `; |; ` + event + ` )`)
	// Checkpoints that stay, whatever is inlined.
	stays = regexp.MustCompile(`defer cga[0-9a-f]{8}[_0-9]*\.CodegreenEnter\(\d+ \+ cga[^;()]*\)\(\);`)
	// The compiler knows columns up to 255: what is inserted behind them begins a
	// line where a directive says which one goes on.
	pushed = regexp.MustCompile(`((?:` + stays.String() + `|` + eventStays + `; |; ` + eventStays + ` )/\*line :)`)
	pushes = regexp.MustCompile(
		`; (import cga[0-9a-f]{8}[_0-9]* "container/ring"/\*line :|` +
			`import _ "container/ring"/\*line :|var \(cga[^()]*(?:\([^()]*\)[^()]*)*\)/\*line :)`)
	canInline = regexp.MustCompile(`^(.+):(\d+):(\d+): can inline `)
	// What is said of escaping comes when all has been said of inlining.
	escapes = regexp.MustCompile(`: (.* escapes to heap|.* does not escape|leaking param.*|moved to heap: .*)\n$`)
)

const (
	// event says that a call goes to a place in its code: the number of the place's site, and how many numbers before
	// it that of the function's is.
	event      = `cga[0-9a-f]{8}[_0-9]*\.CodegreenPlace\((cga[0-9a-f]{8}[_0-9]*_b\d+) \+ (\d+), (\d+)\)`
	eventStays = `cga[0-9a-f]{8}[_0-9]*\.CodegreenPlace\(\d+ \+ cga[^;()]*\)`
)

// head is that of a function with checkpoints.
type head struct {
	file     string // the last part of its name
	from, to place
	base     string // the variable with the number before the file's sites
	site     string
	key      string
}

type place struct{ line, col int }

func (p place) before(q place) bool { return p.line < q.line || p.line == q.line && p.col < q.col }

// invocation is one of the compiler.
type invocation struct {
	folder, tool string
	args         []string
	files        []int    // among args
	texts        [][]byte // theirs
	work         string   // where texts may be written
	action       string
}

func main() {
	args := os.Args[1:]
	embed := len(args) > 0 && args[0] == "-embed"
	if embed {
		args = args[1:]
	}
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: compile [-embed] FOLDER TOOL ARGS...")
		os.Exit(2)
	}
	c := &invocation{folder: args[0], tool: args[1], args: args[2:]}
	environment := os.Environ()
	switch filepath.Base(c.tool) {
	case "compile":
		err := c.embedOriginals()
		if err == nil && !embed {
			err = c.rewrite()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "cg:", err)
			os.Exit(1)
		}
		if c.isSmall() && os.Getenv("GOGC") == "" {
			environment = append(environment, rareCollections)
		}
	case "link":
		if !embed {
			c.noteLinked() // or cg asks the go command
		}
	}
	err := syscall.Exec(c.tool, append([]string{c.tool}, c.args...), environment)
	fmt.Fprintf(os.Stderr, "cg: %s: %v\n", c.tool, err)
	os.Exit(1)
}

// embedOriginals has the compiler embed the originals of rewritten files.
func (c *invocation) embedOriginals() error {
	at := -1
	for i, a := range c.args {
		switch {
		case a == "-o" && i+1 < len(c.args):
			c.work = filepath.Join(filepath.Dir(c.args[i+1]), "cg")
		case a == "-embedcfg" && i+1 < len(c.args):
			at = i + 1
		}
	}
	if at < 0 || c.work == "" {
		return nil
	}
	text, err := os.ReadFile(c.args[at])
	var embed struct {
		Patterns map[string][]string
		Files    map[string]string
	}
	if err != nil || json.Unmarshal(text, &embed) != nil {
		return nil // the compiler's to say
	}
	changed := false
	for name, file := range embed.Files {
		if filepath.Dir(file) != filepath.Join(c.folder, "text") {
			continue
		}
		original, err := private(filepath.Join(c.folder, "originals", filepath.Base(file)))
		if err != nil {
			return err
		}
		embed.Files[name], changed = filepath.Join(c.folder, string(original)), true
	}
	if !changed {
		return nil
	}
	if text, err = json.Marshal(embed); err != nil {
		return err
	}
	c.args[at] = filepath.Join(c.work, "embedcfg")
	if err := os.MkdirAll(c.work, 0o700); err != nil {
		return err
	}
	return os.WriteFile(c.args[at], text, 0o600)
}

// rewrite leaves checkpoints in what is not inlined.
func (c *invocation) rewrite() error {
	keys := c.read()
	if len(keys) == 0 || c.work == "" {
		return nil
	}
	heads, err := c.heads(keys)
	if err != nil {
		return err
	}
	out := map[string]map[string]bool{} // sites by base
	var lines strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&lines, "%s 0\n", key)
	}
	if len(heads) > 0 {
		said, err := c.ask()
		if err != nil {
			return err
		}
		for _, h := range heads {
			for _, at := range said[h.file] {
				if !at.before(h.from) && at.before(h.to) {
					if out[h.base] == nil {
						out[h.base] = map[string]bool{}
					}
					out[h.base][h.site] = true
					fmt.Fprintf(&lines, "%s %s\n", h.key, h.site)
					break
				}
			}
		}
	}
	if err := c.put("with", func(base, site string) bool { return out[base][site] }, false); err != nil {
		return err
	}
	return keep(filepath.Join(c.folder, "inlined", c.action), lines.String())
}

// rareCollections lets the compiler's memory grow to five times what it uses.
const rareCollections = "GOGC=400"

// mostSmall is how many bytes of source a small package has. The compiler takes some
// 200 bytes of memory for each.
const mostSmall = 1 << 20

// isSmall reports whether the compiler needs so little memory for a package that collecting
// garbage costs more than it gives.
func (c *invocation) isSmall() bool {
	n := 0
	for _, text := range c.texts {
		n += len(text)
	}
	return 0 < n && n < mostSmall
}

// noteLinked notes which packages a program is linked from.
func (c *invocation) noteLinked() error {
	var list, action string
	for i, a := range c.args {
		switch {
		case a == "-importcfg" && i+1 < len(c.args):
			list = c.args[i+1]
		case strings.HasPrefix(a, "-buildid="):
			action, _, _ = strings.Cut(strings.TrimPrefix(a, "-buildid="), "/")
		}
	}
	if list == "" || action == "" {
		return nil
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	var builds strings.Builder
	for line := range strings.Lines(string(text)) {
		_, archive, is := strings.Cut(strings.TrimSpace(line), "=")
		if !is || !strings.HasPrefix(line, "packagefile ") {
			continue
		}
		build, err := buildOf(archive)
		if err != nil {
			return err
		}
		fmt.Fprintln(&builds, build)
	}
	return keep(filepath.Join(c.folder, "linked", action), builds.String())
}

// buildOf is the build ID of an archive, which stands in its first lines (cmd/internal/buildid).
func buildOf(archive string) (string, error) {
	f, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewReader(io.LimitReader(f, 4096))
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("%s: no build ID: %w", archive, err)
		}
		if quoted, is := strings.CutPrefix(line, "build id "); is {
			return strconv.Unquote(strings.TrimSpace(quoted))
		}
	}
}

// read reads the files and returns the keys of those that are rewritten, by the
// name of the variable with the number before their sites.
func (c *invocation) read() map[string]string {
	keys := map[string]string{}
	for i, a := range c.args {
		switch {
		case a == "-o" && i+1 < len(c.args):
			c.work = filepath.Join(filepath.Dir(c.args[i+1]), "cg")
		case a == "-buildid" && i+1 < len(c.args):
			c.action, _, _ = strings.Cut(c.args[i+1], "/")
		case strings.HasSuffix(a, ".go"):
			text, err := os.ReadFile(a)
			if err != nil {
				return nil // the compiler's to say
			}
			c.files = append(c.files, i)
			c.texts = append(c.texts, text)
			for _, m := range declared.FindAllSubmatch(text, -1) {
				keys[string(m[1])] = string(m[2])
			}
		}
	}
	if c.action == "" {
		return nil
	}
	return keys
}

// heads reads where the functions are that may lose their checkpoints.
func (c *invocation) heads(keys map[string]string) (heads []head, err error) {
	may := map[string]bool{}
	for _, text := range c.texts {
		for _, m := range inserted.FindAllSubmatch(text, -1) {
			may[string(m[1])+" "+string(m[2])] = true
		}
	}
	for base, key := range keys {
		text, err := private(filepath.Join(c.folder, "sites", key))
		if err != nil {
			return nil, err
		}
		file, rest, _ := strings.Cut(string(text), "\n")
		for line := range strings.Lines(rest) {
			h := head{file: file, base: base, key: key}
			var site int
			if _, err := fmt.Sscan(line, &site, &h.from.line, &h.from.col, &h.to.line, &h.to.col); err != nil {
				return nil, fmt.Errorf("%s/sites/%s: %w", c.folder, key, err)
			}
			h.site = strconv.Itoa(site)
			if may[base+" "+h.site] {
				heads = append(heads, h)
			}
		}
	}
	return heads, nil
}

// private reads a file that is this user's own and that nobody else may write.
func private(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	own, is := info.Sys().(*syscall.Stat_t)
	if !is || int(own.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not read, since somebody else could write it (%v)", name, info.Mode())
	}
	return io.ReadAll(f)
}

// put writes the texts without the checkpoints of the sites that are out, and names
// them in the arguments, as what they stand for. short keeps columns small.
func (c *invocation) put(folder string, out func(base, site string) bool, short bool) error {
	dir := filepath.Join(c.work, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i, text := range c.texts {
		if !imported.Match(text) {
			continue
		}
		left := stays.Match(text)
		text = inserted.ReplaceAllFunc(text, func(s []byte) []byte {
			m := inserted.FindSubmatch(s)
			if out(string(m[1]), string(m[2])) {
				return nil
			}
			left = true
			return s
		})
		text = placed.ReplaceAllFunc(text, func(s []byte) []byte {
			m := placed.FindSubmatch(s)
			if m[1] == nil {
				m = m[3:]
			}
			place, _ := strconv.Atoi(string(m[2]))
			back, _ := strconv.Atoi(string(m[3]))
			if out(string(m[1]), strconv.Itoa(place-back)) {
				return nil
			}
			return s
		})
		if !left && !declared.Match(text) {
			text = imported.ReplaceAll(text, []byte(`; import _ "container/ring"`))
		}
		if short {
			text = pushes.ReplaceAll(text, []byte(";\n$1"))
			text = pushed.ReplaceAll(text, []byte("\n$1"))
		}
		was := c.args[c.files[i]]
		name := filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(was)))
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return err
		}
		c.args[c.files[i]] = name
		for k, a := range c.args {
			if k > 0 && c.args[k-1] == "-trimpath" {
				c.args[k] = strings.ReplaceAll(a, was+"=>", name+"=>")
			}
		}
	}
	return nil
}

// ask runs the compiler on the texts without checkpoints until it has said which
// functions it can inline: their places, by file.
func (c *invocation) ask() (map[string][]place, error) {
	plain := *c
	plain.args = append([]string(nil), c.args...)
	if err := plain.put("without", func(string, string) bool { return true }, true); err != nil {
		return nil, err
	}
	args := []string{"-m"}
	for i := 0; i < len(plain.args); i++ {
		switch a := plain.args[i]; {
		case a == "-o":
			i++
			args = append(args, "-o", filepath.Join(c.work, "without.a"))
		case a == "-asmhdr" || a == "-linkobj":
			i++
		case strings.HasPrefix(a, "-c="): // not with -m
		default:
			args = append(args, a)
		}
	}
	cmd := exec.Command(c.tool, args...)
	// It ends soon: collecting garbage costs more than it gives.
	cmd.Env = append(os.Environ(), "GOGC=400")
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	places := map[string][]place{}
	lines := bufio.NewReader(said)
	for {
		line, err := lines.ReadString('\n')
		if m := canInline.FindStringSubmatch(line); m != nil {
			row, _ := strconv.Atoi(m[2])
			col, _ := strconv.Atoi(m[3])
			name := filepath.Base(m[1])
			places[name] = append(places[name], place{row, col})
		} else if err != nil || escapes.MatchString(line) {
			break
		}
	}
	cmd.Process.Kill()
	cmd.Wait() // what it refuses, it refuses with checkpoints, too
	return places, nil
}

// keep writes a file as a whole.
func keep(name, content string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(name), "part-")
	if err != nil {
		return err
	}
	_, err = part.WriteString(content)
	if end := part.Close(); err == nil {
		err = end
	}
	if err == nil {
		err = os.Rename(part.Name(), name)
	}
	if err != nil {
		os.Remove(part.Name())
	}
	return err
}
