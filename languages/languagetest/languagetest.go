// Package languagetest has the checks that the tests of several languages share: tables of
// texts against a planner. Only tests import it.
package languagetest

import (
	"errors"
	"os"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
)

// Fine are the options of a plan with every function.
var Fine = instrument.Options{Granularity: instrument.Fine}

// PlanCase is a text with the plan that it has.
type PlanCase struct {
	Name, Source string
	Options      instrument.Options
	Want         string // a line for each point; tabs are left out
}

// Plans compares plans with what each case wants. line writes a point of a text, and the
// site that it belongs to.
func Plans(t *testing.T, plan instrument.Planner, cases []PlanCase,
	line func(source string, s checkpoint.Site, q instrument.Point) string) {
	t.Helper()
	for _, c := range cases {
		p, err := plan([]byte(c.Source), c.Options)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		var got strings.Builder
		for _, q := range p.Points {
			got.WriteString(line(c.Source, p.Sites[q.Site], q) + "\n")
		}
		want := strings.ReplaceAll(c.Want, "\t", "")
		if strings.TrimSpace(got.String()) != strings.TrimSpace(want) {
			t.Errorf("%s:\n%swant\n%s", c.Name, got.String(), want)
		}
	}
}

// Refuses checks that each text is refused as one that does not parse, with an error that
// has the words.
func Refuses(t *testing.T, plan instrument.Planner, words map[string]string) {
	t.Helper()
	for source, want := range words {
		_, err := plan([]byte(source), Fine)
		if !errors.Is(err, instrument.ErrSyntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", source, err, want)
		}
	}
}

// Missing ends a test that needs what this machine has not: it is skipped, and fails in CI,
// where everything must be installed.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}
