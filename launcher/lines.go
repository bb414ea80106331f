package launcher

import (
	"bytes"
	"strings"
)

// Lines changes what a program writes, line by line.
type Lines struct {
	// Marks are words that change. A line without its end is held back while it
	// has one of them, or ends with the beginning of one, for markerPatience; else it passes at once.
	Marks []string
	// Change returns what the user sees of a line, its end included; nil for
	// nothing. A line that did not come whole comes in parts. It is called for
	// stdout and stderr from two goroutines.
	Change func(line []byte, stderr bool) []byte
}

// maxLine is how much of a line is held back, in bytes.
const maxLine = 1 << 20

// lines applies Lines to a stream that arrives in pieces. Only what may belong to a line with a mark is held back.
type lines struct {
	*Lines
	stderr bool
	held   []byte // no end of a line in it
}

// pass takes the next piece and returns what can go out now. The result may share memory with p.
func (l *lines) pass(p []byte) []byte {
	var out []byte
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n') + 1
		if n == 0 {
			l.held = append(l.held, p...)
			if !l.waiting() || len(l.held) > maxLine {
				out = append(out, l.flush()...)
			}
			break
		}
		line := p[:n]
		if len(l.held) > 0 {
			line = append(l.held, line...)
			l.held = nil
		}
		out, p = append(out, l.Change(line, l.stderr)...), p[n:]
	}
	return out
}

// waiting says whether what is held back has a mark, or ends with the beginning of one. A prompt may look so.
func (l *lines) waiting() bool {
	for _, m := range l.Marks {
		if bytes.Contains(l.held, []byte(m)) {
			return true
		}
		for n := min(len(m)-1, len(l.held)); n > 0; n-- {
			if strings.HasPrefix(m, string(l.held[len(l.held)-n:])) {
				return true
			}
		}
	}
	return false
}

// flush gives up on the end of the line and returns what is held back.
func (l *lines) flush() []byte {
	held := l.held
	l.held = nil
	if len(held) == 0 {
		return nil
	}
	return l.Change(held, l.stderr)
}
