package manual

import (
	"strings"
	"testing"
	"unicode/utf8"
)

var example = Command{
	Path: "ex", Usage: "does things", NoFiles: true,
	Description: "A paragraph of words that is longer than one line of a\nterminal that is narrow, so it is filled anew.\n\n  stays   as it is\n\n.Odd 'start' and \\ in it.",
	Groups:      []Group{{"flags", []Flag{{Names: []string{"-r", "--root"}, Value: "DIR", Usage: "take DIR"}}}},
	Commands: []Command{
		{
			Path: "ex cook", Usage: "cooks it's meal", Arguments: "FILE",
			Groups: []Group{{"heat", []Flag{
				{Names: []string{"-l", "--level"}, Value: "HOW", Usage: "heat", Default: "low", Words: []string{"low", "high"}},
				{Names: []string{"--very-long-name-of-a-flag"}, Usage: "does nothing", Again: true},
			}}},
			Commands: []Command{{Path: "ex cook slowly", Usage: "takes time"}},
		},
		{Path: "ex hidden", Hidden: true},
	},
}

func TestHelp(t *testing.T) {
	for _, width := range []int{0, 40, 57, 80, 1000} {
		text := example.Help(width)
		for _, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > min(max(width, 40), 100) {
				t.Errorf("%d columns: %q", width, line)
			}
		}
		if strings.Contains(text, "hidden") || !strings.Contains(text, "\n  stays   as it is\n") {
			t.Errorf("%d columns:\n%s", width, text)
		}
	}
	got, want := example.Commands[0].Help(60), `usage: ex cook [FLAGS] FILE

cooks it's meal

commands:
  slowly                  takes time

heat:
  -l, --level HOW         heat (default: low)
  --very-long-name-of-a-flag
                          does nothing; may be given again
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Nothing of a text is a request of roff.
func TestMan(t *testing.T) {
	text := example.Man("ex 1", []string{"ex-cook"})
	for _, want := range []string{".TH EX 1 \"\" \"ex 1\"\n", "\n\\&.Odd \\(aqstart\\(aq and \\e in it.\n", ".nf\n  stays   as it is\n.fi\n", "\\fB\\-r\\fR, \\fB\\-\\-root\\fR \\fIDIR\\fR\n", "\\fBex\\-cook\\fR(1)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestCompletionOfUnknownShell(t *testing.T) {
	if s := example.Completion("cmd"); s != "" {
		t.Error(s)
	}
}
