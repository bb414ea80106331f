package c

import (
	"bytes"
	"sort"
	"strconv"
	"strings"
)

// region is a stretch of a preprocessed text that a line marker stands before
// (https://gcc.gnu.org/onlinedocs/cpp/Preprocessor-Output.html).
type region struct {
	start  int    // offset of the first byte behind the marker
	line   int    // of that byte, in its file
	file   string // "" for the text itself, where it has no markers
	quoted string // the file's name as the marker has it
	flags  string // behind the name; "" for none
}

// system reports whether the compiler takes the region for a system header's: 3 is
// among the flags.
func (r region) system() bool { return strings.Contains(r.flags, "3") }

// text is a preprocessed text, or a source file as it is.
type text struct {
	source  []byte
	regions []region
	// made says that the preprocessor has been there.
	made bool
}

// newText finds the markers of a preprocessed text. made is false for a source file, whose
// lines are all its own.
func newText(source []byte, made bool) *text {
	t := &text{source: source, made: made, regions: []region{{line: 1}}}
	if !made {
		return t
	}
	for at := 0; at < len(source); {
		end := at + bytes.IndexByte(source[at:], '\n') + 1
		if end == at {
			end = len(source)
		}
		if r, is := parseMarker(source[at:end]); is {
			r.start = end
			t.regions = append(t.regions, r)
		}
		at = end
	}
	return t
}

// parseMarker reads a line of the form # 12 "file.h" 1 3.
func parseMarker(line []byte) (r region, is bool) {
	s, is := strings.CutPrefix(string(line[:min(len(line), 8192)]), "#")
	if !is {
		return r, false
	}
	s = strings.TrimPrefix(strings.TrimLeft(s, " "), "line ")
	number, rest, found := strings.Cut(s, " ")
	n, err := strconv.Atoi(number)
	if !found || err != nil || !strings.HasPrefix(rest, `"`) {
		return r, false
	}
	end := strings.LastIndexByte(rest, '"')
	if end < 1 {
		return r, false
	}
	return region{line: n, file: unescape(rest[1:end]), quoted: rest[:end+1],
		flags: strings.TrimSpace(rest[end+1:])}, true
}

// unescape reads a name as markers have it: with octal escapes.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		if i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b, i = append(b, byte(n)), i+3
				continue
			}
		}
		i++
		b = append(b, s[i])
	}
	return string(b)
}

// region is the one that an offset lies in.
func (t *text) region(at int) region {
	i := sort.Search(len(t.regions), func(i int) bool { return t.regions[i].start > at })
	return t.regions[i-1]
}

// place is the file of an offset, its line there from 1, and its column in bytes from 1.
func (t *text) place(at int) (r region, line, col int) {
	r = t.region(at)
	before := t.source[r.start:at]
	return r, r.line + bytes.Count(before, []byte("\n")), at - (r.start + bytes.LastIndexByte(before, '\n'))
}

// words that a grammar of standard C does not have, and that say nothing of where functions are.
var extensions = map[string]bool{"__extension__": true, "__restrict": true, "__restrict__": true,
	"_Noreturn": true, "__inline": true, "__inline__": true, "__volatile__": true, "__const": true,
	"__signed__": true, "_Nonnull": true, "_Nullable": true}

// forms are words behind which parentheses follow.
var forms = map[string]bool{"__attribute__": true, "__attribute": true, "__declspec": true, "_Alignas": true}

// forParser is the text as the grammar gets it: of the same length, with spaces in place of
// markers and other directives, of attributes, and of the headers of the system.
func (t *text) forParser() []byte {
	out := bytes.Clone(t.source)
	if t.made {
		t.blankDirectives(out)
	}
	scan(out, func(start, end int) int {
		word := string(out[start:end])
		switch {
		case extensions[word]:
			blank(out[start:end])
		case forms[word]:
			if close := closing(out, end); close > 0 {
				blank(out[start:close])
				return close
			}
		}
		return end
	})
	return out
}

// blankDirectives blanks what the preprocessor has left for the compiler, and the regions of
// the system's headers. A macro of theirs that stands in a file of the user's has a region
// with its name.
func (t *text) blankDirectives(out []byte) {
	users := map[string]bool{}
	for _, r := range t.regions {
		if !r.system() {
			users[r.file] = true
		}
	}
	for i, r := range t.regions {
		if r.system() && !users[r.file] {
			end := len(out)
			if i+1 < len(t.regions) {
				end = t.regions[i+1].start
			}
			blank(out[r.start:end])
		}
	}
	for at, first := 0, true; at < len(out); { // first: nothing but spaces stands before it in its line
		if first && out[at] == '#' {
			end := len(out)
			if n := bytes.IndexByte(out[at:], '\n'); n >= 0 {
				end = at + n
			}
			blank(out[at:end])
			at = end
			continue
		}
		if next := skip(out, at); next > at {
			at, first = next, false
			continue
		}
		first = out[at] == '\n' || first && (out[at] == ' ' || out[at] == '\t')
		at++
	}
}

// blank puts spaces in the place of all but the ends of lines.
func blank(b []byte) {
	for i, c := range b {
		if c != '\n' {
			b[i] = ' '
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// skip is where what begins at an offset ends, if it is a comment, a string or a character;
// else the offset itself.
func skip(b []byte, at int) int {
	switch {
	case b[at] == '\'' && separates(b, at):
	case b[at] == '"' && isRaw(b, at):
		delimiter, _, is := bytes.Cut(b[at+1:min(at+18, len(b))], []byte("("))
		if n := bytes.Index(b[at:], []byte(")"+string(delimiter)+"\"")); is && n >= 0 {
			return at + n + len(delimiter) + 2
		}
	case b[at] == '"' || b[at] == '\'':
		for i := at + 1; i < len(b); i++ {
			switch {
			case b[i] == '\\':
				i++
			case b[i] == b[at]:
				return i + 1
			case b[i] == '\n':
				return at
			}
		}
	case b[at] == '/' && at+1 < len(b) && b[at+1] == '/':
		if n := bytes.IndexByte(b[at:], '\n'); n >= 0 {
			return at + n
		}
		return len(b)
	case b[at] == '/' && at+1 < len(b) && b[at+1] == '*':
		if n := bytes.Index(b[at+2:], []byte("*/")); n >= 0 {
			return at + n + 4
		}
		return len(b)
	}
	return at
}

// isRaw reports whether a raw string begins at a quote: R, behind LR, uR, UR and u8R, too.
func isRaw(b []byte, at int) bool {
	start := wordBefore(b, at)
	switch string(b[start:at]) {
	case "R", "LR", "uR", "UR", "u8R":
		return true
	}
	return false
}

// separates reports whether a quote stands between digits of a number.
func separates(b []byte, at int) bool {
	start := wordBefore(b, at)
	return start < at && b[start] >= '0' && b[start] <= '9'
}

func wordBefore(b []byte, at int) (start int) {
	for start = at; start > 0 && (isWord(b[start-1]) || b[start-1] == '\'' && start-1 > 0 && isWord(b[start-2])); {
		start--
	}
	return start
}

// scan calls f with each word outside of comments and strings. f says where to go on.
func scan(b []byte, f func(start, end int) int) {
	for at := 0; at < len(b); {
		if next := skip(b, at); next > at {
			at = next
			continue
		}
		if !isWord(b[at]) {
			at++
			continue
		}
		end := at + 1
		for end < len(b) && isWord(b[end]) {
			end++
		}
		at = f(at, end)
	}
}

// closing is the offset behind what closes the first bracket at or behind an offset, before
// which are spaces only; -1 where there is none.
func closing(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\t' || b[at] == '\n') {
		at++
	}
	depth := 0
	for at < len(b) {
		if next := skip(b, at); next > at {
			at = next
			continue
		}
		switch b[at] {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth--
		}
		at++
		if depth == 0 {
			if c := b[at-1]; c == ')' || c == '}' || c == ']' {
				return at
			}
			return -1
		}
	}
	return -1
}
