package all

import (
	"regexp"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report/format"
	"cg/report/reporttest"
)

// One run and repeated runs tell the program's energy before the machine's, by these words,
// in every format for people.
func TestOneVocabulary(t *testing.T) {
	for _, d := range []format.Document{reporttest.Example(t, nemb.Measured),
		reporttest.Repeated(t, nemb.Measured, 3)} {
		for _, name := range []string{"text", "markdown", "html"} {
			text := string(reporttest.Write(t, name, d, format.Options{Terminal: format.Terminal{Width: 100}}))
			if _, after, found := strings.Cut(text, "<noscript>"); found {
				text, _, _ = strings.Cut(after, "</noscript>") // what the script shows has tests of its own
			} else if _, after, found := strings.Cut(text, "<table>"); found {
				text = after
			}
			words := regexp.MustCompile(`(?i)(\bprogram\b|\bmachine\b)`).FindAllString(text, 2)
			if len(words) != 2 || !strings.EqualFold(words[0], "program") || !strings.EqualFold(words[1], "machine") {
				t.Errorf("%T as %s: %q in %s", d, name, words, text[:min(len(text), 400)])
			}
			if regexp.MustCompile(`(?m)^ *Energy +[~?\d]|<th>energy</th>|\| energy \| interval \| machine`).MatchString(text) {
				t.Errorf("%T as %s has an energy of nothing: %s", d, name, text[:min(len(text), 400)])
			}
		}
	}
}
