package launcher

import (
	"bytes"
	"cmp"
)

// The lines around a result block, without their newline.
var (
	blockStart = []byte("--- CODEGREEN_RESULT_START ---")
	blockEnd   = []byte("--- CODEGREEN_RESULT_END ---")
)

// maxBlock is how much of an open block is held back, in bytes, before it is taken for ordinary output.
const maxBlock = 256 << 20

// filter takes result blocks out of a stream that arrives in pieces. A block is a line that is blockStart, any lines,
// and a line that is blockEnd; a line ends in \n or \r\n. Everything else comes out as it went in, and only bytes
// that may still turn out to belong to a block are held back. A block that is never ended, or is larger than limit,
// comes out unchanged.
type filter struct {
	block  func([]byte) // receives what stood between the two lines
	limit  int          // bytes; 0 means maxBlock
	mid    bool         // the last byte that came out did not end a line
	inside bool         // held begins with a whole start line
	held   []byte
	body   int // inside: where the block's content begins in held
	line   int // inside: where the unfinished line begins in held
}

// pass takes the next piece and returns what can go out now. The result may share memory with p.
func (f *filter) pass(p []byte) []byte {
	if len(p) == 0 {
		return nil
	}
	if len(f.held) == 0 && (f.mid || p[0] != blockStart[0]) && !bytes.Contains(p, []byte("\n-")) {
		f.mid = p[len(p)-1] != '\n'
		return p
	}
	var out []byte
	for len(p) > 0 {
		switch {
		case f.inside:
			p = f.collect(p)
			if f.inside && len(f.held) > cmp.Or(f.limit, maxBlock) {
				out = append(out, f.flush()...)
			}
		case f.mid || len(f.held) == 0 && p[0] != blockStart[0]:
			n := bytes.IndexByte(p, '\n') + 1
			f.mid = n == 0
			if f.mid {
				n = len(p)
			}
			out, p = append(out, p[:n]...), p[n:]
		default:
			f.held, p = append(f.held, p[0]), p[1:]
			switch whole, partial := startLine(f.held); {
			case whole:
				f.inside, f.body, f.line = true, len(f.held), len(f.held)
			case !partial:
				out = append(out, f.flush()...)
			}
		}
	}
	return out
}

// collect adds to the open block up to the end of a line, hands the block over if that line ended it, and returns the
// rest.
func (f *filter) collect(p []byte) []byte {
	n := bytes.IndexByte(p, '\n') + 1
	if n == 0 {
		f.held = append(f.held, p...)
		return nil
	}
	f.held = append(f.held, p[:n]...)
	line := bytes.TrimSuffix(f.held[f.line:len(f.held)-1], []byte("\r"))
	if bytes.Equal(line, blockEnd) {
		f.block(f.held[f.body:f.line:f.line])
		f.held, f.inside = nil, false
	} else {
		f.line = len(f.held)
	}
	return p[n:]
}

// waiting says whether the beginning of a line is held back that may be a start line. A prompt may look like one.
func (f *filter) waiting() bool { return !f.inside && len(f.held) > 0 }

// flush gives up on what is held back and returns it.
func (f *filter) flush() []byte {
	held := f.held
	f.held, f.inside = nil, false
	if len(held) > 0 {
		f.mid = held[len(held)-1] != '\n'
	}
	return held
}

// startLine says whether b is a whole start line, or a beginning of one.
func startLine(b []byte) (whole, partial bool) {
	if len(b) <= len(blockStart) {
		return false, bytes.HasPrefix(blockStart, b)
	}
	if !bytes.HasPrefix(b, blockStart) {
		return false, false
	}
	switch string(b[len(blockStart):]) {
	case "\n", "\r\n":
		return true, true
	case "\r":
		return false, true
	}
	return false, false
}
