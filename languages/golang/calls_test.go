package golang

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cg/instrument"
	"cg/languages"
	"cg/runtimes"
)

// chosen are the functions of files that may stay bare, by the names of their sites. A file
// lies in the folder of its package; x_test.go is compiled with the tests of its package.
func chosen(t *testing.T, b *build, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	listed := map[string]*listedPackage{}
	var packages []*listedPackage
	var all []string
	for name := range files {
		all = append(all, name)
	}
	slices.Sort(all)
	for _, name := range all {
		path := "acme/" + filepath.Dir(name)
		p := listed[path]
		if p == nil {
			p = &listedPackage{ImportPath: path, Dir: filepath.Join(dir, filepath.Dir(name))}
			listed[path] = p
			packages = append(packages, p)
		}
		switch base := filepath.Base(name); base {
		case "x_test.go":
			p.TestGoFiles = append(p.TestGoFiles, base)
		case "outside_test.go":
			p.XTestGoFiles = append(p.XTestGoFiles, base)
		default:
			p.GoFiles = append(p.GoFiles, base)
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
		b.units = append(b.units, &unit{files: []string{file}})
	}
	if err := b.chooseBare(packages, nil); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range all {
		g, err := parseFile([]byte(files[name]))
		if err != nil {
			t.Fatal(name, err)
		}
		p, _ := g.plan(instrument.Options{Granularity: instrument.Fine}, packageContext{})
		for _, q := range p.Points {
			if slices.Contains(b.bare[filepath.Join(dir, name)], q.Start-1) {
				names = append(names, p.Sites[q.Site].Func)
			}
		}
	}
	return strings.Join(names, " ")
}

func buildToChoose(t *testing.T) *build {
	cache := runtimes.Cache{Dir: t.TempDir()}
	if _, err := cache.Sub("bare"); err != nil {
		t.Fatal(err)
	}
	return &build{command: &goCommand{version: "1.26.0"}, kept: cache, folder: cache.Dir}
}

// TestBare has functions that stay without checkpoints if the compiler inlines them.
func TestBare(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"by name", "func f() {}; func g() { f(); (f)() }", "p.f"},
		{"in a variable of the package", "func f() int { return 1 }; var x = f()", "p.f"},
		{"by nobody", "func f() {}; func init() {}", ""},
		{"a value", "func f() {}; func g() { f(); h(f) }; func h(func()) {}", "p.h"},
		{"a variable of that name", "func f() {}; func g() { f() }; func h(f int) { _ = f }", "p.f"},
		{"itself", "func gcd(a, b int) int { if b == 0 { return a }; return gcd(b, a%b) }; func g() { gcd(1, 2) }", ""},
		{"itself in a literal", "func f() { func() { f() }() }; func g() { f() }", "p.f.func1"},
		{"in turns", "func e() { o() }; func o() { e() }; func g() { e(); h() }; func h() {}", "p.h"},
		{"in turns, three", "func a() { b() }; func b() { c() }; func c() { a(); d() }; func d() {}; func g() { a() }",
			"p.d"},
		{"in turns with one that counts", "func a() { b() }; func b() { for { a() } }", "p.a"},
		{"in turns with one that calls itself", "func a() { b() }; func b() { a(); b() }", "p.a"},
		{"loops", "func f() { for {} }; func g(x []int) { for range x {} }; func h() { f(); g(nil) }", ""},
		{"a loop in its literal", "func f() func() { return func() { for {} } }; func g() { f() }", "p.f"},
		{"goes back", "func f() { a: goto a }; func h() { f() }", ""},
		{"starts", "func f() {}; func g(int) {}; func h() { f(); g(1) }; func i() { go f(); go g(1) }", ""},
		{"deferred as it stands", "func f() {}; func g() { f(); defer f() }", ""},
		{"deferred by a wrapper", "type T int; func f(int) {}; func (T) m() {}; func g(t T) { defer f(1); defer t.m() }",
			"p.f p.T.m"},
		{"method", "type T int; func (T) a() {}; func (*T) b() {}; func g(t T) { t.a(); t.b() }", "p.T.a p.(*T).b"},
		{"method of an embedded type", "type T int; func (T) a() {}; type U struct { *T }; func g(u U) { u.a() }", "p.T.a"},
		{"interface", "type T int; func (T) a() {}; type I interface { a() }; func g(i I) { i.a() }; var _ I = T(0)", ""},
		{"embedded interface", "type T int; func (T) a() {}; type I interface { a() }; type U struct { I }; " +
			"func g(u U) { u.a() }", ""},
		{"interface and name", "type T int; func (T) a() {}; func g(i interface { a() }) { i.a(); T(0).a() }", "p.T.a"},
		{"method value", "type T int; func (T) a() {}; func g(t T) { t.a(); f := t.a; f() }", ""},
		{"method expression", "type T int; func (T) a() {}; func g(t T) { T.a(t) }", "p.T.a"},
		{"generic", "func f[T any](T) {}; func g() { f(1); f[string](``) }; func h[A, B any]() {}; " +
			"func i() { h[int, int]() }", "p.f[...] p.h[...]"},
		{"generic value", "func f[T any](T) {}; func g() { f(1); _ = f[int] }", ""},
		{"generic type", "type L[T any] struct {}; func (L[T]) a() {}; func g() { L[int]{}.a() }", "p.L[...].a"},
		{"constraint", "type T int; func (T) a() {}; func g[X interface { a() }](x X) { x.a() }; var _ = g[T]", ""},
		{"literal", "func g() { func() {}() }", "p.g.func1"},
		{"literal as a value", "func g() { h(func() {}) }; func h(func()) {}", "p.h"},
		{"literal in a goroutine", "func g() { go func() {}(); defer func() {}() }", ""},
		{"variable", "func g() { f := func() {}; var h = func() {}; f(); h() }", "p.g.func1 p.g.func2"},
		{"variable as a value", "func g() { f := func() {}; f(); h(f) }; func h(func()) {}", "p.h"},
		{"variable that is set", "func g() { f := func() {}; f(); f = nil }", ""},
		{"variable that calls itself", "func g() { var f func(); f = func() { f() }; f() }", ""},
		{"variable of the package", "var f = func() {}; func g() { f() }", ""},
		{"lines of another file", "\n//line y.go:1\nfunc f() {}; func g() { f() }", "p.f"},
		{"type not known", "import `nowhere`; type T int; func (T) a() {}; func (T) b() {}; func g() { nowhere.X.a() }",
			"p.T.a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := chosen(t, buildToChoose(t), map[string]string{"p/p.go": "package p; " + c.source}); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestBareAcross: what other packages and tests call counts, and what they take as a value.
func TestBareAcross(t *testing.T) {
	files := map[string]string{
		"p/p.go":            "package p\nfunc F() {}\nfunc G() {}\nfunc only() {}\ntype T int\nfunc (T) M() {}\nfunc (T) N() {}",
		"p/x_test.go":       "package p\nfunc inTest() { only() }\nfunc Export() { inTest() }",
		"p/outside_test.go": "package p_test\nimport \"acme/p\"\nfunc h() { p.Export() }",
		"q/q.go":            "package q\nimport r \"acme/p\"\nfunc q() { r.F(); r.G(); r.T(0).M() }",
	}
	b := buildToChoose(t)
	if got, want := chosen(t, b, files), "p.F p.G p.T.M"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	b = buildToChoose(t)
	b.target.test = true
	if got, want := chosen(t, b, files), "p.F p.G p.only p.T.M p.inTest p.Export"; got != want {
		t.Errorf("with tests: %s, want %s", got, want)
	}
	files["q/r.go"] = "package q\nimport \"acme/p\"\nvar f = p.G"
	if got, want := chosen(t, buildToChoose(t), files), "p.F p.T.M"; got != want {
		t.Errorf("with a value: %s, want %s", got, want)
	}
}

// TestBareKept: the choice is kept for the same source, and made again for another.
func TestBareKept(t *testing.T) {
	b := buildToChoose(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "p.go")
	b.units = []*unit{{files: []string{file}}}
	packages := []*listedPackage{{ImportPath: "p", Dir: dir, GoFiles: []string{"p.go"}}}
	choose := func(source string) string {
		t.Helper()
		if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := b.chooseBare(packages, nil); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(b.bare[file])
	}
	first := choose("package p; func f() {}; func g() { f() }")
	kept, err := filepath.Glob(filepath.Join(b.folder, "bare", "*"))
	if first != "[20]" || len(kept) != 1 || err != nil {
		t.Fatal(first, kept, err)
	}
	if err := os.WriteFile(kept[0], []byte(`{"`+file+`":[7]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := choose("package p; func f() {}; func g() { f() }"); again != "[7]" {
		t.Errorf("%s: it is not taken from what is kept", again)
	}
	if other := choose("package p; func f() {}; func g() { go f() }"); other != "[]" {
		t.Errorf("%s for another source", other)
	}
}

// BenchmarkChooseBare is what the choice takes in cg's own program: its packages as a whole,
// and what those declare that they import.
func BenchmarkChooseBare(b *testing.B) {
	t, packages, _ := planWithStub(b, languages.Target{Args: []string{"../.."},
		Flags: map[string]string{"inline": "true"}}, instrument.Options{Granularity: instrument.Fine})
	if err := t.chooseUnits(context.Background(), packages); err != nil {
		b.Fatal(err)
	}
	bytes := 0
	for _, u := range t.units {
		for _, name := range u.files {
			text, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			bytes += len(text)
		}
	}
	b.SetBytes(int64(bytes))
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	from := cpu()
	for b.Loop() {
		if err := os.RemoveAll(filepath.Join(t.folder, "bare")); err != nil {
			b.Fatal(err)
		}
		if err := t.chooseBare(packages, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu()-from).Milliseconds())/float64(b.N), "cpu-ms/op")
}
