package languages

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestRegistry names what a language lacks.
func TestRegistry(t *testing.T) {
	architecture, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	// What only some languages have, as the comments of Language say.
	some := []string{"TargetFlags", "Interprets", "Recognizes", "Outline", "PlanAs", "Render", "Beside", "Native", "Flags", "Switches"}
	for _, l := range All() {
		for v, i := reflect.ValueOf(*l), 0; i < v.NumField(); i++ {
			if v.Field(i).IsZero() && !slices.Contains(some, v.Type().Field(i).Name) {
				t.Errorf("%s: no %s", l.Name, v.Type().Field(i).Name)
			}
		}
		if Named(l.Name) != l {
			t.Errorf("%s: another language has this name", l.Name)
		}
		for _, ending := range l.Extensions {
			if was, taken := owner[ending]; taken {
				t.Errorf("%s: %s files are %s's", l.Name, ending, was)
			}
			owner[ending] = l.Name
			if ForFile("x"+ending) != l {
				t.Errorf("%s: does not find its own %s files", l.Name, ending)
			}
		}
		cases := filepath.Join("../testdata/programs", l.Name, "cases")
		if entries, _ := os.ReadDir(cases); len(entries) < 10 {
			t.Errorf("%s: %d fixtures in %s", l.Name, len(entries), cases)
		}
		if !strings.Contains(string(architecture), l.Title) {
			t.Errorf("%s: docs/architecture.md does not speak of it", l.Name)
		}
		if !strings.Contains(Names(), l.Name) {
			t.Errorf("%s: not in %q", l.Name, Names())
		}
	}
	if Named("klingon") != nil || ForFile("x.klingon") != nil || ForFile("x") != nil {
		t.Error("finds languages that are not there")
	}
}
