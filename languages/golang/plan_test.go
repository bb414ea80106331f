package golang

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/edit"
	"cg/languages"
	"cg/languages/languagetest"
	"cg/long"
)

func TestPlan(t *testing.T) {
	fine := languagetest.Fine
	languagetest.Plans(t, planFile, []languagetest.PlanCase{
		{Name: "functions", Source: "package p\nfunc f() { }\nfunc g(x int) (y int) {\n return x\n}\n", Options: fine, Want: `
			function p.f 2:6-2 2:11-2:12
			function p.g 3:6-5 3:24-5:1`},
		{Name: "methods", Source: "package p\ntype T struct{}\nfunc (T) a() {}\nfunc (t T) b() {}\nfunc (*T) c() {}\nfunc (t /* * */ *T) d() {}\nfunc (t *(T),) e() {}", Options: fine, Want: `
			method p.T.a 3:10-3 3:15-3:15
			method p.T.b 4:12-4 4:17-4:17
			method p.(*T).c 5:11-5 5:16-5:16
			method p.(*T).d 6:21-6 6:26-6:26
			method p.(*T).e 7:16-7 7:21-7:21`},
		{Name: "generics", Source: "package p\nfunc M[A, B any](a A) B { return any(a).(B) }\nfunc (l *L[T]) p(x T) {}\nfunc (L[_]) q() { _ = func() {} }", Options: fine, Want: `
			function p.M[...] 2:6-2 2:26-2:45
			method p.(*L[...]).p 3:16-3 3:24-3:24
			method p.L[...].q 4:13-4 4:18-4:33
			lambda p.L[...].q.func1 4:23-4 4:31-4:31`},
		{Name: "literals", Source: "package p\nvar a, b = func() int { return 1 }(), func() {}\nfunc f() { func() { go func() {}() }(); defer func() {}() }\nvar c = func() {}", Options: fine, Want: `
			lambda p.init.func1 2:12-2 2:24-2:34
			lambda p.init.func2 2:39-2 2:47-2:47
			function p.f 3:6-3 3:11-3:59
			lambda p.f.func1 3:12-3 3:20-3:36
			lambda p.f.func1.1 3:24-3 3:32-3:32
			lambda p.f.func2 3:47-3 3:55-3:55
			lambda p.init.func3 4:9-4 4:17-4:17`},
		{Name: "init", Source: "package p\nfunc init() {}\nfunc (t T) init() {}\nfunc init() { func() {}() }", Options: fine, Want: `
			function p.init.0 2:6-2 2:14-2:14
			method p.T.init 3:12-3 3:20-3:20
			function p.init.1 4:6-4 4:14-4:27
			lambda p.init.1.func1 4:15-4 4:23-4:23`},
		{Name: "blank", Source: "package p\nfunc _() { func() {}() }\nfunc (T) _() {}\nvar _ = func() {}", Options: fine, Want: `
			lambda p.init.func1 4:9-4 4:17-4:17`},
		{Name: "range over func has no function", Source: "package p\nfunc f(s iter.Seq[int]) { for x := range s { println(x) } }", Options: fine, Want: `
			function p.f 2:6-2 2:26-2:59`},
		{Name: "no body, directives", Source: "package p\nfunc a()\n//go:nosplit\nfunc b() {}\n//go:noinline\nfunc c() {}\n//go:linkname d x.d\nfunc d() {}\nfunc x() {}\n\n//go:systemstack\n// more\nfunc e() { func() {}() }\n/*\n//go:nosplitted\n*/\nfunc g() {}", Options: fine, Want: `
			function p.c 6:6-6 6:11-6:11
			function p.x 9:6-9 9:11-9:11
			lambda p.e.func1 13:12-13 13:20-13:20
			function p.g 17:6-17 17:11-17:11`},
		{Name: "newer than the grammar", Source: "package p\nfunc f() *int { return new(1 + 2) }\ntype A[T any] = []T\nfunc g() { if ; true {} }", Options: fine, Want: `
			function p.f 2:6-2 2:16-2:35
			function p.g 4:6-4 4:11-4:25`},
		{Name: "crlf", Source: "package p\r\nfunc f() {\r\n\r\n}\r\n", Options: fine, Want: `
			function p.f 2:6-4 2:11-4:1`},
		{Name: "byte order mark", Source: "\ufeffpackage p\nfunc f() {}\n", Options: fine, Want: `
			function p.f 2:6-2 2:11-2:11`},
		{Name: "coarse", Source: "package main\nfunc main() { func() {}() }\nfunc f() {}\nfunc (T) main() {}", Options: instrument.Options{Granularity: instrument.Coarse, Entry: true}, Want: `
			function main.main 2:6-2 2:14-2:27`},
		{Name: "coarse, not what is run", Source: "package main\nfunc main() {}", Options: instrument.Options{Granularity: instrument.Coarse}, Want: ``},
		{Name: "coarse, no program", Source: "package p\nfunc main() {}", Options: instrument.Options{Granularity: instrument.Coarse, Entry: true}, Want: ``},
		{Name: "include", Source: "package p\nfunc f() {}\nfunc (*T) f() {}\nfunc g() {}", Options: instrument.Options{Granularity: instrument.Fine, Include: []string{"*.f"}}, Want: `
			function p.f 2:6-2 2:11-2:11
			method p.(*T).f 3:11-3 3:16-3:16`},
		{Name: "exclude", Source: "package p\nfunc f() {}\nfunc g() {}\nfunc (*T) h() {}", Options: instrument.Options{Granularity: instrument.Fine, Exclude: []string{"p.f", "p.g:3"}}, Want: `
			method p.(*T).h 4:11-4 4:16-4:16`},
		{Name: "nothing", Source: "package p\n", Options: fine, Want: ``},
	}, func(_ string, s checkpoint.Site, q instrument.Point) string {
		return fmt.Sprintf("%s %s %d:%d-%d %d:%d-%d:%d",
			s.Kind, s.Func, s.Line, s.Col, s.EndLine, q.Line, q.Col, q.EndLine, q.EndCol)
	})
}

// TestContext: names go on where the files before ended, and what the compiler
// inlines wherever it is called has no checkpoints, but for main.
func TestContext(t *testing.T) {
	g, err := parseFile([]byte(
		"package main\nfunc init() {}\nvar a = func() {}\nfunc f() {}\nfunc (T) g() { func() {}() }\nfunc main() {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	inlined, bare := map[int]bool{}, map[int]bool{}
	for _, place := range [][2]int{{2, 6}, {4, 6}, {5, 16}, {6, 6}, {99, 1}, {1, 0}} {
		inlined[g.offset(place[0], place[1])] = true
	}
	for _, place := range [][2]int{{4, 10}, {5, 14}, {5, 23}, {6, 13}} {
		bare[g.offset(place[0], place[1])] = true
	}
	p, counts := g.plan(instrument.Options{Granularity: instrument.Fine},
		packageContext{path: "acme/app", inits: 2, literals: 5, inlined: inlined, bare: bare})
	var names []string
	for _, s := range p.Sites {
		names = append(names, s.Func)
	}
	if got, want := strings.Join(names, " "), "main.init.2 main.init.func6 main.T.g main.main"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if counts != (functionCounts{Inits: 3, Literals: 6, Inlined: 2}) {
		t.Errorf("%+v", counts)
	}
	g, _ = parseFile([]byte("package stock\nfunc (s *Stock) Fib() {}\n"))
	if p, _ := g.plan(instrument.Options{Granularity: instrument.Fine},
		packageContext{path: "acme/stock"}); p.Sites[0].Func != "acme/stock.(*Stock).Fib" {
		t.Error(p.Sites[0].Func)
	}
}

func TestPlanLeft(t *testing.T) {
	p, err := planFile([]byte("package p\nfunc a()\n//go:nosplit\nfunc b() {}\n//go:linkname d x.d\nfunc d() {}\n"),
		instrument.Options{Granularity: instrument.Fine})
	if err != nil {
		t.Fatal(err)
	}
	want := []instrument.LeftAlone{
		{Name: "p.a", Line: 2, Reason: "left alone: it has no body in Go"},
		{Name: "p.b", Line: 4, Reason: "left alone: it is marked //go:nosplit"},
		{Name: "p.d", Line: 6, Reason: "left alone: //go:linkname gives it another name"},
	}
	if !reflect.DeepEqual(p.LeftAlone, want) {
		t.Errorf("%+v", p.LeftAlone)
	}
}

func TestPlanRefuses(t *testing.T) {
	languagetest.Refuses(t, planFile, map[string]string{
		"":                              "line 1",
		"package p\nfunc f( { }":        "line 2",
		"package p\nvar x = \nfunc f()": "line",
		"pack\x00age p":                 "line 1",
	})
}

// rewritten is a file with checkpoints by itself.
func rewritten(t testing.TB, source []byte, name string) []byte {
	t.Helper()
	return rewrittenAs(t, source, name, instrument.Fine)
}

func rewrittenAs(t testing.TB, source []byte, name string, granularity instrument.Granularity) []byte {
	t.Helper()
	g, err := parseFile(source)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := g.plan(instrument.Options{Granularity: granularity}, packageContext{})
	out, err := rewriteFiles([]parsedFile{{source: g, plan: p, name: name, key: 7}}, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	if out[0] == nil {
		return source
	}
	return out[0]
}

// checkRewriteLaws checks what holds for each rewritten file: the lines are those of the
// original, each begins as it did, and it parses. With lines or blocks, by turns, lines may begin with events.
func checkRewriteLaws(t testing.TB, name string, source []byte) {
	t.Helper()
	text := rewritten(t, source, "/home/u/x.go")
	was, is := bytes.Split(source, []byte("\n")), bytes.Split(text, []byte("\n"))
	if len(was) != len(is) {
		t.Fatalf("%s: %d lines were %d", name, len(is), len(was))
	}
	for i := range was {
		// What is inserted stands behind "package", a brace or an import.
		keep := len(was[i])
		if at := bytes.IndexAny(was[i], "p{\")`"); at >= 0 {
			keep = at
		}
		if !bytes.HasPrefix(is[i], was[i][:keep]) {
			t.Fatalf("%s:%d: begins otherwise:\n%s\nwas\n%s", name, i+1, is[i], was[i])
		}
	}
	if _, err := parseWithGoParser(text); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text[:min(2000, len(text))])
	}
	granularity := []instrument.Granularity{instrument.Blocks, instrument.Lines}[len(source)%2]
	text = rewrittenAs(t, source, "/home/u/x.go", granularity)
	if is := bytes.Count(text, []byte("\n")); is != len(was)-1 {
		t.Fatalf("%s, -g %s: %d lines were %d", name, granularity, is+1, len(was))
	}
	if _, err := parseWithGoParser(text); err != nil {
		t.Fatalf("%s, -g %s: %v\n%s", name, granularity, err, text[:min(2000, len(text))])
	}
}

func TestText(t *testing.T) {
	source := "// doc\n\n//go:build linux\n\npackage p // c\n\nimport \"fmt\" // d\nimport (\n\t\"os\"\n)\n\n//go:noinline\nfunc f() { fmt.Println(os.Args) }\nvar cg = 1\nfunc g() {\n}"
	want := "// doc\n\n//go:build linux\n\n/*line /x.go:5:1*/package p; import cg_1 \"container/ring\" // c\n\nimport \"fmt\" // d\nimport (\n\t\"os\"\n); var (cg_1_b0 = cg_1.CodegreenFile(0x7);)\n\n//go:noinline\n" +
		"func f() {defer cg_1.CodegreenEnter(1 + cg_1_b0)();/*line :13:11*/ fmt.Println(os.Args) }\nvar cg = 1\nfunc g() {defer cg_1.CodegreenEnter(cg_1_b0 + 2)();\n}"
	g, err := parseFile([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := g.plan(instrument.Options{Granularity: instrument.Fine},
		packageContext{bare: map[int]bool{strings.LastIndex(source, "{"): true}})
	edits, err := g.edits(p, rewriteNames{checkpoints: "cg_1", base: "cg_1_b0", path: runtimePackage}, []siteBase{{"cg_1_b0", "CodegreenFile(0x7)"}}, "/x.go")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := edit.Apply([]byte(source), edits); err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	if text := rewritten(t, []byte("package p\nvar cg, cg_1 = 1, 2\nfunc f() { for { } }\n"), "/x.go"); !bytes.Contains(text, []byte("import cg_2 ")) {
		t.Errorf("%s", text)
	}
}

// TestRoot parses and rewrites the toolchain's own files, those that test the
// compiler included: tree-sitter's tree and Go's parser tell of each the same. It
// takes some of the files, fewer where it must not take long, and with CG_GO_CORPUS all.
func TestRoot(t *testing.T) {
	root := toolchainRoot(t)
	files, sites, faults, stride, seen := 0, 0, 0, 16, 0
	switch {
	case os.Getenv("CG_GO_CORPUS") != "":
		stride = 1
	case long.Without(t, "three of four files"):
		stride = 64
	}
	for _, folder := range []string{"src", "test"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			if seen++; seen%stride != 0 {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			want, err := parseWithGoParser(text)
			if err != nil {
				return nil // no Go
			}
			files++
			tree, err := parseWithTreeSitter(text)
			if err != nil {
				faults++
			} else if !reflect.DeepEqual(tree, want) {
				t.Errorf("%s: the parsers differ", path)
				for i := range min(len(tree.funcs), len(want.funcs)) {
					if !reflect.DeepEqual(tree.funcs[i], want.funcs[i]) {
						t.Errorf("%+v\n%+v", tree.funcs[i], want.funcs[i])
						break
					}
				}
			}
			sites += len(want.funcs)
			checkRewriteLaws(t, path, text)
			return nil
		})
		if err != nil && folder == "src" {
			t.Fatal(err)
		}
	}
	if files*stride < 6400 || sites*stride < 64000 {
		t.Errorf("only %d files, %d functions", files, sites)
	}
	t.Logf("%d files, %d functions; the grammar does not place %d files", files, sites, faults)
}

// toolchainRoot is the folder of the toolchain.
func toolchainRoot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err) // go runs this test
	}
	return strings.TrimSpace(string(out))
}

// FuzzText: whatever parses is rewritten within its lines.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		"package p\nfunc f() {}", "package p;func f(){if x{};for{};switch{};func(){}()};import \"x\"", "package p; import (\"x\"; `C`); var x = func() {}",
		"\ufeffpackage p // package q\nfunc (t *T[X]) f() { /* } */ }", "//line a.go:1\npackage p\r\nfunc f() {\r\n}",
		"package p\nimport \"C\"\nfunc f() { _ = new(1) }\nfunc g() {}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		if len(source) > 1<<16 {
			return
		}
		if _, err := parseWithGoParser(source); err != nil {
			return
		}
		checkRewriteLaws(t, "fuzz", source)
		tree, err := parseWithTreeSitter(source)
		if err != nil {
			return
		}
		if want, _ := parseWithGoParser(source); !reflect.DeepEqual(tree, want) {
			t.Errorf("the parsers differ:\n%+v\n%+v", tree.funcs, want.funcs)
		}
	})
}

// TestTarget takes command lines apart.
func TestTarget(t *testing.T) {
	for _, c := range []struct {
		args  string
		flags map[string]string
		want  string
	}{
		{"main.go a", nil, "run [main.go] args [a] build [] list []"},
		{"main.go util.go x.txt y.go", nil, "run [main.go util.go] args [x.txt y.go] build [] list []"},
		{"./cmd/app -v x", nil, "run [./cmd/app] args [-v x] build [] list []"},
		{"acme/cmd/app", nil, "run [acme/cmd/app] args [] build [] list []"},
		{"-race -tags a,b -ldflags=-s . x", nil, "run [.] args [x] build [-race -tags a,b -ldflags=-s] list [-race -tags a,b -ldflags=-s]"},
		{"-v -a -gcflags all=-N .", map[string]string{"build-flags": `-tags "x y" -ldflags '-X main.a=b c'`},
			"run [.] args [] build [-tags x y -ldflags -X main.a=b c -v -a -gcflags all=-N] list [-tags x y -ldflags -X main.a=b c] gcflags [all=-N]"},
		{"-overlay o.json --trimpath test/app", nil, "run [test/app] args [] build [--trimpath] list [--trimpath] overlay o.json"},
		{"test", nil, "test [.] args [] build [] list []"},
		{"test ./... -run X -bench . -count 2", nil, "test [./...] args [./... -run X -bench . -count 2] build [] list [] counted"},
		{"test -v -tags x a b -args -count=1 c", nil, "test [a b] args [-v -tags x a b -args -count=1 c] build [-v -tags x] list [-tags x]"},
		{"test -race a -unknown b", nil, "test [a] args [-race a -unknown b] build [-race] list [-race]"},
		{"test -unknown b", nil, "test [.] args [-unknown b] build [] list []"},
		{"test -overlay=o.json -test.count=3 -exec x .", nil, "test [.] args [-test.count=3 -exec x .] build [-exec x] list [] overlay o.json counted"},
		{"-race test .", nil, "test [.] args [-race .] build [-race] list [-race]"},
		{"run . a run", nil, "run [.] args [a run] build [] list []"},
		{"-tags x run -race a.go b.go c", nil, "run [a.go b.go] args [c] build [-tags x -race] list [-tags x -race]"},
		{"run", nil, "run [run] args [] build [] list []"},
		{"run -race", nil, "! nothing to run"},
		{"run test", nil, "run [test] args [] build [] list []"},
		{"-tags test main.go", nil, "run [main.go] args [] build [-tags test] list [-tags test]"},
		{"", nil, "! nothing to run"},
		{"-race", nil, "! nothing to run"},
		{"-tags", nil, "! -tags needs a value"},
		{"-nosuch .", nil, "! \"-nosuch\" is no flag of go build"},
		{"-o x .", nil, "! -o: the program is built into"},
		{"-C x .", nil, "! -C: change the folder"},
		{"-n .", nil, "! -n: nothing would run"},
		{"-exec x .", nil, "! -exec: the program is run as it is"},
		{"-json .", nil, "! -json: go test has it"},
		{"test -json .", nil, "test [.] args [-json .] build [-json] list []"},
		{"-buildmode c-shared .", nil, "! -buildmode=c-shared: nothing that runs"},
		{"test -c .", nil, "! go test -c: nothing would run"},
		{"test -o x .", nil, "! -o: the program is built"},
		{"test . -run", nil, "! go test: -run needs a value"},
		{".", map[string]string{"build-flags": "-tags 'x"}, "! --build-flags: a quote is not closed"},
		{".", map[string]string{"build-flags": "x"}, "! --build-flags: \"x\" is no flag"},
		{".", map[string]string{"build-flags": "-tags"}, "! --build-flags: -tags needs a value"},
	} {
		p, err := parseArguments(languages.Target{Args: strings.Fields(c.args), Flags: c.flags})
		got := fmt.Sprintf("run %v args %v build %v list %v", p.names, p.args, p.build, p.listed)
		if p.test {
			got = "test" + strings.TrimPrefix(got, "run")
		}
		if len(p.gcflags) > 0 {
			got += fmt.Sprintf(" gcflags %v", p.gcflags)
		}
		if p.overlay != "" {
			got += " overlay " + p.overlay
		}
		if p.counted {
			got += " counted"
		}
		if want, fails := strings.CutPrefix(c.want, "! "); fails {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v, want %s", c.args, err, want)
			}
		} else if err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.args, err, got, want)
		}
	}
}
