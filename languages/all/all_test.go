package all

import (
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cg/languages"
)

// unset lists the fields of a struct that have no value.
func unset(of any) (names []string) {
	for v, i := reflect.ValueOf(of), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	return names
}

// TestRegistry names what a language lacks.
func TestRegistry(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	for _, l := range languages.All() {
		for _, name := range unset(l.Core) {
			t.Errorf("%s: no %s, which every language has", l.Name, name)
		}
		// What is nil when it is there: as the comments of these types say.
		for part, optional := range map[any][]string{
			l.Interpreter: {"TargetFlags", "Interprets"}, l.Options: {"Flags",
				"Switches"}, l.Runtime: {"Background"}, l.SaveFile: nil, l.SDK: {"Offer"},
		} {
			v := reflect.ValueOf(part)
			if v.IsNil() {
				continue
			}
			for _, name := range unset(v.Elem().Interface()) {
				if !slices.Contains(optional, name) {
					t.Errorf("%s: no %s in its %s", l.Name, name, v.Elem().Type().Name())
				}
			}
		}
		if l.Options != nil && len(l.Flags())+len(l.Switches()) == 0 {
			t.Errorf("%s: Options without a flag", l.Name)
		}
		if l.SaveFile != nil && l.SaveTarget != nil {
			t.Errorf("%s: SaveFile and SaveTarget", l.Name)
		}
		t.Logf("%s goes without %s", l.Name, strings.Join(unset(l.Capabilities), ", "))
		if languages.Named(l.Name) != l {
			t.Errorf("%s: another language has this name", l.Name)
		}
		for _, alias := range l.Aliases {
			if languages.Named(alias) != l {
				t.Errorf("%s: another language has its alias %s", l.Name, alias)
			}
		}
		for _, ending := range l.Extensions {
			if was, taken := owner[ending]; taken {
				t.Errorf("%s: %s files are %s's", l.Name, ending, was)
			}
			owner[ending] = l.Name
			if languages.ForFile("x"+ending) != l {
				t.Errorf("%s: does not find its own %s files", l.Name, ending)
			}
		}
		cases := filepath.Join("../../testdata/programs", l.Name, "cases")
		if entries, _ := os.ReadDir(cases); len(entries) < 10 {
			t.Errorf("%s: %d fixtures in %s", l.Name, len(entries), cases)
		}
		if _, err := os.Stat(filepath.Join("../../docs", l.Name+".md")); err != nil {
			t.Errorf("%s: no docs/%[1]s.md: %v", l.Name, err)
		}
		if !strings.Contains(string(readme), "docs/"+l.Name+".md") {
			t.Errorf("%s: README.md has no line with docs/%[1]s.md", l.Name)
		}
		if !strings.Contains(languages.Names(), l.Name) {
			t.Errorf("%s: not in %q", l.Name, languages.Names())
		}
	}
	if languages.Named("klingon") != nil || languages.ForFile("x.klingon") != nil || languages.ForFile("x") != nil {
		t.Error("finds languages that are not there")
	}
}

// Names of threads are found as the kernel has them, cut at 15 bytes.
func TestBackground(t *testing.T) {
	for _, l := range languages.All() {
		if l.Runtime == nil {
			continue
		}
		for _, c := range l.Runtime.Background {
			for _, pattern := range c.Threads {
				if _, err := path.Match(pattern, "x"); err != nil || len(strings.Trim(pattern, "*")) > 15+len("[12]") {
					t.Errorf("%s, %s: %q", l.Name, c.Name, pattern)
				}
			}
		}
	}
	class := func(comm string) string {
		for _, c := range languages.Named("java").Runtime.Background {
			for _, pattern := range c.Threads {
				if ok, _ := path.Match(pattern, comm); ok {
					return c.Name
				}
			}
		}
		return ""
	}
	for name, want := range map[string]string{
		"GC Thread#0": "garbage collection", "G1 Main Marker": "garbage collection", "G1 Conc#12": "garbage collection",
		"Shenandoah Cont": "garbage collection", "ZWorkerYoung#0": "garbage collection", "VM Thread": "garbage collection",
		"C1 CompilerThre": "JIT compilation", "C2 CompilerThre": "JIT compilation", "Sweeper thread": "JIT compilation",
		"java": "", "Finalizer": "", "Reference Handl": "", "pool-1-thread-1": "", "C3 CompilerThre": "",
	} {
		if got := class(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
