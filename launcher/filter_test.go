package launcher

import (
	"bytes"
	"strings"
	"testing"
)

const start, end = "--- CODEGREEN_RESULT_START ---", "--- CODEGREEN_RESULT_END ---"

// filtered sends the pieces through a filter and returns what came out and the blocks.
func filtered(limit int, pieces ...string) (out string, blocks []string) {
	f := filter{limit: limit, block: func(b []byte) { blocks = append(blocks, string(b)) }}
	var all []byte
	for _, p := range pieces {
		all = append(all, f.pass([]byte(p))...)
	}
	return string(append(all, f.flush()...)), blocks
}

var filterTable = []struct {
	name, in, want string
	blocks         string // joined by |
}{
	{"empty", "", "", ""},
	{"text", "one\ntwo\n--three\n---\n\nfour", "one\ntwo\n--three\n---\n\nfour", ""},
	{"block", "a\n" + start + "\n{}\n" + end + "\nb\n", "a\nb\n", "{}\n"},
	{"crlf", "a\r\n" + start + "\r\n{}\r\n" + end + "\r\nb\r\n", "a\r\nb\r\n", "{}\r\n"},
	{"first", start + "\n" + end + "\n", "", ""},
	{"two", start + "\n1\n" + end + "\n" + start + "\n2\n" + end + "\nx", "x", "1\n|2\n"},
	{"not at line start", "x" + start + "\n{}\n" + end + "\n", "x" + start + "\n{}\n" + end + "\n", ""},
	{"start then more", start + " \n{}\n" + end + "\n", start + " \n{}\n" + end + "\n", ""},
	{"start then cr", start + "\rx\n" + end + "\n", start + "\rx\n" + end + "\n", ""},
	{"never ended", "a\n" + start + "\n{}\nb", "a\n" + start + "\n{}\nb", ""},
	{"end without newline", start + "\n{}\n" + end, start + "\n{}\n" + end, ""},
	{"end inside a line", start + "\nx" + end + "\n" + end + "\n", "", "x" + end + "\n"},
	{"end alone", end + "\n", end + "\n", ""},
	{"partial at the end", "a\n--- CODEGREEN", "a\n--- CODEGREEN", ""},
}

func TestFilterAtEverySplit(t *testing.T) {
	for _, c := range filterTable {
		t.Run(c.name, func(t *testing.T) {
			check := func(pieces ...string) {
				out, blocks := filtered(0, pieces...)
				if out != c.want || strings.Join(blocks, "|") != c.blocks {
					t.Errorf("%q: out %q, want %q; blocks %q, want %q", pieces, out, c.want, blocks, c.blocks)
				}
			}
			check(strings.Split(c.in, "")...)
			for i := range c.in {
				for j := i; j <= len(c.in); j++ {
					check(c.in[:i], c.in[i:j], c.in[j:])
				}
			}
		})
	}
}

func TestFilterHoldsBackNoMoreThanItMust(t *testing.T) {
	f := filter{block: func([]byte) {}}
	for _, c := range []struct{ in, want string }{
		{"prompt> ", "prompt> "}, {"-", "-"}, {"\n", "\n"}, {"-", ""}, {"x", "-x"}, {"\n---", "\n"}, {"-", "----"},
	} {
		if got := string(f.pass([]byte(c.in))); got != c.want {
			t.Errorf("after %q came %q, want %q", c.in, got, c.want)
		}
	}
}

func TestFilterPassesLargeBlock(t *testing.T) {
	in := start + "\n" + strings.Repeat("x", 100) + "\n" + end + "\n"
	if out, blocks := filtered(64, strings.Split(in, "")...); out != in || blocks != nil {
		t.Errorf("out %q, blocks %q; want the input", out, blocks)
	}
}

func FuzzFilter(f *testing.F) {
	for _, c := range filterTable {
		f.Add([]byte(c.in), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		if n <= 0 {
			n = 1
		}
		var pieces []string
		for rest := in; len(rest) > 0; {
			k := min(n, len(rest))
			pieces, rest = append(pieces, string(rest[:k])), rest[k:]
		}
		out, blocks := filtered(0, pieces...)
		whole, same := filtered(0, string(in))
		if out != whole || strings.Join(blocks, "|") != strings.Join(same, "|") {
			t.Fatalf("split by %d: %q %q, whole: %q %q", n, out, blocks, whole, same)
		}
		if !bytes.Contains(in, []byte(start)) && out != string(in) {
			t.Fatalf("changed to %q", out)
		}
	})
}

// What looks like the beginning of a block is let go when nothing follows; an open block is not.
func TestFilterWaiting(t *testing.T) {
	var blocks []string
	f := &filter{block: func(b []byte) { blocks = append(blocks, string(b)) }}
	if out := f.pass([]byte("--- ")); len(out) != 0 || !f.waiting() {
		t.Errorf("%q, waiting %v", out, f.waiting())
	}
	if out := f.flush(); string(out) != "--- " || f.waiting() {
		t.Errorf("%q, waiting %v", out, f.waiting())
	}
	if out := f.pass([]byte("name\n" + string(blockStart) + "\nx\n")); string(out) != "name\n" || f.waiting() {
		t.Errorf("%q, waiting %v", out, f.waiting())
	}
	if out := f.pass([]byte(string(blockEnd) + "\nend\n")); string(out) != "end\n" || len(blocks) != 1 || blocks[0] != "x\n" {
		t.Errorf("%q, blocks %q", out, blocks)
	}
}
