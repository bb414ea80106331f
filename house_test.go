package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rank is the height of each room: a package imports only lower ones.
// The numbers leave space between for new rooms. The source side and the measuring side do not know each other.
var rank = map[string]int{
	"cg": 110, "cg/e2e": 110,
	"cg/cli": 100, "cg/cli/exit": 91, "cg/cli/tell": 92, "cg/cli/flags": 93, "cg/cli/folders": 93, "cg/cli/history": 93, "cg/cli/language": 94, "cg/cli/machine": 94, "cg/cli/output": 96, "cg/cli/gpu": 97, "cg/cli/gate": 97, "cg/cli/monitor": 97, "cg/cli/track": 97,
	"cg/experiment": 90, "cg/version": 90,
	"cg/report": 80, "cg/languages/all": 80,
	"cg/report/repeated": 81, "cg/report/saved": 82, "cg/report/compare": 83,
	"cg/measure": 70, "cg/gate": 70,
	"cg/languages": 60, "cg/nemb/validate": 60,
	"cg/instrument": 50, "cg/nemb/attribute": 50, "cg/nemb/access": 55, "cg/nemb/condition": 45, "cg/nemb/idle": 50, "cg/nemb/habits": 45, "cg/nemb/doctor": 50, "cg/nemb/node": 55, "cg/nemb/gpuuse": 55, "cg/track": 50,
	"cg/nemb/sensor/all": 60, "cg/nemb/cores": 50,
	"cg/kernels": 48, "cg/kernels/simulate": 10,
	"cg/nemb/rapl": 48, "cg/nemb/fixture": 48,
	"cg/nemb/sensor": 45, "cg/nemb/sampler": 45,
	"cg/nemb":            40,
	"cg/nemb/account":    30,
	"cg/nemb/population": 35, "cg/monitor": 50, "cg/monitor/jsonl": 0, "cg/monitor/metrics": 60, "cg/monitor/otlp": 60, "cg/monitor/annotate": 60, "cg/monitor/spans": 60, "cg/monitor/series": 55, "cg/report/usage": 85, "cg/report/trend": 86, "cg/report/bisection": 86, "cg/report/advice": 86,
	"cg/attach": 36, "cg/attach/python": 20, "cg/attach/native": 30, "cg/attach/perf": 20, "cg/attach/unwind": 20,
	"cg/nemb/processor": 10,
	"cg/report/schema":  0, "cg/report/tables": 0,
	"cg/nemb/counter": 0, "cg/nemb/patience": 0, "cg/nemb/sysfs": 0,
	"cg/footprint": 0, "cg/laboratory": 90, "cg/events": 10, "cg/report/format": 20, "cg/report/figures": 0, "cg/report/frame": 0, "cg/report/reporttest": 85, "cg/report/verdict": 85, "cg/report/cluster": 85, "cg/report/timeline": 85, "cg/report/stream": 84, "cg/report/format/all": 95, "cg/nemb/simulate/powercap": 10,
	"cg/nemb/attribute/stacks": 45, "cg/nemb/attribute/windows": 45, "cg/nemb/attribute/regression": 45, "cg/nemb/attribute/calls": 45, "cg/nemb/attribute/gpus": 45,
	"cg/nemb/attribute/paths": 10,
	"cg/recorder":             0, "cg/recorder/recordertest": 10, "cg/recorder/analysis": 10,
	"cg/pmsampling/cupti/abi": 0, "cg/pmsampling/cupti": 10, "cg/pmsampling/simulate": 10, "cg/pmsampling": 20, "cg/pmsampling/cgpm": 30, "cg/pmsampling/beside": 30, "cg/pmsampling/rows": 40,
	"cg/track/energylog": 0, "cg/track/merge": 10, "cg/track/slurm": 0, "cg/report/iotrace": 86,
	// These import no room but those that any may use.
	"cg/checkpoint": 0, "cg/config": 0, "cg/crash": 0, "cg/crash/onpurpose": 0, "cg/docs": 0, "cg/instrument/edit": 0, "cg/instrument/syntax": 0,
	"cg/launcher": 0, "cg/load": 0, "cg/mqtt": 0, "cg/nemb/leaks": 0, "cg/nemb/simulate": 5, "cg/nemb/dcgm/abi": 0, "cg/nemb/dcgm": 10, "cg/ranks": 0, "cg/runtimes": 0, "cg/runtimes/sdk/spec/generate": 0, "cg/runtimes/prebuild": 10, "cg/statistics": 0, "cg/sweep": 0, "cg/work": 0,
	// Any room may use these. They know nothing of cg.
	"cg/manual": 0, "cg/near": -10, "cg/pattern": -10, "cg/tool": -10, "cg/scratch": -10, "cg/shown": -10, "cg/long": -10, "cg/runtimes/sdk/spec": -10,
}

// families are folders whose packages are of one height, so that none imports
// another: one folder for each language, sensor and format.
var families = map[string]int{"cg/languages/": 70, "cg/nemb/sensor/": 50, "cg/report/format/": 90}

// heightOf is the height of a package.
func heightOf(path string) (height int, known bool) {
	if height, known = rank[path]; known {
		return height, true
	}
	for family, height := range families {
		if name, in := strings.CutPrefix(path, family); in && !strings.Contains(name, "/") {
			return height, true
		}
	}
	return 0, false
}

// strangers are pairs of rooms of which the first must not know the second, not
// even by way of a third. A room includes the packages below it.
var strangers = [][2]string{
	{"cg/instrument", "cg/nemb"}, {"cg/languages", "cg/nemb"}, {"cg/runtimes", "cg/nemb"},
	{"cg/nemb", "cg/instrument"}, {"cg/nemb", "cg/languages"}, {"cg/nemb", "cg/runtimes"}, {"cg/nemb", "cg/launcher"},
	{"cg/attach", "cg/nemb/sensor"}, {"cg/attach", "cg/languages"}, {"cg/attach", "cg/launcher"},
	{"cg/measure", "cg/instrument"}, {"cg/measure", "cg/languages"}, {"cg/measure", "cg/runtimes"}, {"cg/measure", "cg/report"},
	{"cg/report", "cg/instrument"}, {"cg/report", "cg/languages"}, {"cg/report", "cg/runtimes"},
	{"cg/gate", "cg/nemb"}, {"cg/gate", "cg/measure"}, {"cg/gate", "cg/languages"}, {"cg/gate", "cg/launcher"},
	{"cg/track", "cg/launcher"}, {"cg/track", "cg/instrument"}, {"cg/track", "cg/report"},
	{"cg/pmsampling", "cg/nemb"}, {"cg/pmsampling", "cg/launcher"}, {"cg/pmsampling", "cg/report"}, {"cg/pmsampling", "cg/instrument"},
	{"cg/monitor", "cg/launcher"}, {"cg/monitor", "cg/instrument"}, {"cg/nemb", "cg/monitor"},
}

func TestImportsPointDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Name,Doc,Imports,Deps", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	architecture, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for d.More() {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		seen++
		for _, fault := range p.faults() {
			t.Error(fault)
		}
		if !p.describedIn(string(architecture)) {
			t.Errorf("docs/architecture.md does not say what %s is", p.ImportPath)
		}
	}
	if seen < 10 {
		t.Errorf("only %d packages seen", seen)
	}
}

// listed is a package as go list tells it.
type listed struct {
	ImportPath, Name, Doc string
	Imports, Deps         []string
}

// faults says what of a package's imports breaks the rules of the layout.
func (p listed) faults() (faults []string) {
	say := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	height, known := heightOf(p.ImportPath)
	if !known {
		say("%s has no rank: give it one here, and say in docs/architecture.md what it is", p.ImportPath)
	}
	if !strings.HasPrefix(p.Doc, "Package "+p.Name+" ") && !strings.HasPrefix(p.Doc, "Command ") {
		say("%s: a comment before its package clause has to say what it is for: Package %s ...", p.ImportPath, p.Name)
	}
	for _, i := range p.Imports {
		if !strings.HasPrefix(i, "cg/") {
			continue
		}
		if below, _ := heightOf(i); below >= height {
			say("%s imports %s, which is not below it", p.ImportPath, i)
		}
	}
	for _, i := range p.Deps {
		for _, s := range strangers {
			if within(p.ImportPath, s[0]) && within(i, s[1]) && rank[i] >= 0 { // below 0: any room may use it
				say("%s must not know %s (go list -deps shows the way)", p.ImportPath, i)
			}
		}
	}
	return faults
}

// describedIn reports whether a text names a package. Commands have help of their own,
// and of a family's members the text says what they have in common.
func (p listed) describedIn(text string) bool {
	name := strings.TrimPrefix(p.ImportPath, "cg/")
	for family := range families {
		if strings.HasPrefix(p.ImportPath, family) {
			return true
		}
	}
	return p.Name == "main" || strings.Contains(text, "`"+name+"`") || strings.Contains(text, "**"+name+"/**")
}

// within reports whether a package is a room or below it.
func within(path, room string) bool { return path == room || strings.HasPrefix(path, room+"/") }

func TestFaultsOfImports(t *testing.T) {
	cases := []struct {
		what string
		p    listed
		want string
	}{
		{"down", listed{ImportPath: "cg/measure", Imports: []string{"cg/nemb", "fmt"}, Deps: []string{"cg/nemb"}}, ""},
		{"up", listed{ImportPath: "cg/nemb", Imports: []string{"cg/cli"}}, "cg/nemb imports cg/cli, which is not below it"},
		{"one language to another", listed{ImportPath: "cg/languages/python", Imports: []string{"cg/languages/java"}},
			"cg/languages/python imports cg/languages/java, which is not below it"},
		{"one sensor to another", listed{ImportPath: "cg/nemb/sensor/a", Imports: []string{"cg/nemb/sensor/b"}},
			"cg/nemb/sensor/a imports cg/nemb/sensor/b, which is not below it"},
		{"one format to another", listed{ImportPath: "cg/report/format/a", Imports: []string{"cg/report/format/b"}},
			"cg/report/format/a imports cg/report/format/b, which is not below it"},
		{"by way of a third", listed{ImportPath: "cg/gate", Imports: []string{"cg/tool"}, Deps: []string{"cg/tool", "cg/nemb/account"}},
			"cg/gate must not know cg/nemb/account (go list -deps shows the way)"},
		{"a language knows no sensor", listed{ImportPath: "cg/languages/java", Deps: []string{"cg/nemb/sensor/a"}},
			"cg/languages/java must not know cg/nemb/sensor/a (go list -deps shows the way)"},
		{"one of the lowest to another", listed{ImportPath: "cg/tool", Imports: []string{"cg/scratch"}}, "cg/tool imports cg/scratch, which is not below it"},
		{"what any may use", listed{ImportPath: "cg/runtimes", Imports: []string{"cg/tool"}, Deps: []string{"cg/tool"}}, ""},
		{"without a place", listed{ImportPath: "cg/attic"}, "cg/attic has no rank: give it one here, and say in docs/architecture.md what it is"},
		{"without a comment", listed{ImportPath: "cg/tool", Name: "tool", Doc: "Runs tools."},
			"cg/tool: a comment before its package clause has to say what it is for: Package tool ..."},
		{"too deep for a family", listed{ImportPath: "cg/languages/java/parts"},
			"cg/languages/java/parts has no rank: give it one here, and say in docs/architecture.md what it is"},
	}
	for _, c := range cases {
		if c.p.Doc == "" {
			c.p.Name, c.p.Doc = "x", "Package x is for a test."
		}
		if got := strings.Join(c.p.faults(), "; "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}

// Every warning that the code can give has a heading in docs/messages.md, and
// every heading of a warning is given somewhere.
func TestWarningsAreDocumented(t *testing.T) {
	given := map[string]bool{}
	slug := regexp.MustCompile(`\.Warn\("([a-z-]+)"`)
	for _, name := range filesOf(t, "report/*.go", "report/*/*.go", "report/format/*/*.go") {
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

// filesOf are the files of some patterns.
func filesOf(t *testing.T, patterns ...string) (files []string) {
	t.Helper()
	for _, pattern := range patterns {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	return files
}

// registered are the families whose members register themselves. A member is named in
// its own files and nowhere else in the program.
var registered = []struct {
	what    string
	files   string         // where members are, patterns with blanks between
	name    *regexp.Regexp // how a member's file gives its name
	least   int            // names that are found at least
	allowed []string       // files and folders that may name a member
	instead string
}{
	{
		"language", "languages/*/*.go", regexp.MustCompile(`(?m)^\t+(?:Name|Title): +"([^"]+)",$`), 6,
		[]string{
			"languages/", "attach/python/", "attach/native/", // which read what these make
			"runtimes/",   // what is in its programs
			"release/",    // a package for each registry, and the command go
			"laboratory/", // which has programs in some
		},
		"make it data of languages.Language",
	},
	{
		"format", "report/format/*/*.go", regexp.MustCompile(`(?m)^\t\tName: "([a-z]+)",`), 10,
		[]string{
			"report/", "track/", "runtimes/",
			"cli/",                     // flags that write a file have a format each: --junit, --benchfmt
			"nemb/condition/others.go", // WattAMeter is a program, too
		},
		"make it data of format.Format",
	},
}

// A language and a format are named in their own files; TestSensorsStayAtHome is
// the same for sensors.
func TestMembersStayAtHome(t *testing.T) {
	for _, family := range registered {
		var given []string
		for _, file := range filesOf(t, strings.Fields(family.files)...) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range family.name.FindAllSubmatch(b, -1) {
				if name := string(m[1]); name != "json" && len(name) > 1 { // which mean much else, too
					given = append(given, name)
				}
			}
		}
		if len(given) < family.least {
			t.Fatalf("%s: found only the names %q", family.what, given)
		}
		names := regexp.MustCompile(`"(` + strings.Join(given, "|") + `)"`)
		err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") ||
				slices.ContainsFunc(family.allowed, func(a string) bool { return strings.HasPrefix(path, a) }) {
				return err
			}
			b, err := os.ReadFile(path)
			if m := names.Find(b); m != nil {
				t.Errorf("%s names the %s %s: %s", path, family.what, m, family.instead)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
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
	sources := filesOf(t, "cli/*.go", "cli/*/*.go")
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

// namesSensors are the files that may hold the name of a sensor, and why.
var namesSensors = map[string]string{
	"laboratory/laboratory.go": "it runs cg with the estimate, where a case has no counters",
	"cli/gate/gate.go":         "perf is the way in which cg gate counts instructions, and no sensor",
}

// A sensor is named in its own folder and nowhere else in the program: what others must
// know of it is data of nemb.Source. What rides in programs (runtimes/) has sensors of
// its own.
func TestSensorsStayAtHome(t *testing.T) {
	inside, err := os.ReadDir("nemb/sensor")
	if err != nil {
		t.Fatal(err)
	}
	home := map[string]string{} // name of a sensor -> its folder
	for _, folder := range inside {
		if name := folder.Name(); folder.IsDir() && name != "all" {
			home[name] = filepath.Join("nemb/sensor", name)
		}
	}
	if len(home) < 7 {
		t.Fatalf("found only the sensors %q", home)
	}
	atHome := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(path, "runtimes/") || strings.HasPrefix(path, "testdata/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			name, _ := strconv.Unquote(literal.Value)
			switch folder := home[name]; {
			case folder == "" || namesSensors[path] != "":
			case filepath.Dir(path) == folder:
				atHome[name] = true
			default:
				t.Errorf("%s names the sensor %q: make it data of nemb.Source", path, name)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, folder := range home {
		if !atHome[name] {
			t.Errorf("%s is not the sensor %q", folder, name)
		}
	}
}
