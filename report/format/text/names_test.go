package text

import (
	"strings"
	"testing"

	"cg/nemb"
	"cg/report/format"
	"cg/report/reporttest"
)

// In a table names are cut last: the interval gives way first, then the columns of wide terminals, and none for a
// name that would leave no room for figures.
func TestNamesAreCutLast(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	heads := func(name string, width int) (head, row string) {
		r.Functions[0].Name = name
		text := string(reporttest.Write(t, "text", r, format.Options{Terminal: format.Terminal{Width: width}}))
		lines := strings.Split(text[strings.Index(text, "function "):], "\n")
		return strings.Join(strings.Fields(lines[0]), " "), lines[1]
	}
	for _, k := range []struct {
		letters, width int
		want           string
	}{
		{23, 120, "function calls self interval incl share power time where"},
		{40, 120, "function calls self interval incl share power time where"},
		{55, 120, "function calls self incl share power time where"},
		{66, 120, "function calls self incl share power time"},
		{23, 100, "function calls self incl share power time"},
		{56, 100, "function calls self incl share power"},
		{36, 80, "function calls self incl share power"},
		{47, 80, "function calls self incl share"},
		{36, 60, "function calls self share"},
		{300, 60, "function calls self share"},
	} {
		name := strings.Repeat("package.", 40)[:k.letters-4] + "last"
		head, row := heads(name, k.width)
		if head != k.want || k.letters < 100 && !strings.HasPrefix(row, name+" ") || !strings.Contains(row, "last ") || len([]rune(row)) > k.width {
			t.Errorf("%d letters in %d columns: %q\n%s", k.letters, k.width, head, row)
		}
	}
}

// A line does not end within a number.
func TestWordsOf(t *testing.T) {
	for text, want := range map[string]string{
		"ran 5 380 727 times, 3 %": "ran|5 380 727|times,|3|%",
		"of 1 234; 1000 200x a":    "of|1 234;|1000 200x|a",
		"a 12 b 345 67":            "a|12|b|345|67",
		"":                         "",
	} {
		if got := strings.Join(wordsOf(text), "|"); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}
