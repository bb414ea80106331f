package edit

import (
	"strings"
	"testing"
)

func TestApply(t *testing.T) {
	for _, c := range []struct {
		name, text string
		edits      []Edit
		want, fail string
	}{
		{name: "none", text: "abc", want: "abc"},
		{name: "insert", text: "abc", edits: []Edit{{1, 1, "X"}}, want: "aXbc"},
		{name: "two insertions at one place keep their order", text: "abc", edits: []Edit{{1, 1, "X"}, {1, 1, "Y"}}, want: "aXYbc"},
		{name: "any order", text: "abc", edits: []Edit{{3, 3, "Z"}, {0, 1, ""}}, want: "bcZ"},
		{name: "insertion before a replacement", text: "abc", edits: []Edit{{1, 2, "B"}, {1, 1, "-"}}, want: "a-Bc"},
		{name: "bytes, not characters", text: "é=1", edits: []Edit{{2, 2, " "}}, want: "é =1"},
		{name: "overlap", text: "abc", edits: []Edit{{0, 2, ""}, {1, 3, ""}}, fail: "overlaps"},
		{name: "behind the end", text: "abc", edits: []Edit{{3, 4, ""}}, fail: "outside"},
		{name: "before the start", text: "abc", edits: []Edit{{-1, 0, ""}}, fail: "outside"},
		{name: "backwards", text: "abc", edits: []Edit{{2, 1, ""}}, fail: "outside"},
	} {
		got, err := Apply([]byte(c.text), c.edits)
		if c.fail != "" {
			if err == nil || !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%s: error %v, want one that says %q", c.name, err, c.fail)
			}
			continue
		}
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

// FuzzApply: Apply never panics; what it makes has the length the edits say,
// and applying edits that change nothing gives the text back.
func FuzzApply(f *testing.F) {
	f.Add("hello", 1, 2, "x", 4, 4, "yz")
	f.Add("", 0, 0, "", 0, 0, "")
	f.Fuzz(func(t *testing.T, text string, s1, e1 int, n1 string, s2, e2 int, n2 string) {
		got, err := Apply([]byte(text), []Edit{{s1, e1, n1}, {s2, e2, n2}})
		if err == nil && len(got) != len(text)-(e1-s1)-(e2-s2)+len(n1)+len(n2) {
			t.Errorf("%d bytes", len(got))
		}
		if s1 >= 0 && s1 <= e1 && e1 <= len(text) {
			same, err := Apply([]byte(text), []Edit{{s1, e1, text[s1:e1]}})
			if err != nil || string(same) != text {
				t.Errorf("%q, %v", same, err)
			}
		}
	})
}
