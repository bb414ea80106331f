package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MostSource is the longest file of a program whose text is taken, in bytes.
const MostSource = 1 << 20

// identify gives each site that was called the digest of its source text, by
// which it is found again under another name or in another file. read tells when
// a file was changed; the text of one that has changed since the run began may be
// another than the one that ran, and gets none.
func (r *Run) identify(read func(file string) ([]byte, time.Time, error)) {
	if read == nil {
		return
	}
	files := map[string][][]byte{}
	for i := range r.Sites {
		s := &r.Sites[i]
		if s.Calls == 0 || s.File == "" {
			continue
		}
		lines, seen := files[s.File]
		if !seen {
			if text, modified, err := read(s.File); err == nil && len(text) <= MostSource &&
				!modified.After(r.started) {
				lines = bytes.Split(text, []byte("\n"))
			}
			files[s.File] = lines
		}
		if s.Line >= 1 && s.EndLine >= s.Line && s.EndLine <= len(lines) {
			s.TextID = textID(lines[s.Line-1:s.EndLine], s.Name)
		}
	}
}

// textID is the digest of a function's lines without the indentation that all of
// them have, without blanks at their ends, and with its own name left out
// wherever it stands as a word: the last word of its qualified name.
func textID(lines [][]byte, name string) string {
	word := name[1+strings.LastIndexFunc(name, func(r rune) bool { return !inWord(r) }):]
	indent := lines[0][:len(lines[0])-len(bytes.TrimLeft(lines[0], " \t"))]
	h := sha256.New()
	for _, l := range lines {
		l = bytes.TrimRight(bytes.TrimPrefix(l, indent), " \t\r")
		h.Write(without(l, word))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func inWord(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// without is a line with a 0 byte in the place of each such word.
func without(line []byte, word string) []byte {
	if word == "" || !bytes.Contains(line, []byte(word)) {
		return line
	}
	var out []byte
	for {
		at := bytes.Index(line, []byte(word))
		if at < 0 {
			return append(out, line...)
		}
		end := at + len(word)
		before, _ := utf8.DecodeLastRune(line[:at])
		after, _ := utf8.DecodeRune(line[end:])
		out = append(out, line[:at]...)
		if at > 0 && inWord(before) || end < len(line) && inWord(after) {
			out = append(out, line[at:end]...)
		} else {
			out = append(out, 0)
		}
		line = line[end:]
	}
}
