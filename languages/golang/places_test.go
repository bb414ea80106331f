package golang

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cg/instrument"
	"cg/instrument/edit"
	"cg/languages"
	"cg/runtimes"
)

// placedText shows the events of a text: <5> is that of a line, <5-7> that of a block, <-> that of the rest.
func placedText(t *testing.T, source string, o instrument.Options) string {
	t.Helper()
	g, err := parseFile([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := g.plan(o, packageContext{file: "/p/m.go"})
	var edits []edit.Edit
	for _, f := range g.funcs {
		for _, m := range f.marks {
			text := strings.Trim(m.before+"|"+m.after, "; ")
			event := ""
			if m.place != unknown {
				switch s := p.Sites[f.site+1+m.place]; s.Kind {
				case "line":
					event = fmt.Sprintf("<%d>", s.Line)
				case "block":
					event = fmt.Sprintf("<%d-%d>", s.Line, s.EndLine)
				case "rest":
					event = "<->"
				}
			}
			edits = append(edits, edit.Edit{Start: m.at, End: m.at, New: strings.Replace(text, "|", event, 1)})
		}
	}
	out, err := edit.Apply([]byte(source), edits)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestPlacesOfGo has a case for each statement: where its events stand, with -g line and with -g block.
func TestPlacesOfGo(t *testing.T) {
	for _, c := range []struct{ name, source, lines, blocks string }{
		{"statements of a line are one place", "func f(n int) int { n++; n--\nreturn n }",
			"func f(n int) int { <1>n++; n--\n<2>return n }",
			"func f(n int) int { n++; n--\nreturn n }"},
		{"declarations without code", "func f() {\nvar a int\nconst b = 1\ntype c int\n;\n_ = a\n}",
			"func f() {\n<2>var a int\nconst b = 1\ntype c int\n;\n<6>_ = a\n}",
			"func f() {\nvar a int\nconst b = 1\ntype c int\n;\n_ = a\n}"},
		{"a statement of many lines begins one place", "func f(n int) int {\nn = g(n,\n1,\n)\nreturn n\n}",
			"func f(n int) int {\n<2>n = g(n,\n1,\n)\n<5>return n\n}",
			"func f(n int) int {\nn = g(n,\n1,\n)\nreturn n\n}"},
		{"else if", "func f(n int) int {\nif n > 1 {\nn++\n} else if m := n; m > 2 {\nn--\n} else if n > 3 {\nn = 3\n} else {\nn = 4\n}\nreturn n\n}",
			"func f(n int) int {\n<2>if n > 1 {\n<3>n++\n} else { <4>if m := n; m > 2 {\n<5>n--\n} else { <6>if n > 3 {\n<7>n = 3\n} else {\n<9>n = 4\n}}}\n<11>return n\n}",
			"func f(n int) int {\nif n > 1 {\n<2-4>n++\n} else if m := n; m > 2 {\n<4-6>n--\n} else if n > 3 {\n<6-8>n = 3\n} else {\n<8-10>n = 4\n}\n<->return n\n}"},
		{"branches in one line", "func f(n int) int { if n > 1 { n++ } else if n > 2 { n-- }\nreturn n }",
			"func f(n int) int { <1>if n > 1 { n++ } else if n > 2 { n-- }\n<2>return n }",
			"func f(n int) int { if n > 1 { <1-1>n++ } else if n > 2 { <1-1>n-- }\n<->return n }"},
		{"loops come back to their heads", "func f(n int) {\nfor i := 0; i < n; i++ {\nif n > 1 {\ncontinue\n}\nn--\n}\nfor n > 1 { n-- }\nfor range n {\nn++ }\nfor i := range n {}\n}",
			"func f(n int) {\n<2>for i := 0; i < n; i++ {\n<3>if n > 1 {\n<2>continue\n}\n<6>n--\n<2>}\n<8>for n > 1 { n-- }\n<9>for range n {\n<10>n++ <9>}\n<11>for i := range n {}\n}",
			"func f(n int) {\n<2-7>for i := 0; i < n; i++ {\nif n > 1 {\n<2-7>continue\n}\n<2-7>n--\n}\n<8-8>for n > 1 { n-- }\n<9-10>for range n {\nn++ }\n<11-11>for i := range n {}\n}"},
		{"loops without a head", "func f(n int) {\nfor {\nn++\nif n > 3 {\ncontinue\n}\n}\n}",
			"func f(n int) {\n<2>for {\n<3>n++\n<4>if n > 3 {\ncontinue\n}\n}\n}",
			"func f(n int) {\n<2-7>for {\nn++\nif n > 3 {\n<2-7>continue\n}\n<2-7>}\n}"},
		{"labels", "func f(n int) {\nouter:\nfor n > 0 {\nfor {\nif n > 1 {\ncontinue outer\n}\nbreak outer\n}\n}\nn++\n}",
			"func f(n int) {\n<3>outer:\nfor n > 0 {\n<4>for {\n<5>if n > 1 {\n<3>continue outer\n}\nbreak outer\n}\n<3>}\n<11>n++\n}",
			"func f(n int) {\n<3-10>outer:\nfor n > 0 {\n<4-9>for {\nif n > 1 {\n<3-10>continue outer\n}\nbreak outer\n}\n<3-10>}\n<->n++\n}"},
		{"goto goes to the place of its label", "func f(n int) {\nif n > 9 {\ngoto end\n}\nagain:\nn++\nif n < 3 {\nn++\ngoto again\n}\nfor n > 1 {\nn--\ngoto end\n}\nend:\n}",
			"func f(n int) {\n<2>if n > 9 {\ngoto end\n}\n<6>again:\nn++\n<7>if n < 3 {\n<8>n++\n<6>goto again\n}\n<11>for n > 1 {\n<12>n--\ngoto end\n}\nend:\n}",
			"func f(n int) {\nif n > 9 {\ngoto end\n}\n<->again:\nn++\nif n < 3 {\n<7-10>n++\n<->goto again\n}\n<11-14>for n > 1 {\nn--\ngoto end\n}\nend:\n}"},
		{"a label before a block", "func f(n int) {\nn++\nb: {\nif n > 1 { break b }\nn--\n}\ngoto b\n}",
			"func f(n int) {\n<2>n++\nb: {\n<4>if n > 1 { break b }\n<5>n--\n}\ngoto b\n}",
			"func f(n int) {\nn++\nb: {\n<->if n > 1 { break b }\n<->n--\n}\ngoto b\n}"},
		{"cases", "func f(n int) int {\nswitch n {\ncase 1:\ncase 2: n++\nfallthrough\ncase 3:\nn--; break\ndefault: return 4 }\nreturn n }",
			"func f(n int) int {\n<2>switch n {\ncase 1:\ncase 2: <4>n++\nfallthrough\ncase 3:\n<7>n--; break\ndefault: <8>return 4 }\n<9>return n }",
			"func f(n int) int {\nswitch n {\ncase 1:\ncase 2: <4-5>n++\nfallthrough\ncase 3:\n<6-7>n--; break\ndefault: <8-8>return 4 }\n<->return n }"},
		{"types and channels", "func f(v any, c chan int) {\nswitch w := v.(type) {\ncase int:\n_ = w\n}\nselect {\ncase n := <-c:\n_ = n\ndefault:\n}\nselect {}\n}",
			"func f(v any, c chan int) {\n<2>switch w := v.(type) {\ncase int:\n<4>_ = w\n}\n<6>select {\ncase n := <-c:\n<8>_ = n\ndefault:\n}\n<11>select {}\n}",
			"func f(v any, c chan int) {\nswitch w := v.(type) {\ncase int:\n<3-4>_ = w\n}\n<->select {\ncase n := <-c:\n<7-8>_ = n\ndefault:\n}\n<->select {}\n}"},
		{"what is deferred has its own function", "func f() {\ndefer func() {\nrecover()\n}()\ngo g()\npanic(1)\n}",
			"func f() {\n<2>defer func() {\n<3>recover()\n}()\n<5>go g()\n<6>panic(1)\n}",
			"func f() {\ndefer func() {\nrecover()\n}()\ngo g()\npanic(1)\n}"},
		{"generics", "func f[T any](v []T) (n int) {\nfor range v {\nn++\n}\nreturn\n}",
			"func f[T any](v []T) (n int) {\n<2>for range v {\n<3>n++\n<2>}\n<5>return\n}",
			"func f[T any](v []T) (n int) {\n<2-4>for range v {\nn++\n}\n<->return\n}"},
		{"nothing to tell", "func f() {}\nfunc g() { ; }", "func f() {}\nfunc g() { ; }", "func f() {}\nfunc g() { ; }"},
	} {
		const head = "package p; "
		for g, want := range map[instrument.Granularity]string{instrument.Lines: c.lines, instrument.Blocks: c.blocks} {
			got := strings.TrimPrefix(placedText(t, head+c.source, instrument.Options{Granularity: g}), head)
			if got != want {
				t.Errorf("%s, -g %s:\n%s\nwant\n%s", c.name, g, got, want)
			}
			checkRewriteLaws(t, c.name, []byte(head+c.source))
		}
	}
}

// TestChosenPlaces: the functions that are chosen have places, and no others; those that are refused have none.
func TestChosenPlaces(t *testing.T) {
	const source = "package p\nfunc f() { g() }\nfunc g() { f() }\n"
	for _, c := range []struct {
		of       []instrument.FunctionIn
		unplaced []string
		sites    int
	}{
		{of: nil, sites: 4},
		{of: []instrument.FunctionIn{{File: "/p/m.go", Name: "p.g"}}, sites: 3},
		{of: []instrument.FunctionIn{{Name: "p.*"}}, sites: 4},
		{of: []instrument.FunctionIn{{File: "/p/other.go", Name: "p.g"}}, sites: 2},
		{of: []instrument.FunctionIn{}, sites: 2},
		{unplaced: []string{"p.f:2"}, sites: 3},
	} {
		g, err := parseFile([]byte(source))
		if err != nil {
			t.Fatal(err)
		}
		p, _ := g.plan(instrument.Options{Granularity: instrument.Lines, PlacesOf: c.of},
			packageContext{file: "/p/m.go", unplaced: c.unplaced})
		if len(p.Sites) != c.sites || len(p.Points) != 2 {
			t.Errorf("%+v: %+v", c, p.Sites)
		}
	}
}

// TestTextOfPlaces: the events of what the compiler may inline are told apart from others, and what follows them is where
// it was.
func TestTextOfPlaces(t *testing.T) {
	const source = "package p\nfunc f(n int) int { n++; return n }\nfunc g() {\nfor n := range 3 {\nf(n) }\n}\n"
	g, err := parseFile([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	c := packageContext{bare: map[int]bool{strings.Index(source, "{"): true}}
	p, _ := g.plan(instrument.Options{Granularity: instrument.Lines}, c)
	edits, err := g.edits(p, rewriteNames{checkpoints: "cg", base: "b", path: runtimePackage}, nil, "/x.go")
	if err != nil {
		t.Fatal(err)
	}
	got, err := edit.Apply([]byte(source), edits)
	_, rest, _ := bytes.Cut(got, []byte("\n"))
	want := "func f(n int) int {defer cg.CodegreenEnter(b + 1)();/*line :2:20*/ cg.CodegreenPlace(b + 2, 1); /*line :2:21*/n++; return n }\n" +
		"func g() {defer cg.CodegreenEnter(3 + b)();\n" +
		"cg.CodegreenPlace(4 + b, 1); /*line :4:1*/for n := range 3 {\n" +
		"cg.CodegreenPlace(5 + b, 2); /*line :5:1*/f(n) ; cg.CodegreenPlace(4 + b, 1) /*line :5:6*/}\n}\n"
	if err != nil || string(rest) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, rest, want)
	}
}

// TestPlacesGiveWay: a function that the compiler refuses with places only has its checkpoints, and is reported; others
// keep their places. The stub takes numbers of eight bits.
func TestPlacesGiveWay(t *testing.T) {
	writeModule(t, map[string]string{
		"go.mod": "module acme\n\ngo 1.25.0\n",
		"main.go": "package main\n\nfunc main() { println(f(1)) }\n\nfunc f(n int) int {\n" +
			strings.Repeat("n++\n", 300) + "return n\n}\n",
	})
	target := languages.Target{Args: []string{"."}, Flags: map[string]string{"inline": "true"}}
	b, packages, skipped := planWithStub(t, target, instrument.Options{Granularity: instrument.Lines})
	text := strings.ReplaceAll(stubRuntime+"\nfunc CodegreenPlace(site, back uint32) { counts[1].Add(1) }\n", "uint32",
		"uint8")
	b.runtime = map[string][]byte{"src/container/ring/zz_stub.go": []byte(text)}
	program, _, err := b.program(context.Background(), packages)
	if err != nil {
		t.Fatal(err)
	}
	counts := filepath.Join(t.TempDir(), "counts")
	if err := os.WriteFile(counts, make([]byte, 16), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runProgram(t, ".", program, counts); got.stderr != "301\n" {
		t.Errorf("%+v", got)
	}
	n, err := os.ReadFile(counts)
	if err != nil || binary.NativeEndian.Uint64(n) != 2 || binary.NativeEndian.Uint64(n[8:]) != 2+1 {
		t.Errorf("%v, %v: want two calls, and one place of main", err, n)
	}
	cwd, _ := os.Getwd()
	why := skipped[filepath.Join(cwd, "main.go:5")]
	if why != "main.f has no lines: the compiler refuses it with them" || len(skipped) != 1 {
		t.Errorf("%q", skipped)
	}
}

// TestPlacesNeedScheduler: where the checkpoints are not in package runtime, places are refused in one line.
func TestPlacesNeedScheduler(t *testing.T) {
	without := runtimes.GoOverlay{Reason: "not written for this; goroutines are told apart by their calls only"}
	for _, c := range []struct {
		g       instrument.Granularity
		o       runtimes.GoOverlay
		refused string
	}{
		{instrument.Fine, without, ""},
		{instrument.Lines, runtimes.GoOverlay{Scheduler: true}, ""},
		{instrument.Blocks, without, "-g block needs the checkpoints in Go's scheduler, and there are none (not written for " +
			"this; goroutines are told apart by their calls only): use -g fine"},
	} {
		got := ""
		if err := canPlace(c.g, c.o); err != nil {
			got = err.Error()
		}
		if got != c.refused {
			t.Errorf("-g %s: %q, want %q", c.g, got, c.refused)
		}
	}
}
