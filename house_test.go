package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rank is the height of each room: a package imports only lower ones. The
// source side and the measuring side do not know each other.
var rank = map[string]int{
	"cg": 11, "cg/e2e": 11, "cg/cli": 10, "cg/experiment": 9, "cg/report": 8, "cg/measure": 7, "cg/gate": 7, "cg/statistics": 0,
	"cg/languages": 6, "cg/languages/all": 8, "cg/instrument": 5, "cg/instrument/syntax": 1, "cg/instrument/edit": 0,
	"cg/nemb/attribute": 5, "cg/nemb": 4, "cg/nemb/account": 3, "cg/nemb/leaks": 0, "cg/nemb/access": 5, "cg/nemb/doctor": 5, "cg/nemb/simulate": 5, "cg/nemb/simulate/powercap": 6, "cg/nemb/validate": 6,
	"cg/track": 5, "cg/load": 0, "cg/config": 0,
	"cg/launcher": 0, "cg/checkpoint": 0, "cg/events": 1, "cg/runtimes": 0,
	"cg/docs": 0, "cg/crash": 0, "cg/crash/onpurpose": 0,
	"cg/tool": -1, "cg/scratch": -1, "cg/shown": -1, // what any room may use: they know nothing of cg
}

// heightOf is the height of a package. Languages are of one height, each in a
// folder of its own, so that none imports another.
func heightOf(path string) (height int, known bool) {
	if height, known = rank[path]; known {
		return height, true
	}
	if folder, name, _ := strings.Cut(path, "cg/languages/"); folder == "" && !strings.Contains(name, "/") {
		return rank["cg/languages"] + 1, true
	}
	return 0, false
}

var apart = [][2]string{
	{"cg/instrument", "cg/nemb"}, {"cg/languages", "cg/nemb"},
	{"cg/nemb", "cg/instrument"}, {"cg/nemb", "cg/languages"}, {"cg/nemb", "cg/runtimes"},
	{"cg/gate", "cg/nemb"}, {"cg/gate", "cg/measure"}, {"cg/gate", "cg/languages"},
	{"cg/launcher", "cg/"}, {"cg/load", "cg/"}, {"cg/config", "cg/"}, {"cg/checkpoint", "cg/"}, {"cg/runtimes", "cg/"}, {"cg/instrument/edit", "cg/"},
}

func TestImportsPointDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for d.More() {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		seen++
		height, known := heightOf(p.ImportPath)
		if !known {
			t.Errorf("%s has no place in the house: give it one here and in docs/architecture.md", p.ImportPath)
		}
		for _, i := range p.Imports {
			if !strings.HasPrefix(i, "cg/") {
				continue
			}
			if below, _ := heightOf(i); below >= height {
				t.Errorf("%s imports %s, which is not below it", p.ImportPath, i)
			}
			for _, a := range apart {
				if rank[i] >= 0 && (p.ImportPath == a[0] || strings.HasPrefix(p.ImportPath, a[0]+"/")) && strings.HasPrefix(i, a[1]) && !strings.HasPrefix(i, a[0]) {
					t.Errorf("%s must not import %s", p.ImportPath, i)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d packages seen", seen)
	}
}

// Every warning that the code can give has a heading in docs/messages.md, and
// every heading of a warning is given somewhere.
func TestWarningsAreDocumented(t *testing.T) {
	given := map[string]bool{}
	slug := regexp.MustCompile(`\.Warn\("([a-z-]+)"`)
	files, err := filepath.Glob("report/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range slug.FindAllStringSubmatch(string(b), -1) {
			given[m[1]] = true
		}
	}
	b, err := os.ReadFile("docs/messages.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^### ([a-z-]+)$`).FindAllStringSubmatch(string(b), -1) {
		documented[m[1]] = true
	}
	for s := range given {
		if !documented[s] {
			t.Errorf("docs/messages.md has no heading %q", s)
		}
	}
	for s := range documented {
		if !given[s] {
			t.Errorf("docs/messages.md documents %q, which nothing gives", s)
		}
	}
	if len(given) < 10 {
		t.Errorf("only %d warnings found", len(given))
	}
}

// A language is named in its own folder, and by what rides in its programs
// (runtimes/), and nowhere else in the program.
func TestLanguagesStayAtHome(t *testing.T) {
	files, err := filepath.Glob("languages/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var given []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^\t+(?:Name|Title): +"([^"]+)",$`).FindAllSubmatch(b, -1) {
			given = append(given, string(m[1]))
		}
	}
	if len(given) < 6 {
		t.Fatalf("found only the names %q", given)
	}
	names := regexp.MustCompile(`"(` + strings.Join(given, "|") + `)"`)
	err = filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(path, "languages/") || strings.HasPrefix(path, "runtimes/") {
			return err
		}
		b, err := os.ReadFile(path)
		if m := names.Find(b); m != nil {
			t.Errorf("%s names the language %s: make it data of languages.Language", path, m)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every command that can end with status 1 has its reason in the table of
// docs/messages.md.
func TestStatusOneIsDocumented(t *testing.T) {
	b, err := os.ReadFile("docs/messages.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| 1 \|.*$`).FindString(string(b))
	sources, err := filepath.Glob("cli/*.go")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?s)&cli\.Command\{\s*Name:\s+"([a-z-]+)".*?Exit status([^` + "`" + `]*)` + "`" + `,`)
	seen := 0
	for _, source := range sources {
		b, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(b), "\nfunc ") {
			m := command.FindStringSubmatch(part)
			if m == nil || !regexp.MustCompile(`[;:,\n ]1 (if|when|nothing|failed)`).MatchString(m[2]) {
				continue
			}
			if seen++; !strings.Contains(row, "`"+m[1]+"`: ") {
				t.Errorf("the row of status 1 in docs/messages.md leaves out %s", m[1])
			}
		}
	}
	if seen < 9 {
		t.Errorf("only %d commands seen", seen)
	}
}
