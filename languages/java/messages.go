package java

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"cg/languages"
	"cg/pattern"
)

// messageFilter turns what a build says of cg's folder into what it would have said
// of the user's: paths, the columns of the compiler's errors, and the lines of
// the source that it quotes.
type messageFilter struct {
	project *project
	picked  []byte // what a virtual machine says of its options
	theirs  []byte // what it would have said, nil for nothing
	paths   [][2][]byte

	mu     sync.Mutex
	quoted [2]quotedLine // per stream
	faults []refusal
	held   [2][]byte
}

// refusal is an error of the compiler's that checkpoints may be the reason of.
type refusal struct {
	rel     string
	line    int
	message string
}

func newMessageFilter(p *project, options, theirs string) *messageFilter {
	w := &messageFilter{project: p, picked: []byte("Picked up JAVA_TOOL_OPTIONS: " + options)}
	if theirs != "" {
		w.theirs = []byte("Picked up JAVA_TOOL_OPTIONS: " + theirs)
	}
	escape := func(path string) []byte { return []byte((&url.URL{Path: path}).EscapedPath()) }
	w.paths = [][2][]byte{{[]byte(p.mirror.folder), []byte(p.named)}}
	if escaped := escape(p.mirror.folder); string(escaped) != p.mirror.folder {
		w.paths = append(w.paths, [2][]byte{escaped, escape(p.named)})
	}
	return w
}

func (w *messageFilter) marks() []string {
	marks := []string{"Picked up JAVA_TOOL_OPTIONS: ", "cg$", ".java:"}
	for _, p := range w.paths {
		marks = append(marks, string(p[0]))
	}
	return marks
}

// compilerErrorPattern is an error of a compiler: of javac itself, with what Ant puts
// before it, and of Maven.
var compilerErrorPattern = pattern.Later(
	`^(?:\s*\[\w+\]\s+|\x1b\[[\d;]*m|\[)*(?:ERROR\S*\s+)?` +
		`([^\s:\[\]][^:\n]*\.java):(?:(\d+): error:|\[(\d+)(?:,(\d+))?\])\s*(?:error: )?(.*?)\s*$`)

// maybeFromCheckpoints are what the compiler says of code that is too large, or of the way
// through it. What it says of names and types is never about checkpoints.
var maybeFromCheckpoints = pattern.Later(
	`code too large|too many constants|cg\$|unreachable|missing return|initialized|` +
		`already (?:been|have been) assigned|might be assigned`)

// change is Command.Change.
func (w *messageFilter) change(line []byte, stderr bool) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	stream := 0
	if stderr {
		stream = 1
	}
	if out := w.translate(line, stream); len(w.faults) == 0 {
		return out
	} else {
		w.held[stream] = append(w.held[stream], out...)
		return nil
	}
}

func (w *messageFilter) translate(line []byte, stream int) []byte {
	if i := bytes.Index(line, w.picked); i >= 0 {
		if w.theirs == nil {
			return nil
		}
		return bytes.Replace(line, w.picked, w.theirs, 1)
	}
	if bytes.Contains(line, []byte(".java:")) {
		line = w.compilerError(line)
	}
	for _, p := range w.paths {
		if bytes.Contains(line, p[0]) {
			line = []byte(replacePath(string(line), string(p[0]), string(p[1])))
		}
	}
	line = w.quoted[stream].original(line)
	return line
}

// quotedLine is what was left out of a line that the compiler quotes: its places, in
// characters, and lengths.
type quotedLine [][2]int

// original is a line of a compiler's message without checkpoints. In the line after it
// the caret moves to where it stands then.
func (q *quotedLine) original(line []byte) []byte {
	cuts := *q
	*q = nil
	if caret := bytes.IndexByte(line, '^'); len(cuts) > 0 && caret >= 0 && len(bytes.TrimSpace(line[caret:])) == 1 {
		at := utf8.RuneCount(line[:caret])
		to := columnBefore(cuts, at)
		if n := at - to; n > 0 && n <= caret {
			line = append(bytes.Clone(line[:caret-n]), line[caret:]...)
		}
	}
	if bytes.Contains(line, []byte("cg$")) {
		line, *q = removeAdded(line)
	}
	return line
}

// columnBefore is where a column is once the cuts are made.
func columnBefore(cuts [][2]int, at int) int {
	to := at
	for _, c := range cuts {
		if c[0] < at {
			to -= min(c[1], at-c[0])
		}
	}
	return to
}

// removeAdded takes what rewriting has added out of a line.
func removeAdded(line []byte) (out []byte, cuts [][2]int) {
	at := 0
	for _, m := range addedText().FindAllIndex(line, -1) {
		cuts = append(cuts, [2]int{utf8.RuneCount(line[:m[0]]), utf8.RuneCount(line[m[0]:m[1]])})
		out = append(out, line[at:m[0]]...)
		at = m[1]
	}
	return append(out, line[at:]...), cuts
}

// compilerError looks at an error of the compiler's. Its column becomes the user's.
func (w *messageFilter) compilerError(line []byte) []byte {
	m := compilerErrorPattern().FindSubmatchIndex(line)
	if m == nil {
		return line
	}
	part := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return string(line[m[2*i]:m[2*i+1]])
	}
	rel := w.sourceNamed(part(1))
	if rel == "" {
		return line
	}
	number, _ := strconv.Atoi(part(2) + part(3))
	message := part(5)
	seen := w.project.mirror.Seen[rel]
	warns := bytes.Contains(line[:m[2]], []byte("WARN"))
	if seen.Source.Count > 0 && seen.Source.Skip == "" && !warns && maybeFromCheckpoints().MatchString(message) {
		w.faults = append(w.faults, refusal{rel, number, message})
	}
	if column, err := strconv.Atoi(part(4)); err == nil {
		if own := originalColumn(filepath.Join(w.project.mirror.folder, rel), number, column); own != column {
			line = append(append(bytes.Clone(line[:m[8]]), strconv.Itoa(own)...), line[m[9]:]...)
		}
	}
	return line
}

// sourceNamed finds the source that the compiler names, by its path or by what a
// build in one of the folders calls it.
func (w *messageFilter) sourceNamed(name string) string {
	m := w.project.mirror
	if rel, is := languages.Below(m.folder, name); is {
		name = rel
	} else if filepath.IsAbs(name) {
		return ""
	}
	is := func(rel string) bool { return m.Seen[rel] != nil && m.Seen[rel].Source != nil }
	name = filepath.Clean(name)
	if is(name) {
		return name
	}
	found := ""
	for rel := range m.Seen {
		if strings.HasSuffix(rel, "/"+name) && is(rel) {
			if found != "" {
				return ""
			}
			found = rel
		}
	}
	return found
}

// originalColumn is what a column of a rewritten line was before. The compiler counts
// a tab as up to the next multiple of eight.
func originalColumn(file string, number, column int) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return column
	}
	for line := range bytes.Lines(text) {
		if number--; number > 0 {
			continue
		}
		_, cuts := removeAdded(line)
		if len(cuts) == 0 {
			return column
		}
		at, col, own := 0, 1, 1
		cut := func() bool {
			for _, c := range cuts {
				if at >= c[0] && at < c[0]+c[1] {
					return true
				}
			}
			return false
		}
		step := func(col int, r rune) int {
			if r == '\t' {
				return (col-1)/8*8 + 9
			}
			return col + 1
		}
		for _, r := range string(line) {
			if col >= column {
				break
			}
			col = step(col, r)
			if !cut() {
				own = step(own, r)
			}
			at++
		}
		return own
	}
	return column
}

// pending gives the errors that checkpoints may be the reason of, and what was
// kept back from the first of them on.
func (w *messageFilter) pending() ([]refusal, languages.Verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults, languages.Verdict{Stdout: w.held[0], Stderr: w.held[1]}
}
